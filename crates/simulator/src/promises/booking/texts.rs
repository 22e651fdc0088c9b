//! The promises about what customers are told, and that they can stop it.

use serde_json::Value;

use super::is_named;
use crate::promises::{Broken, Memory, require};
use crate::world::{World, text};

/// A booking is reminded once, also when it is moved, and each move is told once.
pub(super) fn told_once(bookings: &[Value], world: &World) -> Result<(), Broken> {
    let messages = world.fleet.cloud.messages();
    for phone in bookings.iter().map(|it| text(it, "phone")) {
        let told = |kind| {
            let own = messages.iter().filter(|it| it.to == phone);
            own.filter(|it| it.kind == kind).count()
        };
        let own: Vec<&Value> = bookings
            .iter()
            .filter(|it| text(it, "phone") == phone)
            .collect();
        let moves: u64 = own.iter().filter_map(|it| it["moves"].as_u64()).sum();
        let moves = usize::try_from(moves).unwrap_or(usize::MAX);
        for (kind, most) in [("reminder", own.len()), ("rescheduled", moves)] {
            let count = told(kind);
            require(count <= most, "a message at most once", || {
                format!("{count} texts `{kind}` where {most} are right")
            })?;
        }
    }
    Ok(())
}

fn stopped_phones(world: &World) -> Vec<String> {
    let rows = world.rows("bdc-optout").into_iter();
    let stopped = rows.filter(|row| row["opted_out"] == true);
    stopped.map(|row| text(&row, "phone").to_owned()).collect()
}

/// From the moment that the fleet has written a STOP down, it must keep to it.
pub(super) fn hear_stop(memory: &mut Memory, world: &World) {
    let messages = world.fleet.cloud.messages().len();
    let stopped: Vec<String> = stopped_phones(world);
    memory.silenced.retain(|phone, _| stopped.contains(phone));
    for phone in stopped {
        memory
            .silenced
            .entry(phone)
            .or_insert((messages, world.now()));
    }
}

/// Whoever wrote STOP last gets no more texts.
pub(super) fn a_stop_is_heard(world: &World) -> Result<(), Broken> {
    let stopped = stopped_phones(world);
    for (phone, stop) in &world.deeds.wishes {
        require(!stop || stopped.contains(phone), "a STOP is heard", || {
            format!("{phone} wrote STOP, and may be written to")
        })?;
    }
    Ok(())
}

/// What is news in the state that a booking has at the end.
const NEWS: [(&str, &str); 3] = [
    ("confirmation", "CONFIRMED"),
    ("released", "RELEASED"),
    ("cancelled", "CANCELLED"),
];

/// Each message that was ordered, and is still news, has an entry in the ledger of sent messages, or is
/// among the dead letters.
pub(super) fn every_order_is_carried_out(world: &World, bookings: &[Value]) -> Result<(), Broken> {
    let history = world.rows("bdc-audit");
    let dead = world.fleet.cloud.queues()["bdc-jobs-dlq"].to_string();
    for row in world.rows("bdc-outbox") {
        let payload: Value = serde_json::from_str(text(&row, "payload")).unwrap_or_default();
        let (id, kind) = (text(&payload, "booking_id"), text(&payload, "kind"));
        let state = bookings.iter().find(|it| text(it, "booking_id") == id);
        let state = state.map(|it| text(it, "state")).unwrap_or_default();
        if !NEWS.contains(&(kind, state)) {
            continue;
        }
        let prefix = format!("message#{}#", text(&payload, "occasion"));
        let own = history.iter().filter(|it| text(it, "booking_id") == id);
        let told = own.filter(|it| text(it, "ts").starts_with(&prefix)).count() > 0;
        require(
            told || dead.contains(text(&row, "event_id")),
            "every order is carried out",
            || format!("nothing came of `{kind}` for {id}"),
        )?;
    }
    Ok(())
}

/// Whoever has a confirmed booking was told so, unless they want no texts or a person knows.
pub(super) fn everybody_was_told(
    world: &World,
    bookings: &[Value],
    cases: &[Value],
) -> Result<(), Broken> {
    let messages = world.fleet.cloud.messages();
    let stopped = stopped_phones(world);
    for booking in bookings
        .iter()
        .filter(|it| text(it, "state") == "CONFIRMED")
    {
        let phone = text(booking, "phone");
        let has_stopped = stopped.iter().any(|stopped| stopped == phone);
        let told = messages
            .iter()
            .any(|it| it.to == phone && it.kind == "confirmation");
        let known = is_named(cases, text(booking, "booking_id"));
        require(
            told || has_stopped || known,
            "whoever is confirmed was told",
            || {
                format!(
                    "{} was never confirmed by text",
                    text(booking, "booking_id")
                )
            },
        )?;
    }
    Ok(())
}
