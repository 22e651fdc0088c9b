//! What a decline means for the next attempt.
//!
//! The rules are data (`declines.json`), each row with its source. What a network says outranks what
//! Stripe advises, that outranks the issuer's reason, and that the error's own code. Above all stand
//! the firm reasons: what Stripe itself never retries (lost, stolen, revoked …), suspected fraud, and
//! a customer's withdrawal. No softer word about the same decline makes such a card chargeable.
//! `declines_table.txt`, written by a test, lists every code.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// What the provider said about a failed charge, as it said it; nothing if it said nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decline {
    /// The error's category, such as `card_declined`.
    #[serde(default)]
    pub code: Option<String>,
    /// The issuer's reason, such as `insufficient_funds`.
    #[serde(default)]
    pub decline_code: Option<String>,
    /// What Stripe advises, such as `try_again_later`.
    #[serde(default)]
    pub advice_code: Option<String>,
    /// The card's network, such as `visa` or `mastercard`.
    #[serde(default)]
    pub network: Option<String>,
    /// The network's own reason, such as `51`.
    #[serde(default)]
    pub network_decline_code: Option<String>,
    /// The network's own advice, such as Mastercard's `24`.
    #[serde(default)]
    pub network_advice_code: Option<String>,
    /// The payment method's type, such as `card` or `cashapp`.
    #[serde(default)]
    pub method_kind: Option<String>,
    /// Where the card was issued (ISO 3166, such as `GB`).
    #[serde(default)]
    pub country: Option<String>,
}

/// What may be done with a payment method after a decline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Class {
    /// It may be charged again by the calendar, within the budget.
    Soft,
    /// It is never charged again; only another one is.
    Hard,
    /// It is charged again only after the customer has acted.
    Action,
    /// It could be charged again, but not without the customer: this kind has no automatic retries.
    NoAutoRetry,
    /// The invoice may have been paid already: look before anything else.
    LookFirst,
}

/// Which words a customer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Wording {
    /// The payment did not go through and will be tried again.
    Plain,
    /// Another card is needed; why is not said.
    NewCard,
    /// The customer is asked to approve or pay it on the provider's page.
    Approve,
    /// The customer withdrew: no mail about this payment at all.
    Silent,
    /// Neutral words only, and a person looks.
    Person,
}

/// What a decline means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: Class,
    /// Not again before this long after the attempt.
    pub wait: Option<TimeDelta>,
    /// What decided, such as `network_advice_code 03`; for logs and audit.
    pub rule: String,
    /// Which edition of the rules it was.
    pub edition: &'static str,
    pub wording: Wording,
    /// The network forbids every further charge of the card, however it is given to us again.
    pub for_ever: bool,
}

impl Class {
    pub const ALL: [Self; 5] = [
        Self::Soft,
        Self::Hard,
        Self::Action,
        Self::NoAutoRetry,
        Self::LookFirst,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft => "SOFT",
            Self::Hard => "HARD",
            Self::Action => "ACTION",
            Self::NoAutoRetry => "NO_AUTO_RETRY",
            Self::LookFirst => "LOOK_FIRST",
        }
    }
}

impl Wording {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::NewCard => "NEW_CARD",
            Self::Approve => "APPROVE",
            Self::Silent => "SILENT",
            Self::Person => "PERSON",
        }
    }
}

/// Says what a decline means.
///
/// A code that no rule knows, and no code at all, is [`Class::Soft`]: the ladder and the budget
/// limit what it can cost. A soft verdict about a payment method that has no automatic retries is
/// [`Class::NoAutoRetry`].
pub fn classify(decline: &Decline) -> Verdict {
    let table = &*TABLE;
    let (rule, row) = table
        .matching(decline)
        .unwrap_or_else(|| ("no rule".to_owned(), &UNKNOWN));
    let (rule, row) = match row.class {
        Class::Soft => table.without_retries(decline).unwrap_or((rule, row)),
        Class::Hard | Class::Action | Class::NoAutoRetry | Class::LookFirst => (rule, row),
    };
    Verdict {
        class: row.class,
        wait: row
            .wait_hours
            .map(|hours| TimeDelta::hours(i64::from(hours))),
        rule,
        edition: &table.edition,
        wording: row.wording,
        for_ever: table.forbids(decline),
    }
}

