//! What can be seen of a cloud from outside: messages, rows, queues, secrets, calls, permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::messages::{Happening, Message};
use crate::meter::{Call, Denied};
use crate::{CloudError, LocalCloud, open, queue, store};

impl LocalCloud {
    /// All text messages and mails, in the order of sending.
    pub fn messages(&self) -> Vec<Message> {
        self.0.store.look(|state| state.messages.clone())
    }

    /// The rows of a table as plain JSON, sorted by key.
    ///
    /// # Errors
    /// A table that the template does not have.
    pub fn table(&self, name: &str) -> Result<Vec<Value>, CloudError> {
        Ok(open::rows(&self.0, name)?.to_vec())
    }

    /// The same rows, kept until somebody writes: for who looks often.
    ///
    /// # Errors
    /// A table that the template does not have.
    pub fn shared_table(&self, name: &str) -> Result<Arc<Vec<Value>>, CloudError> {
        open::rows(&self.0, name)
    }

    /// `{"bdc-jobs": [{"id", "body", "receive_count", "sent_at", "visible_at"}]}`, dead-letter
    /// queues included.
    pub fn queues(&self) -> Value {
        let message = |message: &queue::QueueMessage| {
            json!({
                "id": message.id,
                "body": message.body,
                "receive_count": message.receive_count,
                "sent_at": message.sent_at,
                "visible_at": message.visible_at,
            })
        };
        self.0.store.look(|state| {
            let queues = self.0.stack.queues.keys();
            let listed = queues.map(|name| {
                let messages = state
                    .queues
                    .get(name)
                    .into_iter()
                    .flat_map(|queue| &queue.messages);
                (name.clone(), messages.map(message).collect())
            });
            Value::Object(listed.collect())
        })
    }

    /// The current value of every secret.
    pub fn secrets(&self) -> BTreeMap<String, String> {
        let current = |(name, secret): (&String, &store::Secret)| {
            (name.clone(), secret.current.value.clone())
        };
        self.0
            .store
            .look(|state| state.secrets.iter().map(current).collect())
    }

    /// Every call that a function made, attempt by attempt, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.0.meter.calls()
    }

    /// Every call that functions made since the last clearing, and forgets them.
    pub fn take_calls(&self) -> Vec<Call> {
        self.0.meter.take_calls()
    }

    pub fn clear_calls(&self) {
        self.0.meter.clear_calls();
    }

    /// `{"bdc-intake": {"dynamodb PutItem": {"calls": 2, "units": 4.0}}}`.
    pub fn calls_by_function(&self) -> Value {
        self.0.meter.by_function()
    }

    /// Every call that a role did not allow.
    pub fn denied(&self) -> Vec<Denied> {
        self.0.meter.denied()
    }

    /// `function action resource` of each permission that no call has used yet. Logs are left out:
    /// functions write them without an SDK call.
    pub fn unused_permissions(&self) -> Vec<String> {
        let functions = self.0.stack.functions.iter();
        let unused = functions.flat_map(|(name, spec)| {
            let used = self.0.meter.used(name);
            let left: Vec<String> = spec
                .role
                .allowed()
                .into_iter()
                .filter(|pair| !used.contains(pair) && !pair.0.starts_with("logs:"))
                .map(|(action, resource)| format!("{name} {action} {resource}"))
                .collect();
            left
        });
        unused.collect()
    }

    /// Subscribes to what happens. A slow receiver loses the oldest.
    pub fn watch(&self) -> broadcast::Receiver<Happening> {
        self.0.happenings.subscribe()
    }
}
