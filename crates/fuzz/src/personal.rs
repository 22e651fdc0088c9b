//! What of an input is about a person, and must not come back.

use serde_json::Value;

/// The names of fields that are about a person, in lower case.
const FIELDS: [&str; 12] = [
    "phone",
    "email",
    "name",
    "notes",
    "customer_email",
    "customer_name",
    "originationnumber",
    "messagebody",
    "emailaddress",
    "destination",
    "billing_contact_email",
    "message",
];
/// Fewer may stand in any sentence; a fuzzer finds words of our own sentences too.
const DIGITS_MIN: usize = 5;
/// What our own sentences show.
const EXAMPLES: [&str; 2] = ["+447700900123", "mary@example.com"];

pub(crate) struct Personal(Vec<String>);

impl Personal {
    pub(crate) fn of(input: &[u8]) -> Self {
        Self::of_value(&serde_json::from_slice(input).unwrap_or_default())
    }

    pub(crate) fn of_value(input: &Value) -> Self {
        let (mut personal, mut other) = (Vec::new(), Vec::new());
        collect(input, false, &mut personal, &mut other);
        // What stands in an id as well is no secret.
        personal.retain(|text| !other.iter().any(|other| other.contains(text.as_str())));
        Self(personal)
    }

    pub(crate) fn is_not_in(&self, output: &str) {
        for text in &self.0 {
            assert!(
                !output.contains(text.as_str()),
                "`{text}` comes back: {output}"
            );
        }
    }
}

fn collect(value: &Value, is_personal: bool, personal: &mut Vec<String>, other: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                return collect(&inner, is_personal, personal, other);
            }
            match is_personal && is_somebodys(text) {
                true => personal.push(text.clone()),
                false => other.push(text.clone()),
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, is_personal, personal, other);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_personal = FIELDS.contains(&name.to_lowercase().as_str());
                other.push(name.clone());
                collect(field, is_personal, personal, other);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A phone or an address, or something that has one.
fn is_somebodys(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_address = text.len() >= DIGITS_MIN && text.contains('@');
    (digits >= DIGITS_MIN || is_address) && !EXAMPLES.iter().any(|it| it.contains(text))
}
