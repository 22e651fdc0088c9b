//! Once nothing is under way any more, nothing is left over.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Broken, require};
use crate::action::System;
use crate::kinds::Kind;
use crate::world::{POISON, World, text};

/// The sweep of the outbox leaves to the stream what is younger.
const SWEPT_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// Queues, outbox and schedules are empty; only a person's dead letters may stay.
pub(super) fn nothing_is_left(world: &World) -> Result<(), Broken> {
    const PROMISE: &str = "nothing is left over";
    let queues = world.fleet.cloud.queues();
    for (name, messages) in queues.as_object().into_iter().flatten() {
        let count = messages.as_array().map_or(0, Vec::len);
        let may = count == 0 || name.ends_with("-dlq");
        require(may, PROMISE, || format!("{count} in {name}: {messages}"))?;
    }
    mild_trouble_kills_no_letter(world, &queues)?;
    for row in world.rows(outbox(world)) {
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

/// What was ordered has left soon after everything works again, also where the stream has given it up or is
/// late: the sweep of the outbox sends it.
pub(super) fn orders_have_left(world: &World) -> Result<(), Broken> {
    for row in world.rows(outbox(world)) {
        let created = text(&row, "created_at").parse::<DateTime<Utc>>();
        let is_old = created.is_ok_and(|at| at < world.now() - SWEPT_WITHIN);
        let has_left = text(&row, "status") == "PUBLISHED";
        require(has_left || !is_old, "orders leave in time", || {
            format!("{} of {created:?} was not sent", text(&row, "type"))
        })?;
    }
    Ok(())
}

fn outbox(world: &World) -> &'static str {
    match world.system {
        System::Booking => "bdc-outbox",
        System::Dunning => "dunr-outbox",
    }
}

/// Trouble that the next try of a request mends, or that only repeats and reorders what comes.
const MILD: [Kind; 11] = [
    Kind::NotSent,
    Kind::AnswerLost,
    Kind::Throttled,
    Kind::Duplicate,
    Kind::Reorder,
    Kind::ScheduleTwice,
    Kind::TtlLate,
    Kind::EventDoubled,
    Kind::EventNewId,
    Kind::EventReordered,
    Kind::EventLate,
];
const MILD_PER_MILLE: u32 = 100;
/// A request that the provider turns down for now is not repeated by itself, and a charge makes seven.
const MILD_THROTTLES_PER_MILLE: u32 = 40;

/// Nothing ends among the dead letters but what nobody can read.
fn mild_trouble_kills_no_letter(world: &World, queues: &Value) -> Result<(), Broken> {
    let most = match world.weather.has(Kind::Throttled) {
        true => MILD_THROTTLES_PER_MILLE,
        false => MILD_PER_MILLE,
    };
    let is_mild = world.weather.kinds.iter().all(|it| MILD.contains(it))
        && world.weather.calls_per_mille <= most
        && world.is_unscripted;
    let queues = queues.as_object().into_iter().flatten();
    let dead = queues.filter(|(name, _)| name.ends_with("-dlq"));
    for (name, messages) in dead.filter(|_| is_mild) {
        let letters = messages.as_array().into_iter().flatten();
        let mut bad = letters.filter(|it| !it.to_string().contains(POISON));
        let bad = bad.next();
        require(bad.is_none(), "mild trouble kills no letter", || {
            format!("{name}: {bad:?}")
        })?;
    }
    Ok(())
}
