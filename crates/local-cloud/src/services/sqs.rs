//! SQS standard queues: sending, and what an operator needs to look into a queue.

use std::collections::BTreeMap;

use chrono::Duration;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::iam::Access;
use crate::queue::{QueueMessage, md5_hex};
use crate::template::{ACCOUNT, REGION};
use crate::wire::{Answer, AwsRequest};

const MESSAGE_BYTES_MAX: usize = 1_048_576;
const BATCH_ENTRIES_MAX: usize = 10;
const DELAY_SECONDS_MAX: i64 = 900;
/// How late a message is seen that is late.
const LATE_MAX: Duration = Duration::days(2);

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    let action = match request.operation.as_str() {
        // A batch is allowed by the permission of the single operation.
        "SendMessage" | "SendMessageBatch" => "sqs:SendMessage",
        "ReceiveMessage" => "sqs:ReceiveMessage",
        "DeleteMessage" => "sqs:DeleteMessage",
        _ => return None,
    };
    Some(vec![Access::new(action, queue_arn(&queue_name(request)))])
}

pub(super) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    if needs(request).is_none() {
        return request.unknown_operation();
    }
    let queue = queue_name(request);
    if !cloud.stack.queues.contains_key(&queue) {
        return request.error(
            400,
            "com.amazonaws.sqs#QueueDoesNotExist",
            "The specified queue does not exist.",
        );
    }
    match request.operation.as_str() {
        "SendMessage" => match send(cloud, caller, &queue, &request.body) {
            Ok(sent) => request.answer(&sent),
            Err((code, message)) => {
                request.error(400, &format!("com.amazonaws.sqs#{code}"), message)
            }
        },
        "SendMessageBatch" => send_batch(cloud, caller, &queue, request),
        "ReceiveMessage" => receive(cloud, &queue, request),
        "DeleteMessage" => {
            let receipt = request.body["ReceiptHandle"].as_str().unwrap_or_default();
            let id = receipt.split('#').next().unwrap_or_default();
            cloud
                .store
                .change(|state| state.queues.entry(queue.clone()).or_default().delete(id));
            request.answer(&json!({}))
        }
        _ => request.unknown_operation(),
    }
}

pub(crate) fn queue_arn(queue: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}")
}

fn queue_name(request: &AwsRequest) -> String {
    let url = request.body["QueueUrl"].as_str().unwrap_or_default();
    url.rsplit('/').next().unwrap_or(url).to_owned()
}

type Refusal = (&'static str, &'static str);

