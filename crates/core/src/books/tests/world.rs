//! One booking and its payments, moved by the machines themselves.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use crate::booking::{
    Booking, CancelledBy, Command, Consequence, Payment, Place, RefundOrder, StaffOrder, State,
    Transition, decide,
};
use crate::books::{Entry, entries};
use crate::dispute::{Dispute, DisputeStatus};
use crate::money::{Currency, Money};
use crate::refund::{self, PaymentRow, Progress, RefundReport, RefundStatus};
use crate::venue::{BUILT_IN, Venue};

pub(super) fn gbp(minor: i64) -> Money {
    Money::new(minor, Currency::GBP).unwrap()
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) now: DateTime<Utc>,
    pub(super) booking: Booking,
    pub(super) payments: Vec<PaymentRow>,
    /// Refunds that the cashier has not intended yet.
    pub(super) orders: Vec<RefundOrder>,
    made: usize,
}

impl World {
    /// A booking of 11 July 19:00, made ten days before, with a deposit of 20.00.
    pub(super) fn new() -> Self {
        let now = DateTime::from_timestamp(1_782_900_000, 0).unwrap();
        let starts_at = now + TimeDelta::days(10);
        let place = Place {
            resource: "table-4".to_owned(),
            label: "table".to_owned(),
            starts_at,
            ends_at: starts_at + TimeDelta::hours(1),
            zone: chrono_tz::Europe::London,
            slot_keys: vec!["table-4#a".to_owned()],
        };
        let booking = json!({
            "booking_id": "bkg_1", "state": "PENDING", "place": place, "party": 2, "name": "Ada",
            "source": "form", "deposit": gbp(2000), "deposit_deadline": now + TimeDelta::days(1),
            "policy": Venue::from_json(BUILT_IN).unwrap().policy, "created_at": now, "version": 1,
        });
        Self {
            now,
            booking: serde_json::from_value(booking).unwrap(),
            payments: Vec::new(),
            orders: Vec::new(),
            made: 0,
        }
    }

    pub(super) fn journal(&self) -> Vec<Entry> {
        let mut journal: Vec<Entry> = self
            .payments
            .iter()
            .flat_map(|row| entries(row, Some(&self.booking)))
            .collect();
        journal.sort_by_key(|entry| entry.at);
        journal
    }

    fn tick(&mut self) {
        self.now += TimeDelta::milliseconds(1700);
    }

    /// Carries a command out, as far as it does anything.
    pub(super) fn order(&mut self, command: Command) {
        self.tick();
        if let Ok(transition) = decide(&self.booking, command, self.now) {
            self.follow(transition);
        }
    }

    fn follow(&mut self, transition: Transition) {
        for consequence in transition.consequences {
            if let Consequence::Refund(order) = consequence {
                self.orders.push(order);
            }
        }
        self.booking = transition.after;
    }

    pub(super) fn pay(&mut self, minor: i64) {
        self.tick();
        let payment_ref = format!("pi_{}", self.payments.len());
        let paid_at = self.now - TimeDelta::seconds(3);
        let row = PaymentRow::collected(&payment_ref, "bkg_1", Some(gbp(minor)), paid_at);
        self.payments.push(row);
        let free = self.booking.state == State::Released;
        self.order(Command::ReceivePayment(Payment {
            payment_ref,
            session_id: "cs_1".to_owned(),
            amount: Some(gbp(minor)),
            paid_at,
            hold_again: free.then(|| self.booking.place.clone()),
        }));
    }

    /// Lets the deadline pass, the grace after it, and the hold go.
    pub(super) fn release(&mut self) {
        self.now = self
            .now
            .max(self.booking.deposit_deadline + TimeDelta::hours(1));
        self.order(Command::Release);
    }

    pub(super) fn waive(&mut self) {
        self.order(Command::Waive(by_staff()));
    }

    pub(super) fn cancel(&mut self, by: CancelledBy) {
        let reason = String::new();
        self.order(Command::Cancel { by, reason });
    }

    pub(super) fn visit(&mut self, attended: bool) {
        self.now = self.now.max(self.booking.settle_at());
        self.order(Command::MarkAttendance {
            attended,
            marked_by: "bar".to_owned(),
        });
        self.order(Command::Settle);
    }

    pub(super) fn reverse(&mut self, refund: bool) {
        let order = by_staff();
        self.order(Command::ReverseForfeit { refund, order });
    }

    pub(super) fn refund(&mut self, minor: i64) {
        self.order(Command::Refund {
            payment_ref: None,
            amount: Some(gbp(minor)),
            order: by_staff(),
        });
    }

