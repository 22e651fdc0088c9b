//! `Idempotency-Key`: the same order twice is one order and the same answer.
//!
//! The row is written in the same step as what was ordered, so there is no time in which a key is
//! taken and its answer is not known.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::step::{Item, Row, from_item};

/// How long an answer is kept.
pub const KEPT_FOR: TimeDelta = TimeDelta::hours(48);
/// The longest key that is taken, in bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// A key, scoped by who sent it and what for, with the answer that it got.
#[derive(Clone, Serialize, Deserialize)]
pub struct IdempotencyRow {
    pub scope_key: String,
    pub request_hash: String,
    pub status: u16,
    pub body: String,
    /// The booking that it made.
    #[serde(default)]
    pub booking_id: Option<String>,
    pub created_at: DateTime<Utc>,
    /// Epoch seconds.
    pub expires_at: i64,
}

impl Row for IdempotencyRow {
    const NAME: &'static str = "idempotency key";
    const KEY: &'static str = "scope_key";
    // The answer holds a signed link.
    const PERSONAL: &'static [&'static str] = &["body"];

    fn key(&self) -> String {
        self.scope_key.clone()
    }
}

/// What a key that is taken already means to the request that brings it again.
#[must_use]
#[derive(Clone)]
pub enum Admission {
    /// The same order: give the same answer.
    Same(IdempotencyRow),
    /// Another order under the same key.
    Conflict,
}

impl IdempotencyRow {
    pub fn new(
        scope: &Scope<'_>,
        request_hash: String,
        booking_id: &str,
        answer: (u16, String),
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            scope_key: scope.key(),
            request_hash,
            status: answer.0,
            body: answer.1,
            booking_id: Some(booking_id.to_owned()),
            created_at: now,
            expires_at: (now + KEPT_FOR).timestamp(),
        }
    }
}

/// Whose key it is and what for: two callers, or two commands, may use the same key.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub caller: &'a str,
    pub command: &'a str,
    pub key: &'a str,
}

impl Scope<'_> {
    /// The key of the row.
    pub fn key(&self) -> String {
        // Lengths keep `a` + `b#c` apart from `a#b` + `c`.
        format!(
            "{}#{}#{}#{}",
            self.caller.len(),
            self.caller,
            self.command,
            self.key
        )
    }
}

/// Compares a request with the row that its key already has.
///
/// # Errors
/// A row that does not fit its type.
pub fn admit(row: Item, request_hash: &str) -> Result<Admission, serde_dynamo::Error> {
    let row: IdempotencyRow = from_item(row)?;
    Ok(if row.request_hash == request_hash {
        Admission::Same(row)
    } else {
        Admission::Conflict
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope<'a>(caller: &'a str, command: &'a str, key: &'a str) -> Scope<'a> {
        Scope {
            caller,
            command,
            key,
        }
    }

    #[test]
    fn a_key_is_its_callers_for_one_command() {
        let book = scope("form", "book", "k-1");
        assert_eq!(book.key(), "4#form#book#k-1");
        for other in [
            scope("form", "book", "k-2"),
            scope("form", "cancel", "k-1"),
            scope("app", "book", "k-1"),
        ] {
            assert_ne!(other.key(), book.key());
        }
        assert_ne!(scope("a", "b#c", "d").key(), scope("a#b", "c", "d").key());
    }

    #[test]
    fn the_same_order_gets_the_same_answer_for_two_days_and_another_order_none() {
        let answer = (201, "made".to_owned());
        let now = DateTime::UNIX_EPOCH;
        let scope = scope("form", "book", "k-1");
        let row = IdempotencyRow::new(&scope, "hash 1".to_owned(), "bkg_1", answer, now);
        assert_eq!(Row::key(&row), scope.key());
        assert_eq!(row.expires_at, 48 * 60 * 60);
        let admitted = |hash| admit(row.item().unwrap(), hash).unwrap();
        let Admission::Same(same) = admitted("hash 1") else {
            panic!("it is the same order")
        };
        let told = (same.status, same.body.as_str(), same.booking_id.as_deref());
        assert_eq!(told, (201, "made", Some("bkg_1")));
        assert!(matches!(admitted("hash 2"), Admission::Conflict));
    }
}
