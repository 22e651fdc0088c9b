//! The row of a payment: how it begins, what it adds up to, and when something of it is due.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Change, LOOKUP_SHARDS, PaymentRow, Progress, Refund, RefundReport, UNCLAIMED_FOR};
use crate::booking::{Disputed, MoneyFacts, Refunds};
use crate::local_time::stamp;
use crate::money::Money;
use crate::planted::{self, Defect};
use crate::step::{Item, Row};

/// A refund that others made is kept under the provider's id.
fn is_ours((key, refund): &(&String, &Refund)) -> bool {
    refund.refund_id.as_ref() != Some(*key)
}

/// The key of a payment's row.
pub fn payment_key(payment_ref: &str) -> String {
    format!("payment#{payment_ref}")
}

impl PaymentRow {
    /// A payment that the provider collected.
    pub fn collected(
        payment_ref: &str,
        booking_id: &str,
        amount: Option<Money>,
        paid_at: DateTime<Utc>,
    ) -> Self {
        Self {
            booking_id: Some(booking_id.to_owned()),
            amount,
            paid_at: Some(paid_at),
            expires_at: None,
            ..Self::unclaimed(payment_ref, paid_at)
        }
    }

    /// A payment of which something is reported before it is known whose it is.
    pub fn unclaimed(payment_ref: &str, now: DateTime<Utc>) -> Self {
        Self {
            event_id: payment_key(payment_ref),
            payment_ref: payment_ref.to_owned(),
            booking_id: None,
            amount: None,
            paid_at: None,
            refunds: BTreeMap::new(),
            disputes: BTreeMap::new(),
            refunded_said: 0,
            expires_at: Some((now + UNCLAIMED_FOR).timestamp()),
            version: 1,
        }
    }

    /// What went back or is on its way back; `None` if that is of several currencies.
    pub fn refunded(&self) -> Option<Money> {
        let live = self.refunds.values().filter(|it| it.progress.is_live());
        let mut sum = self.amount.map(|amount| Money::zero(amount.currency()));
        for refund in live {
            let before = sum.unwrap_or_else(|| Money::zero(refund.amount.currency()));
            sum = Some(before.checked_add(refund.amount).ok()?);
        }
        sum
    }

    /// What the booking must know of it.
    pub fn facts(&self) -> MoneyFacts {
        let (ours, others): (Vec<_>, Vec<_>) = self.refunds.iter().partition(is_ours);
        let keys = |wanted: fn(&Refund) -> bool| {
            let wanted = ours.iter().filter(move |(_, it)| wanted(it));
            wanted.map(|(key, _)| (*key).clone()).collect()
        };
        let disputes = self.disputes.iter().map(|(id, it)| {
            let disputed = Disputed {
                payment_ref: self.payment_ref.clone(),
                status: it.status,
                amount: it.amount,
            };
            (id.clone(), disputed)
        });
        let (returned, stranded) = self.tally();
        MoneyFacts {
            payment_ref: self.payment_ref.clone(),
            refunds: Refunds {
                returned,
                stranded,
                keys: keys(|_| true),
                dead: keys(|it| !it.progress.is_live()),
            },
            by_others: !others.is_empty(),
            disputes: disputes.collect(),
        }
    }

    /// What went back or is to, and how much of that came to nothing and is still owed; in minor
    /// units. What others give back first makes up for what came to nothing before, and so does an
    /// order that says so.
    fn tally(&self) -> (i64, i64) {
        let mut events: Vec<(DateTime<Utc>, u8, i64, Option<i64>)> = Vec::new();
        for (key, refund) in &self.refunds {
            let amount = refund.amount.minor();
            let ours = is_ours(&(key, refund));
            let went_at = match ours {
                true => refund.asked_at,
                false => refund.made_at.unwrap_or(refund.asked_at),
            };
            events.push((went_at, 0, amount, ours.then_some(refund.makes_up)));
            if !refund.progress.is_live() {
                let failed_at = refund.failed_at.unwrap_or(went_at).max(went_at);
                events.push((failed_at, 1, amount, None));
            }
        }
        events.sort_unstable();
        let (mut returned, mut stranded) = (0_i64, 0_i64);
        for (_, rank, amount, makes_up) in events {
            if rank == 1 {
                stranded += amount;
            } else {
                let made_up = makes_up.unwrap_or_else(|| stranded.clamp(0, amount));
                stranded -= made_up;
                returned += amount - made_up;
            }
        }
        (returned, stranded.max(0))
    }

    /// Whether the provider says that more went back than the refunds that are known.
    pub fn misses_refunds(&self) -> bool {
        let known: i64 = self
            .refunds
            .values()
            .filter_map(|it| match it.progress {
                Progress::Known(_) => Some(it.amount.minor()),
                Progress::Asked | Progress::Refused => None,
            })
            .sum();
        self.refunded_said > known
    }

    /// Whether this refund is to be asked for, and nothing is known of it.
    pub fn is_asked(&self, key: &str) -> bool {
        let progress = self.refunds.get(key).map(|it| it.progress);
        progress == Some(Progress::Asked)
    }

    /// The keys of refunds that were asked for and not answered.
    pub fn asked(&self) -> impl Iterator<Item = (&String, &Refund)> {
        self.refunds.iter().filter(|(_, it)| it.is_open())
    }

    /// When something of it must be looked up at the provider; nothing if all is known.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        self.refunds.values().filter_map(|it| it.look_at).min()
    }

    pub(super) fn key_of(&self, report: &RefundReport) -> String {
        let by_id = self
            .refunds
            .iter()
            .find(|(_, it)| it.refund_id.as_ref() == Some(&report.refund_id));
        match (by_id, &report.key) {
            (_, None) if planted::is(Defect::RefundCountedTwice) => {
                format!("{}#{}", report.refund_id, self.version)
            }
            (Some((key, _)), _) => key.clone(),
            (None, Some(key)) => key.clone(),
            (None, None) => report.refund_id.clone(),
        }
    }

    pub(super) fn changing(&self, what: &'static str) -> Change {
        Change {
            after: Self {
                version: self.version + 1,
                ..self.clone()
            },
            what,
            why: String::new(),
            cases: Vec::new(),
        }
    }
}

/// The index partition of due lookups.
pub fn lookup_shard(shard: u64) -> String {
    format!("LOOKUP#{shard}")
}

impl Row for PaymentRow {
    const NAME: &'static str = "payment";
    const KEY: &'static str = "event_id";

    fn key(&self) -> String {
        self.event_id.clone()
    }

    fn item(&self) -> Result<Item, serde_dynamo::Error> {
        use aws_sdk_dynamodb::types::AttributeValue;
        let mut item: Item = serde_dynamo::to_item(self)?;
        item.retain(|_, value| !value.is_null());
        if let Some(due_at) = self.due_at() {
            let sum = self.payment_ref.bytes().map(u64::from).sum::<u64>();
            let shard = lookup_shard(sum % LOOKUP_SHARDS);
            item.insert("state_shard".to_owned(), AttributeValue::S(shard));
            item.insert("due_at".to_owned(), AttributeValue::S(stamp(due_at)));
        }
        Ok(item)
    }
}
