//! The page behind the link to manage a booking: how it stands, and what goes back.

use std::sync::LazyLock;

use chrono::{DateTime, TimeDelta, Utc};
use guest_page::Pages;
use lambda_kit::{Failure, Reply};
use minijinja::{Value, context};
use paidonce_core::booking::{Booking, CancelledBy, State};
use paidonce_core::calendar::{Wanted, near};
use paidonce_core::local_time::{human, slot_stamp};
use paidonce_core::money::Money;
use paidonce_core::terms;
use paidonce_core::venue::Resource;

use crate::Intake;

pub(crate) static PAGES: LazyLock<Pages> =
    LazyLock::new(|| Pages::new(&[("manage", include_str!("pages/manage.html"))]));

/// The most slot rows that are looked at to offer other times.
const ROWS_MAX: usize = 600;

/// What the page tells beside how things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Cancelled,
    Moved,
    TooLate,
    JustTaken,
    NoSuchTime,
}

impl News {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancel",
            Self::Moved => "move",
            Self::TooLate => "too-late",
            Self::JustTaken => "taken",
            Self::NoSuchTime => "no-such-time",
        }
    }

    /// What a redirect says was done.
    pub(crate) fn of_done(done: &str) -> Option<Self> {
        [Self::Cancelled, Self::Moved]
            .into_iter()
            .find(|news| news.as_str() == done)
    }

    fn status(self) -> u16 {
        match self {
            Self::Cancelled | Self::Moved => 200,
            Self::TooLate | Self::JustTaken => 409,
            Self::NoSuchTime => 422,
        }
    }

    /// Anybody can write `done=…` behind a link: it is only said if it is so.
    fn words(self, booking: &Booking) -> Option<&'static str> {
        match self {
            Self::Cancelled => None,
            Self::Moved if booking.moves > 0 && is_live(booking) => {
                Some("Your booking is moved. We text you the new time.")
            }
            Self::Moved => None,
            Self::TooLate => Some("It is too late for that, so nothing has changed."),
            Self::JustTaken => Some(
                "Somebody else has just taken that time. Nothing has changed; please choose another one.",
            ),
            Self::NoSuchTime => Some("That time can't be booked. Please choose another one."),
        }
    }
}

/// What is to be shown.
pub(crate) struct View<'a> {
    pub(crate) booking: &'a Booking,
    /// The signed part of the link.
    pub(crate) query: &'a str,
    pub(crate) news: Option<News>,
    /// Whether it stands at the address of an order, one step below the page's own.
    pub(crate) is_answer: bool,
}

impl Intake {
    pub(crate) async fn page(&self, view: View<'_>, now: DateTime<Utc>) -> Result<Reply, Failure> {
        let View {
            booking,
            query,
            news,
            is_answer,
        } = view;
        let zone = booking.place.zone;
        let may_cancel = is_live(booking) && now < booking.place.starts_at;
        let starts = match booking.customer_may_move(now) {
            true => self.other_times(booking, now).await?,
            false => Vec::new(),
        };
        let facts = context! {
            venue => self.venue.name,
            title => title(booking, now),
            news => news.and_then(|news| news.words(booking)),
            what => booking.place.label,
            party => booking.party,
            starts_at => human(booking.place.starts_at, zone),
            standing => standing(booking, now),
            deposit => booking.deposit.display(),
            refund => may_cancel.then(|| refund(booking, now)),
            may_cancel,
            may_move => booking.customer_may_move(now),
            days => by_day(&starts, booking),
            action => format!("{}{}", if is_answer { "../" } else { "" }, booking.booking_id),
            query,
        };
        let status = news.map_or(200, News::status);
        Ok(PAGES.render("manage", status, facts))
    }

    /// Free starts of the same resource near the booking's own, in order.
    async fn other_times(
        &self,
        booking: &Booking,
        now: DateTime<Utc>,
    ) -> Result<Vec<DateTime<Utc>>, Failure> {
        let place = &booking.place;
        let Some(resource) = self.venue.resource(&place.resource) else {
            return Ok(Vec::new());
        };
        let units = Wanted::like(place, resource)
            .map_or_else(|| resource.units(booking.party), |wanted| wanted.units);
        let mut starts = near(resource, place.starts_at, now, self.venue.zone, ROWS_MAX);
        starts.retain(|start| self.asks_no_more(resource, booking, *start));
        let owner = booking.booking_id.as_str();
        let free = self.calendar.free_starts(resource, units, starts, owner);
        let mut free = free.await?;
        free.sort();
        Ok(free)
    }
}

impl Intake {
    /// Whether a start asks for no higher deposit than the booking has: what is dearer is not to be had
    /// by booking the cheap hour first.
    pub(crate) fn asks_no_more(
        &self,
        resource: &Resource,
        booking: &Booking,
        starts_at: DateTime<Utc>,
    ) -> bool {
        let (party, zone) = (booking.party, self.venue.zone);
        let deposit = resource.deposit(party, starts_at, zone, self.venue.currency);
        deposit.is_some_and(|deposit| booking.deposit.checked_sub(deposit).is_ok())
    }
}

