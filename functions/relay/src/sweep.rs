//! Picking up what the stream missed.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, chain, count};
use paidonce_core::outbox::{OutboxRow, PENDING_SHARDS, Status, pending};
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::read;
use serde::Serialize;

use crate::{Outbound, Relay};

/// How long the stream has for a row before the sweep takes it.
const STREAM_GETS: TimeDelta = TimeDelta::seconds(60);
/// How many rows one sweep takes from each shard.
const ROWS_MAX: i32 = 100;

/// What a sweep found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Swept {
    pending: usize,
    failed: usize,
}

impl Relay {
    pub(crate) async fn sweep(&self, now: DateTime<Utc>) -> Result<Swept, Failure> {
        let mut swept = Swept::default();
        let mut oldest_s = 0;
        if planted::is(Defect::NoOutboxSweep) {
            return Ok(swept);
        }
        for shard in 0..PENDING_SHARDS {
            let before = now - STREAM_GETS;
            let rows = pending(&self.dynamodb, &self.outbox_table, shard, before, ROWS_MAX).await?;
            let ages = rows
                .iter()
                .map(|(_, created_at)| (now - *created_at).num_seconds());
            oldest_s = ages.fold(oldest_s, i64::max);
            swept.pending += rows.len();
            swept.failed += self
                .send_again(rows.into_iter().map(|(id, _)| id).collect(), now)
                .await;
        }
        count(&self.deployed_name, "outbox_oldest_pending_s", oldest_s);
        count(
            &self.deployed_name,
            "outbox_pending",
            i64::try_from(swept.pending).unwrap_or(i64::MAX),
        );
        Ok(swept)
    }

    /// Sends rows again that still are pending in the table, whatever the index says.
    async fn send_again(&self, event_ids: Vec<String>, now: DateTime<Utc>) -> usize {
        let mut failed = 0;
        let mut outbound = Vec::new();
        for event_id in event_ids {
            match read::<OutboxRow>(&self.dynamodb, &self.outbox_table, &event_id).await {
                Ok(Some(row)) if row.status == Status::Pending => {
                    outbound.push(Outbound {
                        row,
                        report_as: event_id,
                    });
                }
                Ok(_) => {}
                Err(error) => {
                    failed += 1;
                    tracing::error!(event.id = %event_id, error = %chain(&error), "Event `{event_id}` could not be read");
                }
            }
        }
        failed + self.publish(outbound, now).await.len()
    }
}
