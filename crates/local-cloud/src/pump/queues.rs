//! SQS queues to functions: batches, partial failures, what stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use super::Settled;
use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::iam::Access;
use crate::queue::{QueueMessage, QueueState};
use crate::services::sqs;
use crate::template::{QueueMapping, REGION};

/// How late a message comes again that was handled.
const REDELIVERED_WITHIN: Duration = Duration::days(3);

/// Delivers one batch of visible messages, if there is one.
pub(super) async fn deliver(cloud: &Arc<Cloud>, mapping: &QueueMapping, settled: &mut Settled) {
    let now = cloud.clock.now();
    let next = cloud.store.look(|state| {
        state
            .queues
            .get(&mapping.queue)
            .and_then(QueueState::next_visible)
    });
    if !cloud.is_installed(&mapping.function) || next.is_none_or(|next| next > now) {
        return;
    }
    let arn = sqs::queue_arn(&mapping.queue);
    let needs = [
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
    ];
    let needs = needs.map(|action| Access::new(action, arn.clone()));
    if cloud.authorise(&mapping.function, &needs).is_err() {
        return;
    }
    let size = cloud.dice.batch_size(mapping.batch_size);
    let messages = cloud.receive(&mapping.queue, size, None);
    if messages.is_empty() {
        return;
    }
    let records: Vec<Value> = messages
        .iter()
        .map(|message| message.record(&arn, REGION))
        .collect();
    let result = cloud
        .invoke(&mapping.function, json!({ "Records": records }))
        .await;
    let failed = failed_of(result.ok(), mapping.partial_failures, &messages);
    let handled = messages
        .iter()
        .filter(|message| !failed.contains(&message.id));
    for message in handled {
        let after = after_success(cloud, mapping, message);
        cloud.store.change(|state| {
            let queue = state.queues.entry(mapping.queue.clone()).or_default();
            match after {
                After::Deleted => queue.delete(&message.id),
                After::ShownAt(at) => queue.show(&message.id, at),
                After::Kept => {}
            }
        });
    }
    settled.count(!failed.is_empty());
}

/// What becomes of a message that was handled well.
enum After {
    Deleted,
    /// It comes again as if it had never been received.
    ShownAt(DateTime<Utc>),
    /// It comes again when its visibility time-out ends.
    Kept,
}

fn after_success(cloud: &Cloud, mapping: &QueueMapping, message: &QueueMessage) -> After {
    let now = cloud.clock.now();
    if cloud.dice.duplicate() {
        cloud.faults.count("duplicate_message");
        return After::ShownAt(now);
    }
    let retention = cloud.stack.queues.get(&mapping.queue);
    let retention = retention.map_or(0, |queue| queue.retention_seconds);
    let left = message.sent_at + Duration::seconds(retention - 1) - now;
    let most = left.min(REDELIVERED_WITHIN);
    let rate = |disorder: &Disorder| disorder.redeliver_late_per_mille;
    if let Some(delay) = cloud.dice.delay(rate, most) {
        cloud.faults.count("redelivered_late");
        return After::ShownAt(now + delay);
    }
    let expires = |disorder: &Disorder| disorder.visibility_expires_per_mille;
    if cloud.dice.happens(expires) {
        cloud.faults.count("visibility_expired");
        return After::Kept;
    }
    After::Deleted
}

/// The ids of the messages that stay in the queue.
fn failed_of(reply: Option<Value>, partial: bool, messages: &[QueueMessage]) -> BTreeSet<String> {
    let all = || messages.iter().map(|message| message.id.clone()).collect();
    match reply {
        None => all(),
        Some(reply) if partial => {
            let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            batch_item_failures(&reply, &ids).unwrap_or_else(all)
        }
        Some(_) => BTreeSet::new(),
    }
}

/// Reads `{"batchItemFailures": [{"itemIdentifier": …}]}`.
///
/// `None` is a reply that AWS takes as the failure of the whole batch: an identifier that is
/// missing, empty or not of this batch.
pub(super) fn batch_item_failures(reply: &Value, ids: &[&str]) -> Option<BTreeSet<String>> {
    let failures = match &reply["batchItemFailures"] {
        Value::Null => return Some(BTreeSet::new()),
        Value::Array(failures) => failures,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return None,
    };
    let known = |failure: &Value| {
        let id = failure["itemIdentifier"].as_str()?;
        ids.contains(&id).then(|| id.to_owned())
    };
    failures.iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_reply_names_items_of_the_batch_or_fails_it_whole() {
        let ids = ["a", "b"];
        let read = |reply: Value| {
            batch_item_failures(&reply, &ids)
                .map(|failures| failures.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(read(json!(null)), Some(vec![]));
        assert_eq!(read(json!({"batchItemFailures": []})), Some(vec![]));
        assert_eq!(
            read(json!({"batchItemFailures": [{"itemIdentifier": "b"}]})),
            Some(vec!["b".to_owned()])
        );
        for bad in [
            json!([{"itemIdentifier": "c"}]),
            json!([{"itemIdentifier": ""}]),
            json!([{"id": "a"}]),
            json!("a"),
        ] {
            assert_eq!(read(json!({ "batchItemFailures": bad })), None);
        }
    }
}
