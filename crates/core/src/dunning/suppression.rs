//! Addresses that get no mail: those that came back for good, and of people who complained.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::email::EmailAddress;
use crate::step::Row;

/// One row of `dunr-suppression`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Suppressed {
    /// The address in lower case.
    pub address: String,
    pub reason: SuppressedBy,
    pub suppressed_at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuppressedBy {
    /// The address does not exist, or refuses all mail.
    HardBounce,
    Complaint,
}

impl Row for Suppressed {
    const NAME: &'static str = "suppressed";
    const KEY: &'static str = "address";

    fn key(&self) -> String {
        self.address.clone()
    }
}

/// The key of an address: mailboxes that differ in case alone are one.
pub fn suppression_key(address: &EmailAddress) -> String {
    address.as_str().to_lowercase()
}