fn is_live(booking: &Booking) -> bool {
    match booking.state {
        State::Pending | State::Confirmed => true,
        State::Released | State::Cancelled | State::Applied | State::Forfeited => false,
    }
}

fn title(booking: &Booking, now: DateTime<Utc>) -> &'static str {
    match booking.state {
        State::Pending | State::Confirmed if now < booking.place.starts_at => "Your booking",
        State::Pending | State::Confirmed => "This booking has begun",
        State::Cancelled => "This booking is cancelled",
        State::Released => "This booking has ended",
        State::Applied | State::Forfeited => "This booking is over",
    }
}

/// How it stands, in a sentence or two.
fn standing(booking: &Booking, now: DateTime<Utc>) -> String {
    let zone = booking.place.zone;
    match booking.state {
        State::Pending | State::Confirmed if now >= booking.place.starts_at => {
            "It can't be changed here any more. Please get in touch with us.".to_owned()
        }
        State::Pending if is_under_way(booking) => {
            "Your payment is on its way. We text you as soon as it has arrived.".to_owned()
        }
        State::Pending => format!(
            "We hold this for you until the deposit is paid, by {}.",
            human(booking.deposit_deadline, zone)
        ),
        State::Confirmed if booking.waived.is_some() => {
            "Confirmed. You do not need to pay a deposit.".to_owned()
        }
        State::Confirmed => "Confirmed: your deposit is paid.".to_owned(),
        State::Cancelled => sent_back(booking),
        State::Released => {
            "The deposit was not paid in time, so we gave the place to others. Please book again."
                .to_owned()
        }
        State::Applied | State::Forfeited => {
            "It can't be changed any more. Please get in touch with us if something is wrong."
                .to_owned()
        }
    }
}

/// What went back of a booking that was called off.
fn sent_back(booking: &Booking) -> String {
    let kept = booking.kept();
    let returned = booking
        .payments
        .iter()
        .filter_map(|paid| paid.returned)
        .filter(|returned| returned.currency() == kept.currency())
        .fold(Money::zero(kept.currency()), |sum, returned| {
            sum.checked_add(returned).unwrap_or(sum)
        });
    match (returned.minor(), kept.minor()) {
        (0, 0) => "Nothing was paid, so nothing goes back.".to_owned(),
        (0, _) if booking.cancelled.as_ref().is_some_and(|it| it.refund_due) => {
            "We get in touch with you about your deposit.".to_owned()
        }
        (0, _) => format!("We keep {} of your deposit.", kept.display()),
        (_, 0) => format!("{} goes back to you the way you paid.", returned.display()),
        (_, _) => format!(
            "{} goes back to you the way you paid; we keep {}.",
            returned.display(),
            kept.display()
        ),
    }
}

/// What goes back if the booking is called off now, and until when that holds.
fn refund(booking: &Booking, now: DateTime<Utc>) -> String {
    let at = |time| booking.cancellation_refund(CancelledBy::Customer, time);
    let back = at(now);
    if is_under_way(booking) {
        return "If you cancel now, your payment goes back to you once it has arrived.".to_owned();
    }
    if booking.kept().minor() == 0 {
        return "Nothing is paid yet, so nothing goes back if you cancel.".to_owned();
    }
    if back.minor() == 0 {
        let kept = booking.kept().display();
        return format!("It is too late to get the deposit back: if you cancel, we keep {kept}.");
    }
    if booking.is_disputed() {
        return "Your bank is looking into your payment. If you cancel, we get in touch with you about it."
            .to_owned();
    }
    let now_back = format!("If you cancel now, {} goes back to you.", back.display());
    let changes = terms::refund_steps(booking)
        .into_iter()
        .map(|(until, _)| until)
        .find(|until| *until >= now);
    match changes.filter(|_| booking.state == State::Confirmed) {
        Some(until) => {
            let later = at(until + TimeDelta::seconds(1));
            let then = match later.minor() {
                0 => "nothing".to_owned(),
                _ => later.display(),
            };
            let until = human(until, booking.place.zone);
            format!("{now_back} That holds until {until}; after that {then} does.")
        }
        None => now_back,
    }
}

fn is_under_way(booking: &Booking) -> bool {
    let awaited = booking.funds.as_ref().is_some_and(|funds| funds.awaited);
    booking.state == State::Pending && awaited
}

/// The starts by the days of the wall's calendar, each as what is read and what is posted.
fn by_day(starts: &[DateTime<Utc>], booking: &Booking) -> Vec<Value> {
    let zone = booking.place.zone;
    let day = |start: &DateTime<Utc>| start.with_timezone(&zone).format("%a %-d %b").to_string();
    starts
        .chunk_by(|one, two| day(one) == day(two))
        .map(|starts| {
            let times = starts.iter().map(|start| {
                let text = human(*start, zone);
                context! { value => slot_stamp(*start, zone), text }
            });
            let name = starts.first().map(day).unwrap_or_default();
            context! { name, times => times.collect::<Vec<_>>() }
        })
        .collect()
}
