//! The sandbox as a neighbour of the local cloud.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Request, Response};
use local_cloud::{Delivery, Neighbour};
use sandbox::Sandbox;
use serde_json::Value;

/// How many deliveries are remembered by name.
const KINDS_KEPT: usize = 1_000;

/// The provider where the functions look for it.
pub(crate) struct ProviderDoor {
    pub(crate) base_url: String,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) kinds: Arc<Kinds>,
}

impl Neighbour for ProviderDoor {
    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        self.sandbox.call(request, now)
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        self.sandbox.due_at()
    }

    fn take_due(&self, now: DateTime<Utc>) -> Vec<Delivery> {
        let due = self.sandbox.take_due(now).into_iter();
        let taken = due.map(|delivery| {
            self.kinds.note(&delivery.id, delivery.request.body());
            Delivery {
                id: delivery.id,
                function: delivery.function,
                request: delivery.request,
            }
        });
        taken.collect()
    }

    fn delivered(&self, id: &str, status: u16, now: DateTime<Utc>) {
        self.sandbox.delivered(id, status, now);
    }
}

/// What the latest deliveries were about, by their ids.
#[derive(Default)]
pub(crate) struct Kinds(Mutex<BTreeMap<String, String>>);

impl Kinds {
    fn note(&self, id: &str, body: &[u8]) {
        let event: Option<Value> = serde_json::from_slice(body).ok();
        let Some(kind) = event.and_then(|event| event["type"].as_str().map(str::to_owned)) else {
            return;
        };
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.insert(id.to_owned(), kind);
        // Ids sort by creation, so the first is the oldest.
        while kinds.len() > KINDS_KEPT {
            kinds.pop_first();
        }
    }

    pub(crate) fn of(&self, id: &str) -> Option<String> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.get(id).cloned()
    }
}
