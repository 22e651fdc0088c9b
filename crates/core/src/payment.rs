//! The ledger of the provider's events (`bdc-payments`): what each said, and what became of it.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::step::Row;

/// How long an event is remembered. The state condition is the guarantee, not this.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(35);

/// What became of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It confirmed the booking.
    Confirmed,
    /// It said what was known already.
    Already,
    /// The payment is under way: the booking waits for it.
    AwaitingFunds,
    /// The payment that was under way has failed.
    FundsFailed,
    /// It has no bearing on the booking as it stands now.
    Overtaken,
    /// The money goes back.
    Refunded,
    /// It says what became of a payment's money.
    Reported,
    /// The payment page is over.
    PageClosed,
    /// A person decides: see the case.
    Escalated,
    /// A test event on a live deployment, or the other way round.
    WrongMode,
    /// Made for another account.
    ForeignAccount,
}

impl Outcome {
    /// Returns the name that ledger and audit rows carry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Already => "already",
            Self::AwaitingFunds => "awaiting_funds",
            Self::FundsFailed => "funds_failed",
            Self::Overtaken => "overtaken",
            Self::Refunded => "refunded",
            Self::Reported => "reported",
            Self::PageClosed => "page_closed",
            Self::Escalated => "escalated",
            Self::WrongMode => "wrong_mode",
            Self::ForeignAccount => "foreign_account",
        }
    }
}

/// One event of the provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventRow {
    pub event_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// When the provider made it.
    pub created: DateTime<Utc>,
    pub received_at: DateTime<Utc>,
    pub booking_id: Option<String>,
    /// The provider's id of the payment.
    pub payment_ref: Option<String>,
    pub amount: Option<Money>,
    pub outcome: Outcome,
    /// Epoch seconds.
    pub expires_at: i64,
}

impl Row for EventRow {
    const NAME: &'static str = "payment event";
    const KEY: &'static str = "event_id";

    fn key(&self) -> String {
        self.event_id.clone()
    }
}
