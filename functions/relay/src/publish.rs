//! Sending events in batches, each entry with its own outcome.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, Utc};
use lambda_kit::{Failure, chain};
use paidonce_core::outbox::mark_published;

use crate::{Outbound, Relay};

/// SQS's own limits on one batch: entries, and bytes of all bodies together.
const BATCH_ENTRIES_MAX: usize = 10;
const BATCH_BYTES_MAX: usize = 256 * 1024;

impl Relay {
    /// Sends events to their queues and marks those that were taken. Returns the others.
    pub(crate) async fn publish(&self, outbound: Vec<Outbound>, now: DateTime<Utc>) -> Vec<String> {
        let mut by_target: BTreeMap<String, Vec<Outbound>> = BTreeMap::new();
        for event in outbound {
            by_target
                .entry(event.row.target.clone())
                .or_default()
                .push(event);
        }
        let mut failed = Vec::new();
        for (target, events) in by_target {
            for batch in events.chunks(BATCH_ENTRIES_MAX) {
                failed.extend(self.publish_batch(&target, batch, now).await);
            }
        }
        failed
    }

    async fn publish_batch(
        &self,
        target: &str,
        batch: &[Outbound],
        now: DateTime<Utc>,
    ) -> Vec<String> {
        let taken = match self.send(target, batch).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(error = %chain(error.as_ref()), events = batch.len(), "A batch was not taken by its queue");
                Vec::new()
            }
        };
        let mut failed = Vec::new();
        for (index, event) in batch.iter().enumerate() {
            if !taken.contains(&index) || !self.mark(event, now).await {
                failed.push(event.report_as.clone());
            }
        }
        failed
    }

    /// Returns the indexes of the entries that the queue took: a 200 may hold failed ones.
    async fn send(&self, target: &str, batch: &[Outbound]) -> Result<Vec<usize>, Failure> {
        let mut request = self.sqs.send_message_batch().queue_url(target);
        let mut bytes = 0;
        for (index, event) in batch.iter().enumerate() {
            let body = serde_json::to_string(&event.row.envelope()?)?;
            bytes += body.len();
            if bytes > BATCH_BYTES_MAX {
                break;
            }
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(body)
                .build()?;
            request = request.entries(entry);
        }
        let answer = request.send().await?;
        for entry in answer.failed() {
            tracing::warn!(code = entry.code(), "An event was not taken by its queue");
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
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(event.id = %event_id, error = %chain(&error), "Event `{event_id}` was sent but not marked, and will be sent again");
                false
            }
        }
    }
}
