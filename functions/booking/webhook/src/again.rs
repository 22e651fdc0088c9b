//! Money for a booking that was released: where it can be held again, and what else is free.
//!
//! The calendar is read only once the old slots, or the time to pay for them, were lost: an event
//! that confirms a held booking costs no call for it.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, chain};
use paidonce_core::batch_read::BatchReadError;
use paidonce_core::booking::{Booking, Command, Consequence, MessageKind, Place, State, decide};
use paidonce_core::calendar::{Wanted, near};
use paidonce_core::venue::minutes;

use crate::Webhook;
use crate::deposit::Known;

/// How many other times a customer is offered.
const OTHER_TIMES_MAX: usize = 3;
/// The most slot rows that are looked at to find them: two reads.
const ROWS_MAX: usize = 200;

/// Where a booking that was released may be held again.
#[derive(Clone, Debug, Default)]
pub enum Again {
    /// In its own slots, unless they turn out to be another's.
    #[default]
    OldPlace,
    /// They are another's by now.
    Lost,
    /// In other units at the same time.
    Elsewhere(Box<Place>),
    Nowhere,
}

/// Gives money for a booking that was released the place where that may be held again.
pub(crate) fn with_place(mut command: Command, booking: &Booking, again: &Again) -> Command {
    if let Command::ReceivePayment(payment) = &mut command {
        let place = match again {
            Again::OldPlace => Some(&booking.place),
            Again::Elsewhere(place) => Some(place.as_ref()),
            Again::Lost | Again::Nowhere => None,
        };
        payment.hold_again = place.filter(|_| booking.state == State::Released).cloned();
    }
    command
}

impl Webhook {
    /// Looks at the calendar where the next decision needs it.
    pub(crate) async fn look_around(
        &self,
        command: &Command,
        known: &mut Known,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let released = known
            .booking
            .as_deref()
            .filter(|booking| booking.state == State::Released);
        let Some(booking) = released else {
            return Ok(());
        };
        if matches!(known.again, Again::Lost) {
            known.again = match self.elsewhere(booking).await? {
                Some(place) => Again::Elsewhere(Box::new(place)),
                None => Again::Nowhere,
            };
        }
        let command = with_place(command.clone(), booking, &known.again);
        if known.other_times.is_none() && gives_back_late(booking, command, now) {
            // An offer is a kindness: the money goes back with it or without.
            let other_times = self.other_times(booking, now).await.unwrap_or_else(|error| {
                tracing::warn!(booking.id = %booking.booking_id, error = %chain(&error), "No other times for booking `{}`", booking.booking_id);
                Vec::new()
            });
            known.other_times = Some(other_times);
        }
        Ok(())
    }

    /// Other units of the same resource at the same time, if there are any.
    async fn elsewhere(&self, booking: &Booking) -> Result<Option<Place>, BatchReadError> {
        let resource = self.venue.resource(&booking.place.resource);
        let resource = resource.filter(|resource| resource.capacity > 1);
        let Some(wanted) = resource.and_then(|it| Wanted::like(&booking.place, it)) else {
            return Ok(None);
        };
        self.calendar
            .free_place(wanted, 0, &booking.booking_id)
            .await
    }

    /// Free starts of the same resource that can still be paid for in time, the nearest first.
    async fn other_times(
        &self,
        booking: &Booking,
        now: DateTime<Utc>,
    ) -> Result<Vec<DateTime<Utc>>, BatchReadError> {
        let place = &booking.place;
        let Some(resource) = self.venue.resource(&place.resource) else {
            return Ok(Vec::new());
        };
        let units = Wanted::like(place, resource)
            .map_or_else(|| resource.units(booking.party), |wanted| wanted.units);
        let from = now + minutes(booking.policy.start_buffer);
        let mut starts = near(resource, place.starts_at, from, self.venue.zone, ROWS_MAX);
        if place.starts_at > from {
            starts.insert(0, place.starts_at);
        }
        let free = self
            .calendar
            .free_starts(resource, units, starts, &booking.booking_id);
        let mut free = free.await?;
        free.truncate(OTHER_TIMES_MAX);
        Ok(free)
    }
}

fn gives_back_late(booking: &Booking, command: Command, now: DateTime<Utc>) -> bool {
    let tells = Consequence::Message(MessageKind::LateRefund);
    decide(booking, command, now).is_ok_and(|to| to.consequences.contains(&tells))
}
