//! DynamoDB streams to functions: filtering, batches, partial failures, bisecting, giving up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use super::Settled;
use super::queues::batch_item_failures;
use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::filter;
use crate::iam::Access;
use crate::mischief::Redelivery;
use crate::queue::md5_hex;
use crate::services::dynamodb;
use crate::store::StreamCursor;
use crate::template::{ACCOUNT, REGION, StreamMapping};

const PAGE_RECORDS: usize = 1_000;
const PAGES_MAX: usize = 10_000;
const BACKOFF_SECONDS_MAX: i64 = 60;
/// A stream keeps its records for a day: so late may they come again, and a little less late at all.
const REDELIVERED_WITHIN: Duration = Duration::hours(24);
const LATE_MAX: Duration = Duration::hours(20);

/// Delivers one batch of new records, if there is one and it is time.
pub(super) async fn deliver(cloud: &Arc<Cloud>, mapping: &StreamMapping, settled: &mut Settled) {
    let now = cloud.clock.now();
    if cloud.writes.is_read(mapping) {
        return;
    }
    let cursor = cursor(cloud, mapping);
    if !cloud.is_installed(&mapping.function) || cursor.retry_at.is_some_and(|at| at > now) {
        return;
    }
    let size = cursor
        .size_max
        .unwrap_or(mapping.batch_size)
        .clamp(1, mapping.batch_size.max(1));
    let batch = next_batch(cloud, mapping, size);
    if batch.is_empty() {
        return;
    }
    if let Some(at) = first_late_at(cloud, &cursor) {
        let put_off = StreamCursor {
            retry_at: Some(at),
            ..self::cursor(cloud, mapping)
        };
        save(cloud, mapping, put_off);
        return;
    }
    let result = cloud
        .invoke(&mapping.function, json!({ "Records": batch }))
        .await;
    let checkpoint = checkpoint(mapping, result.ok(), &batch);
    settled.count(checkpoint.is_some());
    let next = match checkpoint {
        // It comes again.
        None if cloud.dice.duplicate() => {
            cloud.faults.count("duplicate_batch");
            return;
        }
        None => {
            let rate = |disorder: &Disorder| disorder.redeliver_late_per_mille;
            if let Some(delay) = cloud.dice.delay(rate, REDELIVERED_WITHIN) {
                let again = Redelivery {
                    function: mapping.function.clone(),
                    event: json!({ "Records": batch }),
                };
                cloud.mischief.redeliveries.put(now + delay, again);
            }
            done_with(&batch)
        }
        Some(index) => after_failure(cloud, mapping, &batch, index),
    };
    save(cloud, mapping, next);
}

/// When a batch comes for the first time, if that is to be late.
fn first_late_at(cloud: &Cloud, cursor: &StreamCursor) -> Option<DateTime<Utc>> {
    let is_first = cursor.attempts == 0 && cursor.retry_at.is_none() && cursor.size_max.is_none();
    let rate = |disorder: &Disorder| disorder.delay_per_mille;
    let delay = is_first
        .then(|| cloud.dice.delay(rate, LATE_MAX))
        .flatten()?;
    cloud.faults.count("delayed_stream");
    Some(cloud.clock.now() + delay)
}

/// The next records that pass the filter; pages without one are done with at once.
fn next_batch(cloud: &Cloud, mapping: &StreamMapping, size: usize) -> Vec<Value> {
    for _ in 0..PAGES_MAX {
        let written = cloud.writes.count(&mapping.table);
        let page = page(cloud, mapping, cursor(cloud, mapping).after.as_deref());
        let Some(last_read) = page.last().map(sequence_number) else {
            cloud.writes.note_read(mapping, written);
            break;
        };
        if !may_read(cloud, mapping) {
            break;
        }
        let wanted = page.into_iter().filter(|record| is_wanted(mapping, record));
        let as_sent = |record| as_lambda_sends(cloud, mapping, record);
        let batch: Vec<Value> = wanted.take(size).map(as_sent).collect();
        if !batch.is_empty() {
            return batch;
        }
        let behind = StreamCursor {
            after: Some(last_read),
            ..StreamCursor::default()
        };
        save(cloud, mapping, behind);
    }
    Vec::new()
}

