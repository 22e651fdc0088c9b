//! What was seen or done before: events, invoices that were paid before they failed for us, the mail
//! of a day. Rows of `dunr-dedupe`, each written in one step with what it guards.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::step::Row;

/// How long such a row is kept. The provider sends an event again for three days at most.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(35);

/// One row of `dunr-dedupe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The provider's id of the event, or one of the keys below.
    pub event_id: String,
    /// The event's type, or what else it was.
    pub kind: String,
    /// What became of it.
    pub outcome: String,
    pub subscription_id: Option<String>,
    pub invoice_id: Option<String>,
    pub seen_at: DateTime<Utc>,
    /// Epoch seconds.
    pub expires_at: i64,
}

impl Seen {
    pub fn new(event_id: impl Into<String>, kind: &str, outcome: &str, now: DateTime<Utc>) -> Self {
        Self {
            event_id: event_id.into(),
            kind: kind.to_owned(),
            outcome: outcome.to_owned(),
            subscription_id: None,
            invoice_id: None,
            seen_at: now,
            expires_at: (now + KEPT_FOR).timestamp(),
        }
    }
}

impl Row for Seen {
    const NAME: &'static str = "seen";
    const KEY: &'static str = "event_id";

    fn key(&self) -> String {
        self.event_id.clone()
    }
}

/// The key of the note that an invoice needs no money, made when nothing was known of it: its
/// failure may be reported later.
pub fn ended_invoice_key(invoice_id: &str) -> String {
    format!("invoice#{invoice_id}")
}

/// The key of the note that a subscription has ended, made when nothing was known of it: the failure
/// of one of its invoices may be reported later.
pub fn ended_subscription_key(subscription_id: &str) -> String {
    format!("subscription#{subscription_id}")
}

/// The key of the one mail that a customer gets on a day.
pub fn mail_of_day_key(customer_id: &str, day: NaiveDate) -> String {
    format!("mail#{customer_id}#{day}")
}

/// The key of the one summary of a month, such as `2026-11`.
pub fn summary_key(month: &str) -> String {
    format!("summary#{month}")
}
