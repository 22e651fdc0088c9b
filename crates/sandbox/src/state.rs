//! Everything that the provider knows, and the timers that change it.

mod card;
mod dispute;
mod refund;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::billing::Billing;
use crate::idempotency::Keys;
use crate::ids::Ids;
use crate::trouble::Trouble;
use crate::webhooks::Webhooks;
use crate::{Options, debits, refunds, sessions};

pub(crate) use card::Card;
pub(crate) use dispute::{Dispute, DisputeStatus, Movement};
pub(crate) use refund::{Refund, RefundCourse, RefundStatus};

pub(crate) type Metadata = BTreeMap<String, String>;

/// The whole account. Ids sort by creation, so each map is in the order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Not in a snapshot: it holds secrets, and the next process brings its own.
    #[serde(skip)]
    pub(crate) options: Options,
    pub(crate) ids: Ids,
    pub(crate) keys: Keys,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) intents: BTreeMap<String, Intent>,
    pub(crate) charges: BTreeMap<String, Charge>,
    pub(crate) refunds: BTreeMap<String, Refund>,
    #[serde(default)]
    pub(crate) disputes: BTreeMap<String, Dispute>,
    /// How the next refund is answered, whatever its card.
    #[serde(default)]
    pub(crate) next_refund: Option<RefundStatus>,
    #[serde(default)]
    pub(crate) billing: Billing,
    pub(crate) webhooks: Webhooks,
    #[serde(default)]
    pub(crate) trouble: Trouble,
    timers: BTreeSet<(DateTime<Utc>, Timer)>,
    /// The API request that is being answered; events name it.
    #[serde(skip)]
    pub(crate) cause: Option<Cause>,
}

/// What made an event: nothing for what a customer or the time did.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub(crate) request_id: String,
    pub(crate) idempotency_key: Option<String>,
}

/// Something that happens by itself, to the session or refund of that id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Timer {
    Expire(String),
    Settle(String),
    SettleRefund(String),
}

/// A Checkout Session: one page that takes one payment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) amount_total: i64,
    pub(crate) currency: String,
    pub(crate) description: String,
    pub(crate) client_reference_id: Option<String>,
    pub(crate) customer_email: Option<String>,
    pub(crate) metadata: Metadata,
    pub(crate) intent_metadata: Metadata,
    pub(crate) payment_method_types: Vec<String>,
    pub(crate) success_url: String,
    pub(crate) cancel_url: Option<String>,
    pub(crate) status: SessionStatus,
    pub(crate) paid: bool,
    /// Made by the first attempt to pay.
    pub(crate) payment_intent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStatus {
    Open,
    Complete,
    Expired,
}

impl SessionStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Expired => "expired",
        }
    }
}

/// A PaymentIntent: the attempts to take one amount.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) metadata: Metadata,
    pub(crate) status: IntentStatus,
    pub(crate) latest_charge: Option<String>,
    pub(crate) last_error: Option<LastError>,
    /// The last three are there only if it is for an invoice.
    #[serde(default)]
    pub(crate) customer: Option<String>,
    #[serde(default)]
    pub(crate) payment_method: Option<String>,
    #[serde(default)]
    pub(crate) invoice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntentStatus {
    RequiresPaymentMethod,
    RequiresAction,
    Processing,
    Succeeded,
    Canceled,
}

impl IntentStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
        }
    }
}

/// Why the last attempt failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LastError {
    pub(crate) code: String,
    pub(crate) decline_code: Option<String>,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) advice_code: Option<String>,
    #[serde(default)]
    pub(crate) network_decline_code: Option<String>,
    #[serde(default)]
    pub(crate) network_advice_code: Option<String>,
    /// The payment method as it was shown then.
    #[serde(default)]
    pub(crate) payment_method: Option<serde_json::Value>,
}

/// A Charge: one attempt that reached the bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) payment_intent: String,
    pub(crate) amount: i64,
    pub(crate) amount_captured: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) currency: String,
    /// The provider's own fee, taken from the balance and not given back by a refund.
    pub(crate) fee: i64,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) metadata: Metadata,
    pub(crate) status: ChargeStatus,
    pub(crate) method: Method,
    pub(crate) failure: Option<LastError>,
    /// Whether it was ever disputed, or asked about.
    #[serde(default)]
    pub(crate) disputed: bool,
    #[serde(default)]
    pub(crate) refund_course: RefundCourse,
    #[serde(default)]
    pub(crate) customer: Option<String>,
    #[serde(default)]
    pub(crate) payment_method: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChargeStatus {
    Pending,
    Succeeded,
    Failed,
}

impl ChargeStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// What was paid with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    Card(Card),
    BankDebit,
    /// Neither of both, by the provider's name of it, such as `cashapp`.
    Other(String),
}

impl State {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            ids: Ids::new(options.seed),
            options,
            ..Self::default()
        }
    }

    /// Finds the charge of that id, or the latest one of the PaymentIntent of that id.
    pub(crate) fn charge_of(&self, payment: &str) -> Option<&Charge> {
        let intent = self.intents.get(payment);
        let latest = intent.and_then(|intent| intent.latest_charge.as_deref());
        self.charges.get(latest.unwrap_or(payment))
    }

    /// Lets happen what was due by `now`, each at its own time.
    pub(crate) fn advance(&mut self, now: DateTime<Utc>) {
        while let Some((due, _)) = self.timers.first()
            && *due <= now
        {
            let Some((due, timer)) = self.timers.pop_first() else {
                return;
            };
            match timer {
                Timer::Expire(session) => sessions::close(self, &session, due),
                Timer::Settle(session) => debits::settle_due(self, &session, due),
                Timer::SettleRefund(refund) => refunds::settle_due(self, &refund, due),
            }
        }
    }

    pub(crate) fn start_timer(&mut self, due: DateTime<Utc>, timer: Timer) {
        self.timers.insert((due, timer));
    }

    pub(crate) fn stop_timer(&mut self, due: DateTime<Utc>, timer: Timer) {
        self.timers.remove(&(due, timer));
    }

    /// Returns when something will happen by itself: a timer or a delivery.
    pub(crate) fn due_at(&self) -> Option<DateTime<Utc>> {
        let timer = self.timers.first().map(|(due, _)| *due);
        [timer, self.webhooks.due_at()].into_iter().flatten().min()
    }
}
