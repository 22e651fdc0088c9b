//! One spelling for equal JSON: what a request's hash is made of.

use paidonce_core::canonical::{canonical, hash};
use serde_json::Value;

pub(crate) fn run(input: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let once = canonical(&value);
    let Ok(again) = serde_json::from_str::<Value>(&once) else {
        panic!("{once} is not JSON");
    };
    assert_eq!(canonical(&again), once, "spelled twice is spelled once");
    // Blanks and the order of keys say nothing. The text that is read is what is spelled, not what came:
    // a reader that misses a double may be on either side of the half that is rounded.
    let spaced = format!("{:#}", turned(&again));
    let Ok(spaced) = serde_json::from_str::<Value>(&spaced) else {
        panic!("{spaced} is not JSON");
    };
    assert_eq!(hash(&spaced), hash(&value));
    // Nothing but a number is spelled as anything else than itself.
    assert_eq!(without_numbers(&again), without_numbers(&value));
}

/// The same with the keys of its objects put in from behind.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().rev();
            fields
                .map(|(key, value)| (key.clone(), turned(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn without_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            Value::from(number.as_f64().is_some_and(|it| it <= -f64::MIN_POSITIVE))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), without_numbers(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_numbers).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}
