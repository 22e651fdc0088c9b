//! The promises about charges of cards, by the provider's ledger.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Timelike, Utc};
use chrono_tz::Europe::London;
use serde_json::Value;

use super::{Broken, require};
use crate::kinds::Kind;
use crate::world::{World, members, text};

/// Between our look at an invoice and our charge there may be a function that stood still.
const MARGIN: TimeDelta = TimeDelta::minutes(20);
/// Two charges that are no further apart are of one date.
const AT_ONCE: TimeDelta = TimeDelta::minutes(15);
/// The dates of the calendar are at 10:00, and a schedule may be three hours late.
const HOURS: std::ops::Range<u32> = 9..14;
/// What a bank says of a card that it will never let charge again.
const HARD: [&str; 1] = ["lost_card"];
/// Trouble in which every request to the provider is answered, so that each charge is of its own date.
const ANSWERED: [Kind; 10] = [
    Kind::ScheduleLate,
    Kind::ScheduleTwice,
    Kind::ScheduleAfterDelete,
    Kind::Duplicate,
    Kind::Reorder,
    Kind::EventLate,
    Kind::EventLost,
    Kind::EventDoubled,
    Kind::EventNewId,
    Kind::EventReordered,
];

/// Trouble in which everything happens at once, if more than once.
const CALM: [Kind; 3] = [Kind::Duplicate, Kind::ScheduleTwice, Kind::EventDoubled];
/// A new card is charged a minute after it is known.
const NEW_CARD_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// A charge of an invoice.
struct Charge<'a> {
    id: &'a str,
    invoice: &'a str,
    card: &'a str,
    at: DateTime<Utc>,
    is_ours: bool,
    is_hard: bool,
    is_paid: bool,
}

impl Charge<'_> {
    fn date(&self) -> NaiveDate {
        self.at.with_timezone(&London).date_naive()
    }
}

/// What holds after every action. `seen` has the charges that were judged already.
pub(super) fn are_in_place(
    seen: &mut BTreeSet<String>,
    world: &World,
    ledger: &Value,
) -> Result<(), Broken> {
    if members(&ledger["charges"]).count() == seen.len() {
        return Ok(());
    }
    let all = charges(world, ledger);
    for charge in all.iter().filter(|it| it.is_ours) {
        if !seen.contains(charge.id) {
            judge(charge, &all, world, ledger)?;
        }
    }
    seen.extend(all.into_iter().map(|it| it.id.to_owned()));
    // The first period of each was no charge of a failed invoice.
    let others = members(&ledger["charges"]);
    seen.extend(others.map(|it| text(it, "id").to_owned()));
    Ok(())
}

fn judge(
    charge: &Charge<'_>,
    all: &[Charge<'_>],
    world: &World,
    ledger: &Value,
) -> Result<(), Broken> {
    let (id, invoice, card) = (charge.id, charge.invoice, charge.card);
    let of_card: Vec<&Charge<'_>> = all
        .iter()
        .filter(|it| it.invoice == invoice && it.card == card && it.id != id && it.at <= charge.at)
        .collect();
    let hard = of_card
        .iter()
        .find(|it| it.is_hard && it.at < charge.at - MARGIN);
    require(
        hard.is_none(),
        "after a hard decline a card is left alone",
        || {
            format!(
                "{invoice} was charged at {}, and its card is lost",
                charge.at
            )
        },
    )?;
    // The renewal's own try, and ours. A new card is charged beside the calendar, once.
    let is_old = of_card.iter().any(|it| !it.is_ours);
    let first = all.iter().find(|it| it.invoice == invoice).map(|it| it.id);
    let other = of_card
        .iter()
        .filter(|it| it.is_ours || Some(it.id) == first)
        .filter(|it| charge.at - it.at < AT_ONCE || (is_old && it.date() == charge.date()))
        // A card that has since paid something else works: what is open is charged with it.
        .find(|it| {
            !all.iter().any(|paid| {
                paid.is_paid && paid.card == card && paid.at > it.at && paid.at < charge.at
            })
        });
    let forgotten = world.weather.has(Kind::KeysForgotten);
    require(
        other.is_none() || forgotten,
        "a card is charged once on a date",
        || {
            let at = other.map(|it| it.at);
            format!("{invoice} was charged at {at:?} and again at {}", charge.at)
        },
    )?;
    is_in_hours(charge, is_old, world)?;
    let subscriptions = members(&ledger["subscriptions"]);
    let mut left = subscriptions.filter(|it| world.deeds.left.contains_key(text(it, "id")));
    let left = left.find(|it| subscription_of(ledger, invoice) == text(it, "id"));
    let left = left.and_then(|it| world.deeds.left.get(text(it, "id")));
    require(
        left.is_none_or(|at| *at > charge.at - MARGIN),
        "who has left is not charged",
        || format!("{invoice} was charged at {}, left at {left:?}", charge.at),
    )
}

/// The card whose charge failed is charged in the hours of business; a new one whenever it comes.
fn is_in_hours(charge: &Charge<'_>, is_old: bool, world: &World) -> Result<(), Broken> {
    let is_answered = world.weather.kinds.iter().all(|it| ANSWERED.contains(it));
    let asked_before = world.points.iter().any(|it| {
        it.charged_invoice() == Some(charge.invoice)
            && it.at < charge.at
            && it.at > charge.at - TimeDelta::hours(24)
    });
    let hour = charge.at.with_timezone(&London).hour();
    require(
        !is_answered || asked_before || !is_old || HOURS.contains(&hour),
        "a card is charged in the hours of business",
        || format!("{} was charged at {}", charge.invoice, charge.at),
    )
}

fn charges<'a>(world: &World, ledger: &'a Value) -> Vec<Charge<'a>> {
    let mut of = BTreeMap::new();
    for invoice in members(&ledger["invoices"]) {
        for list in ["successful_charges", "failed_charges"] {
            let ids = members(&invoice[list]).filter_map(Value::as_str);
            let is_paid = list == "successful_charges";
            of.extend(ids.map(|id| (id, (text(invoice, "id"), is_paid))));
        }
    }
    let all = members(&ledger["charges"]).filter_map(|it| {
        let id = text(it, "id");
        let (invoice, is_paid) = *of.get(id)?;
        // The first period is paid before anything is simulated.
        let known = world.invoices.iter().any(|known| known == invoice);
        known.then_some(Charge {
            id,
            invoice,
            card: text(it, "payment_method"),
            at: DateTime::from_timestamp(it["created"].as_i64()?, 0)?,
            is_ours: !world.deeds.charged_by_others.contains(id),
            is_paid,
            is_hard: HARD.contains(&text(&it["outcome"], "reason")),
        })
    });
    let mut all: Vec<Charge<'a>> = all.collect();
    all.sort_by_key(|it| it.at);
    all
}

