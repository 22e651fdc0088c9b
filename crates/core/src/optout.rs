//! STOP and START: what an inbound text asks for, and the list that every message is checked against.

use aws_sdk_dynamodb::types::builders::ConditionCheckBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::phone::Phone;
use crate::step::{Row, Step};

/// What a text asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Stop,
    Start,
}

/// Words that mean no more messages. Sources: the keywords that US carriers honour, and the FCC's
/// list of 2024 (47 CFR 64.1200 (a)(10)), which adds REVOKE and OPT OUT.
const STOP_WORDS: [&str; 12] = [
    "ARRET",
    "CANCEL",
    "END",
    "OPTOUT",
    "QUIT",
    "REMOVE",
    "REVOKE",
    "STOP",
    "STOPALL",
    "TD",
    "UNSUBSCRIBE",
    "OPT OUT",
];
const START_WORDS: [&str; 3] = ["START", "UNSTOP", "OPT IN"];
/// Phrases that count wherever they stand.
const STOP_PHRASES: [&str; 6] = [
    "STOP TEXTING",
    "STOP MESSAGING",
    "STOP SENDING",
    "DO NOT TEXT",
    "DONT TEXT",
    "UNSUBSCRIBE ME",
];

/// Reads what a text asks for: a keyword alone, perhaps with a please or a thank-you, or a phrase.
pub fn wish(text: &str) -> Option<Wish> {
    let letters: String = text
        .chars()
        .filter(|letter| *letter != '\'' && *letter != '’')
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                ' '
            }
        })
        .collect::<String>()
        .replace(['É', 'Ê', 'é', 'ê'], "e")
        .to_uppercase();
    let polite = ["PLEASE", "PLS", "THANKS", "THANK", "YOU"];
    let words: Vec<&str> = letters
        .split_whitespace()
        .filter(|word| !polite.contains(word))
        .collect();
    let said = words.join(" ");
    if STOP_WORDS.contains(&said.as_str())
        || STOP_PHRASES.iter().any(|phrase| said.contains(phrase))
    {
        Some(Wish::Stop)
    } else if START_WORDS.contains(&said.as_str()) {
        Some(Wish::Start)
    } else if words.first() == Some(&"STOP") {
        Some(Wish::Stop)
    } else {
        None
    }
}

/// What a phone wants now. It stays after a START, so that an older STOP that comes late is known
/// to be older.
#[derive(Clone, Serialize, Deserialize)]
pub struct OptoutRow {
    pub phone: Phone,
    pub opted_out: bool,
    /// When the text was sent; RFC 3339 in UTC with milliseconds, so that it sorts.
    pub changed_at: String,
    pub message_id: String,
}

impl Row for OptoutRow {
    const NAME: &'static str = "optout";
    const KEY: &'static str = "phone";
    const PERSONAL: &'static [&'static str] = &["phone"];

    fn key(&self) -> String {
        self.phone.e164().to_owned()
    }
}

impl OptoutRow {
    pub fn new(phone: Phone, wish: Wish, at: DateTime<Utc>, message_id: String) -> Self {
        Self {
            phone,
            opted_out: wish == Wish::Stop,
            changed_at: at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            message_id,
        }
    }
}

/// The name of a phone's history in the audit: the phone itself stays out of it.
pub fn subject(phone: &Phone) -> String {
    let digest = hex::encode(Sha256::digest(phone.e164()));
    format!("optout#{}", digest.get(..24).unwrap_or(&digest))
}

impl Step {
    /// Notes what a phone wants, unless a later wish is known.
    #[must_use]
    pub fn note_wish(self, table: &str, row: &OptoutRow) -> Self {
        let at = AttributeValue::S(row.changed_at.clone());
        let condition = "attribute_not_exists(#key) OR #changed_at < :at";
        self.put(
            table,
            row,
            condition,
            &[("#changed_at", "changed_at", ":at", at)],
        )
    }

    /// Requires that the phone may be texted.
    #[must_use]
    pub fn unless_opted_out(self, table: &str, phone: &Phone) -> Self {
        let check: ConditionCheckBuilder = ConditionCheck::builder()
            .condition_expression("attribute_not_exists(#phone) OR #opted_out = :no")
            .expression_attribute_names("#phone", "phone")
            .expression_attribute_names("#opted_out", "opted_out")
            .expression_attribute_values(":no", AttributeValue::Bool(false));
        self.check(OptoutRow::NAME, OptoutRow::KEY, table, phone.e164(), check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_asks_for_quiet_is_understood() {
        for text in [
            "STOP",
            " stop. ",
            "Stop please",
            "arrêt",
            "Opt-out",
            "opt out",
            "Unsubscribe!",
            "please don't text me again",
            "stop texting me",
            "STOP all of this",
            "TD",
            "QUIT",
        ] {
            assert_eq!(wish(text), Some(Wish::Stop), "{text}");
        }
        for text in ["START", "unstop", "Opt in please"] {
            assert_eq!(wish(text), Some(Wish::Start), "{text}");
        }
        for text in [
            "",
            "We are at the bus stop",
            "see you at the end",
            "can't stop smiling",
            "yes",
        ] {
            assert_eq!(wish(text), None, "{text}");
        }
    }
}
