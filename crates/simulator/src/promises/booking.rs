//! The promises about deposits: of the calendar, of holds and of how bookings end.

mod money;
mod texts;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::audit::{AuditRow, rebuild};
use paidonce_core::booking::Booking;
use paidonce_core::step::Row;
use serde_json::Value;

use super::{Broken, Memory, paid, require};
use crate::world::{World, members, text};

const ENDS: [&str; 4] = ["APPLIED", "FORFEITED", "CANCELLED", "RELEASED"];
/// What may become of an end: late money finds a free slot, an unjust forfeit is taken back.
const AFTER: [(&str, &str); 2] = [("RELEASED", "CONFIRMED"), ("FORFEITED", "FORFEITED")];

/// What holds after every action.
pub(super) fn always(memory: &mut Memory, world: &World) -> Result<(), Broken> {
    let bookings = world.rows("bdc-bookings");
    the_calendar_is_sound(world, &bookings)?;
    ends_are_final(memory, &bookings)?;
    one_booking_per_form(world)?;
    let ledger = world.fleet.sandbox.ledger();
    money::no_more_goes_back_than_came(&ledger)?;
    money::confirmed_by_the_whole_deposit(&bookings, &ledger)?;
    one_page_at_a_time(world, &ledger)?;
    a_hold_lasts_as_promised(&bookings)?;
    no_hold_ends_early(&bookings, world)?;
    a_forfeit_has_a_mark(&bookings, world)?;
    money::an_order_moves_money_once(&ledger)?;
    texts::told_once(&bookings, world)?;
    paid::keep_their_slot(&mut memory.paid, world, &bookings, &ledger)?;
    texts::hear_stop(memory, world);
    Ok(())
}

/// A live booking has all its slots, and nobody else has any of them.
fn the_calendar_is_sound(world: &World, bookings: &[Value]) -> Result<(), Broken> {
    const PROMISE: &str = "one live hold per slot";
    let mut owners = BTreeMap::new();
    for booking in bookings {
        if matches!(text(booking, "state"), "PENDING" | "CONFIRMED") {
            for key in members(&booking["place"]["slot_keys"]) {
                let key = key.as_str().unwrap_or_default();
                let other = owners.insert(key.to_owned(), text(booking, "booking_id").to_owned());
                require(other.is_none(), PROMISE, || format!("{key} has two owners"))?;
            }
        }
    }
    let mut held = BTreeMap::new();
    for slot in world.rows("bdc-slots") {
        held.insert(
            text(&slot, "slot_key").to_owned(),
            text(&slot, "booking_id").to_owned(),
        );
    }
    for (key, owner) in &owners {
        require(held.get(key) == Some(owner), PROMISE, || {
            format!("{owner} should hold {key}, which {:?} has", held.get(key))
        })?;
    }
    let is_settled = |id: &str| {
        let mut own = bookings.iter().filter(|it| it["booking_id"] == id);
        own.any(|it| matches!(text(it, "state"), "APPLIED" | "FORFEITED"))
    };
    for (key, owner) in &held {
        let fits = owners.get(key) == Some(owner) || is_settled(owner);
        require(fits, PROMISE, || {
            format!("{key} is held by {owner}, which is not live")
        })?;
    }
    Ok(())
}

fn ends_are_final(memory: &mut Memory, bookings: &[Value]) -> Result<(), Broken> {
    for booking in bookings {
        let (id, state) = (text(booking, "booking_id"), text(booking, "state"));
        if let Some(end) = memory.ended.get(id) {
            let may = end == state || AFTER.contains(&(end.as_str(), state));
            require(may, "an end is final", || {
                format!("{id} went from {end} to {state}")
            })?;
        }
        match ENDS.contains(&state) {
            true => memory.ended.insert(id.to_owned(), state.to_owned()),
            false => memory.ended.remove(id),
        };
    }
    Ok(())
}

/// However often a form was sent, it made one booking at most.
fn one_booking_per_form(world: &World) -> Result<(), Broken> {
    let mut ids = BTreeMap::new();
    for booked in &world.bookings {
        if let Some(id) = &booked.id {
            let other = ids.insert(id.clone(), booked.wish.clone());
            let same = other.is_none_or(|wish| wish == booked.wish);
            require(same, "a form is one booking", || {
                format!("{id} was given to two forms")
            })?;
        }
    }
    Ok(())
}

/// A booking has one page at a time on which it can be paid. A page that the provider made and told
/// nobody of is known to nobody: only those count that a customer was led to.
fn one_page_at_a_time(world: &World, ledger: &Value) -> Result<(), Broken> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let known = |it: &&Value| world.deeds.pages.iter().any(|page| page == text(it, "id"));
    let sessions = members(&ledger["sessions"]).filter(|it| text(it, "status") == "open");
    for session in sessions.filter(known) {
        let id = text(&session["metadata"], "booking_id");
        let other = open.insert(id, text(session, "id"));
        require(
            other.is_none() || id.is_empty(),
            "one page at a time",
            || {
                format!(
                    "{id} can be paid on {other:?} and on {}",
                    text(session, "id")
                )
            },
        )?;
    }
    Ok(())
}

