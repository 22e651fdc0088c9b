//! Carrying out a command: decide, write, and on a lost race decide again on the row that came back.

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use ulid::Ulid;

use crate::booking::{Booking, Command, Rejection, Transition, decide};
use crate::booking_step::{Origin, Tables, step_of};
use crate::planted::{self, Defect};
use crate::slots::SlotRow;
use crate::step::{Found, ReadError, Row, Step, WriteError, Written, from_item, read, write};

/// How often a command is decided on: others may move the booking in between.
pub const DECISIONS_MAX: usize = 6;

/// A command with all that its step needs.
pub struct Order<'a> {
    pub client: &'a Client,
    pub tables: &'a Tables,
    pub command: Command,
    /// The same order repeated has the same id.
    pub command_id: String,
    pub origin: Origin<'a>,
    pub now: DateTime<Utc>,
    pub new_id: &'a (dyn Fn() -> Ulid + Sync),
}

/// What became of a command.
#[must_use]
pub enum Done {
    Moved(Box<Booking>),
    /// Why not, and the booking as it stands.
    Rejected(Rejection, Box<Booking>),
    /// These slots are another booking's.
    Taken(Vec<String>),
    /// There is no such booking.
    Missing,
    /// Others kept writing: try again later.
    Contended,
}

/// A command that could not be carried out, or whose outcome is not known.
#[derive(Debug, thiserror::Error)]
pub enum CarryOutError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Order<'_> {
    /// Reads the booking and carries out the command on it.
    ///
    /// # Errors
    /// If the table did not answer; the same order may be repeated.
    pub async fn carry_out(&self, booking_id: &str) -> Result<Done, CarryOutError> {
        match read::<Booking>(self.client, &self.tables.bookings, booking_id).await? {
            Some(booking) => self.carry_out_on(booking).await,
            None => Ok(Done::Missing),
        }
    }

    /// Carries out the command on a booking that was read before.
    ///
    /// # Errors
    /// As [`Order::carry_out`].
    pub async fn carry_out_on(&self, mut booking: Booking) -> Result<Done, CarryOutError> {
        let mut not_ours: Vec<String> = Vec::new();
        for _ in 0..DECISIONS_MAX {
            let mut transition = match decide(&booking, self.command.clone(), self.now) {
                Ok(transition) => transition,
                Err(rejection) => return Ok(Done::Rejected(rejection, Box::new(booking))),
            };
            transition
                .free
                .retain(|slot_key| !not_ours.contains(slot_key));
            match self.write(&booking, &transition).await? {
                Written::Applied => return Ok(Done::Moved(Box::new(transition.after))),
                Written::Contended => return Ok(Done::Contended),
                Written::Stale(found) => {
                    let taken = slots_among(&found, &transition.hold);
                    if !taken.is_empty() {
                        return Ok(Done::Taken(taken));
                    }
                    // A slot that passed to someone else is not freed; the booking still moves on.
                    not_ours.extend(slots_among(&found, &transition.free));
                    match found.into_iter().find(|found| found.name == Booking::NAME) {
                        Some(Found { row: Some(row), .. }) => {
                            booking = from_item(row).map_err(ReadError::from)?;
                        }
                        Some(Found { row: None, .. }) => return Ok(Done::Missing),
                        None => {}
                    }
                }
            }
        }
        Ok(Done::Contended)
    }

    async fn write(
        &self,
        booking: &Booking,
        transition: &Transition,
    ) -> Result<Written, WriteError> {
        if planted::is(Defect::FreesUnasked) && !transition.free.is_empty() {
            let step = Step::new((self.new_id)(), self.command_id.clone(), self.now);
            let frees =
                |step: Step, slot: &String| step.delete::<SlotRow>(&self.tables.slots, slot);
            let _ = write(self.client, &transition.free.iter().fold(step, frees)).await?;
        }
        let step = Step::new((self.new_id)(), self.command_id.clone(), self.now);
        let step = step_of(step, self.tables, booking, transition, self.origin);
        write(self.client, &step).await
    }
}

fn slots_among(found: &[Found], slot_keys: &[String]) -> Vec<String> {
    found
        .iter()
        .filter(|found| found.name == SlotRow::NAME && slot_keys.contains(&found.key))
        .map(|found| found.key.clone())
        .collect()
}
