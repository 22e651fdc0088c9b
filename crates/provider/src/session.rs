//! Checkout Sessions as the API shows them, and as they are asked for.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use paidonce_core::money::{Money, MoneyError};
use serde::Deserialize;

use crate::object::{Object, instant, is_a, money};
use crate::wire::Form;

/// What a new session is for. The same value under the same key is one session.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    /// Comes back as `client_reference_id` and in the metadata of session and payment.
    pub booking_id: &'a str,
    /// What the customer reads above the amount.
    pub description: &'a str,
    pub amount: Money,
    /// 30 minutes to 24 hours from now; whole seconds.
    pub expires_at: DateTime<Utc>,
    pub success_url: &'a str,
    pub cancel_url: Option<&'a str>,
    /// More metadata; `booking_id` is added.
    pub metadata: BTreeMap<String, String>,
    /// Depends on business facts alone, so that a repeat is known as one. At most 255 characters.
    pub idempotency_key: &'a str,
}

/// A Checkout Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub status: SessionStatus,
    pub payment_status: PaymentStatus,
    /// Where to pay; only of an open session.
    pub url: Option<String>,
    pub amount: Money,
    pub created: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub client_reference_id: Option<String>,
    pub payment_intent: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub livemode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Open,
    /// The customer is done; whether the money has come is in the payment status.
    Complete,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentStatus {
    Paid,
    /// Of a complete session: the money is on its way, or did not come.
    Unpaid,
    NoPaymentRequired,
}

/// What an attempt to expire a session found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nobody can pay with it any more, from now or from before.
    Expired,
    /// The customer was faster.
    Complete(Box<Session>),
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    status: SessionStatus,
    payment_status: PaymentStatus,
    url: Option<String>,
    amount_total: i64,
    currency: String,
    created: i64,
    expires_at: i64,
    client_reference_id: Option<String>,
    payment_intent: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    livemode: bool,
}

impl Object for Session {
    type Wire = Wire;
    const LIST: &'static str = "/v1/checkout/sessions";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Session {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("checkout.session", &wire.object)?;
        Ok(Self {
            id: wire.id,
            status: wire.status,
            payment_status: wire.payment_status,
            url: wire.url,
            amount: money(wire.amount_total, &wire.currency)?,
            created: instant(wire.created)?,
            expires_at: instant(wire.expires_at)?,
            client_reference_id: wire.client_reference_id,
            payment_intent: wire.payment_intent,
            metadata: wire.metadata.unwrap_or_default(),
            livemode: wire.livemode,
        })
    }
}

impl NewSession<'_> {
    /// Writes the parameters, always in the same order.
    pub(crate) fn form(&self) -> Result<Form, MoneyError> {
        let amount = self.amount.to_stripe()?.to_string();
        let currency = self.amount.currency().code().to_lowercase();
        let expires_at = self.expires_at.timestamp().to_string();
        let price = |name: &str| format!("line_items[0][price_data]{name}");
        let mut form = Serializer::new(String::new());
        form.append_pair("mode", "payment")
            // A card is paid at once; a debit that arrives days later can't hold a slot.
            .append_pair("payment_method_types[0]", "card")
            .append_pair("client_reference_id", self.booking_id)
            .append_pair("expires_at", &expires_at)
            .append_pair("success_url", self.success_url)
            .append_pair("line_items[0][quantity]", "1")
            .append_pair(&price("[currency]"), &currency)
            .append_pair(&price("[unit_amount]"), &amount)
            .append_pair(&price("[product_data][name]"), self.description);
        if let Some(cancel_url) = self.cancel_url {
            form.append_pair("cancel_url", cancel_url);
        }
        let mut metadata = self.metadata.clone();
        metadata.insert("booking_id".to_owned(), self.booking_id.to_owned());
        for (name, value) in &metadata {
            form.append_pair(&format!("metadata[{name}]"), value);
            form.append_pair(&format!("payment_intent_data[metadata][{name}]"), value);
        }
        Ok(Form(form.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn shown() -> Value {
        json!({
            "id": "cs_test_1", "object": "checkout.session", "status": "open",
            "payment_status": "unpaid", "url": "https://pay.example/1", "amount_total": 2000,
            "currency": "gbp", "created": 1_784_034_000, "expires_at": 1_784_037_600,
            "client_reference_id": "b-1", "payment_intent": null, "metadata": { "booking_id": "b-1" },
            "livemode": false, "something_new": { "deep": [1] },
        })
    }

    fn parse(change: impl FnOnce(&mut Value)) -> Result<Session, String> {
        let mut value = shown();
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn unknown_fields_are_nothing_to_us() {
        let session = parse(|_| {}).unwrap();
        assert_eq!(session.amount, Money::from_stripe(2000, "gbp").unwrap());
        assert_eq!(session.metadata["booking_id"], "b-1");
    }

    #[test]
    fn known_fields_are_read_strictly() {
        assert!(parse(|value| value["status"] = "paused".into()).is_err());
        assert!(parse(|value| value["amount_total"] = Value::Null).is_err());
        assert!(parse(|value| value["amount_total"] = 20.5.into()).is_err());
        assert!(parse(|value| value["currency"] = "gold".into()).is_err());
        assert!(parse(|value| value["object"] = "charge".into()).is_err());
    }
}
