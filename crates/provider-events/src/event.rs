//! The envelope of an event.

use chrono::{DateTime, Datelike as _, Utc};
use lambda_kit::Problem;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

/// Longer ids than this are not the provider's.
const ID_BYTES_MAX: usize = 255;

/// One event about an object that is read as a `T`, and what it was before as a `P`. Fields that we
/// don't know are left alone.
#[derive(Debug, Deserialize)]
pub struct Event<T, P = IgnoredAny> {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub(crate) created: i64,
    pub(crate) livemode: bool,
    api_version: Option<String>,
    pub(crate) account: Option<String>,
    pub data: Data<T, P>,
}

#[derive(Debug, Deserialize)]
pub struct Data<T, P = IgnoredAny> {
    pub object: T,
    /// The old values of what changed, for an event that tells of a change.
    pub previous_attributes: Option<P>,
}

impl<T: DeserializeOwned, P: DeserializeOwned> Event<T, P> {
    /// Reads an event from bytes that were verified.
    ///
    /// # Errors
    /// A 400: what is signed and still not an event will not become one.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let event: Self = serde_json::from_slice(body)
            .map_err(|_| Problem::new(400, "not_an_event", "The body is not an event."))?;
        if !is_id(&event.id) {
            return Err(Problem::new(400, "not_an_event", "The event has no id."));
        }
        Ok(event)
    }
}

impl<T, P> Event<T, P> {
    /// The release train of the API version that the event was made in.
    pub fn train(&self) -> Option<&str> {
        self.api_version.as_deref().map(train)
    }

    pub fn created(&self) -> DateTime<Utc> {
        instant(self.created).unwrap_or_default()
    }
}

/// The release train of an API version such as `2026-07-29.dahlia`.
pub fn train(api_version: &str) -> &str {
    api_version
        .split_once('.')
        .map_or(api_version, |(_, train)| train)
}

/// The id of an object that is named or expanded, if it is one that may be a key.
pub fn id_of(value: &Value) -> Option<&str> {
    let id = match value {
        Value::String(id) => Some(id.as_str()),
        Value::Object(object) => object.get("id").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    id.filter(|id| is_id(id))
}

/// Whether a text may be an id of the provider's, and so a key of ours: a longer one would be refused
/// by the table for ever, and its event sent again for days.
pub fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
}

/// The moment of a Unix time, if it is of a year that is written with four digits: any other is no
/// fact, sorts wrongly as text, and leaves no room to reckon with.
pub fn instant(seconds: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds, 0).filter(|at| (0..=9999).contains(&at.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_key_is_no_id() {
        let longest = "x".repeat(ID_BYTES_MAX);
        assert_eq!(
            id_of(&Value::from(longest.as_str())),
            Some(longest.as_str())
        );
        for text in [String::new(), format!("{longest}x")] {
            assert_eq!(id_of(&Value::from(text.as_str())), None);
            assert_eq!(id_of(&serde_json::json!({ "id": text })), None);
        }
    }

    #[test]
    fn a_time_of_no_written_year_is_none() {
        assert_eq!(instant(253_402_300_799).unwrap().year(), 9999);
        for seconds in [
            253_402_300_800,
            -62_167_219_201,
            8_210_266_876_799,
            i64::MAX,
        ] {
            assert_eq!(instant(seconds), None, "{seconds}");
        }
    }
}
