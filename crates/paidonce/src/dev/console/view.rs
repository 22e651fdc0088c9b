//! What the console shows, gathered from the tables, the messages and the provider.

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::booking::{Booking, Paid, State};
use paidonce_core::case::{Case, Status};
use paidonce_core::link::{LinkKey, Purpose};
use paidonce_core::local_time::human;
use paidonce_core::money::Money;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::subscriptions::{SubscriptionView, subscriptions};
use crate::dev::Dev;

/// How much of each kind is shown, the latest first.
pub(super) const SHOWN_MAX: usize = 40;
/// The sweeps look every few minutes: a deadline has passed for them a little later.
const SWEEP_LAG: TimeDelta = TimeDelta::minutes(5);

/// Everything that changes while the page is open.
#[derive(Serialize)]
pub(crate) struct Town {
    now: String,
    date: String,
    utc: String,
    next_due: Option<String>,
    next_deadline: Option<String>,
    bookings: Vec<BookingView>,
    booking_count: usize,
    subscriptions: Vec<SubscriptionView>,
    messages: Vec<MessageView>,
    message_count: usize,
    cases: Vec<CaseView>,
    totals: Vec<Totals>,
    queues: Vec<Queue>,
    faults: usize,
}

#[derive(Serialize)]
struct BookingView {
    id: String,
    state: &'static str,
    name: String,
    phone: String,
    party: u32,
    label: String,
    resource: String,
    starts: String,
    deposit: String,
    deadline: String,
    /// Each payment with what went back of it.
    payments: Vec<PaymentView>,
    waived: bool,
    disputes: Vec<String>,
    manage_url: Option<String>,
    pay_url: Option<String>,
    session_url: Option<String>,
    can_mark: bool,
    can_cancel: bool,
}

#[derive(Serialize)]
struct PaymentView {
    payment_ref: String,
    amount: String,
    returned: Option<String>,
}

#[derive(Serialize)]
struct MessageView {
    at: String,
    channel: String,
    to: String,
    kind: String,
    subject: String,
    pieces: Vec<Piece>,
}

/// A stretch of a message: an address that can be followed, or not.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Piece {
    text: String,
    is_link: bool,
}

#[derive(Serialize)]
struct CaseView {
    reason: String,
    subject: String,
    is_open: bool,
    opened: String,
    facts: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Totals {
    captured: String,
    refunded: String,
    disputed: String,
    fees: String,
}

#[derive(Serialize)]
struct Queue {
    name: String,
    waiting: usize,
    is_dead_letters: bool,
}

pub(crate) fn town(dev: &Dev) -> Town {
    let cloud = &dev.fleet.cloud;
    let (now, zone) = (cloud.clock().now(), dev.venue.zone);
    let local = now.with_timezone(&zone);
    let bookings = bookings(dev);
    let messages = cloud.messages();
    Town {
        now: local.format("%H:%M:%S").to_string(),
        date: local.format("%A %-d %B %Y").to_string(),
        utc: now.format("%H:%M UTC").to_string(),
        next_due: cloud.next_due().map(|due| human(due, zone)),
        next_deadline: next_deadline(dev).map(|due| human(due, zone)),
        booking_count: bookings.len(),
        bookings: latest(bookings, |booking| booking_view(dev, &booking, now)),
        subscriptions: subscriptions(dev, &messages),
        message_count: messages.len(),
        messages: latest(messages, |message| MessageView {
            at: human(message.at, zone),
            channel: message.channel,
            to: message.to,
            kind: message.kind.replace('_', " "),
            subject: message.subject,
            pieces: pieces(&message.text),
        }),
        cases: latest(rows::<Case>(dev, "bdc-cases"), |case| case_view(dev, case)),
        totals: totals(&dev.fleet.sandbox.ledger()),
        queues: queues(&cloud.queues()),
        faults: cloud.faults().rules().len(),
    }
}

/// The last of `all`, the latest first.
fn latest<T, V>(all: Vec<T>, view: impl Fn(T) -> V) -> Vec<V> {
    all.into_iter().rev().take(SHOWN_MAX).map(view).collect()
}

/// The rows of a table that fit their type.
pub(super) fn rows<T: DeserializeOwned>(dev: &Dev, table: &str) -> Vec<T> {
    let rows = dev.fleet.cloud.table(table).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| serde_json::from_value(row).ok())
        .collect()
}

fn bookings(dev: &Dev) -> Vec<Booking> {
    let mut bookings = rows::<Booking>(dev, "bdc-bookings");
    bookings.sort_by_key(|booking| booking.created_at);
    bookings
}

/// When the next thing will happen to a booking because of the time: a few minutes after it is due.
pub(crate) fn next_deadline(dev: &Dev) -> Option<DateTime<Utc>> {
    let now = dev.fleet.cloud.clock().now();
    let rows = dev.fleet.cloud.table("bdc-bookings").ok()?;
    let due = rows.iter().filter_map(|row| {
        let due: DateTime<Utc> = row["due_at"].as_str()?.parse().ok()?;
        Some(due + SWEEP_LAG)
    });
    due.filter(|due| *due > now).min()
}

