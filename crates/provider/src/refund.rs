//! Refunds as the API shows them, and as they are asked for.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use paidonce_core::money::{Money, MoneyError};
use paidonce_core::refund::RefundStatus;
use serde::Deserialize;

use crate::object::{Object, instant, is_a, money};
use crate::wire::Form;

/// A refund that is to be made. The same value under the same key is one refund.
#[derive(Clone, Debug)]
pub struct NewRefund<'a> {
    /// The PaymentIntent.
    pub payment_ref: &'a str,
    pub amount: Money,
    /// Comes back with the refund and its events, and with nothing else.
    pub metadata: BTreeMap<String, String>,
    /// Depends on business facts alone, so that a repeat is known as one. At most 255 characters.
    pub idempotency_key: &'a str,
}

/// A Refund, ours or one that a person made in the provider's dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    pub id: String,
    pub payment_intent: Option<String>,
    pub charge: Option<String>,
    pub amount: Money,
    /// May still change for weeks: a bank sends back even what has succeeded.
    pub status: RefundStatus,
    pub created: DateTime<Utc>,
    pub metadata: BTreeMap<String, String>,
    /// Such as `expired_or_canceled_card` or `charge_for_pending_refund_disputed`.
    pub failure_reason: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    payment_intent: Option<String>,
    charge: Option<String>,
    amount: i64,
    currency: String,
    status: RefundStatus,
    created: i64,
    metadata: Option<BTreeMap<String, String>>,
    failure_reason: Option<String>,
}

impl Object for Refund {
    type Wire = Wire;
    const LIST: &'static str = "/v1/refunds";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Refund {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("refund", &wire.object)?;
        Ok(Self {
            id: wire.id,
            payment_intent: wire.payment_intent,
            charge: wire.charge,
            amount: money(wire.amount, &wire.currency)?,
            status: wire.status,
            created: instant(wire.created)?,
            metadata: wire.metadata.unwrap_or_default(),
            failure_reason: wire.failure_reason,
        })
    }
}

impl NewRefund<'_> {
    /// Writes the parameters, always in the same order.
    pub(crate) fn form(&self) -> Result<Form, MoneyError> {
        let amount = self.amount.to_stripe()?.to_string();
        let mut form = Serializer::new(String::new());
        form.append_pair("payment_intent", self.payment_ref)
            .append_pair("amount", &amount);
        for (name, value) in &self.metadata {
            form.append_pair(&format!("metadata[{name}]"), value);
        }
        Ok(Form(form.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn parse(change: impl FnOnce(&mut Value)) -> Result<Refund, String> {
        let mut value = json!({
            "amount": 100, "balance_transaction": null, "charge": "ch_1", "created": 1_234_567_890,
            "currency": "usd", "destination_details": { "card": { "type": "reversal" }, "type": "card" },
            "id": "re_1", "metadata": {}, "object": "refund", "payment_intent": null, "reason": null,
            "receipt_number": null, "status": "succeeded",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn what_the_provider_leaves_out_is_nothing() {
        let refund = parse(|_| {}).unwrap();
        assert_eq!((refund.payment_intent, refund.failure_reason), (None, None));
        assert_eq!(refund.charge.as_deref(), Some("ch_1"));
    }

    #[test]
    fn a_status_that_nobody_knows_yet_is_not_guessed() {
        assert!(parse(|value| value["status"] = "reversed".into()).is_err());
        assert!(parse(|value| value["status"] = Value::Null).is_err());
        assert!(parse(|value| value["amount"] = (-100).into()).is_err());
        assert!(parse(|value| value["object"] = "charge".into()).is_err());
    }
}
