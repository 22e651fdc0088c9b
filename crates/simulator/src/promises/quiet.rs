//! Once nothing is under way any more, nothing is left over.

use super::{Broken, require};
use crate::action::System;
use crate::world::{World, text};

/// Queues, outbox and schedules are empty; only a person's dead letters may stay.
pub(super) fn nothing_is_left(world: &World) -> Result<(), Broken> {
    const PROMISE: &str = "nothing is left over";
    let queues = world.fleet.cloud.queues();
    for (name, messages) in queues.as_object().into_iter().flatten() {
        let count = messages.as_array().map_or(0, Vec::len);
        let may = count == 0 || name.ends_with("-dlq");
        require(may, PROMISE, || format!("{count} in {name}: {messages}"))?;
    }
    let outbox = match world.system {
        System::Booking => "bdc-outbox",
        System::Dunning => "dunr-outbox",
    };
    for row in world.rows(outbox) {
        require(text(&row, "status") == "PUBLISHED", PROMISE, || {
            format!(
                "{} {} was never sent",
                text(&row, "type"),
                text(&row, "event_id")
            )
        })?;
    }
    let schedules = world.fleet.cloud.schedules();
    let past = |at: &chrono::DateTime<chrono::Utc>| *at < world.now();
    let stuck = schedules
        .iter()
        .find(|it| !it.of_template && it.next_at.as_ref().is_some_and(past));
    require(stuck.is_none(), PROMISE, || {
        format!("{stuck:?} never fired")
    })
}