fn booking_view(dev: &Dev, booking: &Booking, now: DateTime<Utc>) -> BookingView {
    let place = &booking.place;
    let (is_pending, is_confirmed) = (
        booking.state == State::Pending,
        booking.state == State::Confirmed,
    );
    let session = booking.session.as_ref().filter(|_| is_pending);
    let opened = session.and_then(|session| session.opened.as_ref());
    BookingView {
        id: booking.booking_id.clone(),
        state: booking.state.as_str(),
        name: booking.name.clone(),
        phone: booking
            .phone
            .as_ref()
            .map_or_else(String::new, |phone| phone.e164().to_owned()),
        party: booking.party,
        label: place.label.clone(),
        resource: place.resource.clone(),
        starts: human(place.starts_at, place.zone),
        deposit: booking.deposit.display(),
        deadline: human(booking.deposit_deadline, place.zone),
        payments: booking.payments.iter().map(payment_view).collect(),
        waived: booking.waived.is_some(),
        disputes: booking
            .disputes
            .values()
            .map(|disputed| disputed.status.as_str().replace('_', " "))
            .collect(),
        manage_url: (is_pending || is_confirmed)
            .then(|| link(dev, booking, "bdc-intake", Purpose::Manage))
            .flatten(),
        pay_url: is_pending
            .then(|| link(dev, booking, "bdc-cashier", Purpose::Pay))
            .flatten(),
        session_url: opened.map(|opened| opened.url.clone()),
        can_mark: is_confirmed && place.starts_at <= now,
        can_cancel: is_pending || is_confirmed,
    }
}

fn payment_view(paid: &Paid) -> PaymentView {
    PaymentView {
        payment_ref: paid.payment_ref.clone(),
        amount: paid
            .amount
            .map_or_else(|| "an unknown amount".to_owned(), Money::display),
        returned: paid.returned.map(Money::display),
    }
}

/// A link of a text message.
fn link(dev: &Dev, booking: &Booking, function: &str, purpose: Purpose) -> Option<String> {
    let key = LinkKey::new(dev.fleet.link_key().as_bytes()).ok()?;
    let query = key.sign(purpose, &booking.booking_id, booking.place.starts_at);
    let (url, verb) = (dev.fleet.url(function), purpose.as_str());
    Some(format!("{url}{verb}/{}?{query}", booking.booking_id))
}

fn case_view(dev: &Dev, case: Case) -> CaseView {
    let facts = case.entries.last().map(|entry| entry.facts.clone());
    let facts = facts.as_ref().and_then(Value::as_object);
    CaseView {
        reason: case.reason.as_str().replace('_', " "),
        subject: case.subject,
        is_open: case.status == Status::Open,
        opened: human(case.opened_at, dev.venue.zone),
        facts: facts
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.replace('_', " "), plain(value)))
            .collect(),
    }
}

/// Money as people write it, texts without quotes.
fn plain(value: &Value) -> String {
    let money = serde_json::from_value::<Money>(value.clone());
    match (money, value.as_str()) {
        (Ok(money), _) => money.display(),
        (Err(_), Some(text)) => text.to_owned(),
        (Err(_), None) => value.to_string(),
    }
}

fn totals(ledger: &Value) -> Vec<Totals> {
    let totals = ledger["totals"].as_object();
    let totals = totals.into_iter().flatten().map(|(currency, total)| {
        let shown = |name: &str| {
            let amount = total[name].as_i64().unwrap_or_default();
            Money::from_stripe(amount, currency)
                .map_or_else(|_| format!("{amount} {currency}"), Money::display)
        };
        Totals {
            captured: shown("captured"),
            refunded: shown("refunded"),
            disputed: shown("disputed"),
            fees: shown("fees"),
        }
    });
    totals.collect()
}

fn queues(queues: &Value) -> Vec<Queue> {
    let queues = queues.as_object().into_iter().flatten();
    let shown = queues.map(|(name, messages)| Queue {
        name: name.clone(),
        waiting: messages.as_array().map_or(0, Vec::len),
        is_dead_letters: name.ends_with("-dlq"),
    });
    shown.collect()
}

/// Cuts a text at its addresses.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let is_link = word.starts_with("http://") || word.starts_with("https://");
        match pieces.last_mut() {
            Some(last) if !is_link && !last.is_link => last.text.push_str(word),
            Some(_) | None => pieces.push(Piece {
                text: word.to_owned(),
                is_link,
            }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_addresses() {
        let cut = pieces("Pay at http://a/b?c=d by Sat");
        let texts: Vec<_> = cut.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["Pay at ", "http://a/b?c=d ", "by Sat"]);
        let links: Vec<_> = cut.iter().map(|piece| piece.is_link).collect();
        assert_eq!(links, [false, true, false]);
    }
}
