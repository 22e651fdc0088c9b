//! Idempotency keys: the first answer of a key is its answer for a day.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

const KEY_LENGTH_MAX: usize = 255;
const KEPT: TimeDelta = TimeDelta::hours(24);

/// The keys of the last day.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Keys(BTreeMap<String, Saved>);

/// The answer to the request that used a key first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    fingerprint: String,
    at: DateTime<Utc>,
    pub(crate) request_id: String,
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Whether the first request is still being done; there is no answer yet then.
    #[serde(default)]
    pub(crate) in_flight: bool,
}

impl Saved {
    pub(crate) fn new(fingerprint: String, at: DateTime<Utc>, request_id: String) -> Self {
        Self {
            fingerprint,
            at,
            request_id,
            status: 0,
            body: String::new(),
            in_flight: false,
        }
    }
}

impl Keys {
    /// Returns the answer that `key` already has.
    pub(crate) fn find(
        &mut self,
        key: &str,
        fingerprint: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<&Saved>, ApiError> {
        self.0.retain(|_, saved| now - saved.at < KEPT);
        if key.len() > KEY_LENGTH_MAX {
            let message = "Idempotency keys can be up to 255 characters long.";
            return Err(ApiError::invalid(message));
        }
        match self.0.get(key) {
            Some(saved) if saved.fingerprint != fingerprint => Err(ApiError::idempotency(format!(
                "Keys for idempotent requests can only be used with the same parameters they \
                     were first used with. Try using a key other than '{key}' if you meant to \
                     execute a different request."
            ))),
            Some(saved) if saved.in_flight => Err(ApiError::in_use(key)),
            saved => Ok(saved),
        }
    }

    /// Frees a key whose request came to nothing.
    pub(crate) fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Forgets every answer, as after a day; returns how many. What is in flight stays.
    pub(crate) fn forget_all(&mut self) -> usize {
        let before = self.0.len();
        self.0.retain(|_, saved| saved.in_flight);
        before - self.0.len()
    }

    pub(crate) fn save(&mut self, key: &str, saved: Saved) {
        self.0.insert(key.to_owned(), saved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::hours(hour)
    }

    #[test]
    fn a_key_is_forgotten_after_a_day_and_not_before() {
        let mut keys = Keys::default();
        keys.save("k", Saved::new("a".into(), hour(0), "req_1".into()));
        assert!(keys.find("k", "a", hour(23)).unwrap().is_some());
        assert!(keys.find("k", "a", hour(24)).unwrap().is_none());
    }

    #[test]
    fn other_parameters_under_the_same_key_are_an_idempotency_error() {
        let mut keys = Keys::default();
        keys.save("k", Saved::new("a".into(), hour(0), "req_1".into()));
        let error = keys.find("k", "b", hour(1)).unwrap_err();
        assert_eq!(
            (error.status.as_u16(), error.kind),
            (400, "idempotency_error")
        );
    }
}
