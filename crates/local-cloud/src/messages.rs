//! The messages that left the cloud for a person, and what is told to a watching console.

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
