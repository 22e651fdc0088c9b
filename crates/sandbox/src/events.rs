//! Events: the facts that the provider tells, by webhook and in the API.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mischief::Rule;
use crate::state::State;
use crate::webhooks::queue_all;

/// The fact that something happened, as the API shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) body: Value,
}

/// Records an event about `object` and queues its deliveries.
pub(crate) fn emit(state: &mut State, kind: &str, object: &Value, now: DateTime<Utc>) {
    publish(state, kind, &json!({ "object": object }), now);
}

/// Records an event about `object` that tells what was different in it before.
pub(crate) fn emit_change(
    state: &mut State,
    kind: &str,
    object: &Value,
    previous: Value,
    now: DateTime<Utc>,
) {
    let data = json!({ "object": object, "previous_attributes": previous });
    publish(state, kind, &data, now);
}

fn publish(state: &mut State, kind: &str, data: &Value, now: DateTime<Utc>) {
    let rules: Vec<Rule> = state.webhooks.rules.clone();
    let rule = rules.into_iter().find(|rule| rule.is_for(kind));
    let rule = rule.unwrap_or_default();
    for _ in 0..=u32::from(rule.new_id) {
        let event = new_event(state, kind, data, now);
        for _ in 0..=rule.duplicates {
            queue_all(state, &event, &rule, now);
        }
    }
}

fn new_event(state: &mut State, kind: &str, data: &Value, now: DateTime<Utc>) -> String {
    let id = state.ids.next("evt_1");
    let cause = state.cause.as_ref();
    let endpoints = state.options.endpoints().filter(|it| it.takes(kind));
    let body = json!({
        "id": id,
        "object": "event",
        "api_version": state.options.api_version,
        "created": now.timestamp(),
        "data": data,
        "livemode": state.options.livemode,
        "pending_webhooks": endpoints.count(),
        "request": {
            "id": cause.map(|cause| &cause.request_id),
            "idempotency_key": cause.and_then(|cause| cause.idempotency_key.as_ref()),
        },
        "type": kind,
    });
    let event = Event {
        id: id.clone(),
        kind: kind.to_owned(),
        created: now,
        body,
    };
    state.webhooks.events.insert(id.clone(), event);
    id
}
