//! Charges as the API shows them: what was taken, and what went back.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use paidonce_core::money::Money;
use serde::Deserialize;

use crate::card::{Card, CardWire};
use crate::object::{Id, Object, instant, is_a, money};

/// A Charge: one attempt to take money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    pub id: String,
    pub payment_intent: Option<String>,
    pub status: ChargeStatus,
    /// Whether the money was taken, or will be if it is captured.
    pub paid: bool,
    /// Nothing of a charge that failed.
    pub amount_captured: Money,
    /// By refunds that have not failed. What a bank took in a dispute is not in it.
    pub amount_refunded: Money,
    /// Whether a bank ever disputed it or asked about it, whatever came of that.
    pub disputed: bool,
    pub created: DateTime<Utc>,
    /// That of the payment, as it was when the charge was made.
    pub metadata: BTreeMap<String, String>,
    pub livemode: bool,
    pub customer: Option<String>,
    pub payment_method: Option<String>,
    /// The card as it was charged, with the network that it went over.
    pub card: Option<Card>,
    /// Why it failed, such as `card_declined`; nothing of a charge that did not.
    pub failure_code: Option<String>,
    /// What the networks and the provider's own rules made of it.
    pub outcome: Option<ChargeOutcome>,
}

/// How a charge was judged. See <https://docs.stripe.com/api/charges/object#charge_object-outcome>.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ChargeOutcome {
    /// Such as `authorized`, `issuer_declined`, `blocked` or `invalid`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Of what the bank declined, its decline code, such as `insufficient_funds`.
    pub reason: Option<String>,
    /// `approved_by_network`, `declined_by_network`, `not_sent_to_network` or
    /// `reversed_after_approval`.
    pub network_status: Option<String>,
    pub advice_code: Option<String>,
    pub network_decline_code: Option<String>,
    pub network_advice_code: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargeStatus {
    Succeeded,
    Pending,
    Failed,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    payment_intent: Option<String>,
    status: ChargeStatus,
    paid: bool,
    amount_captured: i64,
    amount_refunded: i64,
    currency: String,
    disputed: bool,
    created: i64,
    metadata: Option<BTreeMap<String, String>>,
    livemode: bool,
    customer: Option<Id>,
    payment_method: Option<Id>,
    payment_method_details: Option<Details>,
    failure_code: Option<String>,
    outcome: Option<ChargeOutcome>,
}

#[derive(Deserialize)]
struct Details {
    card: Option<CardWire>,
}

impl Object for Charge {
    type Wire = Wire;
    const LIST: &'static str = "/v1/charges";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Charge {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("charge", &wire.object)?;
        let card = wire.payment_method_details.and_then(|details| details.card);
        Ok(Self {
            id: wire.id,
            payment_intent: wire.payment_intent,
            status: wire.status,
            paid: wire.paid,
            amount_captured: money(wire.amount_captured, &wire.currency)?,
            amount_refunded: money(wire.amount_refunded, &wire.currency)?,
            disputed: wire.disputed,
            created: instant(wire.created)?,
            metadata: wire.metadata.unwrap_or_default(),
            livemode: wire.livemode,
            customer: wire.customer.map(Id::into_string),
            payment_method: wire.payment_method.map(Id::into_string),
            card: card.map(Card::from),
            failure_code: wire.failure_code,
            outcome: wire.outcome,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn parse(change: impl FnOnce(&mut Value)) -> Result<Charge, String> {
        let mut value = json!({
            "amount": 100, "amount_captured": 0, "amount_refunded": 0, "captured": false,
            "created": 1_234_567_890, "currency": "usd", "customer": "cus_1", "disputed": false,
            "failure_code": "card_declined", "id": "ch_1", "livemode": false, "metadata": {},
            "object": "charge",
            "outcome": {
                "advice_code": "do_not_try_again", "network_advice_code": "02",
                "network_decline_code": "57", "network_status": "declined_by_network",
                "reason": "transaction_not_allowed", "type": "issuer_declined",
            },
            "paid": false, "payment_intent": "pi_1", "payment_method": "pm_1",
            "payment_method_details": {
                "card": {
                    "brand": "visa", "country": "US", "exp_month": 8, "exp_year": 2030,
                    "fingerprint": "AOB934RVNwzk6xtn", "last4": "4242", "network": "visa",
                },
                "type": "card",
            },
            "status": "failed",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn a_failed_charge_tells_its_card_and_who_turned_it_down() {
        let charge = parse(|_| {}).unwrap();
        assert_eq!((charge.status, charge.paid), (ChargeStatus::Failed, false));
        assert_eq!(charge.customer.as_deref(), Some("cus_1"));
        assert_eq!(charge.payment_method.as_deref(), Some("pm_1"));
        assert_eq!(charge.failure_code.as_deref(), Some("card_declined"));
        let card = charge.card.unwrap();
        assert_eq!(card.fingerprint.as_deref(), Some("AOB934RVNwzk6xtn"));
        assert_eq!(card.network.as_deref(), Some("visa"));
        let outcome = charge.outcome.unwrap();
        assert_eq!(outcome.reason.as_deref(), Some("transaction_not_allowed"));
        assert_eq!(
            outcome.network_status.as_deref(),
            Some("declined_by_network")
        );
        assert_eq!(outcome.network_advice_code.as_deref(), Some("02"));
    }

    #[test]
    fn what_only_billing_reads_may_be_missing() {
        let charge = parse(|value| {
            for name in ["customer", "payment_method", "outcome", "failure_code"] {
                value[name].take();
            }
            value["payment_method_details"] = json!({ "type": "sepa_debit" });
        });
        let charge = charge.unwrap();
        assert_eq!((charge.customer, charge.outcome), (None, None));
        assert_eq!((charge.card, charge.failure_code), (None, None));
        assert!(parse(|value| value["status"] = "shaky".into()).is_err());
    }
}
