//! Sending events in batches, each entry with its own outcome.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, Utc};
use lambda_kit::{Failure, chain};
use paidonce_core::outbox::mark_published;
use paidonce_core::planted::{self, Defect};

use crate::{Outbound, Relay};

/// SQS's own limits on one batch: entries, and bytes of all bodies together.
const BATCH_ENTRIES_MAX: usize = 10;
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// An event with the body that its queue gets.
struct Message {
    event: Outbound,
    body: String,
}

impl Relay {
    /// Sends events to their queues and marks those that were taken. Returns the others.
    pub(crate) async fn publish(&self, outbound: Vec<Outbound>, now: DateTime<Utc>) -> Vec<String> {
        let mut failed = Vec::new();
        let mut by_target: BTreeMap<String, Vec<Message>> = BTreeMap::new();
        for event in outbound {
            match event
                .row
                .envelope()
                .and_then(|it| serde_json::to_string(&it))
            {
                Ok(body) => {
                    let target = event.row.target.clone();
                    by_target
                        .entry(target)
                        .or_default()
                        .push(Message { event, body });
                }
                Err(error) => {
                    let event_id = &event.row.event_id;
                    tracing::error!(event.id = %event_id, %error, "Event `{event_id}` can't be made into a message");
                    failed.push(event.report_as);
                }
            }
        }
        for (target, messages) in by_target {
            for batch in batches(&messages) {
                failed.extend(self.publish_batch(&target, batch, now).await);
            }
        }
        failed
    }

    async fn publish_batch(
        &self,
        target: &str,
        batch: &[Message],
        now: DateTime<Utc>,
    ) -> Vec<String> {
        if planted::is(Defect::MarkedBeforeSent) {
            return self.mark_and_send(target, batch, now).await;
        }
        let taken = match self.send(target, batch).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(error = %chain(error.as_ref()), events = batch.len(), "A batch was not taken by its queue");
                Vec::new()
            }
        };
        let mut failed = Vec::new();
        for (index, message) in batch.iter().enumerate() {
            if !taken.contains(&index) || !self.mark(&message.event, now).await {
                failed.push(message.event.report_as.clone());
            }
        }
        failed
    }

    /// What is marked already has another publisher, so it can be left.
    async fn mark_and_send(
        &self,
        target: &str,
        batch: &[Message],
        now: DateTime<Utc>,
    ) -> Vec<String> {
        for message in batch {
            let event_id = &message.event.row.event_id;
            let marked = mark_published(&self.dynamodb, &self.outbox_table, event_id, now).await;
            if marked.is_ok_and(|is_ours| is_ours) {
                let _ = self.send(target, std::slice::from_ref(message)).await;
            }
        }
        Vec::new()
    }

    /// Returns the indexes of the entries that the queue took: a 200 may hold failed ones.
    async fn send(&self, target: &str, batch: &[Message]) -> Result<Vec<usize>, Failure> {
        let mut request = self.sqs.send_message_batch().queue_url(target);
        for (index, message) in batch.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(&message.body)
                .build()?;
            request = request.entries(entry);
        }
        let answer = request.send().await?;
        for entry in answer.failed() {
            tracing::warn!(code = entry.code(), "An event was not taken by its queue");
        }
        if planted::is(Defect::FailedEntriesIgnored) {
            return Ok((0..batch.len()).collect());
        }
        Ok(answer
            .successful()
            .iter()
            .filter_map(|entry| entry.id().parse().ok())
            .collect())
    }

    async fn mark(&self, event: &Outbound, now: DateTime<Utc>) -> bool {
        let event_id = &event.row.event_id;
        match mark_published(&self.dynamodb, &self.outbox_table, event_id, now).await {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(event.id = %event_id, error = %chain(&error), "Event `{event_id}` was sent but not marked, and will be sent again");
                false
            }
        }
    }
}

/// Splits messages into batches that the queue takes; one too large by itself is refused alone.
fn batches(messages: &[Message]) -> Vec<&[Message]> {
    let mut batches = Vec::new();
    let mut rest = messages;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest.iter().take(BATCH_ENTRIES_MAX).take_while(|message| {
            bytes += message.body.len();
            bytes <= BATCH_BYTES_MAX
        });
        let (batch, others) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}
