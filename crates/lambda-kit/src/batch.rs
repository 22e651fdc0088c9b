//! SQS and stream batches: each record on its own, so that one bad record stops none behind it.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use serde::Serialize;
use serde_json::Value;

use crate::Failure;

/// What Lambda expects with `ReportBatchItemFailures`: the records to deliver again.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchReply {
    batch_item_failures: Vec<ItemFailure>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemFailure {
    item_identifier: String,
}

impl BatchReply {
    pub fn failed(&mut self, id: String) {
        self.batch_item_failures.push(ItemFailure {
            item_identifier: id,
        });
    }
}

/// Handles each record of an SQS event in turn and reports exactly those that failed or panicked.
///
/// A body that is not JSON fails like any other record, so that it ends in the dead-letter queue.
///
/// # Errors
/// Only if the event is not an SQS event.
pub async fn each_record<F, Fut>(event: Value, mut handle: F) -> Result<Value, Failure>
where
    F: FnMut(Value) -> Fut,
    Fut: Future<Output = Result<(), Failure>>,
{
    let event: aws_lambda_events::sqs::SqsEvent = serde_json::from_value(event)?;
    let mut reply = BatchReply::default();
    for message in event.records {
        let id = message.message_id.unwrap_or_default();
        let body = serde_json::from_str(message.body.as_deref().unwrap_or_default());
        let outcome = match body {
            Ok(body) => AssertUnwindSafe(async { handle(body).await })
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err("the handler panicked".into())),
            Err(_) => Err("the message is not JSON".into()),
        };
        if let Err(error) = outcome {
            tracing::warn!(message.id = %id, error = %chain(error.as_ref()), "Message `{id}` will be delivered again");
            reply.failed(id);
        }
    }
    Ok(serde_json::to_value(reply)?)
}

/// An error and all its causes, in one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn only_the_records_that_failed_are_delivered_again() {
        let records: Vec<Value> = ["1", "not json", "3", "4", "5"]
            .iter()
            .enumerate()
            .map(|(index, body)| json!({"messageId": format!("m-{}", index + 1), "body": body}))
            .collect();
        let reply = each_record(json!({"Records": records}), |body| async move {
            match body.as_i64() {
                Some(3) => panic!("a defect"),
                Some(4) => Err("busy".into()),
                _ => Ok(()),
            }
        })
        .await
        .unwrap();
        let failed: Vec<&str> = reply["batchItemFailures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|failure| failure["itemIdentifier"].as_str().unwrap())
            .collect();
        assert_eq!(failed, ["m-2", "m-3", "m-4"]);
    }
}
