//! The promises to whoever has paid a deposit.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Broken, require};
use crate::world::{World, members, text};

/// How long a release waits for the provider's word of the page that it closes.
const RELEASE_WAITS: TimeDelta = TimeDelta::minutes(35);

/// Whoever is confirmed, or paid on the page that we led them to, keeps the slot, whenever we hear of it: unless
/// the provider never said how the page stands. `paid` has their bookings.
pub(super) fn keep_their_slot(
    paid: &mut BTreeSet<String>,
    world: &World,
    bookings: &[Value],
    ledger: &Value,
) -> Result<(), Broken> {
    let ours = |it: &&Value| world.deeds.pages.iter().any(|page| page == text(it, "id"));
    for session in members(&ledger["sessions"]).filter(ours) {
        let id = text(&session["metadata"], "booking_id");
        let Some(booking) = bookings.iter().find(|it| text(it, "booking_id") == id) else {
            continue;
        };
        let is_whole = has_come(session, ledger) >= booking["deposit"]["amount"].as_i64();
        if text(session, "payment_status") == "paid" && is_whole {
            match text(booking, "state") {
                "PENDING" | "CONFIRMED" => {
                    paid.insert(id.to_owned());
                }
                _ => {}
            }
        } else {
            paid.remove(id);
        }
    }
    for booking in bookings {
        let (id, state) = (text(booking, "booking_id"), text(booking, "state"));
        if state == "CONFIRMED" {
            paid.insert(id.to_owned());
        }
        require(
            state != "RELEASED" || !paid.contains(id) || nobody_knows_of_the_page(world, id),
            "whoever paid keeps the slot",
            || format!("{id} was paid, and then it was released"),
        )?;
    }
    Ok(())
}

/// Whether the order to close a booking's page lies among the dead letters, with a person, since the provider
/// answered no try; or did not leave within the time that a release waits for it.
fn nobody_knows_of_the_page(world: &World, id: &str) -> bool {
    let is_about_page = |it: &str| it.contains(id) && it.contains("session_id");
    let queues = world.fleet.cloud.queues();
    let mut dead = members(&queues["bdc-cashier-dlq"]).map(Value::to_string);
    let mut orders = world.rows("bdc-outbox").into_iter();
    let at = |row: &Value, name: &str| text(row, name).parse::<DateTime<Utc>>().ok();
    dead.any(|letter| is_about_page(&letter))
        || orders.any(|row| {
            let left = at(&row, "published_at");
            let within = left.zip(at(&row, "created_at"));
            let is_late = within.is_none_or(|(left, ordered)| left - ordered > RELEASE_WAITS);
            is_late && is_about_page(&row.to_string())
        })
}

/// What came by a session and did not go back by somebody else's hand.
fn has_come(session: &Value, ledger: &Value) -> Option<i64> {
    let payment = text(session, "payment_intent");
    let mut charges = members(&ledger["charges"]);
    let charge = charges.find(|it| text(it, "payment_intent") == payment)?;
    let refunds = members(&ledger["refunds"]).filter(|it| it["payment_intent"] == payment);
    let disputed = charge["disputed"] == true;
    (refunds.count() == 0 && !disputed).then(|| charge["amount_captured"].as_i64())?
}

/// Who paid in time, and whose slot nobody else ever wanted, is not given the money back as too late.
pub(super) fn in_time_are_confirmed(bookings: &[Value], ledger: &Value) -> Result<(), Broken> {
    let untouched = |it: &&Value| text(it, "state") == "RELEASED" && it["moves"] == 0;
    for booking in bookings.iter().filter(untouched) {
        let id = text(booking, "booking_id");
        let at = |name: &str| booking[name].as_str()?.parse::<DateTime<Utc>>().ok();
        let starts = booking["place"]["starts_at"].as_str();
        let starts = starts.and_then(|it| it.parse::<DateTime<Utc>>().ok());
        let (Some(deadline), Some(starts)) = (at("deposit_deadline"), starts) else {
            continue;
        };
        let is_wanted = bookings
            .iter()
            .any(|other| text(other, "booking_id") != id && overlap(booking, other));
        let own = members(&ledger["sessions"]).filter(|it| it["metadata"]["booking_id"] == id);
        for payment in own.map(|it| text(it, "payment_intent")) {
            let mut charges = members(&ledger["charges"]);
            let Some(charge) = charges.find(|it| text(it, "payment_intent") == payment) else {
                continue;
            };
            let is_whole = charge["amount_captured"] == booking["deposit"]["amount"];
            let mut refunds = members(&ledger["refunds"]);
            let ours = refunds.find(|it| {
                it["payment_intent"] == payment && !text(&it["metadata"], "refund_key").is_empty()
            });
            let back = ours.and_then(|it| seconds(&it["created"]));
            let in_time = seconds(&charge["created"]).is_some_and(|at| at <= deadline);
            let back_before = back.is_some_and(|at| at < starts);
            require(
                is_wanted || !is_whole || !in_time || !back_before,
                "who paid in time is confirmed",
                || format!("{id} was paid before {deadline}, and given back at {back:?}"),
            )?;
        }
    }
    Ok(())
}

fn overlap(one: &Value, other: &Value) -> bool {
    let keys = members(&other["place"]["slot_keys"]);
    keys.into_iter()
        .any(|key| members(&one["place"]["slot_keys"]).any(|own| own == key))
}

fn seconds(at: &Value) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(at.as_i64()?, 0)
}
