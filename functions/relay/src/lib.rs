//! `relay`: brings what the outbox holds to the queues. Deployed once for each system.
//!
//! Triggered by the outbox table's stream, and by a schedule that picks up what the stream missed.
//! Touches the outbox and the queues. An event keeps its id however often it is sent, and is marked
//! only after the queue took it: if this runs twice, or beside itself, or dies in between, a
//! consumer may see an event twice and knows it by its id.

mod publish;
mod sweep;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{BatchReply, ConfigError, Failure, Function, Setup};
use paidonce_core::outbox::{OutboxRow, from_stream};
use serde::Deserialize;
use serde_json::{Value, json};

pub struct Relay {
    /// The system's own: alarms hang on the metrics of each relay by itself.
    deployed_name: String,
    dynamodb: Client,
    sqs: aws_sdk_sqs::Client,
    outbox_table: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StreamEvent {
    records: Vec<StreamRecord>,
}

#[derive(Deserialize)]
struct StreamRecord {
    dynamodb: Change,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    sequence_number: String,
    new_image: Value,
}

/// An event on its way, with the name by which it is reported if it fails.
pub(crate) struct Outbound {
    pub(crate) row: OutboxRow,
    pub(crate) report_as: String,
}

impl Function for Relay {
    const NAME: &'static str = "relay";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            deployed_name: setup.deployed_name(),
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            sqs: lambda_kit::client!(aws_sdk_sqs, &setup.aws),
            outbox_table: environment.text("OUTBOX_TABLE"),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        if event.get("Records").is_none() {
            return Ok(json!(self.sweep(now).await?));
        }
        let event: StreamEvent = serde_json::from_value(event)?;
        let mut reply = BatchReply::default();
        let mut outbound = Vec::new();
        for record in event.records {
            let report_as = record.dynamodb.sequence_number;
            match from_stream(&record.dynamodb.new_image) {
                Ok(row) => outbound.push(Outbound { row, report_as }),
                Err(error) => {
                    tracing::error!(record.id = %report_as, %error, "Record `{report_as}` is not an outbox row");
                    reply.failed(report_as);
                }
            }
        }
        for failed in self.publish(outbound, now).await {
            reply.failed(failed);
        }
        Ok(serde_json::to_value(reply)?)
    }
}
