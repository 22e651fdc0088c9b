//! Consequences on their way out: rows written with the change that they follow from.
//!
//! The outbox table's stream brings new rows to the relay; a sweep picks up what the stream missed.
//! An event keeps its id for ever, so a consumer that saw it knows it again.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ulid::Ulid;

use crate::local_time::stamp;
use crate::planted::{self, Defect};
use crate::step::{Row, Step};

/// Over how many index partitions pending rows are spread: each takes about 1,000 writes a second.
pub const PENDING_SHARDS: u32 = 4;
/// How long a published row is kept, so that it can be replayed.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(35);

/// An event that must leave.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// What it is about, such as `booking#bkg_…`.
    pub aggregate: String,
    /// A fact, such as `booking.released`, or an order to a consumer, such as `message.compose`.
    pub kind: &'static str,
    /// JSON.
    pub payload: String,
    /// The URL of the queue that it goes to.
    pub target: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    Pending,
    Published,
}

/// One outbox row as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutboxRow {
    pub event_id: String,
    pub aggregate: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub schema_version: u32,
    /// JSON.
    pub payload: String,
    pub target: String,
    pub status: Status,
    pub attempts: u32,
    /// RFC 3339 in UTC, to the second: the index sorts by it.
    pub created_at: String,
    pub published_at: Option<String>,
    /// Only while pending.
    pub pending_shard: Option<String>,
}

impl Row for OutboxRow {
    const NAME: &'static str = "outbox";
    const KEY: &'static str = "event_id";

    fn key(&self) -> String {
        self.event_id.clone()
    }
}

/// What a consumer receives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    pub event_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub schema_version: u32,
    pub aggregate: String,
    pub occurred_at: String,
    pub payload: Value,
}

/// A message that is no event, or whose payload is not what the consumer takes. It does not repeat
/// what it read, as a parser's error does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is not an event for this consumer")]
pub struct NotAnEvent;

impl Envelope {
    /// Reads a message: the id of its event, and its payload.
    ///
    /// # Errors
    /// Anything else than an event with such a payload.
    pub fn read<P: DeserializeOwned>(message: Value) -> Result<(String, P), NotAnEvent> {
        let envelope: Self = serde_json::from_value(message).map_err(|_| NotAnEvent)?;
        let payload = serde_json::from_value(envelope.payload).map_err(|_| NotAnEvent)?;
        Ok((envelope.event_id, payload))
    }
}

impl OutboxRow {
    /// The message for the consumer.
    ///
    /// # Errors
    /// A payload that is not JSON.
    pub fn envelope(&self) -> Result<Envelope, serde_json::Error> {
        Ok(Envelope {
            event_id: self.event_id.clone(),
            kind: self.kind.clone(),
            schema_version: self.schema_version,
            aggregate: self.aggregate.clone(),
            occurred_at: self.created_at.clone(),
            payload: serde_json::from_str(&self.payload)?,
        })
    }
}

impl Step {
    /// Adds an event that leaves once this step is written.
    #[must_use]
    pub fn emit(mut self, table: &str, outgoing: Outgoing<'_>) -> Self {
        let event_id = nth(self.id, self.emitted);
        self.emitted += 1;
        let row = OutboxRow {
            event_id: event_id.to_string(),
            aggregate: outgoing.aggregate,
            kind: outgoing.kind.to_owned(),
            schema_version: 1,
            payload: outgoing.payload,
            target: outgoing.target.to_owned(),
            status: Status::Pending,
            attempts: 0,
            created_at: stamp(self.now),
            published_at: None,
            pending_shard: Some(shard_name(shard_of(event_id))),
        };
        self.create(table, &row)
    }
}

/// Marks an event as sent, and says whether that is news. Doing it twice changes nothing.
///
/// # Errors
/// If DynamoDB did not answer: the event will be sent again, under the same id.
pub async fn mark_published(
    client: &Client,
    table: &str,
    event_id: &str,
    now: DateTime<Utc>,
) -> Result<bool, Box<SdkError<UpdateItemError>>> {
    #[expect(clippy::disallowed_methods, reason = "the outbox marks its own rows")]
    let marked = client
        .update_item()
        .table_name(table)
        .key(OutboxRow::KEY, AttributeValue::S(event_id.to_owned()))
        .update_expression("SET #status = :published, published_at = :now, expires_at = :expires ADD attempts :one REMOVE pending_shard")
        .condition_expression("#status = :pending")
        .expression_attribute_names("#status", "status")
        .expression_attribute_values(":published", AttributeValue::S("PUBLISHED".to_owned()))
        .expression_attribute_values(":pending", AttributeValue::S("PENDING".to_owned()))
        .expression_attribute_values(":now", AttributeValue::S(stamp(now)))
        .expression_attribute_values(":expires", AttributeValue::N((now + KEPT_FOR).timestamp().to_string()))
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .send()
        .await;
    match marked {
        Ok(_) => Ok(true),
        Err(error) if planted::is(Defect::OwnWriteUnknown) => Err(Box::new(error)),
        // It is marked already, by another publisher or by a call whose answer was lost.
        Err(error)
            if error
                .as_service_error()
                .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
        {
            Ok(false)
        }
        Err(error) => Err(Box::new(error)),
    }
}

/// One page of the ids of events that have been pending since before `created_before`, oldest first.
///
/// # Errors
/// If DynamoDB did not answer.
pub async fn pending(
    client: &Client,
    table: &str,
    shard: u32,
    created_before: DateTime<Utc>,
    limit: i32,
) -> Result<Vec<(String, DateTime<Utc>)>, Box<SdkError<QueryError>>> {
    let page = client
        .query()
        .table_name(table)
        .index_name("pending-index")
        .key_condition_expression("pending_shard = :shard AND created_at < :before")
        .expression_attribute_values(":shard", AttributeValue::S(shard_name(shard)))
        .expression_attribute_values(":before", AttributeValue::S(stamp(created_before)))
        .limit(limit)
        .send()
        .await
        .map_err(Box::new)?;
    let text = |item: &crate::step::Item, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned()
    };
    Ok(page
        .items()
        .iter()
        .filter_map(|item| {
            let created_at = text(item, "created_at")?.parse().ok()?;
            Some((text(item, "event_id")?, created_at))
        })
        .collect())
}

fn nth(step: Ulid, index: u128) -> Ulid {
    Ulid::from_parts(step.timestamp_ms(), step.random().wrapping_add(index))
}

fn shard_of(event_id: Ulid) -> u32 {
    u32::try_from(event_id.random() % u128::from(PENDING_SHARDS)).unwrap_or_default()
}

fn shard_name(shard: u32) -> String {
    format!("PENDING#{shard}")
}

/// Reads the new row of a stream record: its attributes in DynamoDB's JSON, all of them scalars.
///
/// # Errors
/// Attributes that are not an outbox row.
pub fn from_stream(image: &Value) -> Result<OutboxRow, serde_json::Error> {
    let plain: Map<String, Value> = image
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, typed)| (name.clone(), scalar(typed)))
        .collect();
    serde_json::from_value(Value::Object(plain))
}

fn scalar(typed: &Value) -> Value {
    match (typed.get("S"), typed.get("N").and_then(Value::as_str)) {
        (Some(text), _) => text.clone(),
        (None, Some(number)) => number.parse::<u64>().map_or(Value::Null, Value::from),
        (None, None) => Value::Null,
    }
}