/// What one code means.
#[derive(Deserialize)]
struct Row {
    class: Class,
    wording: Wording,
    #[serde(default)]
    wait_hours: Option<u32>,
    /// Whether nothing softens it.
    #[serde(default)]
    firm: bool,
    /// Whether each further charge of the card, by any payment method, costs a fee.
    #[serde(default)]
    for_ever: bool,
}

type Rows = BTreeMap<String, Row>;

/// `declines.json`.
#[derive(Default, Deserialize)]
struct Table {
    edition: String,
    network_advice_codes: BTreeMap<String, Rows>,
    network_decline_codes: BTreeMap<String, Rows>,
    advice_codes: Rows,
    decline_codes: Rows,
    codes: Rows,
    method_kinds: Rows,
    countries: Rows,
}

// A test reads it and counts the rows.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("declines.json")).unwrap_or_default());

static UNKNOWN: Row = Row {
    class: Class::Soft,
    wording: Wording::Plain,
    wait_hours: None,
    firm: false,
    for_ever: false,
};

type Found<'a> = Option<(String, &'a Row)>;

impl Table {
    /// The row that decides.
    fn matching(&self, decline: &Decline) -> Found<'_> {
        let reason = find(
            "decline_code",
            &self.decline_codes,
            decline.decline_code.as_deref(),
        );
        let code = find("code", &self.codes, decline.code.as_deref());
        let firm = reason.clone().filter(|(_, row)| row.firm);
        firm.or_else(|| self.of_network(decline))
            .or_else(|| {
                find(
                    "advice_code",
                    &self.advice_codes,
                    decline.advice_code.as_deref(),
                )
            })
            .or(reason)
            .or(code)
    }

    /// What the network said: a word that ends it before a word to wait.
    fn of_network(&self, decline: &Decline) -> Found<'_> {
        let (advice, reason) = self.both_of_network(decline);
        let ends = |found: &Found<'_>| {
            found
                .as_ref()
                .is_some_and(|(_, row)| row.class == Class::Hard)
        };
        match ends(&reason) && !ends(&advice) {
            true => reason,
            false => advice.or(reason),
        }
    }

    /// Its advice and its reason.
    fn both_of_network(&self, decline: &Decline) -> (Found<'_>, Found<'_>) {
        let network = decline.network.as_deref();
        let advice = find_network(
            "network_advice_code",
            &self.network_advice_codes,
            network,
            decline.network_advice_code.as_deref(),
        );
        let reason = find_network(
            "network_decline_code",
            &self.network_decline_codes,
            network,
            decline.network_decline_code.as_deref(),
        );
        (advice, reason)
    }

    /// Whether the network forbids the card for ever, whichever row decides about the decline.
    fn forbids(&self, decline: &Decline) -> bool {
        let (advice, reason) = self.both_of_network(decline);
        let mut found = [advice, reason].into_iter().flatten();
        found.any(|(_, row)| row.for_ever)
    }

    /// The row by which a payment method has no automatic retries.
    fn without_retries(&self, decline: &Decline) -> Found<'_> {
        let country = decline.country.as_deref().map(str::to_ascii_uppercase);
        find(
            "method_kind",
            &self.method_kinds,
            decline.method_kind.as_deref(),
        )
        .or_else(|| find("country", &self.countries, country.as_deref()))
    }
}

fn find<'a>(field: &str, rows: &'a Rows, code: Option<&str>) -> Found<'a> {
    let code = code?;
    rows.get(code).map(|row| (format!("{field} {code}"), row))
}

/// Looks a code up for a network; if that isn't named, for any: a fee is worse than a retry forgone.
fn find_network<'a>(
    field: &str,
    networks: &'a BTreeMap<String, Rows>,
    network: Option<&str>,
    code: Option<&str>,
) -> Found<'a> {
    let code = code?.to_ascii_uppercase();
    networks
        .iter()
        .filter(|(name, _)| network.is_none_or(|network| network.eq_ignore_ascii_case(name)))
        .find_map(|(_, rows)| find(field, rows, Some(&code)))
}

#[cfg(test)]
mod tests;
