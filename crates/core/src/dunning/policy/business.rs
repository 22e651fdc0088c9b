//! Who writes to the customer, and how long an app may trust an answer.

use serde::{Deserialize, Serialize};

use crate::email::EmailAddress;
use crate::venue::complaints::Complaints;

const TEXT_MAX: usize = 80;
const ADDRESS_MAX: usize = 200;
const URL_MAX: usize = 500;

/// What a mail says of its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Business {
    pub name: String,
    /// What the subscription is called in mails.
    pub product: String,
    /// Where a customer's answer goes.
    pub support_email: EmailAddress,
    #[serde(default)]
    pub postal_address: Option<String>,
    /// Where the provider's page sends a customer back to.
    pub return_url: String,
}

/// What the gatekeeper tells an app about its own answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gatekeeper {
    /// How long a signed "granted" stands if the gatekeeper can't be reached, in hours.
    pub entitlement_valid_hours: u32,
    /// How long an app may go on with an answer without asking again, in seconds.
    pub cache_seconds: u32,
}

impl Business {
    pub(super) fn complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            is_line(&self.name, TEXT_MAX),
            "name: one line of 1 to 80 characters",
        );
        complaints.require(
            is_line(&self.product, TEXT_MAX),
            "product: one line of 1 to 80 characters",
        );
        complaints.require(
            EmailAddress::parse(self.support_email.as_str()).as_ref() == Ok(&self.support_email),
            "support_email: must be an address such as billing@example.com",
        );
        complaints.require(
            self.postal_address
                .as_ref()
                .is_none_or(|address| is_line(address, ADDRESS_MAX)),
            "postal_address: one line of 1 to 200 characters",
        );
        complaints.require(
            is_https(&self.return_url),
            "return_url: must begin with https:// and a host",
        );
        complaints
    }
}

impl Gatekeeper {
    pub(super) fn complaints(self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            (1..=168).contains(&self.entitlement_valid_hours),
            "entitlement_valid_hours: 1 to 168",
        );
        complaints.require(
            (10..=300).contains(&self.cache_seconds),
            "cache_seconds: 10 to 300",
        );
        complaints
    }
}

/// Whether a text can stand in the header of a mail.
fn is_line(text: &str, max: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= max && !text.contains(char::is_control)
}

fn is_https(url: &str) -> bool {
    let odd =
        |letter: char| letter.is_control() || letter.is_whitespace() || "\"<>\\".contains(letter);
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
    url.len() <= URL_MAX && !url.contains(odd) && host.contains('.') && host.chars().all(plain)
}