fn send(cloud: &Cloud, caller: &str, queue: &str, entry: &Value) -> Result<Value, Refusal> {
    let body = entry["MessageBody"].as_str().unwrap_or_default();
    if body.is_empty() {
        return Err((
            "MissingParameter",
            "The request must contain the parameter MessageBody.",
        ));
    }
    if size(entry) > MESSAGE_BYTES_MAX {
        return Err((
            "InvalidParameterValue",
            "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
        ));
    }
    let delay = entry["DelaySeconds"]
        .as_i64()
        .unwrap_or(cloud.stack.queues[queue].delay_seconds);
    if !(0..=DELAY_SECONDS_MAX).contains(&delay) {
        return Err((
            "InvalidParameterValue",
            "DelaySeconds must be >= 0 and <= 900.",
        ));
    }
    let attributes = entry["MessageAttributes"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let id = put(
        cloud,
        queue,
        caller,
        body,
        attributes.into_iter().collect(),
        Duration::seconds(delay),
    );
    Ok(json!({"MessageId": id, "MD5OfMessageBody": md5_hex(body.as_bytes())}))
}

/// Puts a message into a queue, whoever sends it; returns its id.
pub(crate) fn put(
    cloud: &Cloud,
    queue: &str,
    sender: &str,
    body: &str,
    attributes: BTreeMap<String, Value>,
    delay: Duration,
) -> String {
    let now = cloud.clock.now();
    let delay = delay + late_by(cloud, queue);
    let id = cloud.new_id("message");
    let message = QueueMessage {
        id: id.clone(),
        body: body.to_owned(),
        attributes,
        sender: sender.to_owned(),
        sent_at: now,
        visible_at: now + delay,
        first_received_at: None,
        receive_count: 0,
    };
    cloud.store.change(|state| {
        state
            .queues
            .entry(queue.to_owned())
            .or_default()
            .send(message)
    });
    id
}

/// How much later than it should a message becomes visible to a function for the first time.
fn late_by(cloud: &Cloud, queue: &str) -> Duration {
    let mut mappings = cloud.stack.queue_mappings.iter();
    let retention = cloud.stack.queues.get(queue);
    let retention = retention.map_or(0, |queue| queue.retention_seconds);
    if !mappings.any(|mapping| mapping.queue == queue) {
        return Duration::zero();
    }
    let most = Duration::seconds(retention / 2).min(LATE_MAX);
    let rate = |disorder: &Disorder| disorder.delay_per_mille;
    let late_by = cloud.dice.delay(rate, most);
    if late_by.is_some() {
        cloud.faults.count("delayed_message");
    }
    late_by.unwrap_or_default()
}

/// The size that counts: the body, and names, types and values of the attributes.
fn size(entry: &Value) -> usize {
    let body = entry["MessageBody"].as_str().map_or(0, str::len);
    let attributes = entry["MessageAttributes"].as_object().into_iter().flatten();
    let attribute_size = |(name, value): (&String, &Value)| {
        let text = |member: &str| value[member].as_str().map_or(0, str::len);
        name.len() + text("DataType") + text("StringValue") + text("BinaryValue")
    };
    body + attributes.map(attribute_size).sum::<usize>()
}

fn send_batch(cloud: &Cloud, caller: &str, queue: &str, request: &AwsRequest) -> Answer {
    let entries = request.body["Entries"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if let Some((code, message)) = batch_refusal(&entries) {
        return request.error(400, &format!("com.amazonaws.sqs#{code}"), message);
    }
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in &entries {
        match send(cloud, caller, queue, entry) {
            Ok(mut sent) => {
                sent["Id"] = entry["Id"].clone();
                successful.push(sent);
            }
            Err((code, message)) => {
                failed.push(json!({"Id": entry["Id"], "SenderFault": true, "Code": code, "Message": message}));
            }
        }
    }
    request.answer(&json!({"Successful": successful, "Failed": failed}))
}

fn batch_refusal(entries: &[Value]) -> Option<Refusal> {
    let mut ids: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["Id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    if entries.is_empty() {
        return Some((
            "EmptyBatchRequest",
            "There should be at least one SendMessageBatchRequestEntry in the request.",
        ));
    }
    if entries.len() > BATCH_ENTRIES_MAX {
        return Some((
            "TooManyEntriesInBatchRequest",
            "Maximum number of entries per request are 10.",
        ));
    }
    if ids.len() != entries.len() {
        return Some((
            "BatchEntryIdsNotDistinct",
            "Two or more batch entries in the request have the same Id.",
        ));
    }
    (entries.iter().map(size).sum::<usize>() > MESSAGE_BYTES_MAX).then_some((
        "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes.",
    ))
}

fn receive(cloud: &Cloud, queue: &str, request: &AwsRequest) -> Answer {
    let count = request.body["MaxNumberOfMessages"].as_u64().unwrap_or(1);
    let visibility = request.body["VisibilityTimeout"]
        .as_i64()
        .map(Duration::seconds);
    let messages = cloud.receive(queue, usize::try_from(count).unwrap_or(1), visibility);
    let messages = messages.iter().map(|message| {
        json!({
            "MessageId": message.id,
            "ReceiptHandle": format!("{}#{}", message.id, message.receive_count),
            "Body": message.body,
            "MD5OfBody": md5_hex(message.body.as_bytes()),
            "MessageAttributes": message.attributes,
            "Attributes": {"ApproximateReceiveCount": message.receive_count.to_string()},
        })
    });
    request.answer(&json!({ "Messages": messages.collect::<Vec<_>>() }))
}
