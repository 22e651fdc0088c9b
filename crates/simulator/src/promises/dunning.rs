//! The promises about failed payments.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use local_cloud::Message;
use serde_json::Value;

use super::{Broken, Memory, charges, require};
use crate::world::{World, members, text};

/// What holds after every action.
pub(super) fn always(memory: &mut Memory, world: &World) -> Result<(), Broken> {
    let ledger = world.fleet.sandbox.ledger();
    nobody_asks_for_what_is_over(memory, world)?;
    mails_are_in_place(memory, world)?;
    memory.over = over(&ledger);
    let rows = world.rows("dunr-dunning").into_iter();
    let open = rows.filter_map(|row| row["attempt"]["invoice_id"].as_str().map(str::to_owned));
    memory.asked.extend(open);
    access_is_not_cut_early(world)?;
    if !world.deeds.are_in_a_race {
        charges::are_in_place(&mut memory.charges, world, &ledger)?;
    }
    for invoice in members(&ledger["invoices"]) {
        let taken = members(&invoice["successful_charges"]).count();
        require(taken <= 1, "an invoice is taken once", || {
            format!("{} was taken {taken} times", text(invoice, "id"))
        })?;
    }
    for subscription in members(&ledger["subscriptions"]) {
        let ours =
            subscription["canceled_by"] == "api" || subscription["cancel_at_period_end"] == true;
        require(!ours, "no subscription is ended by us", || {
            format!("{} was", text(subscription, "id"))
        })?;
    }
    Ok(())
}

/// What holds when nothing is under way any more.
pub(super) async fn at_rest(world: &World) -> Result<(), Broken> {
    let ledger = world.fleet.sandbox.ledger();
    let rows = world.rows("dunr-dunning");
    no_more_receipts_than_charges(world, &ledger)?;
    if !world.deeds.are_in_a_race {
        charges::are_claimed(world, &rows, &ledger)?;
        charges::new_cards_are_tried(world, &ledger)?;
    }
    no_schedule_outlives_its_plan(world, &rows)?;
    for row in &rows {
        nothing_is_forgotten(row, world.now())?;
        nothing_is_open(row)?;
        debts_are_as_the_provider_says(row, &ledger)?;
    }
    for who in &world.subscribers {
        let id = &who.subscription_id;
        let row = rows
            .iter()
            .find(|row| row["subscription_id"] == id.as_str());
        whoever_owes_nothing_is_let_in(world, id, row, &ledger).await?;
    }
    Ok(())
}

/// Mails that ask for money, one way or another.
const ASKING: [&str; 6] = [
    "failed",
    "new_card",
    "approve",
    "pay_by_hand",
    "paused",
    "reminder",
];

/// A mail that asks for money goes to somebody who owes some, as far as the fleet knows; one a day; and
/// none to an address that complained.
fn mails_are_in_place(memory: &mut Memory, world: &World) -> Result<(), Broken> {
    let rows = world.rows("dunr-dunning");
    let mails = world.fleet.cloud.messages();
    let of_customers =
        |mail: &&Message| mail.function == "dunr-mailer" && ASKING.contains(&mail.kind.as_str());
    for mail in mails.iter().skip(memory.mails).filter(of_customers) {
        let owed = memory.owing.contains(&mail.to)
            || failed(&rows, &mail.to) > memory.failed.get(&mail.to).copied().unwrap_or_default();
        require(owed, "nobody is asked for money that came", || {
            format!(
                "a mail `{}` went out at {}, and nothing was owed any more",
                mail.kind, mail.at
            )
        })?;
        let same_day = mails
            .iter()
            .filter(of_customers)
            .filter(|other| other.to == mail.to && other.at.date_naive() == mail.at.date_naive());
        require(
            same_day.count() <= 1 || mail.kind == "paused",
            "one mail a day",
            || format!("another mail `{}` went out at {}", mail.kind, mail.at),
        )?;
        require(
            !memory.complained.contains(&mail.to),
            "no mail after a complaint",
            || format!("a mail `{}` went out at {}", mail.kind, mail.at),
        )?;
    }
    memory.mails = mails.len();
    memory.owing = owing(&rows);
    for row in &rows {
        let address = text(row, "email").to_owned();
        memory
            .failed
            .insert(address.clone(), failed(&rows, &address));
    }
    let suppressed = world.rows("dunr-suppression");
    memory
        .complained
        .extend(suppressed.iter().map(|row| text(row, "address").to_owned()));
    Ok(())
}

/// How many invoices of a customer have failed, as the fleet remembers.
fn failed(rows: &[Value], address: &str) -> usize {
    let own = rows.iter().filter(|row| text(row, "email") == address);
    own.filter_map(|row| row["invoices"].as_object())
        .map(|debts| debts.len())
        .sum()
}

/// The addresses of those who owe something, as the fleet knows it.
fn owing(rows: &[Value]) -> BTreeSet<String> {
    let owes = |row: &&Value| {
        let debts = row["invoices"].as_object();
        debts
            .into_iter()
            .flatten()
            .any(|(_, debt)| debt["end"].is_null())
    };
    rows.iter()
        .filter(owes)
        .map(|row| text(row, "email").to_owned())
        .collect()
}

fn over(ledger: &Value) -> BTreeSet<String> {
    let invoices = members(&ledger["invoices"]);
    let over = invoices.filter(|it| text(it, "status") != "open");
    over.map(|it| text(it, "id").to_owned()).collect()
}

