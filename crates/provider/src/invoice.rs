//! Invoices as the API shows them, the payments towards them, and how one is asked to be paid.

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use paidonce_core::money::Money;
use serde::Deserialize;

use crate::failure::{FailureWire, PaymentFailure};
use crate::object::{Id, List, Object, instant, is_a, money};
use crate::wire::Form;

/// What shows an invoice's payments with their PaymentIntents.
pub(crate) const PAYMENTS: &str = "payments.data.payment.payment_intent";

/// An attempt to be made at paying an invoice. The same value under the same key is one attempt.
#[derive(Clone, Debug)]
pub struct PayInvoice<'a> {
    pub invoice_id: &'a str,
    /// What to charge; without it the invoice's, the subscription's or the customer's default.
    pub payment_method: Option<&'a str>,
    /// Depends on business facts alone, so that a repeat is known as one. At most 255 characters.
    pub idempotency_key: &'a str,
}

/// An Invoice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoice {
    pub id: String,
    /// The number that the customer reads; nothing of a draft.
    pub number: Option<String>,
    pub status: InvoiceStatus,
    pub customer: Option<String>,
    /// The subscription that it is of; nothing if it was made by hand or of a quote.
    pub subscription: Option<String>,
    pub amount_due: Money,
    pub amount_paid: Money,
    pub amount_remaining: Money,
    /// Of what was paid, what came by another way, such as cash.
    pub paid_off_provider: Money,
    /// By the provider's own calendar: attempts asked for through the API are not in it, but for
    /// the first.
    pub attempt_count: u32,
    /// When the provider itself will try again; nothing if it won't.
    pub next_payment_attempt: Option<DateTime<Utc>>,
    /// Where the customer can pay or authenticate; nothing of a draft.
    pub hosted_invoice_url: Option<String>,
    /// The invoice's own, which is charged before the subscription's and the customer's.
    pub default_payment_method: Option<String>,
    pub collection_method: CollectionMethod,
    pub created: DateTime<Utc>,
    pub paid_at: Option<DateTime<Utc>>,
    /// The payments towards it; none in a list of invoices, where they are not shown.
    pub payments: Vec<InvoicePayment>,
    /// Whether there are more payments than the provider put into the invoice.
    pub has_more_payments: bool,
    pub livemode: bool,
    /// Whether this is the stored answer to an earlier request under the same key: the invoice as
    /// it was then.
    pub replayed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Void,
    /// Given up, but it can still be paid.
    Uncollectible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectionMethod {
    ChargeAutomatically,
    /// The customer pays by a mail with a link; nobody charges them.
    SendInvoice,
}

/// One payment towards an invoice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvoicePayment {
    pub status: InvoicePaymentStatus,
    /// Nothing if it was paid in another way.
    pub payment_intent: Option<Intent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvoicePaymentStatus {
    Open,
    Paid,
    Canceled,
}

/// A PaymentIntent: the attempts at one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub id: String,
    pub status: IntentStatus,
    /// Why the latest attempt failed; nothing if it did not.
    pub last_error: Option<PaymentFailure>,
    pub latest_charge: Option<String>,
    pub payment_method: Option<String>,
    pub created: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentStatus {
    /// Also after a decline.
    RequiresPaymentMethod,
    RequiresConfirmation,
    /// The customer must authenticate.
    RequiresAction,
    Processing,
    RequiresCapture,
    Canceled,
    Succeeded,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    number: Option<String>,
    status: InvoiceStatus,
    customer: Option<Id>,
    parent: Option<Parent>,
    amount_due: i64,
    amount_paid: i64,
    amount_remaining: i64,
    amount_paid_off_stripe: Option<i64>,
    currency: String,
    attempt_count: u32,
    next_payment_attempt: Option<i64>,
    hosted_invoice_url: Option<String>,
    default_payment_method: Option<Id>,
    default_source: Option<Id>,
    collection_method: CollectionMethod,
    created: i64,
    status_transitions: Transitions,
    payments: Option<List<PaymentWire>>,
    livemode: bool,
}

