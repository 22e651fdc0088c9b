//! The envelope of an event.

use chrono::{DateTime, Utc};
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
        if event.id.is_empty() || event.id.len() > ID_BYTES_MAX {
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
        DateTime::from_timestamp(self.created, 0).unwrap_or_default()
    }
}

/// The release train of an API version such as `2026-07-29.dahlia`.
pub fn train(api_version: &str) -> &str {
    api_version
        .split_once('.')
        .map_or(api_version, |(_, train)| train)
}

/// The id of an object that is named or expanded.
pub fn id_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(id) => Some(id.as_str()),
        Value::Object(object) => object.get("id").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
