//! The promises about deposits.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::audit::{AuditRow, rebuild};
use paidonce_core::booking::Booking;
use paidonce_core::step::Row;
use serde_json::Value;

use super::{Broken, Memory, paid, require};
use crate::world::{STAFF_REFUND, World, members, text};

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
    no_more_goes_back_than_came(&ledger)?;
    confirmed_by_the_whole_deposit(&bookings, &ledger)?;
    one_page_at_a_time(world, &ledger)?;
    a_hold_lasts_as_promised(&bookings)?;
    no_hold_ends_early(&bookings, world)?;
    a_forfeit_has_a_mark(&bookings, world)?;
    an_order_moves_money_once(&ledger)?;
    told_once(&bookings, world)?;
    paid::keep_their_slot(&mut memory.paid, world, &bookings, &ledger)?;
    hear_stop(memory, world);
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

fn no_more_goes_back_than_came(ledger: &Value) -> Result<(), Broken> {
    for charge in members(&ledger["charges"]) {
        let payment = text(charge, "payment_intent");
        let captured = charge["amount_captured"].as_i64().unwrap_or_default();
        let refunded = live_refunds(ledger, payment);
        require(refunded <= captured, "no more goes back than came", || {
            format!("{payment}: {captured} came, {refunded} went back")
        })?;
    }
    Ok(())
}

/// What the provider took for a booking, whatever went back later.
fn captured_for(id: &str, ledger: &Value) -> i64 {
    let own = members(&ledger["sessions"]).filter(|it| it["metadata"]["booking_id"] == id);
    let payments: Vec<&str> = own.map(|it| text(it, "payment_intent")).collect();
    let charges = members(&ledger["charges"]);
    let own = charges.filter(|it| payments.contains(&text(it, "payment_intent")));
    own.filter_map(|it| it["amount_captured"].as_i64()).sum()
}

/// A booking is confirmed by its whole deposit, or by a person.
fn confirmed_by_the_whole_deposit(bookings: &[Value], ledger: &Value) -> Result<(), Broken> {
    for booking in bookings {
        let is_confirmed = text(booking, "state") == "CONFIRMED" && booking["waived"].is_null();
        if is_confirmed {
            let id = text(booking, "booking_id");
            let captured = captured_for(id, ledger);
            let deposit = booking["deposit"]["amount"].as_i64().unwrap_or_default();
            require(
                captured >= deposit,
                "confirmed by the whole deposit",
                || format!("{id} is confirmed, and {captured} of {deposit} came"),
            )?;
        }
    }
    Ok(())
}

/// A booking has one page at a time on which it can be paid. A page that the provider made and told
/// nobody of is known to nobody: only those count that a customer was led to.
fn one_page_at_a_time(world: &World, ledger: &Value) -> Result<(), Broken> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let known = |it: &&Value| world.pages.iter().any(|page| page == text(it, "id"));
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
        let marked = world.marked_absent.iter().any(|marked| marked == id);
        require(
            marked || !booking["attendance"].is_null(),
            "a forfeit has a mark",
            || format!("{id} was forfeited, and nobody said that the guest had not come"),
        )?;
    }
    Ok(())
}

/// The staff's order to give so much back is one order, however often it is sent.
fn an_order_moves_money_once(ledger: &Value) -> Result<(), Broken> {
    let mut given = BTreeMap::new();
    for refund in members(&ledger["refunds"]) {
        let live = !matches!(text(refund, "status"), "failed" | "canceled");
        if live && refund["amount"] == STAFF_REFUND {
            let count: &mut u32 = given.entry(text(refund, "payment_intent")).or_default();
            *count += 1;
            require(*count <= 1, "an order moves money once", || {
                format!(
                    "{} was given back {count} times",
                    text(refund, "payment_intent")
                )
            })?;
        }
    }
    Ok(())
}