#[derive(Deserialize)]
struct Parent {
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Deserialize)]
struct SubscriptionDetails {
    subscription: Id,
}

#[derive(Deserialize)]
struct Transitions {
    paid_at: Option<i64>,
}

#[derive(Deserialize)]
struct PaymentWire {
    status: InvoicePaymentStatus,
    payment: Payment,
}

#[derive(Deserialize)]
struct Payment {
    payment_intent: Option<IntentWire>,
}

#[derive(Deserialize)]
struct IntentWire {
    id: String,
    object: String,
    status: IntentStatus,
    last_payment_error: Option<FailureWire>,
    latest_charge: Option<Id>,
    payment_method: Option<Id>,
    created: i64,
}

impl Object for Invoice {
    type Wire = Wire;
    const LIST: &'static str = "/v1/invoices";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Invoice {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("invoice", &wire.object)?;
        let money = |amount| money(amount, &wire.currency);
        let details = wire.parent.and_then(|parent| parent.subscription_details);
        let paid_off_provider = wire.amount_paid_off_stripe.unwrap_or(0);
        let default = wire.default_payment_method.or(wire.default_source);
        let (payments, has_more_payments) = match wire.payments {
            Some(list) => list.into_parts()?,
            None => (Vec::new(), false),
        };
        let payments = payments.into_iter().map(InvoicePayment::try_from);
        Ok(Self {
            id: wire.id,
            number: wire.number,
            status: wire.status,
            customer: wire.customer.map(Id::into_string),
            subscription: details.map(|details| details.subscription.into_string()),
            amount_due: money(wire.amount_due)?,
            amount_paid: money(wire.amount_paid)?,
            amount_remaining: money(wire.amount_remaining)?,
            paid_off_provider: money(paid_off_provider)?,
            attempt_count: wire.attempt_count,
            next_payment_attempt: wire.next_payment_attempt.map(instant).transpose()?,
            hosted_invoice_url: wire.hosted_invoice_url,
            default_payment_method: default.map(Id::into_string),
            collection_method: wire.collection_method,
            created: instant(wire.created)?,
            paid_at: wire.status_transitions.paid_at.map(instant).transpose()?,
            payments: payments.collect::<Result<_, _>>()?,
            has_more_payments,
            livemode: wire.livemode,
            replayed: false,
        })
    }
}

impl TryFrom<PaymentWire> for InvoicePayment {
    type Error = String;

    fn try_from(wire: PaymentWire) -> Result<Self, String> {
        let intent = wire.payment.payment_intent.map(Intent::try_from);
        Ok(Self {
            status: wire.status,
            payment_intent: intent.transpose()?,
        })
    }
}

impl TryFrom<IntentWire> for Intent {
    type Error = String;

    fn try_from(wire: IntentWire) -> Result<Self, String> {
        is_a("payment_intent", &wire.object)?;
        let latest_charge = wire.latest_charge.map(Id::into_string);
        let last_error = wire.last_payment_error.map(|error| PaymentFailure {
            payment_intent: Some(wire.id.clone()),
            ..error.into()
        });
        Ok(Self {
            id: wire.id,
            status: wire.status,
            last_error,
            latest_charge,
            payment_method: wire.payment_method.map(Id::into_string),
            created: instant(wire.created)?,
        })
    }
}

impl PayInvoice<'_> {
    /// Writes the parameters, always in the same order.
    pub(crate) fn form(&self) -> Form {
        let mut form = Serializer::new(String::new());
        // Nobody is there to authenticate.
        form.append_pair("off_session", "true");
        if let Some(payment_method) = self.payment_method {
            form.append_pair("payment_method", payment_method);
        }
        form.append_pair("expand[]", PAYMENTS);
        Form(form.finish())
    }
}

#[cfg(test)]
mod tests;