/// How many writes each table had, and up to which of them each mapping has read its stream: while
/// there was none since, there is nothing to look for.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    counts: Mutex<BTreeMap<String, u64>>,
    read: Mutex<BTreeMap<String, u64>>,
}

impl Writes {
    /// Notes that a table may have changed.
    pub(crate) fn note(&self, table: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(table) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                counts.insert(table.to_owned(), 1);
            }
        }
    }

    pub(crate) fn count(&self, table: &str) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(table).copied().unwrap_or_default()
    }

    fn is_read(&self, mapping: &StreamMapping) -> bool {
        let written = self.count(&mapping.table);
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.get(&mapping.id()) == Some(&written)
    }

    fn note_read(&self, mapping: &StreamMapping, written: u64) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(mapping.id(), written);
    }
}

/// When the mapping wants to be looked at again; `None` when it has read everything.
pub(super) fn due_at(cloud: &Cloud, mapping: &StreamMapping) -> Option<DateTime<Utc>> {
    if cloud.writes.is_read(mapping) {
        return None;
    }
    let cursor = cursor(cloud, mapping);
    let written = cloud.writes.count(&mapping.table);
    let waiting = !page(cloud, mapping, cursor.after.as_deref()).is_empty();
    if !waiting {
        cloud.writes.note_read(mapping, written);
    }
    waiting.then(|| cursor.retry_at.unwrap_or_else(|| cloud.clock.now()))
}

fn cursor(cloud: &Cloud, mapping: &StreamMapping) -> StreamCursor {
    cloud
        .store
        .look(|state| state.streams.get(&mapping.id()).cloned())
        .unwrap_or_default()
}

fn save(cloud: &Cloud, mapping: &StreamMapping, cursor: StreamCursor) {
    cloud
        .store
        .change(|state| state.streams.insert(mapping.id(), cursor));
}

fn stream_arn(mapping: &StreamMapping) -> String {
    format!(
        "arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}/stream/local",
        mapping.table
    )
}

fn may_read(cloud: &Cloud, mapping: &StreamMapping) -> bool {
    let actions = [
        "DescribeStream",
        "GetRecords",
        "GetShardIterator",
        "ListStreams",
    ];
    let needs =
        actions.map(|action| Access::new(format!("dynamodb:{action}"), stream_arn(mapping)));
    cloud.authorise(&mapping.function, &needs).is_ok()
}

/// The records behind a position, oldest first.
fn page(cloud: &Cloud, mapping: &StreamMapping, after: Option<&str>) -> Vec<Value> {
    let mut request = json!({
        "StreamArn": stream_arn(mapping),
        "ShardId": dynoxide::streams::shard_id(&mapping.table),
        "ShardIteratorType": "TRIM_HORIZON",
    });
    if let Some(after) = after {
        request["ShardIteratorType"] = json!("AFTER_SEQUENCE_NUMBER");
        request["SequenceNumber"] = json!(after);
    }
    let iterator = dynamodb::call(&cloud.database, "GetShardIterator", &request);
    let records = iterator.and_then(|answer| {
        let request = json!({"ShardIterator": answer["ShardIterator"], "Limit": PAGE_RECORDS});
        dynamodb::call(&cloud.database, "GetRecords", &request)
    });
    match records {
        Ok(mut answer) => match answer["Records"].take() {
            Value::Array(records) => records,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => Vec::new(),
        },
        Err(error) => {
            tracing::error!(error = %error, "The stream of `{}` can't be read", mapping.table);
            Vec::new()
        }
    }
}