fn subscription_of<'a>(ledger: &'a Value, invoice: &str) -> &'a str {
    let mut invoices = members(&ledger["invoices"]);
    let invoice = invoices.find(|it| text(it, "id") == invoice);
    invoice.map_or("", super::dunning::subscription_of)
}

/// As many charges as there were claims, and no more.
pub(super) fn are_claimed(world: &World, rows: &[Value], ledger: &Value) -> Result<(), Broken> {
    // A provider that forgets a key within its day charges twice, whoever asks. What a customer pays beside
    // a charge is no charge of ours, and looks like one.
    if world.weather.has(Kind::KeysForgotten) || world.deeds.is_paid_beside {
        return Ok(());
    }
    let mut made: BTreeMap<&str, u64> = BTreeMap::new();
    for charge in charges(world, ledger).iter().filter(|it| it.is_ours) {
        *made
            .entry(subscription_of(ledger, charge.invoice))
            .or_default() += 1;
    }
    for row in rows {
        let id = text(row, "subscription_id");
        let claims = row["attempt_no"].as_u64().unwrap_or_default();
        let made = made.get(id).copied().unwrap_or_default();
        require(made <= claims, "a claim charges once", || {
            format!("{id}: {claims} charges were claimed, {made} were made")
        })?;
    }
    Ok(())
}

/// A card that pays, and that the customer saved while an invoice was open, is charged soon where nothing is
/// in the way. Judged once `world` is at rest.
pub(super) fn new_cards_are_tried(world: &World, ledger: &Value) -> Result<(), Broken> {
    let is_calm = world.weather.kinds.iter().all(|it| CALM.contains(it));
    if !is_calm || world.deeds.is_pay_upset {
        return Ok(());
    }
    let all = charges(world, ledger);
    for (customer, saved) in &world.deeds.good_cards {
        let of_customer =
            members(&ledger["invoices"]).filter(|it| it["customer"] == customer.as_str());
        for id in of_customer.map(|it| text(it, "id")) {
            let own: Vec<&Charge<'_>> = all.iter().filter(|it| it.invoice == id).collect();
            let ours = |it: &&&Charge<'_>| it.is_ours && it.at < *saved;
            // One of ours came before, so the fleet knew of the debt.
            let Some(before) = own.iter().rfind(ours) else {
                continue;
            };
            let until = *saved + NEW_CARD_WITHIN;
            let is_over = own.iter().any(|it| !it.is_ours && it.at >= *saved)
                || world.deeds.left.contains_key(subscription_of(ledger, id))
                || world.deeds.ended.contains(id)
                || paid_at(ledger, id).is_some_and(|at| at < *saved);
            let tried = own
                .iter()
                .any(|it| it.is_ours && it.at >= *saved && it.at <= until);
            require(is_over || tried, "a new card is charged", || {
                format!(
                    "{id} was charged at {}, and not with the card of {saved}",
                    before.at
                )
            })?;
        }
    }
    Ok(())
}

fn paid_at(ledger: &Value, invoice: &str) -> Option<DateTime<Utc>> {
    let mut invoices = members(&ledger["invoices"]);
    let invoice = invoices.find(|it| text(it, "id") == invoice)?;
    DateTime::from_timestamp(invoice["status_transitions"]["paid_at"].as_i64()?, 0)
}