/// A hold lasts no longer than the policy of its booking says, by the clock of the universe.
fn a_hold_lasts_as_promised(bookings: &[Value]) -> Result<(), Broken> {
    let first = |it: &&Value| {
        let untouched = it["moves"] == 0 && it["funds"].is_null();
        let unpaid = members(&it["payments"]).next().is_none();
        text(it, "state") == "PENDING" && untouched && unpaid
    };
    for booking in bookings.iter().filter(first) {
        let at = |name: &str| text(booking, name).parse::<DateTime<Utc>>().ok();
        let minutes = booking["policy"]["pay_within"].as_i64();
        if let (Some(created), Some(deadline), Some(minutes)) =
            (at("created_at"), at("deposit_deadline"), minutes)
        {
            let most = created + TimeDelta::minutes(minutes);
            require(deadline <= most, "a hold lasts as promised", || {
                format!(
                    "{} may be paid until {deadline}, not {most}",
                    text(booking, "booking_id")
                )
            })?;
        }
    }
    Ok(())
}

/// A hold is given back at its deadline and not before, by the clock of who gives it back.
fn no_hold_ends_early(bookings: &[Value], world: &World) -> Result<(), Broken> {
    let latest = world.now() + world.weather.clocks_differ_by();
    for booking in bookings.iter().filter(|it| text(it, "state") == "RELEASED") {
        let deadline = text(booking, "deposit_deadline").parse::<DateTime<Utc>>();
        require(
            deadline.is_ok_and(|at| at <= latest),
            "a hold lasts as promised",
            || {
                format!(
                    "{} was released before {}",
                    text(booking, "booking_id"),
                    text(booking, "deposit_deadline")
                )
            },
        )?;
    }
    Ok(())
}

/// A deposit is forfeited where the staff said that nobody came.
fn a_forfeit_has_a_mark(bookings: &[Value], world: &World) -> Result<(), Broken> {
    for booking in bookings
        .iter()
        .filter(|it| text(it, "state") == "FORFEITED")
    {
        let id = text(booking, "booking_id");
        let marked = world.deeds.marked_absent.iter().any(|marked| marked == id);
        require(
            marked || !booking["attendance"].is_null(),
            "a forfeit has a mark",
            || format!("{id} was forfeited, and nobody said that the guest had not come"),
        )?;
    }
    Ok(())
}

/// What holds when nothing is under way any more.
pub(super) fn at_rest(world: &World) -> Result<(), Broken> {
    let mut bookings = world.rows("bdc-bookings");
    // A row that was put there and is no booking has no history.
    bookings.retain(|it| it["state"].is_string());
    let cases = world.rows("bdc-cases");
    let ledger = world.fleet.sandbox.ledger();
    for booking in &bookings {
        nothing_is_overdue(booking, world.now(), &cases)?;
        the_history_tells_it(world, booking)?;
    }
    money::no_false_alarm(&ledger, &cases)?;
    paid::in_time_are_confirmed(&bookings, &ledger)?;
    for charge in members(&ledger["charges"]) {
        money::money_is_accounted_for(charge, &ledger, &bookings, &cases)?;
    }
    for row in world.rows("bdc-payments") {
        let waits = row["due_at"].is_string()
            && !money::provider_is_at_it(&ledger, text(&row, "payment_ref"));
        require(!waits, "nothing stays unknown", || {
            format!("{} is still to be looked up", text(&row, "event_id"))
        })?;
    }
    texts::a_stop_is_heard(world)?;
    texts::every_order_is_carried_out(world, &bookings)?;
    texts::everybody_was_told(world, &bookings, &cases)
}

/// A hold whose deposit is overdue is given back by the second sweep, unless its payment page may still
/// be paid: that takes its own half an hour and a margin, and as long from the order to close it.
pub(super) fn released_in_time(world: &World) -> Result<(), Broken> {
    let margin = TimeDelta::minutes(40);
    let cases = world.rows("bdc-cases");
    let before = world.now() - margin;
    for booking in world.rows("bdc-bookings") {
        let closing = text(&booking["session"], "closing_at").parse::<DateTime<Utc>>();
        if closing.is_ok_and(|at| at > before) {
            continue;
        }
        nothing_is_overdue(&booking, before, &cases)?;
    }
    Ok(())
}

fn nothing_is_overdue(booking: &Value, now: DateTime<Utc>, cases: &[Value]) -> Result<(), Broken> {
    let deadline = text(booking, "deposit_deadline").parse::<DateTime<Utc>>();
    let awaited = booking["funds"]["awaited"] == true;
    let overdue = text(booking, "state") == "PENDING" && deadline.is_ok_and(|at| at < now);
    let overdue = overdue && !awaited;
    require(
        !overdue || is_named(cases, text(booking, "booking_id")),
        "a hold is released in time",
        || {
            format!(
                "{} is pending since {}",
                text(booking, "booking_id"),
                text(booking, "deposit_deadline")
            )
        },
    )
}

/// Each change has its audit row: the history says what the booking is.
fn the_history_tells_it(world: &World, booking: &Value) -> Result<(), Broken> {
    let rows = world.rows("bdc-audit").into_iter();
    let own = rows.filter(|row| row["booking_id"] == booking["booking_id"]);
    let own: Vec<AuditRow> = own
        .filter_map(|row| serde_json::from_value(row).ok())
        .collect();
    let mut expected = booking.clone();
    if let Some(fields) = expected.as_object_mut() {
        fields.retain(|name, _| !Booking::PERSONAL.contains(&name.as_str()));
    }
    require(
        rebuild(&own) == expected,
        "each change has its audit row",
        || {
            format!(
                "{} is not what its history says",
                text(booking, "booking_id")
            )
        },
    )
}

/// Whether an open case is about something.
fn is_named(cases: &[Value], about: &str) -> bool {
    let open = cases.iter().filter(|case| case["status"] == "OPEN");
    let mut open = open.map(|case| (text(case, "subject").contains(about), &case["entries"]));
    open.any(|(own, entries)| {
        own || members(entries).any(|entry| entry["facts"]["payment_ref"] == about)
    })
}
