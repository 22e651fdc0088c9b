//! The messages that left the cloud for a person, and what is told to a watching console.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A text message or a mail, as sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `sms` or `mail`.
    pub channel: String,
    pub to: String,
    /// The message attribute or mail tag `kind`; empty when there is none.
    pub kind: String,
    /// Of a mail; empty for a text message.
    pub subject: String,
    pub text: String,
    pub at: DateTime<Utc>,
    /// The function that sent it.
    pub function: String,
    /// The provider's id, as the function was told.
    pub id: String,
    /// What a mail says beside this; absent for a text message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<Box<Mail>>,
}

/// What only a mail has. Addresses are as they were given, perhaps with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub reply_to: Vec<String>,
    /// Name and value: those that came beside a simple mail, or all of a raw one.
    pub headers: Vec<(String, String)>,
    pub html: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub configuration_set: Option<String>,
    /// The whole of a raw mail, as it was sent.
    pub raw: Option<String>,
}

impl Mail {
    /// The value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Something that a person who watches would like to see.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happening {
    InvocationStarted {
        at: DateTime<Utc>,
        function: String,
        invocation: u64,
    },
    InvocationEnded {
        at: DateTime<Utc>,
        function: String,
        invocation: u64,
        problem: Option<String>,
    },
    MessageSent {
        message: Message,
    },
    /// A message moved from a queue to its dead-letter queue, or was put there by a mapping, a
    /// schedule or an asynchronous invocation that gave up.
    DeadLettered {
        at: DateTime<Utc>,
        from: String,
        queue: String,
        id: String,
    },
    /// Nobody will ever handle this: there is no dead-letter queue, or it may not be used.
    Dropped {
        at: DateTime<Utc>,
        from: String,
        id: String,
    },
    /// A neighbour's request reached a function.
    Delivered {
        at: DateTime<Utc>,
        function: String,
        id: String,
        status: u16,
    },
}