    /// The cashier works off what is ordered, and the provider answers all of it so.
    pub(super) fn give_back(&mut self, status: RefundStatus) {
        for order in std::mem::take(&mut self.orders) {
            self.give_back_one(order, Some(status));
        }
    }

    /// `None`: the provider says no.
    pub(super) fn give_back_one(&mut self, order: RefundOrder, status: Option<RefundStatus>) {
        let key = order.key.clone();
        let (payment_ref, amount) = (order.payment_ref.clone(), order.amount);
        if !self.note(&payment_ref, refund::Command::Intend(order)) {
            return;
        }
        let command = match status {
            Some(status) => {
                self.made += 1;
                refund::Command::Report(RefundReport {
                    refund_id: format!("re_{}", self.made),
                    key: Some(key),
                    amount,
                    status,
                    created: whole_second(self.now),
                    failure: None,
                })
            }
            None => refund::Command::Refused {
                key,
                code: "charge_disputed".to_owned(),
            },
        };
        self.note(&payment_ref, command);
    }

    /// Notes something on a payment, and the booking's share of it.
    fn note(&mut self, payment_ref: &str, command: refund::Command) -> bool {
        self.tick();
        let row = self
            .payments
            .iter_mut()
            .find(|row| row.payment_ref == payment_ref);
        let row = row.unwrap();
        let Ok(change) = refund::decide(row, command, self.now) else {
            return false;
        };
        *row = change.after;
        let facts = row.facts();
        self.order(Command::SyncMoney(facts));
        true
    }

    pub(super) fn fail_last_refund(&mut self) {
        let refunds = self.payments.iter().flat_map(|row| {
            let refunds = row.refunds.iter();
            refunds.map(|(key, refund)| (row.payment_ref.clone(), key.clone(), refund.clone()))
        });
        let live = refunds.filter(
            |(_, _, refund)| matches!(refund.progress, Progress::Known(status) if status.is_live()),
        );
        let found = live.max_by_key(|(_, _, refund)| refund.made_at);
        let Some((payment_ref, key, refund)) = found else {
            return;
        };
        let report = RefundReport {
            refund_id: refund.refund_id.unwrap(),
            key: refund.reason.map(|_| key),
            amount: refund.amount,
            status: RefundStatus::Failed,
            created: refund.made_at.unwrap(),
            failure: Some("expired_or_canceled_card".to_owned()),
        };
        self.note(&payment_ref, refund::Command::Report(report));
    }

    /// A refund in the provider's dashboard, of as much as is left of the last payment.
    ///
    /// What is ordered is at the provider within seconds, so it is there before anybody clicks.
    pub(super) fn refund_by_hand(&mut self, minor: i64) {
        self.give_back(RefundStatus::Pending);
        let Some(row) = self.payments.last() else {
            return;
        };
        let left = row.amount.unwrap().minor() - row.refunded().unwrap().minor();
        let minor = minor.min(left);
        if minor <= 0 {
            return;
        }
        self.made += 1;
        let report = RefundReport {
            refund_id: format!("re_{}", self.made),
            key: None,
            amount: gbp(minor),
            status: RefundStatus::Succeeded,
            created: whole_second(self.now),
            failure: None,
        };
        let payment_ref = row.payment_ref.clone();
        self.note(&payment_ref, refund::Command::Report(report));
    }

    /// What the bank says of the first payment.
    pub(super) fn dispute(&mut self, status: DisputeStatus) {
        let Some(row) = self.payments.first() else {
            return;
        };
        let amount = row.amount.unwrap();
        let is_back = matches!(status, DisputeStatus::Won | DisputeStatus::Prevented);
        let prevented = status == DisputeStatus::Prevented;
        let dispute = Dispute {
            amount,
            reason: "fraudulent".to_owned(),
            status,
            opened_at: self.now,
            due_by: None,
            withdrawn: (!status.is_warning()).then_some(amount),
            reinstated: is_back.then_some(amount),
            fee: (!status.is_warning()).then(|| gbp(1500)),
            fee_returned: prevented.then(|| gbp(1500)),
            withdrawn_at: (!status.is_warning()).then_some(self.now),
            reinstated_at: is_back.then_some(self.now),
            closed_at: status.is_over().then_some(self.now),
        };
        let payment_ref = row.payment_ref.clone();
        let dispute_id = "du_1".to_owned();
        let command = refund::Command::ReportDispute {
            dispute_id,
            dispute,
        };
        self.note(&payment_ref, command);
    }
}

fn by_staff() -> StaffOrder {
    StaffOrder {
        by: "bar".to_owned(),
        reason: "they asked".to_owned(),
    }
}

/// The provider counts in seconds.
fn whole_second(at: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp(at.timestamp(), 0).unwrap()
}