/// No charge is asked for of an invoice that was over before, unless it was asked for before that: then
/// the same key only asks what came of it.
fn nobody_asks_for_what_is_over(memory: &mut Memory, world: &World) -> Result<(), Broken> {
    for (index, point) in world.points.iter().enumerate().skip(memory.points) {
        let Some(invoice) = point.charged_invoice() else {
            continue;
        };
        let mut before = world.points[..index].iter();
        let asked_before = before.any(|it| it.charged_invoice() == Some(invoice));
        let is_open = memory.asked.contains(invoice);
        let may = asked_before || is_open || !memory.over.contains(invoice);
        require(may, "nobody is asked for what is over", || {
            format!("{invoice} was over when it was to be charged")
        })?;
    }
    memory.points = world.points.len();
    Ok(())
}

/// The gaps of the built-in policy are ten business days.
const COURSE_DAYS: i64 = 10;

/// Access is paused by an operator, or once the calendar's dates are used up: not within the business days
/// between them.
fn access_is_not_cut_early(world: &World) -> Result<(), Broken> {
    // The next business day may be no more than a night away.
    let least = if world.is_quick {
        TimeDelta::hours(12)
    } else {
        TimeDelta::days(COURSE_DAYS)
    };
    for row in world.rows("dunr-dunning") {
        let id = text(&row, "subscription_id");
        let decided = world
            .deeds
            .decided_by_operators
            .iter()
            .any(|other| other == id);
        let failed_at = world.deeds.failed_at.get(id);
        let early = failed_at.is_some_and(|at| world.now() - *at < least);
        let cut = text(&row, "access") == "paused" && early && !decided;
        require(!cut, "access stays until every date is used up", || {
            format!("{id} is paused, and its payment failed at {failed_at:?}")
        })?;
    }
    Ok(())
}

/// The keys of charges that are asked for and not known.
pub(super) fn open_charges(world: &World) -> Vec<String> {
    let rows = world.rows("dunr-dunning").into_iter();
    let keys = rows.filter_map(|row| row["attempt"]["key"].as_str().map(str::to_owned));
    keys.collect()
}

pub(super) fn known_in_time(before: &[String], world: &World) -> Result<(), Broken> {
    no_schedule_outlives_its_plan(world, &world.rows("dunr-dunning"))?;
    let now = open_charges(world);
    let still = before.iter().find(|key| now.contains(key));
    require(still.is_none(), "a charge is known in time", || {
        format!("a day after everything worked again, {still:?} is still open")
    })
}

/// A receipt is for a charge that succeeded.
fn no_more_receipts_than_charges(world: &World, ledger: &Value) -> Result<(), Broken> {
    let messages = world.fleet.cloud.messages();
    let receipts = messages.iter().filter(|it| it.kind == "receipt").count();
    let invoices = members(&ledger["invoices"]);
    let paid = invoices.filter(|it| it["status"] == "paid").count();
    require(receipts <= paid, "a message at most once", || {
        format!("{receipts} receipts for {paid} paid invoices")
    })
}

fn no_schedule_outlives_its_plan(world: &World, rows: &[Value]) -> Result<(), Broken> {
    for schedule in world.fleet.cloud.schedules() {
        let id = text(&schedule.input, "subscription_id");
        let row = rows.iter().find(|row| text(row, "subscription_id") == id);
        let is_planned = row.is_some_and(|row| !row["plan"].is_null());
        require(
            schedule.of_template || is_planned,
            "no schedule outlives its plan",
            || format!("{} is still there", schedule.name),
        )?;
    }
    Ok(())
}

/// A date that was planned is not in the past: the sweep makes up for what a schedule missed.
fn nothing_is_forgotten(row: &Value, now: DateTime<Utc>) -> Result<(), Broken> {
    let planned = text(row, "next_retry_at").parse::<DateTime<Utc>>();
    let late = planned.is_ok_and(|at| at < now - TimeDelta::days(4));
    require(
        !late || row["plan"].is_null(),
        "an invoice gets all its dates",
        || {
            format!(
                "{} was planned for {}",
                text(row, "subscription_id"),
                text(row, "next_retry_at")
            )
        },
    )
}

fn nothing_is_open(row: &Value) -> Result<(), Broken> {
    require(row["attempt"].is_null(), "nothing stays unknown", || {
        format!(
            "a charge of {} is open: {}",
            text(row, "subscription_id"),
            row["attempt"]
        )
    })
}

fn debts_are_as_the_provider_says(row: &Value, ledger: &Value) -> Result<(), Broken> {
    for (id, debt) in row["invoices"].as_object().into_iter().flatten() {
        let mut invoices = members(&ledger["invoices"]);
        let invoice = invoices
            .find(|it| it["id"] == id.as_str())
            .unwrap_or(&Value::Null);
        let is_open = text(invoice, "status") == "open";
        require(
            debt["end"].is_null() == is_open,
            "a debt ends as the provider says",
            || format!("{id} is {} there, and here {debt}", invoice["status"]),
        )?;
    }
    Ok(())
}

pub(super) fn subscription_of(invoice: &Value) -> &str {
    text(&invoice["parent"]["subscription_details"], "subscription")
}

async fn whoever_owes_nothing_is_let_in(
    world: &World,
    id: &str,
    row: Option<&Value>,
    ledger: &Value,
) -> Result<(), Broken> {
    let mut subscriptions = members(&ledger["subscriptions"]);
    let subscription = subscriptions
        .find(|it| it["id"] == id)
        .unwrap_or(&Value::Null);
    let mut invoices = members(&ledger["invoices"]);
    let owes = invoices.any(|it| subscription_of(it) == id && it["status"] != "paid");
    let decided = world
        .deeds
        .decided_by_operators
        .iter()
        .any(|other| other == id);
    if owes || decided || row.is_none() || text(subscription, "status") != "active" {
        return Ok(());
    }
    let answer = world.gate(id).await;
    require(
        answer.body["access"] == "granted",
        "whoever owes nothing is let in",
        || format!("{id}: {}", answer.body),
    )
}
