//! Cards, and the ways to pay that a customer has left with the provider.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::object::{Id, Object, instant, is_a};

/// A way to pay that belongs to a customer, usually a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentMethod {
    pub id: String,
    /// Such as `card` or `sepa_debit`; the provider adds to the list.
    pub kind: String,
    /// Nothing of one that was detached: it can't be charged any more.
    pub customer: Option<String>,
    pub card: Option<Card>,
    pub created: DateTime<Utc>,
}

/// What is known of a card. Its debug text shows nothing that tells whose it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Card {
    /// The same for every payment method that was made of one number, within one account.
    pub fingerprint: Option<String>,
    /// Such as `visa` or `mastercard`.
    pub brand: Option<String>,
    /// The network that a charge went over, or that the card's holder or issuer prefers. A card
    /// with two brands may go over either; nothing if it isn't known beforehand.
    pub network: Option<String>,
    /// Of the issuer, two letters.
    pub country: Option<String>,
    pub last4: Option<String>,
    /// 1 to 12.
    pub exp_month: Option<u32>,
    /// Four digits.
    pub exp_year: Option<u32>,
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card")
            .field("brand", &self.brand)
            .field("network", &self.network)
            .field("country", &self.country)
            .finish_non_exhaustive()
    }
}

/// A card as payment methods and as charges show it.
#[derive(Deserialize)]
pub(crate) struct CardWire {
    fingerprint: Option<String>,
    brand: Option<String>,
    network: Option<String>,
    networks: Option<Networks>,
    country: Option<String>,
    last4: Option<String>,
    exp_month: Option<u32>,
    exp_year: Option<u32>,
}

#[derive(Deserialize)]
struct Networks {
    #[serde(default)]
    available: Vec<String>,
    preferred: Option<String>,
}

impl Networks {
    /// The one that a charge will go over, as far as that is settled.
    fn settled(self) -> Option<String> {
        let mut available = self.available.into_iter();
        match (self.preferred, available.next(), available.next()) {
            (Some(preferred), _, _) => Some(preferred),
            (None, Some(only), None) => Some(only),
            (None, _, _) => None,
        }
    }
}

impl From<CardWire> for Card {
    fn from(wire: CardWire) -> Self {
        Self {
            fingerprint: wire.fingerprint,
            brand: wire.brand,
            network: wire
                .network
                .or_else(|| wire.networks.and_then(Networks::settled)),
            country: wire.country,
            last4: wire.last4,
            exp_month: wire.exp_month,
            exp_year: wire.exp_year,
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    #[serde(rename = "type")]
    kind: String,
    customer: Option<Id>,
    card: Option<CardWire>,
    created: i64,
}

impl Object for PaymentMethod {
    type Wire = Wire;
    const LIST: &'static str = "/v1/payment_methods";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for PaymentMethod {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("payment_method", &wire.object)?;
        Ok(Self {
            id: wire.id,
            kind: wire.kind,
            customer: wire.customer.map(Id::into_string),
            card: wire.card.map(Card::from),
            created: instant(wire.created)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn parse(change: impl FnOnce(&mut Value)) -> Result<PaymentMethod, String> {
        let mut value = json!({
            "allow_redisplay": "unspecified",
            "billing_details": { "email": "jenny@example.com", "name": null },
            "card": {
                "brand": "visa", "checks": { "cvc_check": "pass" }, "country": "US",
                "display_brand": "visa", "exp_month": 8, "exp_year": 2030,
                "fingerprint": "AOB934RVNwzk6xtn", "funding": "credit", "last4": "4242",
                "networks": { "available": ["visa"], "preferred": null }, "wallet": null,
            },
            "created": 1_234_567_890, "customer": "cus_1", "id": "pm_1", "livemode": false,
            "metadata": {}, "object": "payment_method", "type": "card",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn a_card_is_known_by_its_fingerprint_and_goes_over_its_only_network() {
        let method = parse(|_| {}).unwrap();
        assert_eq!(method.customer.as_deref(), Some("cus_1"));
        let card = method.card.unwrap();
        assert_eq!(card.fingerprint.as_deref(), Some("AOB934RVNwzk6xtn"));
        assert_eq!(card.network.as_deref(), Some("visa"));
        assert_eq!((card.exp_month, card.exp_year), (Some(8), Some(2030)));
    }

    #[test]
    fn which_of_two_networks_a_card_takes_is_not_guessed() {
        let two = |preferred: Value| {
            let networks =
                json!({ "available": ["cartes_bancaires", "visa"], "preferred": preferred });
            let method = parse(|value| value["card"]["networks"] = networks);
            method.unwrap().card.unwrap().network
        };
        assert_eq!(two(Value::Null), None);
        assert_eq!(two("visa".into()).as_deref(), Some("visa"));
    }

    #[test]
    fn another_kind_has_no_card_and_a_detached_one_no_customer() {
        let method = parse(|value| {
            value["type"] = "sepa_debit".into();
            value["card"] = Value::Null;
            value["customer"] = Value::Null;
        });
        let method = method.unwrap();
        assert_eq!((method.kind.as_str(), method.card), ("sepa_debit", None));
        assert_eq!(method.customer, None);
    }

    #[test]
    fn no_digit_of_a_card_is_in_a_debug_text() {
        let text = format!("{:?}", parse(|_| {}).unwrap());
        assert!(!text.contains("4242") && !text.contains("AOB"), "{text}");
    }
}
