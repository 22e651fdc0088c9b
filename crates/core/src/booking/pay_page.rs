//! What may happen to a booking's payment page at the provider.
//!
//! An attempt is intended before the provider is asked and recorded after it answered. Its number
//! is part of the idempotency key, so an answer that did not come is asked for again under the same
//! key, and an attempt that is over gets another.

use chrono::{DateTime, TimeDelta, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{Booking, OpenedSession, Rejection, Session, Transition};

/// How long before a key is forgotten by the provider we stop resending it.
const SESSION_KEY_AGE_MAX: TimeDelta = TimeDelta::hours(23);
/// The provider's bounds on a payment page's life, with a minute for the way there.
const SESSION_LIFE_MIN: TimeDelta = TimeDelta::minutes(31);
const SESSION_LIFE_MAX: TimeDelta = TimeDelta::hours(23);

pub(super) fn intend_session(
    booking: &Booking,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let usable = booking
        .session
        .as_ref()
        .filter(|session| match session.opened {
            None if session.spent => false,
            Some(_) => session.expires_at > now,
            None => {
                now - session.intended_at < SESSION_KEY_AGE_MAX
                    && session.expires_at - now > TimeDelta::minutes(30)
            }
        });
    match (booking.state, usable) {
        (Pending, _) if now >= booking.deposit_deadline => Err(Rejection::TooLate),
        (Pending, _) if booking.funds.as_ref().is_some_and(|funds| funds.awaited) => {
            Err(Rejection::TooLate)
        }
        (Pending, Some(_)) => Err(Rejection::Already),
        (Pending, None) => {
            let mut to = booking.staying("payment page intended");
            let attempt = booking
                .session
                .as_ref()
                .map_or(1, |session| session.attempt + 1);
            to.why = format!("attempt {attempt}");
            let life = (booking.deposit_deadline - now).clamp(SESSION_LIFE_MIN, SESSION_LIFE_MAX);
            let expires_at = now + life;
            to.after.session = Some(Session {
                attempt,
                intended_at: now,
                expires_at,
                opened: None,
                spent: false,
            });
            Ok(to)
        }
        (state @ (Confirmed | Released | Cancelled | Applied | Forfeited), _) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

pub(super) fn record_session(
    booking: &Booking,
    attempt: u32,
    opened: OpenedSession,
) -> Result<Transition, Rejection> {
    match (booking.state, &booking.session) {
        // The slot may be gone by the time the provider answers: its page is shown to nobody.
        (Pending, Some(session)) if session.attempt == attempt && session.opened.is_none() => {
            let mut to = booking.staying("payment page opened");
            to.why = format!("session {}", opened.session_id);
            to.after.session = Some(Session {
                opened: Some(opened),
                ..session.clone()
            });
            Ok(to)
        }
        (Pending, Some(session)) if session.attempt == attempt => Err(Rejection::Already),
        (state, _) => Err(Rejection::Overtaken(state)),
    }
}

pub(super) fn spend_session(booking: &Booking, attempt: u32) -> Result<Transition, Rejection> {
    match &booking.session {
        Some(session) if session.attempt == attempt && session.opened.is_none() => {
            let mut to = booking.staying("payment page refused");
            to.why = format!("attempt {attempt}");
            to.after.session = Some(Session {
                spent: true,
                ..session.clone()
            });
            Ok(to)
        }
        Some(_) | None => Err(Rejection::Overtaken(booking.state)),
    }
}
