//! What proves what happened with a booking: for whoever answers a dispute, and for the staff.
//!
//! Everything is from rows that were written when it happened: the booking, its audit, its payments.
//! Messages are listed by kind, time and channel; their words are kept nowhere.

mod bank;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::audit::AuditRow;
use crate::booking::Booking;
use crate::local_time::{human, stamp};
use crate::refund::PaymentRow;
use crate::terms;

/// The rows that tell of a booking.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// What the venue is called.
    pub venue: &'a str,
    pub booking: &'a Booking,
    /// The booking's audit, the send ledger included.
    pub audit: &'a [AuditRow],
    pub payments: &'a [PaymentRow],
}

impl<'a> Sources<'a> {
    /// The whole as one document, for people and for machines.
    pub fn document(self, now: DateTime<Utc>) -> Value {
        let booking = self.booking;
        json!({
            "booking_id": booking.booking_id,
            "venue": self.venue,
            "made_at": stamp(now),
            "state": booking.state,
            "booking": self.visit(),
            "customer": {"name": booking.name, "email": booking.email},
            "terms": self.terms(),
            "consented_at": booking.consented_at.map(stamp),
            "messages": self.messages(),
            "attendance": self.attendance(),
            "cancelled": booking.cancelled,
            "waived": booking.waived,
            "reversal": booking.reversal,
            "payments": self.payments.iter().map(money).collect::<Vec<_>>(),
            "history": self.history(),
            "bank": bank::fields(self),
        })
    }

    fn visit(self) -> Value {
        let place = &self.booking.place;
        json!({
            "what": place.label,
            "resource": place.resource,
            "slot_keys": place.slot_keys,
            "party": self.booking.party,
            "starts_at": stamp(place.starts_at),
            "ends_at": stamp(place.ends_at),
            "local_time": human(place.starts_at, place.zone),
            "zone": place.zone.name(),
            "source": self.booking.source,
            "booked_at": stamp(self.booking.created_at),
            "moves": self.booking.moves,
            "deposit": self.booking.deposit,
            "kept": self.booking.kept(),
        })
    }

    /// The terms with the policy behind them, and when the customer went on from the page that has
    /// them to pay.
    fn terms(self) -> Value {
        let shown: Vec<String> = self.times_of("payment page intended").map(stamp).collect();
        json!({
            "text": terms::shown(self.booking),
            "shown_on": "the page with the button to pay",
            "button_pressed_at": shown,
            "policy": self.booking.policy,
        })
    }

    fn times_of(self, what: &'static str) -> impl Iterator<Item = DateTime<Utc>> + 'a {
        self.audit
            .iter()
            .filter(move |row| row.what == what)
            .filter_map(|row| row.at)
    }

    fn messages(self) -> Vec<Value> {
        let sent = self
            .audit
            .iter()
            .filter(|row| row.what.starts_with("message sent"));
        let mut sent: Vec<&AuditRow> = sent.collect();
        sent.sort_by_key(|row| row.at);
        sent.iter()
            .map(|row| {
                let channel = match row.what.contains("by mail") {
                    true => "mail",
                    false => "text",
                };
                json!({"kind": kind_of(row), "at": row.at.map(stamp), "channel": channel})
            })
            .collect()
    }

    /// Each mark, in order: a correction does not hide what was marked first.
    fn attendance(self) -> Value {
        let marks = self
            .audit
            .iter()
            .filter_map(|row| row.set.get("attendance"));
        json!({
            "attended": self.booking.attendance.as_ref().map(|mark| mark.attended),
            "marks": marks.collect::<Vec<_>>(),
        })
    }

    /// What happened, in order, without the send ledger.
    fn history(self) -> Vec<Value> {
        self.facts()
            .map(|row| {
                json!({
                    "at": row.at.map(stamp),
                    "what": row.what,
                    "who": row.who,
                    "why": row.why,
                    "state": row.after,
                })
            })
            .collect()
    }

    fn facts(self) -> impl Iterator<Item = &'a AuditRow> {
        self.audit
            .iter()
            .filter(|row| !row.ts.starts_with("message#"))
    }
}

/// The kind of the message that a row of the send ledger is about; its occasion may have a number.
fn kind_of(row: &AuditRow) -> &str {
    let occasion = row.ts.split('#').nth(1).unwrap_or_default();
    occasion.split('-').next().unwrap_or_default()
}

fn money(row: &PaymentRow) -> Value {
    json!({
        "payment_ref": row.payment_ref,
        "amount": row.amount,
        "paid_at": row.paid_at.map(stamp),
        "refunds": row.refunds,
        "disputes": row.disputes,
    })
}
