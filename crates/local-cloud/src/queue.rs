//! One SQS standard queue as a value: what is sent, hidden, received, deleted and moved away.
//!
//! Time is passed in. At least once: a message that is not deleted comes back when its visibility
//! time-out ends, and moves to the dead-letter queue after `max_receive_count` receives.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A message in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueMessage {
    pub(crate) id: String,
    pub(crate) body: String,
    /// Message attributes under their wire names: `{"kind": {"StringValue": …, "DataType": …}}`.
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) sender: String,
    pub(crate) sent_at: DateTime<Utc>,
    pub(crate) visible_at: DateTime<Utc>,
    pub(crate) first_received_at: Option<DateTime<Utc>>,
    pub(crate) receive_count: u32,
}

/// What a receive gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) messages: Vec<QueueMessage>,
    /// Received too often: to be put into the dead-letter queue.
    pub(crate) dead: Vec<QueueMessage>,
}

/// The messages of one queue, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueState {
    pub(crate) messages: Vec<QueueMessage>,
}

impl QueueState {
    pub(crate) fn send(&mut self, message: QueueMessage) {
        self.messages.push(message);
    }

    /// Receives up to `count` visible messages and hides them for `visibility`.
    ///
    /// `max_receive_count` is the redrive policy's; `None` is a queue without one.
    pub(crate) fn receive(
        &mut self,
        count: usize,
        visibility: Duration,
        max_receive_count: Option<u32>,
        now: DateTime<Utc>,
    ) -> Received {
        let mut received = Received::default();
        let mut kept = Vec::with_capacity(self.messages.len());
        for mut message in std::mem::take(&mut self.messages) {
            let due = message.visible_at <= now && received.messages.len() < count;
            if due && max_receive_count.is_some_and(|max| message.receive_count >= max) {
                received.dead.push(message);
                continue;
            }
            if due {
                message.receive_count = message.receive_count.saturating_add(1);
                message.first_received_at.get_or_insert(now);
                message.visible_at = now + visibility;
                received.messages.push(message.clone());
            }
            kept.push(message);
        }
        self.messages = kept;
        received
    }

    /// Makes a received message visible again at `at`, as if it had never been received.
    pub(crate) fn show(&mut self, id: &str, at: DateTime<Utc>) {
        for message in self.messages.iter_mut().filter(|message| message.id == id) {
            message.visible_at = at;
            message.receive_count = message.receive_count.saturating_sub(1);
        }
    }

    pub(crate) fn delete(&mut self, id: &str) {
        self.messages.retain(|message| message.id != id);
    }

    /// Forgets what is older than the queue's retention; returns what was forgotten.
    pub(crate) fn expire(&mut self, retention: Duration, now: DateTime<Utc>) -> Vec<QueueMessage> {
        let old = |message: &mut QueueMessage| message.sent_at + retention <= now;
        self.messages.extract_if(.., old).collect()
    }

    /// When the next message becomes visible; in the past for one that is.
    pub(crate) fn next_visible(&self) -> Option<DateTime<Utc>> {
        self.messages.iter().map(|message| message.visible_at).min()
    }
}

impl QueueMessage {
    /// The record of an event as Lambda passes it to a function.
    pub(crate) fn record(&self, queue_arn: &str, region: &str) -> Value {
        let millis = |at: DateTime<Utc>| at.timestamp_millis().to_string();
        json!({
            "messageId": self.id,
            "receiptHandle": format!("{}#{}", self.id, self.receive_count),
            "body": self.body,
            "attributes": {
                "ApproximateReceiveCount": self.receive_count.to_string(),
                "SentTimestamp": millis(self.sent_at),
                "SenderId": self.sender,
                "ApproximateFirstReceiveTimestamp": millis(self.first_received_at.unwrap_or(self.sent_at)),
            },
            "messageAttributes": self.attributes.iter().map(lambda_attribute).collect::<serde_json::Map<_, _>>(),
            "md5OfBody": md5_hex(self.body.as_bytes()),
            "eventSource": "aws:sqs",
            "eventSourceARN": queue_arn,
            "awsRegion": region,
        })
    }
}

/// Lambda writes the members of an attribute in lower camel case.
fn lambda_attribute((name, attribute): (&String, &Value)) -> (String, Value) {
    let value = json!({
        "stringValue": attribute.get("StringValue"),
        "binaryValue": attribute.get("BinaryValue"),
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": attribute.get("DataType"),
    });
    (name.clone(), value)
}

pub(crate) fn md5_hex(bytes: &[u8]) -> String {
    use md5::{Digest, Md5};
    Md5::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn queue_with(ids: &[&str]) -> QueueState {
        let mut queue = QueueState::default();
        for id in ids {
            queue.send(QueueMessage {
                id: (*id).to_owned(),
                body: "{}".to_owned(),
                attributes: BTreeMap::new(),
                sender: "f".to_owned(),
                sent_at: at(0),
                visible_at: at(0),
                first_received_at: None,
                receive_count: 0,
            });
        }
        queue
    }

    fn receive(queue: &mut QueueState, seconds: i64) -> (Vec<String>, Vec<String>) {
        let received = queue.receive(10, Duration::seconds(30), Some(2), at(seconds));
        let ids =
            |messages: Vec<QueueMessage>| messages.into_iter().map(|message| message.id).collect();
        (ids(received.messages), ids(received.dead))
    }

    #[test]
    fn a_received_message_hides_comes_back_and_ends_as_dead() {
        let mut queue = queue_with(&["a"]);
        let a = vec!["a".to_owned()];
        assert_eq!(receive(&mut queue, 0), (a.clone(), vec![]));
        assert_eq!(receive(&mut queue, 29), (vec![], vec![]));
        assert_eq!(queue.next_visible(), Some(at(30)));
        assert_eq!(receive(&mut queue, 30), (a.clone(), vec![]));
        assert_eq!(receive(&mut queue, 60), (vec![], a));
        assert_eq!(queue, QueueState::default());
    }

    #[test]
    fn a_deleted_message_never_comes_back() {
        let mut queue = queue_with(&["a", "b"]);
        receive(&mut queue, 0);
        queue.delete("a");
        assert_eq!(receive(&mut queue, 30).0, ["b"]);
    }

    #[test]
    fn a_batch_takes_no_more_than_it_may_and_old_messages_are_forgotten() {
        let mut queue = queue_with(&["a", "b", "c"]);
        let received = queue.receive(2, Duration::seconds(30), None, at(0));
        assert_eq!(received.messages.len(), 2);
        assert_eq!(queue.expire(Duration::seconds(60), at(60)).len(), 3);
    }

    #[test]
    fn the_md5_is_the_one_that_sqs_would_give() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
