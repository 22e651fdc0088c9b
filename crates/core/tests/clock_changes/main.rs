//! The rules about time hold at every clock change of every zone from 2024 to 2037.
#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, and so may its helpers"
)]

mod deadlines;
mod quiet_hours;
mod slots;
mod zones;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use paidonce_core::venue::{BUILT_IN, Policy, Venue};
use serde_json::{Value, json};

/// The built-in venue's first table alone, in a zone, with some fields changed.
fn venue(zone: Tz, table: &Value) -> Result<Venue, Vec<String>> {
    let mut venue: Value = serde_json::from_str(BUILT_IN).unwrap();
    venue["zone"] = json!(zone.name());
    venue["resources"].as_array_mut().unwrap().truncate(1);
    for (name, value) in table.as_object().unwrap() {
        venue["resources"][0][name] = value.clone();
    }
    Venue::from_json(&venue.to_string())
}

/// The built-in venue's policy.
fn policy() -> Policy {
    Venue::from_json(BUILT_IN).unwrap().policy
}

/// Moments from `from` on, `step_minutes` apart, before `to`.
fn moments(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    step_minutes: i64,
) -> impl Iterator<Item = DateTime<Utc>> {
    std::iter::successors(Some(from), move |at| {
        Some(*at + TimeDelta::minutes(step_minutes))
    })
    .take_while(move |at| *at < to)
}
