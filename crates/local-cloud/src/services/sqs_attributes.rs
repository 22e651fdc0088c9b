//! What SQS takes as a message's attributes, what it hashes of them, and which it gives back.
//!
//! "Amazon SQS message metadata" and "ReceiveMessage" in AWS's documentation.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::queue::{QueueMessage, md5_hex};

const ATTRIBUTES_MAX: usize = 10;
const NAME_CHARACTERS_MAX: usize = 256;

pub(super) type Attributes = BTreeMap<String, Value>;

/// Says why SQS would refuse these attributes, if it would.
pub(super) fn complaint(attributes: &Attributes) -> Option<&'static str> {
    if attributes.len() > ATTRIBUTES_MAX {
        return Some("Number of message attributes exceeds the allowed maximum of 10.");
    }
    attributes
        .iter()
        .find_map(|(name, attribute)| complaint_of(name, attribute))
}

fn complaint_of(name: &str, attribute: &Value) -> Option<&'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let lower = name.to_ascii_lowercase();
    if !(1..=NAME_CHARACTERS_MAX).contains(&name.len())
        || !name.bytes().all(allowed)
        || [lower.starts_with("aws."), lower.starts_with("amazon.")].contains(&true)
        || [
            name.starts_with('.'),
            name.ends_with('.'),
            name.contains(".."),
        ]
        .contains(&true)
    {
        return Some("A message attribute's name is invalid.");
    }
    let kind = attribute["DataType"].as_str().unwrap_or_default();
    let member = match kind.split('.').next() {
        Some("String" | "Number") => "StringValue",
        Some("Binary") => "BinaryValue",
        Some(_) | None => {
            return Some("A message attribute's type is not one of String, Number, Binary.");
        }
    };
    match attribute[member].as_str() {
        None | Some("") => {
            Some("A message attribute must have a value of its type, and not an empty one.")
        }
        Some(text) if kind.starts_with("Number") && text.parse::<f64>().is_err() => {
            Some("Can't cast the value of a message attribute to a number.")
        }
        Some(_) => None,
    }
}

/// The digest of attributes in the order of their names: each part with its length before it, and
/// the kind of value as one byte. Nothing of no attributes.
pub(super) fn md5(attributes: &Attributes) -> Option<String> {
    const TEXT: u8 = 1;
    const BYTES: u8 = 2;
    let mut hashed = Vec::new();
    for (name, attribute) in attributes {
        let text = |member: &str| attribute[member].as_str().unwrap_or_default();
        let kind = text("DataType");
        add(&mut hashed, name.as_bytes());
        add(&mut hashed, kind.as_bytes());
        if kind.starts_with("Binary") {
            hashed.push(BYTES);
            add(
                &mut hashed,
                &STANDARD.decode(text("BinaryValue")).unwrap_or_default(),
            );
        } else {
            hashed.push(TEXT);
            add(&mut hashed, text("StringValue").as_bytes());
        }
    }
    (!attributes.is_empty()).then(|| md5_hex(&hashed))
}

fn add(hashed: &mut Vec<u8>, part: &[u8]) {
    // A message is at most 1 MiB, and so are its parts.
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    hashed.extend(length.to_be_bytes());
    hashed.extend(part);
}

/// The attributes that a receiver asked for by `MessageAttributeNames`: none unless it does.
pub(super) fn wanted(message: &QueueMessage, request: &Value) -> Attributes {
    let names: Vec<&str> = names(request, "MessageAttributeNames");
    let is_wanted = |name: &str| {
        names.iter().any(|wanted| match wanted.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => *wanted == "All" || *wanted == name,
        })
    };
    let mut attributes = message.attributes.clone();
    attributes.retain(|name, _| is_wanted(name));
    attributes
}

/// What SQS itself knows about a message, as far as a receiver asked for it.
pub(super) fn of_system(message: &QueueMessage, request: &Value) -> Attributes {
    let mut names = names(request, "MessageSystemAttributeNames");
    names.extend(self::names(request, "AttributeNames"));
    let millis = |at: chrono::DateTime<chrono::Utc>| json!(at.timestamp_millis().to_string());
    let first = message.first_received_at.unwrap_or(message.sent_at);
    let known = [
        ("ApproximateFirstReceiveTimestamp", millis(first)),
        (
            "ApproximateReceiveCount",
            json!(message.receive_count.to_string()),
        ),
        ("SenderId", json!(message.sender)),
        ("SentTimestamp", millis(message.sent_at)),
    ];
    let is_wanted = |name: &str| {
        names
            .iter()
            .any(|wanted| *wanted == "All" || *wanted == name)
    };
    known
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn names<'a>(request: &'a Value, member: &str) -> Vec<&'a str> {
    let names = request[member].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}
