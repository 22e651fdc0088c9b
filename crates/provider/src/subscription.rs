//! Subscriptions as the API shows them.

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use serde::Deserialize;

use crate::invoice::CollectionMethod;
use crate::object::{Id, Object, instant, is_a};
use crate::wire::Form;

/// What shows a subscription with its customer, for the customer's default payment method.
pub(crate) const CUSTOMER: &str = "customer";

/// A Subscription. What it charges is its own default payment method, or else the customer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub id: String,
    pub status: SubscriptionStatus,
    pub customer: String,
    /// Whether the customer was deleted at the provider.
    pub customer_deleted: bool,
    pub customer_default_payment_method: Option<String>,
    pub default_payment_method: Option<String>,
    pub latest_invoice: Option<String>,
    pub collection_method: CollectionMethod,
    /// Whether somebody stopped the collection of its invoices for now.
    pub collection_paused: bool,
    pub cancel_at_period_end: bool,
    /// When it was ordered to end, which may be before it ends.
    pub canceled_at: Option<DateTime<Utc>>,
    pub livemode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionStatus {
    /// Its first invoice isn't paid yet.
    Incomplete,
    /// Its first invoice was not paid within 23 hours; it has ended.
    IncompleteExpired,
    Trialing,
    Active,
    PastDue,
    Canceled,
    /// The provider has given up; it makes invoices, but charges none.
    Unpaid,
    Paused,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    status: SubscriptionStatus,
    customer: Customer,
    default_payment_method: Option<Id>,
    default_source: Option<Id>,
    latest_invoice: Option<Id>,
    collection_method: CollectionMethod,
    pause_collection: Option<Pause>,
    cancel_at_period_end: bool,
    canceled_at: Option<i64>,
    livemode: bool,
}

#[derive(Deserialize)]
struct Customer {
    id: String,
    object: String,
    #[serde(default)]
    deleted: bool,
    default_source: Option<Id>,
    invoice_settings: Option<InvoiceSettings>,
}

#[derive(Deserialize)]
struct InvoiceSettings {
    default_payment_method: Option<Id>,
}

#[derive(Deserialize)]
struct Pause {}

impl Object for Subscription {
    type Wire = Wire;
    const LIST: &'static str = "/v1/subscriptions";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Subscription {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("subscription", &wire.object)?;
        is_a("customer", &wire.customer.object)?;
        let settings = wire.customer.invoice_settings;
        // A payment method comes before a source of the time before there were any.
        let customers = settings.and_then(|settings| settings.default_payment_method);
        let customers = customers.or(wire.customer.default_source);
        let own = wire.default_payment_method.or(wire.default_source);
        Ok(Self {
            id: wire.id,
            status: wire.status,
            customer: wire.customer.id,
            customer_deleted: wire.customer.deleted,
            customer_default_payment_method: customers.map(Id::into_string),
            default_payment_method: own.map(Id::into_string),
            latest_invoice: wire.latest_invoice.map(Id::into_string),
            collection_method: wire.collection_method,
            collection_paused: wire.pause_collection.is_some(),
            cancel_at_period_end: wire.cancel_at_period_end,
            canceled_at: wire.canceled_at.map(instant).transpose()?,
            livemode: wire.livemode,
        })
    }
}

/// Writes the parameters that make a payment method the one that is charged first.
pub(crate) fn card_form(payment_method: &str) -> Form {
    let mut form = Serializer::new(String::new());
    form.append_pair("default_payment_method", payment_method)
        .append_pair("expand[]", CUSTOMER);
    Form(form.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn parse(change: impl FnOnce(&mut Value)) -> Result<Subscription, String> {
        let mut value = json!({
            "cancel_at_period_end": false, "canceled_at": null,
            "collection_method": "charge_automatically", "created": 1_234_567_890,
            "customer": {
                "id": "cus_1", "object": "customer", "default_source": "card_1",
                "invoice_settings": { "default_payment_method": "pm_2", "footer": null },
            },
            "default_payment_method": null, "default_source": null, "id": "sub_1",
            "latest_invoice": { "id": "in_1", "object": "invoice" }, "livemode": false,
            "object": "subscription", "pause_collection": null, "status": "past_due",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn a_subscriptions_own_method_is_told_from_the_customers() {
        let subscription = parse(|_| {}).unwrap();
        assert_eq!(subscription.status, SubscriptionStatus::PastDue);
        assert_eq!(subscription.customer, "cus_1");
        assert_eq!(subscription.latest_invoice.as_deref(), Some("in_1"));
        assert_eq!(subscription.default_payment_method, None);
        let customers = subscription.customer_default_payment_method;
        assert_eq!(customers.as_deref(), Some("pm_2"));
        let own = parse(|value| value["default_payment_method"] = json!({ "id": "pm_1" })).unwrap();
        assert_eq!(own.default_payment_method.as_deref(), Some("pm_1"));
    }

    #[test]
    fn an_old_source_counts_where_there_is_no_method() {
        let old = parse(|value| {
            value["customer"]["invoice_settings"]["default_payment_method"] = Value::Null;
            value["default_source"] = "card_2".into();
        });
        let old = old.unwrap();
        assert_eq!(old.default_payment_method.as_deref(), Some("card_2"));
        let customers = old.customer_default_payment_method;
        assert_eq!(customers.as_deref(), Some("card_1"));
    }

    #[test]
    fn a_deleted_customer_has_nothing_to_charge() {
        let gone = json!({ "id": "cus_1", "object": "customer", "deleted": true });
        let subscription = parse(|value| value["customer"] = gone).unwrap();
        assert!(subscription.customer_deleted);
        assert_eq!(subscription.customer_default_payment_method, None);
    }

    #[test]
    fn paused_collection_is_seen_and_no_status_is_guessed() {
        let pause = json!({ "behavior": "void", "resumes_at": null });
        let paused = parse(|value| value["pause_collection"] = pause).unwrap();
        assert!(paused.collection_paused && !parse(|_| {}).unwrap().collection_paused);
        assert!(parse(|value| value["status"] = "dormant".into()).is_err());
        assert!(parse(|value| value["customer"] = "cus_1".into()).is_err());
    }
}