/// A booking is reminded once, also when it is moved, and each move is told once.
fn told_once(bookings: &[Value], world: &World) -> Result<(), Broken> {
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
fn hear_stop(memory: &mut Memory, world: &World) {
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
    no_false_alarm(&ledger, &cases)?;
    paid::in_time_are_confirmed(&bookings, &ledger)?;
    for charge in members(&ledger["charges"]) {
        money_is_accounted_for(charge, &ledger, &bookings, &cases)?;
    }
    for row in world.rows("bdc-payments") {
        let waits =
            row["due_at"].is_string() && !provider_is_at_it(&ledger, text(&row, "payment_ref"));
        require(!waits, "nothing stays unknown", || {
            format!("{} is still to be looked up", text(&row, "event_id"))
        })?;
    }
    a_stop_is_heard(world)?;
    every_order_is_carried_out(world, &bookings)?;
    everybody_was_told(world, &bookings, &cases)
}

/// The team is told of no failed refund where the provider has none.
fn no_false_alarm(ledger: &Value, cases: &[Value]) -> Result<(), Broken> {
    for case in cases
        .iter()
        .filter(|case| case["reason"] == "refund_failed")
    {
        for entry in members(&case["entries"]) {
            let payment = text(&entry["facts"], "payment_ref");
            let mut refunds =
                members(&ledger["refunds"]).filter(|it| it["payment_intent"] == payment);
            // What somebody gave back in the provider's dashboard leaves no room for ours: that is news.
            let is_well = |it: &Value| {
                let ours = it["metadata"].as_object().is_some_and(|it| !it.is_empty());
                ours && matches!(text(it, "status"), "succeeded" | "pending")
            };
            let some = !payment.is_empty() && live_refunds(ledger, payment) > 0;
            let all_well = some && refunds.all(is_well);
            require(!all_well, "no false alarm", || {
                format!("the team was told that a refund of {payment} failed, and none did")
            })?;
        }
    }
    Ok(())
}

/// Whether the provider itself has not finished a refund.
fn provider_is_at_it(ledger: &Value, payment: &str) -> bool {
    let mut refunds = members(&ledger["refunds"]);
    refunds.any(|it| {
        it["payment_intent"] == payment
            && matches!(text(it, "status"), "pending" | "requires_action")
    })
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

/// Every penny that the provider took for a booking is kept by it, went back, or is named in a case.
fn money_is_accounted_for(
    charge: &Value,
    ledger: &Value,
    bookings: &[Value],
    cases: &[Value],
) -> Result<(), Broken> {
    let payment = text(charge, "payment_intent");
    let mut sessions = members(&ledger["sessions"]);
    let session = sessions.find(|it| it["payment_intent"] == payment);
    let id = session
        .map(|it| text(&it["metadata"], "booking_id"))
        .unwrap_or_default();
    let captured = charge["amount_captured"].as_i64().unwrap_or_default();
    if captured == 0 || !id.starts_with("bkg_") {
        return Ok(());
    }
    let booking = bookings.iter().find(|row| row["booking_id"] == id);
    let kept = booking.map_or(0, |booking| kept(booking, payment));
    let refunded = live_refunds(ledger, payment);
    let is_released = booking.is_some_and(|it| text(it, "state") == "RELEASED");
    let whole = refunded + kept == captured && !(is_released && kept > 0);
    require(
        whole || is_named(cases, payment),
        "every penny is accounted for",
        || format!("{payment} of {id}: {captured} came, {refunded} went back, {kept} is kept"),
    )
}

/// What the provider gave back of a payment, or is giving back.
fn live_refunds(ledger: &Value, payment: &str) -> i64 {
    let refunds = members(&ledger["refunds"]);
    let live = refunds.filter(|refund| {
        refund["payment_intent"] == payment
            && !matches!(text(refund, "status"), "failed" | "canceled")
    });
    live.filter_map(|refund| refund["amount"].as_i64()).sum()
}

/// What a booking says that it has of a payment.
fn kept(booking: &Value, payment: &str) -> i64 {
    let own = members(&booking["payments"]).filter(|paid| paid["payment_ref"] == payment);
    let amount = |money: &Value| money["amount"].as_i64().unwrap_or_default();
    own.map(|paid| (amount(&paid["amount"]) - amount(&paid["returned"])).max(0))
        .sum()
}

/// Whether an open case is about something.
fn is_named(cases: &[Value], about: &str) -> bool {
    let open = cases.iter().filter(|case| case["status"] == "OPEN");
    let mut open = open.map(|case| (text(case, "subject").contains(about), &case["entries"]));
    open.any(|(own, entries)| {
        own || members(entries).any(|entry| entry["facts"]["payment_ref"] == about)
    })
}

/// Whoever wrote STOP last gets no more texts.
fn a_stop_is_heard(world: &World) -> Result<(), Broken> {
    let stopped = stopped_phones(world);
    for (phone, stop) in &world.wishes {
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
fn every_order_is_carried_out(world: &World, bookings: &[Value]) -> Result<(), Broken> {
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
fn everybody_was_told(world: &World, bookings: &[Value], cases: &[Value]) -> Result<(), Broken> {
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
