//! What a message may say of a booking.

use copywriter::Facts;
use paidonce_core::booking::{Booking, MessageKind, State};
use paidonce_core::local_time::human;

/// Whether the message is still true of a booking in this state: jobs may be late.
pub(crate) fn is_news(kind: MessageKind, state: State) -> bool {
    match kind {
        MessageKind::DepositRequest | MessageKind::Reminder => state == State::Pending,
        MessageKind::Confirmation => state == State::Confirmed,
        MessageKind::Released => state == State::Released,
        MessageKind::Cancelled => state == State::Cancelled,
        MessageKind::Rescheduled => matches!(state, State::Pending | State::Confirmed),
    }
}

pub(crate) fn of(booking: &Booking, venue: &str) -> Facts {
    let zone = booking.place.zone;
    let unpaid = booking.state == State::Pending;
    Facts {
        venue: venue.to_owned(),
        name: booking.name.clone(),
        party: booking.party,
        what: booking.place.label.clone(),
        starts: human(booking.place.starts_at, zone),
        deadline: unpaid.then(|| human(booking.deposit_deadline, zone)),
        deposit: Some(booking.deposit.display()),
        booking: short_reference(&booking.booking_id),
    }
}

/// The last five characters of the id: enough to find it on the day's list.
fn short_reference(booking_id: &str) -> String {
    let start = booking_id.len().saturating_sub(5);
    booking_id.get(start..).unwrap_or(booking_id).to_uppercase()
}
