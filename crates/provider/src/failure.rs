//! Why a payment failed, as far as the provider, the network and the bank tell.

use serde::Deserialize;
use serde_json::Value;

use crate::card::{Card, PaymentMethod};
use crate::object::Id;

/// A payment that was attempted and failed: a refusal's `error` or a payment's
/// `last_payment_error`. No field is ever made up: what nobody said is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentFailure {
    /// The provider's own, such as `card_declined`, `expired_card` or `authentication_required`.
    pub code: Option<String>,
    /// The bank's reason as the provider names it, such as `insufficient_funds`.
    pub decline_code: Option<String>,
    /// `confirm_card_data`, `do_not_try_again` or `try_again_later`.
    pub advice_code: Option<String>,
    /// The network's own code for the reason, such as `51`.
    pub network_decline_code: Option<String>,
    /// The network's own code for how to go on, such as Mastercard's `03`.
    pub network_advice_code: Option<String>,
    /// What was to be charged.
    pub payment_method: Option<String>,
    /// Such as `card`.
    pub method_kind: Option<String>,
    pub card: Option<Card>,
    /// The failed attempt; nothing if it never became one.
    pub charge: Option<String>,
    pub payment_intent: Option<String>,
}

/// An error object's fields about a payment. Codes are read strictly; the objects beside them only
/// say more about a failure that is certain, so one that can't be read is left.
#[derive(Default, Deserialize)]
pub(crate) struct FailureWire {
    code: Option<String>,
    decline_code: Option<String>,
    advice_code: Option<String>,
    network_decline_code: Option<String>,
    network_advice_code: Option<String>,
    payment_method_type: Option<String>,
    charge: Option<Value>,
    payment_method: Option<Value>,
    payment_intent: Option<Value>,
}

impl From<FailureWire> for PaymentFailure {
    fn from(wire: FailureWire) -> Self {
        let intent = wire.payment_intent.unwrap_or_default();
        let last = intent.get("last_payment_error");
        let within_last = |name| last.and_then(|error| error.get(name));
        let method = wire.payment_method.unwrap_or_default();
        let shown = [Some(&method), within_last("payment_method")];
        let shown: Option<PaymentMethod> = shown.into_iter().flatten().find_map(read_method);
        let charge = wire.charge.unwrap_or_default();
        let charges = [
            Some(&charge),
            within_last("charge"),
            intent.get("latest_charge"),
        ];
        let methods = [
            Some(&method),
            within_last("payment_method"),
            intent.get("payment_method"),
        ];
        let (kind, card) = shown.map_or((None, None), |shown| (Some(shown.kind), shown.card));
        Self {
            code: wire.code,
            decline_code: wire.decline_code,
            advice_code: wire.advice_code,
            network_decline_code: wire.network_decline_code,
            network_advice_code: wire.network_advice_code,
            payment_method: methods.into_iter().flatten().find_map(read_id),
            method_kind: kind.or(wire.payment_method_type),
            card,
            charge: charges.into_iter().flatten().find_map(read_id),
            payment_intent: read_id(&intent),
        }
    }
}

fn read_id(value: &Value) -> Option<String> {
    Id::deserialize(value).ok().map(Id::into_string)
}

fn read_method(value: &Value) -> Option<PaymentMethod> {
    crate::card::Wire::deserialize(value).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn method(id: &str) -> Value {
        json!({
            "id": id, "object": "payment_method", "type": "card", "customer": "cus_1",
            "created": 1_234_567_890,
            "card": { "brand": "visa", "fingerprint": "AOB934RVNwzk6xtn", "last4": "0002" },
        })
    }

    fn parse(value: Value) -> PaymentFailure {
        serde_json::from_value::<FailureWire>(value).unwrap().into()
    }

    #[test]
    fn all_codes_of_a_decline_are_kept_apart() {
        let failure = parse(json!({
            "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds",
            "advice_code": "try_again_later", "network_decline_code": "51",
            "network_advice_code": "03", "charge": "ch_1", "payment_method": method("pm_1"),
            "payment_intent": { "id": "pi_1", "object": "payment_intent" }, "message": "No.",
        }));
        let expected = PaymentFailure {
            code: Some("card_declined".to_owned()),
            decline_code: Some("insufficient_funds".to_owned()),
            advice_code: Some("try_again_later".to_owned()),
            network_decline_code: Some("51".to_owned()),
            network_advice_code: Some("03".to_owned()),
            payment_method: Some("pm_1".to_owned()),
            method_kind: Some("card".to_owned()),
            card: failure.card.clone(),
            charge: Some("ch_1".to_owned()),
            payment_intent: Some("pi_1".to_owned()),
        };
        assert_eq!(failure, expected);
        let fingerprint = failure.card.unwrap().fingerprint;
        assert_eq!(fingerprint.as_deref(), Some("AOB934RVNwzk6xtn"));
    }

    #[test]
    fn what_the_error_leaves_out_its_payment_may_know() {
        let failure = parse(json!({
            "type": "card_error", "code": "card_declined",
            "payment_intent": {
                "id": "pi_1", "latest_charge": "ch_2", "payment_method": null,
                "last_payment_error": { "code": "card_declined", "payment_method": method("pm_2") },
            },
        }));
        assert_eq!(failure.charge.as_deref(), Some("ch_2"));
        assert_eq!(failure.payment_method.as_deref(), Some("pm_2"));
        assert!(failure.card.is_some());
        assert_eq!(
            parse(json!({ "payment_intent": "pi_1" }))
                .payment_intent
                .as_deref(),
            Some("pi_1")
        );
    }

    #[test]
    fn a_method_that_cannot_be_read_leaves_its_id_and_kind() {
        let failure = parse(json!({
            "code": "card_declined", "payment_method_type": "card",
            "payment_method": { "id": "pm_1", "card": { "exp_month": "August" } },
        }));
        assert_eq!(failure.payment_method.as_deref(), Some("pm_1"));
        assert_eq!(
            (failure.method_kind.as_deref(), failure.card),
            (Some("card"), None)
        );
        let bare = parse(json!({ "type": "idempotency_error" }));
        assert_eq!(bare, PaymentFailure::default());
    }
}
