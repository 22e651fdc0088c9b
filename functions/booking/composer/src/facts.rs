//! What a message may say of a booking.

use copywriter::{Facts, Language, amount, when};
use paidonce_core::booking::{Booking, MessageKind, State};
use paidonce_core::booking_step::MessageJob;
use paidonce_core::money::Money;

/// Whether the message is still true of a booking in this state: jobs may be late.
pub(crate) fn is_news(kind: MessageKind, state: State) -> bool {
    match kind {
        MessageKind::DepositRequest | MessageKind::Reminder => state == State::Pending,
        MessageKind::Confirmation => state == State::Confirmed,
        MessageKind::Released => state == State::Released,
        MessageKind::Cancelled => state == State::Cancelled,
        MessageKind::Rescheduled => matches!(state, State::Pending | State::Confirmed),
        MessageKind::PaymentChecked => state != State::Confirmed,
        MessageKind::LateRefund => matches!(state, State::Released | State::Cancelled),
        // What it says stays true.
        MessageKind::SecondRefund => true,
    }
}

/// The customer's language if we write it, else the venue's.
pub(crate) fn language_of(booking: &Booking, of_venue: Language) -> Language {
    let wanted = booking.language.as_deref().unwrap_or_default();
    let known = Language::ALL.into_iter();
    let mut known = known.filter(|language| language.as_str().eq_ignore_ascii_case(wanted));
    known.next().unwrap_or(of_venue)
}

pub(crate) fn of(booking: &Booking, venue: &str, order: &MessageJob, language: Language) -> Facts {
    let when = |at| when(at, booking.place.zone, language);
    let amount = |money: Money| amount(money, language);
    let unpaid = booking.state == State::Pending;
    Facts {
        venue: venue.to_owned(),
        name: booking.name.clone(),
        party: booking.party,
        what: booking.place.label.clone(),
        starts: when(booking.place.starts_at),
        deadline: unpaid.then(|| when(booking.deposit_deadline)),
        deposit: deposit(booking).map(amount),
        refund: order.refund.map(amount),
        other_times: order.other_times.iter().map(|at| when(*at)).collect(),
        booking: short_reference(&booking.booking_id),
    }
}

/// What is to be paid, or what we have: nothing of a deposit that was waived.
fn deposit(booking: &Booking) -> Option<Money> {
    match booking.state {
        State::Pending => Some(booking.owed()),
        State::Confirmed if booking.waived.is_some() => None,
        State::Confirmed
        | State::Released
        | State::Cancelled
        | State::Applied
        | State::Forfeited => Some(booking.deposit),
    }
}

/// The last five characters of the id: enough to find it on the day's list.
fn short_reference(booking_id: &str) -> String {
    let start = booking_id.len().saturating_sub(5);
    booking_id.get(start..).unwrap_or(booking_id).to_uppercase()
}
