//! A card, as far as payments tell of it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What the provider shows of a card. Never its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Card {
    pub(crate) last4: String,
    /// Also the network that it runs on.
    pub(crate) brand: String,
    pub(crate) country: String,
    pub(crate) funding: String,
    pub(crate) exp_month: u32,
    pub(crate) exp_year: i32,
    /// The same for every payment method with this number.
    pub(crate) fingerprint: String,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            last4: String::new(),
            brand: "visa".to_owned(),
            country: "GB".to_owned(),
            funding: "credit".to_owned(),
            exp_month: 12,
            exp_year: 2034,
            fingerprint: String::new(),
        }
    }
}

impl Card {
    /// Returns the card of a normalised number, a British Visa card unless told otherwise.
    pub(crate) fn numbered(number: &str) -> Self {
        let last4 = number.chars().skip(number.len().saturating_sub(4));
        let digest = Sha256::digest(format!("card/{number}"));
        Self {
            last4: last4.collect(),
            fingerprint: hex::encode(digest).chars().take(16).collect(),
            ..Self::default()
        }
    }
}
