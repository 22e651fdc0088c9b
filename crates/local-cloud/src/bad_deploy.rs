//! A bad deploy: code that panics on some events, until it is healed.
//!
//! An invocation whose event contains the text panics before it does anything. A batch whose mapping
//! takes partial failures is played as handlers are written that catch the panic of each record: of a
//! queue's batch the bad records fail and the others are handled, of a stream's batch what is before
//! the first bad record is handled and that record fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::error::InvokeError;

/// The texts that a function panics at, by its name.
#[derive(Default)]
pub(crate) struct BadDeploys(Mutex<BTreeMap<String, Vec<String>>>);

impl BadDeploys {
    pub(crate) fn add(&self, function: &str, text: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(function.to_owned())
            .or_default()
            .push(text.to_owned());
    }

    pub(crate) fn heal(&self, function: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(function);
    }

    fn texts(&self, function: &str) -> Vec<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(function).cloned().unwrap_or_default()
    }
}

/// What is left of an event for the handler, and the records that panic.
struct Parts {
    rest: Vec<Value>,
    failed: Vec<String>,
}

impl Cloud {
    /// Runs a function as it is deployed, well or badly.
    ///
    /// # Errors
    /// How the invocation failed.
    pub(crate) async fn run(
        self: &Arc<Self>,
        function: &str,
        event: Value,
        number: u64,
    ) -> Result<Value, InvokeError> {
        let texts = self.mischief.bad_deploys.texts(function);
        let is_bad = |value: &Value| {
            let value = value.to_string();
            texts.iter().any(|text| value.contains(text))
        };
        if texts.is_empty() || !is_bad(&event) {
            return self.run_well(function, event, number).await;
        }
        let panicked = InvokeError::Panicked("injected: a bad deploy".to_owned());
        let Some(parts) = self.in_parts(function, &event, is_bad) else {
            self.faults.count("bad_deploy");
            return Err(panicked);
        };
        let mut reply = json!({});
        if !parts.rest.is_empty() {
            let event = json!({"Records": parts.rest});
            reply = self.run_well(function, event, number).await?;
        }
        let mut failures = match reply["batchItemFailures"].take() {
            Value::Array(failures) => failures,
            Value::Null => Vec::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(panicked);
            }
        };
        for id in parts.failed {
            self.faults.count("bad_deploy");
            failures.push(json!({ "itemIdentifier": id }));
        }
        Ok(json!({ "batchItemFailures": failures }))
    }

    /// The parts of a batch that may fail in part; `None` for any other event.
    fn in_parts(
        &self,
        function: &str,
        event: &Value,
        is_bad: impl Fn(&Value) -> bool,
    ) -> Option<Parts> {
        let records = event["Records"].as_array()?;
        let mut queues = self.stack.queue_mappings.iter();
        let mut streams = self.stack.stream_mappings.iter();
        let (mut rest, mut failed) = (Vec::new(), Vec::new());
        match records.first()?["eventSource"].as_str()? {
            "aws:sqs" => {
                queues.find(|mapping| mapping.function == function && mapping.partial_failures)?;
                for record in records {
                    if is_bad(record) {
                        failed.push(record["messageId"].as_str()?.to_owned());
                    } else {
                        rest.push(record.clone());
                    }
                }
            }
            "aws:dynamodb" => {
                streams.find(|mapping| mapping.function == function && mapping.partial_failures)?;
                let first = records.iter().position(is_bad)?;
                let bad = &records[first]["dynamodb"]["SequenceNumber"];
                failed.push(bad.as_str()?.to_owned());
                rest.extend_from_slice(&records[..first]);
            }
            _ => return None,
        }
        Some(Parts { rest, failed })
    }
}
