//! What every life must keep, judged from outside: by the provider's ledger, the customers' phones, the
//! calendar and the team's inbox. Most hold after every action, some when nothing is under way any more.

mod booking;
mod charges;
mod discretion;
mod dunning;
mod paid;
mod quiet;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::action::System;
use crate::kinds::Kind;
use crate::world::World;

pub(crate) use discretion::{forget_lines, listen};

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A short name of the promise.
    pub promise: &'static str,
    pub what: String,
    /// The last action before it was seen.
    pub step: usize,
    pub at: DateTime<Utc>,
}

/// What the checks remember from one action to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Bookings that came to an end, and how.
    ended: BTreeMap<String, String>,
    /// Phones that said STOP and were heard, and how many messages there were by then.
    silenced: BTreeMap<String, (usize, DateTime<Utc>)>,
    /// Messages that were looked at already.
    messages: usize,
    texts: BTreeSet<(String, String)>,
    /// Invoices that were over, and the calls that were looked at.
    over: BTreeSet<String>,
    /// Invoices of which a charge was seen in flight: what came of it may be asked again.
    asked: BTreeSet<String>,
    points: usize,
    /// Bookings that were confirmed, or paid on our page while they were held.
    paid: BTreeSet<String>,
    /// Charges that were looked at.
    charges: BTreeSet<String>,
    /// Mails that were looked at, who owed something by then, and who had complained.
    mails: usize,
    owing: BTreeSet<String>,
    failed: BTreeMap<String, usize>,
    complained: BTreeSet<String>,
    /// Charges that nobody knew the end of when everything worked again, by their keys.
    unknown: Vec<String>,
    pub(crate) checks: u64,
}

/// A promise and what is wrong with it.
pub(crate) type Broken = (&'static str, String);

/// Receipts of two invoices may read alike, and so may two moves to the same time (they are counted), and what is
/// said of two payments too many.
const MAY_READ_ALIKE: [&str; 3] = ["receipt", "rescheduled", "second_refund"];

impl Memory {
    /// Checks what must hold at any time.
    pub(crate) fn after_action(&mut self, world: &World) -> Result<(), Broken> {
        self.checks += 1;
        permissions(world)?;
        if let Some(complaint) = world.deeds.complaints.first() {
            return broken("a refusal is true", complaint.clone());
        }
        self.genuine_events_are_taken(world)?;
        self.no_message_twice(world)?;
        match world.system {
            System::Booking => booking::always(self, world),
            System::Dunning => dunning::always(self, world),
        }
    }

    /// Notes what is open at the moment when everything works again.
    pub(crate) fn mended(&mut self, world: &World) {
        self.unknown = dunning::open_charges(world);
    }

    /// Checks what must be over soon after everything works again.
    pub(crate) fn came_round(&mut self, world: &World) -> Result<(), Broken> {
        self.after_action(world)?;
        quiet::orders_have_left(world)?;
        match world.system {
            System::Booking => booking::released_in_time(world),
            System::Dunning => dunning::known_in_time(&self.unknown, world),
        }
    }

    /// Checks what must hold once nothing is under way any more.
    pub(crate) async fn at_rest(&mut self, world: &World) -> Result<(), Broken> {
        self.after_action(world)?;
        self.checks += 1;
        quiet::nothing_is_left(world)?;
        discretion::no_secret_was_logged(world)?;
        match world.system {
            System::Booking => booking::at_rest(world),
            System::Dunning => dunning::at_rest(world).await,
        }
    }

    /// No delivery of the provider is refused as not genuine, also while the secret is rolled.
    fn genuine_events_are_taken(&mut self, world: &World) -> Result<(), Broken> {
        let mut refused = world
            .deeds
            .deliveries
            .iter()
            .filter(|(_, status)| *status == 400);
        match refused.next() {
            Some((id, _)) if !world.weather.has(Kind::ClockSkew) => broken(
                "a genuine event is taken",
                format!("delivery {id} was refused"),
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// The same words never reach the same person twice, and whoever said STOP hears nothing more.
    fn no_message_twice(&mut self, world: &World) -> Result<(), Broken> {
        // What had left for the service before the STOP may arrive there up to a quarter of an hour later.
        let injected = world.fleet.cloud.faults().injected();
        let may_be_late = ["late", "paused"]
            .iter()
            .any(|kind| injected.contains_key(kind));
        let grace = TimeDelta::minutes(if may_be_late { 16 } else { 0 });
        let messages = world.fleet.cloud.messages();
        for (index, message) in messages.iter().enumerate().skip(self.messages) {
            let is_customers = message.channel == "sms" || message.function == "dunr-mailer";
            let key = (message.to.clone(), message.text.clone());
            if is_customers
                && !MAY_READ_ALIKE.contains(&message.kind.as_str())
                && !self.texts.insert(key)
            {
                return broken(
                    "a message at most once",
                    format!("{} twice: {}", message.kind, message.text),
                );
            }
            let silenced = self.silenced.get(&message.to);
            let since =
                silenced.filter(|(before, at)| *before <= index && message.at - *at >= grace);
            if message.channel == "sms" && since.is_some() {
                return broken(
                    "nothing after STOP",
                    format!("{}: {}", message.kind, message.text),
                );
            }
        }
        self.messages = messages.len();
        Ok(())
    }
}

fn permissions(world: &World) -> Result<(), Broken> {
    let denied = world.fleet.cloud.denied();
    match denied.first() {
        Some(denied) => broken("every role suffices", format!("{denied:?}")),
        None => Ok(()),
    }
}

fn broken(promise: &'static str, what: String) -> Result<(), Broken> {
    Err((promise, what))
}

pub(crate) fn require(
    holds: bool,
    promise: &'static str,
    what: impl FnOnce() -> String,
) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        broken(promise, what())
    }
}