fn sequence_number(record: &Value) -> String {
    record["dynamodb"]["SequenceNumber"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn is_wanted(mapping: &StreamMapping, record: &Value) -> bool {
    // AWS writes no record for an update that changed nothing; dynoxide does.
    let images = &record["dynamodb"];
    let unchanged = record["eventName"] == "MODIFY" && images["OldImage"] == images["NewImage"];
    let passes = mapping.filters.is_empty()
        || mapping
            .filters
            .iter()
            .any(|filter| filter::matches(filter, record));
    !unchanged && passes
}

/// The record with the images that the table's view type has, and the real ARN.
fn as_lambda_sends(cloud: &Cloud, mapping: &StreamMapping, mut record: Value) -> Value {
    let view = cloud
        .stack
        .tables
        .get(&mapping.table)
        .and_then(|table| table.stream_view.clone())
        .unwrap_or_default();
    // dynoxide's own id is random.
    record["eventID"] = json!(md5_hex(sequence_number(&record).as_bytes()));
    record["awsRegion"] = json!(REGION);
    record["eventSourceARN"] = json!(stream_arn(mapping));
    if let Some(images) = record["dynamodb"].as_object_mut() {
        images.insert("StreamViewType".to_owned(), json!(view));
        if view != "NEW_IMAGE" && view != "NEW_AND_OLD_IMAGES" {
            images.remove("NewImage");
        }
        if view != "OLD_IMAGE" && view != "NEW_AND_OLD_IMAGES" {
            images.remove("OldImage");
        }
    }
    record
}

/// The index of the first record that must come again; `None` when all are done.
fn checkpoint(mapping: &StreamMapping, reply: Option<Value>, batch: &[Value]) -> Option<usize> {
    let Some(reply) = reply else { return Some(0) };
    if !mapping.partial_failures {
        return None;
    }
    let numbers: Vec<String> = batch.iter().map(sequence_number).collect();
    let ids: Vec<&str> = numbers.iter().map(String::as_str).collect();
    match batch_item_failures(&reply, &ids) {
        None => Some(0),
        Some(failed) => numbers.iter().position(|number| failed.contains(number)),
    }
}

fn done_with(batch: &[Value]) -> StreamCursor {
    StreamCursor {
        after: batch.last().map(sequence_number),
        ..StreamCursor::default()
    }
}

/// Where to go on when the record at `index` and those behind it must come again.
fn after_failure(
    cloud: &Cloud,
    mapping: &StreamMapping,
    batch: &[Value],
    index: usize,
) -> StreamCursor {
    let now = cloud.clock.now();
    let cursor = cursor(cloud, mapping);
    let after = match index.checked_sub(1) {
        Some(before) => batch.get(before).map(sequence_number),
        None => cursor.after.clone(),
    };
    let rest = &batch[index..];
    if mapping.bisect && index == 0 && rest.len() > 1 {
        // Splitting a batch costs no retry.
        let size_max = Some(rest.len().div_ceil(2));
        return StreamCursor {
            after,
            size_max,
            ..cursor
        };
    }
    let attempts = if index == 0 {
        cursor.attempts.saturating_add(1)
    } else {
        1
    };
    let exhausted = mapping.retries_max.is_some_and(|max| attempts > max);
    let failing_since = cursor.failing_since.filter(|_| index == 0).unwrap_or(now);
    let age = now - failing_since;
    let too_old = mapping
        .record_age_max_seconds
        .is_some_and(|max| age > Duration::seconds(max));
    if exhausted || too_old {
        let condition = if exhausted {
            "RetryAttemptsExhausted"
        } else {
            "RecordAgeExceeded"
        };
        let report = failure_report(mapping, rest, condition, attempts, now);
        let from = format!("stream of {}", mapping.table);
        cloud.give_up(
            Some(&mapping.function),
            &from,
            mapping.failure_queue.as_deref(),
            &report,
        );
        return done_with(rest);
    }
    let backoff = 1_i64
        .checked_shl(attempts.saturating_sub(1))
        .unwrap_or(BACKOFF_SECONDS_MAX);
    StreamCursor {
        after,
        attempts,
        size_max: cursor.size_max,
        failing_since: Some(failing_since),
        retry_at: Some(now + Duration::seconds(backoff.clamp(1, BACKOFF_SECONDS_MAX))),
    }
}

/// What Lambda tells the destination: where the records are, not what they hold.
fn failure_report(
    mapping: &StreamMapping,
    rest: &[Value],
    condition: &str,
    attempts: u32,
    now: DateTime<Utc>,
) -> Value {
    json!({
        "version": "1.0",
        "timestamp": now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        "requestContext": {
            "functionArn": crate::template::function_arn(&mapping.function),
            "condition": condition,
            "approximateInvokeCount": attempts,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "DDBStreamBatchInfo": {
            "shardId": dynoxide::streams::shard_id(&mapping.table),
            "startSequenceNumber": rest.first().map(sequence_number),
            "endSequenceNumber": rest.last().map(sequence_number),
            "batchSize": rest.len(),
            "streamArn": stream_arn(mapping),
        },
    })
}
