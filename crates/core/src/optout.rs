//! STOP and START: what an inbound text asks for, and the list that every message is checked against.

use aws_sdk_dynamodb::types::builders::ConditionCheckBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck};
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::phone::Phone;
use crate::step::{Row, Step};

/// A shorter secret than this could be guessed, and with it every phone.
const SALT_BYTES_MIN: usize = 32;

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
    // An accent may be a sign of its own behind its letter, so all of them are taken off.
    let letters: String = text
        .nfd()
        .filter(|letter| !is_combining_mark(*letter) && *letter != '\'' && *letter != '’')
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                ' '
            }
        })
        .collect::<String>()
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
    /// The phone in E.164; once its person was forgotten, what [`hidden`] makes of it.
    pub phone: String,
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
        self.phone.clone()
    }
}

impl OptoutRow {
    /// A wish under `key`: the phone in E.164, or its hidden form.
    pub fn new(key: &str, wish: Wish, at: DateTime<Utc>, message_id: String) -> Self {
        Self {
            phone: key.to_owned(),
            opted_out: wish == Wish::Stop,
            changed_at: at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            message_id,
        }
    }
}

/// The secret under which phones are hidden is missing or too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the privacy salt has fewer than {SALT_BYTES_MIN} bytes")]
pub struct WeakSalt;

/// What stands for a phone whose person was forgotten: the same for the same phone, and without the
/// salt nobody can try all numbers to find out which.
///
/// # Errors
/// A salt that can be guessed.
pub fn hidden(phone: &Phone, salt: &str) -> Result<String, WeakSalt> {
    if salt.len() < SALT_BYTES_MIN {
        return Err(WeakSalt);
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(salt.as_bytes()).map_err(|_| WeakSalt)?;
    mac.update(phone.e164().as_bytes());
    Ok(format!("hmac#{}", hex::encode(mac.finalize().into_bytes())))
}

/// The name of a phone's history in the audit, by its hidden form: the phone itself stays out of it.
pub fn subject(hidden: &str) -> String {
    let digest = hidden.strip_prefix("hmac#").unwrap_or(hidden);
    format!("optout#{}", digest.get(..24).unwrap_or(digest))
}

impl Step {
    /// Notes what a phone wants, unless a later wish is known. Of a STOP and a START of the same
    /// millisecond the STOP counts, since nobody can tell which came later.
    #[must_use]
    pub fn note_wish(self, table: &str, row: &OptoutRow) -> Self {
        let at = AttributeValue::S(row.changed_at.clone());
        let at = ("#changed_at", "changed_at", ":at", at);
        let no = (
            "#opted_out",
            "opted_out",
            ":no",
            AttributeValue::Bool(false),
        );
        let later = "attribute_not_exists(#key) OR #changed_at < :at";
        match row.opted_out {
            true => {
                let tie = format!("{later} OR (#changed_at = :at AND #opted_out = :no)");
                self.put(table, row, &tie, &[at, no])
            }
            false => self.put(table, row, later, &[at]),
        }
    }

    /// Requires that the phone may be texted, whether or not its person was forgotten since they
    /// said what they want.
    #[must_use]
    pub fn unless_opted_out(mut self, table: &str, phone: &Phone, salt: &str) -> Self {
        let Some(hidden) = self.or_defect(hidden(phone, salt)) else {
            return self;
        };
        let check = || -> ConditionCheckBuilder {
            ConditionCheck::builder()
                .condition_expression("attribute_not_exists(#phone) OR #opted_out = :no")
                .expression_attribute_names("#phone", "phone")
                .expression_attribute_names("#opted_out", "opted_out")
                .expression_attribute_values(":no", AttributeValue::Bool(false))
        };
        self.check(
            OptoutRow::NAME,
            OptoutRow::KEY,
            table,
            phone.e164(),
            check(),
        )
        .check(OptoutRow::NAME, OptoutRow::KEY, table, &hidden, check())
    }

    /// Requires that what the phone wants is not kept under its hidden form.
    #[must_use]
    pub fn unless_hidden(self, table: &str, hidden: &str) -> Self {
        let check: ConditionCheckBuilder = ConditionCheck::builder()
            .condition_expression("attribute_not_exists(#phone)")
            .expression_attribute_names("#phone", "phone");
        self.check(OptoutRow::NAME, OptoutRow::KEY, table, hidden, check)
    }

    /// Puts what a phone wants under its hidden form, and the phone away.
    #[must_use]
    pub fn hide_wish(self, table: &str, row: &OptoutRow, hidden: &str) -> Self {
        let kept = OptoutRow {
            phone: hidden.to_owned(),
            ..row.clone()
        };
        self.note_wish(table, &kept).drop_wish(table, row)
    }

    /// Puts a phone away whose later wish is kept under its hidden form already.
    #[must_use]
    pub fn drop_wish(self, table: &str, row: &OptoutRow) -> Self {
        let owner = ("message_id", row.message_id.as_str());
        self.delete_owned::<OptoutRow>(table, &row.phone, owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_phone_is_the_same_again_and_shows_nothing() {
        let phone = Phone::parse("07700 900123", "GB").unwrap();
        let other = Phone::parse("07700 900124", "GB").unwrap();
        let (salt, another) = ("s".repeat(32), "t".repeat(32));
        let under = |phone, salt: &str| hidden(phone, salt).unwrap();
        assert_eq!(under(&phone, &salt), under(&phone, &salt));
        assert_ne!(under(&phone, &salt), under(&other, &salt));
        assert_ne!(under(&phone, &salt), under(&phone, &another));
        assert!(!under(&phone, &salt).contains("900123"));
        assert_eq!(hidden(&phone, "short"), Err(WeakSalt));
    }

    #[test]
    fn a_text_that_asks_for_quiet_is_understood() {
        for text in [
            "STOP",
            " stop. ",
            "Stop please",
            "arrêt",
            "arre\u{302}t",
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
