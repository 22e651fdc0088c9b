//! Deliveries by hand: the events that Lambda makes of queue messages and stream records.

use std::io::Write;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Duration;
use fleet_tests::{Booked, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

/// A little longer than the visibility time-out of a queue: a failed delivery comes again.
pub fn redelivery() -> Duration {
    Duration::seconds(181)
}

/// Every redelivery that a message can have, and the dead letters after it.
pub fn all_redeliveries() -> Duration {
    Duration::seconds(6 * 181)
}

/// An SQS event with these bodies, under the ids `m-1`, `m-2` and so on.
pub fn queue_event<B: AsRef<str>>(bodies: &[B]) -> Value {
    let record = |(index, body): (usize, &B)| json!({"messageId": format!("m-{}", index + 1), "body": body.as_ref(), "eventSource": "aws:sqs"});
    json!({"Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>()})
}

/// The ids that a batch reply wants delivered again.
pub fn failed_ids(reply: &Value) -> Vec<&str> {
    let failures = reply["batchItemFailures"].as_array().unwrap();
    failures
        .iter()
        .map(|failure| failure["itemIdentifier"].as_str().unwrap())
        .collect()
}

/// The rows of the outbox about a booking, in order.
pub fn outbox_of(town: &Town, booked: &Booked) -> Vec<Value> {
    let rows = town.rows("bdc-outbox").into_iter();
    rows.filter(|row| row["aggregate"] == format!("booking#{}", booked.id))
        .collect()
}

/// The message that the relay makes of an outbox row.
pub fn message_of(row: &Value) -> String {
    let payload: Value = serde_json::from_str(row["payload"].as_str().unwrap()).unwrap();
    json!({
        "event_id": row["event_id"], "type": row["type"], "schema_version": row["schema_version"],
        "aggregate": row["aggregate"], "occurred_at": row["created_at"], "payload": payload,
    })
    .to_string()
}

/// The job that orders a kind of message about a booking, as it is queued.
pub fn job(town: &Town, booked: &Booked, kind: &str) -> String {
    let rows = outbox_of(town, booked);
    let jobs: Vec<String> = rows.iter().map(message_of).collect();
    let wanted = format!("\"kind\":\"{kind}\"");
    jobs.into_iter()
        .find(|job| job.contains(&wanted))
        .expect("the booking ordered such a message")
}

/// The stream records of outbox rows, as Lambda sends them; `s-1`, `s-2` and so on.
pub fn stream_event(rows: &[Value]) -> Value {
    let record = |(index, row): (usize, &Value)| {
        json!({"eventName": "INSERT", "eventSource": "aws:dynamodb", "dynamodb": {
            "SequenceNumber": format!("s-{}", index + 1), "NewImage": image(row)}})
    };
    json!({"Records": rows.iter().enumerate().map(record).collect::<Vec<_>>()})
}

fn image(row: &Value) -> Value {
    let typed = |(name, value): (&String, &Value)| {
        let typed = match value {
            Value::Number(number) => json!({"N": number.to_string()}),
            other => json!({ "S": other }),
        };
        (name.clone(), typed)
    };
    Value::Object(row.as_object().unwrap().iter().map(typed).collect())
}

/// Puts a text into a queue, as an operator could.
pub async fn send(town: &Town, queue: &str, body: &str) {
    let sqs = lambda_kit::client!(aws_sdk_sqs, &town.fleet.cloud.operator());
    let url = format!("http://local/{queue}");
    let sent = sqs.send_message().queue_url(url).message_body(body).send();
    sent.await.unwrap();
}

/// The bodies that wait in a queue.
pub fn waiting(town: &Town, queue: &str) -> Vec<String> {
    let queues = town.fleet.cloud.queues();
    let messages = queues[queue].as_array().unwrap();
    let body = |message: &Value| message["body"].as_str().unwrap().to_owned();
    messages.iter().map(body).collect()
}

/// Puts a row as it is: what no code of ours would write.
pub async fn put_row<N: Into<String>>(
    town: &Town,
    table: &str,
    row: impl IntoIterator<Item = (N, AttributeValue)>,
) {
    let item = row.into_iter().map(|(name, value)| (name.into(), value));
    #[expect(clippy::disallowed_methods, reason = "an operator's hand, or a defect")]
    let put = town.fleet.cloud.dynamodb().put_item();
    put.table_name(table)
        .set_item(Some(item.collect()))
        .send()
        .await
        .unwrap();
}

/// An attribute that is a text.
pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// The ends of the ledger of a message: `1-intent`, `2-sent`, `suppressed` and so on, in order.
pub fn ledger(town: &Town, booked: &Booked, occasion: &str) -> Vec<String> {
    let prefix = format!("message#{occasion}#");
    let rows = town.rows("bdc-audit").into_iter();
    let own = rows.filter(|row| row["booking_id"] == booked.id.as_str());
    own.filter_map(|row| {
        let key = row["ts"].as_str().unwrap().strip_prefix(&prefix)?;
        Some(key.rsplit('#').next().unwrap().to_owned())
    })
    .collect()
}

/// A wish for a table and a time of its own.
pub fn wish_at(town: &Town, resource: &str, starts_at: &str) -> Value {
    let mut wish = town.wish();
    wish["resource"] = json!(resource);
    wish["starts_at"] = json!(starts_at);
    wish
}

/// Twelve times at which a table is free, on one Sunday.
pub fn times() -> impl Iterator<Item = String> {
    (0..12).map(|nth| {
        let minutes = 90 * nth;
        format!("2026-07-12T{:02}:{:02}", 5 + minutes / 60, minutes % 60)
    })
}

/// The outbox rows that nobody has sent yet.
pub fn pending(town: &Town) -> Vec<Value> {
    let rows = town.rows("bdc-outbox").into_iter();
    rows.filter(|row| row["status"] == "PENDING").collect()
}

/// Each call with its number among the calls of the same operation, from 1.
pub fn numbered(calls: Vec<String>) -> Vec<(String, u32)> {
    let nth = |index: usize| {
        let same = calls[..=index].iter().filter(|call| **call == calls[index]);
        u32::try_from(same.count()).unwrap()
    };
    (0..calls.len())
        .map(|index| (calls[index].clone(), nth(index)))
        .collect()
}

/// Each call with each fault, once and thrice: the SDK's own attempts are three.
pub fn every_fault(function: &str, calls: Vec<String>) -> Vec<FaultRule> {
    let mut rules = Vec::new();
    for (operation, nth) in numbered(calls) {
        for fault in FaultKind::ALL {
            let rule = FaultRule::once(function, &operation, fault).nth(nth);
            rules.extend([rule.clone(), rule.times(3)]);
        }
    }
    rules
}

/// The log lines of this thread alone, instead of the process's.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Collects until the guard is dropped.
    pub fn collect(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// The values of a metric so far, whichever function counted them.
    pub fn metric(&self, name: &str) -> Vec<i64> {
        let counted = self.counted(name).into_iter();
        counted.map(|(_, value)| value).collect()
    }

    /// The values of a metric so far, each with the function that counted it.
    pub fn counted(&self, name: &str) -> Vec<(String, i64)> {
        let bytes = self.0.lock().unwrap();
        let lines = std::str::from_utf8(&bytes).unwrap().lines();
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .filter(|event| event["fields"]["metric"] == name)
            .map(|event| {
                let fields = &event["fields"];
                let function = fields["function"].as_str().unwrap().to_owned();
                (function, fields["value"].as_i64().unwrap())
            })
            .collect()
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A fault that never struck proves nothing.
pub fn assert_struck(town: &Town, rule: &FaultRule) {
    let calls = town.fleet.cloud.calls();
    let struck = calls.iter().any(|call| {
        call.fault == Some(rule.fault) && Some(call.function.as_str()) == rule.function.as_deref()
    });
    assert!(struck, "{rule:?} never struck");
}
