//! SQS standard queues: sending, and what an operator needs to look into a queue.

use chrono::Duration;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::iam::Access;
use crate::queue::{QueueMessage, md5_hex};
use crate::services::sqs_attributes::{self as attributes, Attributes};
use crate::template::{ACCOUNT, REGION};
use crate::wire::{Answer, AwsRequest};

const MESSAGE_BYTES_MAX: usize = 1_048_576;
const BATCH_ENTRIES_MAX: usize = 10;
const BATCH_ID_CHARACTERS_MAX: usize = 80;
const DELAY_SECONDS_MAX: i64 = 900;
/// How late a message is seen that is late.
const LATE_MAX: Duration = Duration::days(2);
const RECEIVE_MAX: i64 = 10;
const VISIBILITY_SECONDS_MAX: i64 = 43_200;

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
        "SendMessage" => done(request, send(cloud, caller, &queue, &request.body)),
        "SendMessageBatch" => send_batch(cloud, caller, &queue, request),
        "ReceiveMessage" => done(request, receive(cloud, &queue, &request.body)),
        "DeleteMessage" => done(request, delete(cloud, &queue, &request.body)),
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

fn done(request: &AwsRequest, done: Result<Value, Refusal>) -> Answer {
    match done {
        Ok(answer) => request.answer(&answer),
        Err((code, message)) => request.error(400, &format!("com.amazonaws.sqs#{code}"), message),
    }
}

fn send(cloud: &Cloud, caller: &str, queue: &str, entry: &Value) -> Result<Value, Refusal> {
    let body = entry["MessageBody"].as_str().unwrap_or_default();
    if body.is_empty() {
        return Err((
            "MissingParameter",
            "The request must contain the parameter MessageBody.",
        ));
    }
    if !body.chars().all(may_be_sent) {
        return Err((
            "InvalidMessageContents",
            "Invalid characters were found in the message body.",
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
    let attributes = entry["MessageAttributes"].as_object().cloned();
    let attributes: Attributes = attributes.unwrap_or_default().into_iter().collect();
    if let Some(complaint) = attributes::complaint(&attributes) {
        return Err(("InvalidParameterValue", complaint));
    }
    let mut sent = json!({"MD5OfMessageBody": md5_hex(body.as_bytes())});
    if let Some(digest) = attributes::md5(&attributes) {
        sent["MD5OfMessageAttributes"] = json!(digest);
    }
    let delay = Duration::seconds(delay);
    sent["MessageId"] = json!(put(cloud, queue, caller, body, attributes, delay));
    Ok(sent)
}

/// What XML 1.0 can say; SQS takes nothing else.
fn may_be_sent(symbol: char) -> bool {
    matches!(symbol, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Puts a message into a queue, whoever sends it; returns its id.
pub(crate) fn put(
    cloud: &Cloud,
    queue: &str,
    sender: &str,
    body: &str,
    attributes: Attributes,
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
    let in_shape = |id: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=BATCH_ID_CHARACTERS_MAX).contains(&id.len()) && id.bytes().all(allowed)
    };
    if !ids.iter().all(in_shape) {
        return Some((
            "InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
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

fn receive(cloud: &Cloud, queue: &str, wanted: &Value) -> Result<Value, Refusal> {
    let count = wanted["MaxNumberOfMessages"].as_i64().unwrap_or(1);
    let count = usize::try_from(count)
        .ok()
        .filter(|_| (1..=RECEIVE_MAX).contains(&count));
    let count = count.ok_or((
        "InvalidParameterValue",
        "MaxNumberOfMessages must be between 1 and 10, if provided.",
    ))?;
    let visibility = wanted["VisibilityTimeout"].as_i64();
    if visibility.is_some_and(|seconds| !(0..=VISIBILITY_SECONDS_MAX).contains(&seconds)) {
        return Err((
            "InvalidParameterValue",
            "VisibilityTimeout must be between 0 and 43200, if provided.",
        ));
    }
    let messages = cloud.receive(queue, count, visibility.map(Duration::seconds));
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| told(message, wanted))
        .collect();
    Ok(json!({ "Messages": messages }))
}

/// A message as its receiver gets it, with those of its attributes that were asked for.
fn told(message: &QueueMessage, wanted: &Value) -> Value {
    let mut told = json!({
        "MessageId": message.id,
        "ReceiptHandle": format!("{}#{}", message.id, message.receive_count),
        "Body": message.body,
        "MD5OfBody": md5_hex(message.body.as_bytes()),
    });
    let (own, of_system) = (
        attributes::wanted(message, wanted),
        attributes::of_system(message, wanted),
    );
    if let Some(digest) = attributes::md5(&own) {
        told["MD5OfMessageAttributes"] = json!(digest);
        told["MessageAttributes"] = json!(own);
    }
    if !of_system.is_empty() {
        told["Attributes"] = json!(of_system);
    }
    told
}

/// An old handle deletes as well: AWS promises neither that it does nor that it does not.
fn delete(cloud: &Cloud, queue: &str, wanted: &Value) -> Result<Value, Refusal> {
    let handle = wanted["ReceiptHandle"].as_str().unwrap_or_default();
    let (id, _) = handle.split_once('#').ok_or((
        "ReceiptHandleIsInvalid",
        "The input receipt handle is not a valid receipt handle.",
    ))?;
    cloud.store.change(|state| {
        let messages = state.queues.entry(queue.to_owned()).or_default();
        messages.delete(id);
    });
    Ok(json!({}))
}
