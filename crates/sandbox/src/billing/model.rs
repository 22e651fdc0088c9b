//! What billing keeps.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::state::{Card, LastError, Metadata};

use super::faults::{Fault, Held};

/// All of billing, each by its id. A snapshot from before there was billing has none of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Billing {
    pub(crate) customers: BTreeMap<String, Customer>,
    pub(crate) methods: BTreeMap<String, PaymentMethod>,
    pub(crate) products: BTreeMap<String, Product>,
    pub(crate) prices: BTreeMap<String, Price>,
    pub(crate) subscriptions: BTreeMap<String, Subscription>,
    pub(crate) invoices: BTreeMap<String, Invoice>,
    pub(crate) setup_intents: BTreeMap<String, SetupIntent>,
    pub(crate) portal_sessions: BTreeMap<String, PortalSession>,
    /// What becomes of the next `POST /v1/invoices/{id}/pay`.
    pub(crate) next_pay: Option<Fault>,
    /// The request that is still being done.
    pub(crate) held: Option<Held>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Customer {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) email: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) phone: Option<String>,
    pub(crate) metadata: Metadata,
    pub(crate) default_payment_method: Option<String>,
    /// How many invoices there were.
    pub(crate) invoice_count: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PaymentMethod {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) kind: MethodKind,
    /// Whose it is, once it is attached.
    pub(crate) customer: Option<String>,
    pub(crate) metadata: Metadata,
    /// Whether its owner has confirmed a payment once.
    pub(crate) confirmed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MethodKind {
    /// The number is one of the test cards', which decides what a charge comes to.
    Card {
        number: String,
        card: Card,
    },
    Other(String),
}

impl PaymentMethod {
    /// What stands for the account that is charged, however often it was saved.
    pub(crate) fn fingerprint(&self) -> &str {
        match &self.kind {
            MethodKind::Card { card, .. } => &card.fingerprint,
            MethodKind::Other(_) => &self.id,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Product {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Price {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) product: String,
    pub(crate) currency: String,
    pub(crate) unit_amount: i64,
    pub(crate) interval: Interval,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Interval {
    Day,
    Week,
    Month,
    Year,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) customer: String,
    pub(crate) items: Vec<Item>,
    pub(crate) default_payment_method: Option<String>,
    pub(crate) metadata: Metadata,
    pub(crate) status: SubscriptionStatus,
    pub(crate) latest_invoice: Option<String>,
    pub(crate) period_start: DateTime<Utc>,
    pub(crate) period_end: DateTime<Utc>,
    pub(crate) canceled_at: Option<DateTime<Utc>>,
    pub(crate) canceled_by: Option<CanceledBy>,
    /// Why its card is being declined whatever the card itself would do.
    pub(crate) failing: Option<Failing>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) price: String,
    pub(crate) quantity: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubscriptionStatus {
    Incomplete,
    Active,
    PastDue,
    Unpaid,
    Canceled,
}

impl SubscriptionStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Unpaid => "unpaid",
            Self::Canceled => "canceled",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CanceledBy {
    /// A request with the API key.
    Api,
    /// The customer, in the portal.
    Customer,
    /// The provider, when its own retries were over.
    Provider,
}

/// Declines of one card, until they are used up or the card changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failing {
    pub(crate) fingerprint: String,
    pub(crate) refusal: LastError,
    /// How many tries still fail; all of them if absent.
    pub(crate) times: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Invoice {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) number: String,
    pub(crate) customer: String,
    pub(crate) subscription: Option<String>,
    /// The subscription's, as it was when the invoice was made.
    pub(crate) subscription_metadata: Metadata,
    pub(crate) reason: Reason,
    pub(crate) currency: String,
    pub(crate) description: String,
    pub(crate) total: i64,
    /// Credit notes from before it was paid.
    pub(crate) credited: i64,
    pub(crate) amount_paid: i64,
    pub(crate) amount_paid_off_stripe: i64,
    pub(crate) status: InvoiceStatus,
    pub(crate) attempted: bool,
    pub(crate) attempt_count: u32,
    pub(crate) metadata: Metadata,
    pub(crate) default_payment_method: Option<String>,
    /// Names the link between the invoice and its PaymentIntent.
    pub(crate) payment: String,
    pub(crate) payment_intent: Option<String>,
    pub(crate) period_start: DateTime<Utc>,
    pub(crate) period_end: DateTime<Utc>,
    pub(crate) paid_at: Option<DateTime<Utc>>,
    pub(crate) voided_at: Option<DateTime<Utc>>,
    pub(crate) uncollectible_at: Option<DateTime<Utc>>,
}

impl Invoice {
    pub(crate) fn due(&self) -> i64 {
        self.total - self.credited
    }

    pub(crate) fn remaining(&self) -> i64 {
        self.due() - self.amount_paid
    }
}

/// What about its subscription an invoice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    Create,
    Cycle,
    Change,
}

impl Reason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "subscription_create",
            Self::Cycle => "subscription_cycle",
            Self::Change => "subscription_update",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Uncollectible,
    Void,
}

impl InvoiceStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Uncollectible => "uncollectible",
            Self::Void => "void",
        }
    }
}

/// The proof that a card was saved by its owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SetupIntent {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) customer: String,
    pub(crate) payment_method: String,
}

/// A page on which a customer changes the card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PortalSession {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) customer: String,
    pub(crate) return_url: Option<String>,
    /// Whether the page is for the card alone, and leads back when that is done.
    pub(crate) only_card: bool,
}
