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
/// How long after a page's end a payment on it may still be on its way to us.
const SESSION_SETTLES: TimeDelta = TimeDelta::minutes(5);
/// How long the provider may take to say whether a page is closed, repeats included.
const CLOSING_TAKES: TimeDelta = TimeDelta::minutes(35);

pub(super) fn intend(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    let usable = booking
        .session
        .as_ref()
        .filter(|session| match session.opened {
            None if session.spent => false,
            Some(_) => session.expires_at > now && !session.closed && session.asks_for(booking),
            None => {
                now - session.intended_at < SESSION_KEY_AGE_MAX
                    && session.expires_at - now > TimeDelta::minutes(30)
                    && session.asks_for(booking)
            }
        });
    match (booking.state, usable) {
        (Pending, _) if now >= booking.deposit_deadline => Err(Rejection::TooLate),
        (Pending, _) if booking.funds.as_ref().is_some_and(|funds| funds.awaited) => {
            Err(Rejection::TooLate)
        }
        (Pending, Some(_)) => Err(Rejection::Already),
        // What came is enough or more, and a person looks at it.
        (Pending, None) if booking.owed().minor() == 0 => Err(Rejection::Frozen),
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
                amount: Some(booking.owed()),
                closing_at: None,
                closed: false,
                replaces: booking.pages_to_close().first().cloned(),
            });
            Ok(to)
        }
        (state @ (Confirmed | Released | Cancelled | Applied | Forfeited), _) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

pub(super) fn record(
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
                closed: false,
                ..session.clone()
            });
            Ok(to)
        }
        (Pending, Some(session)) if session.attempt == attempt => Err(Rejection::Already),
        (state, _) => Err(Rejection::Overtaken(state)),
    }
}

pub(super) fn spend(booking: &Booking, attempt: u32) -> Result<Transition, Rejection> {
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

/// Notes that a page takes no money any more; the sweep needn't wait for its end.
pub(super) fn close(booking: &Booking, session_id: &str) -> Result<Transition, Rejection> {
    let mut to = booking.staying("payment page closed");
    to.why = format!("session {session_id}");
    match &mut to.after.session {
        Some(session) if session.replaces.as_deref() == Some(session_id) => {
            session.replaces = None;
            Ok(to)
        }
        Some(session) if session.session_id().as_deref() != Some(session_id) => {
            Err(Rejection::Overtaken(booking.state))
        }
        Some(session) if session.closed => Err(Rejection::Already),
        Some(session) => {
            session.closed = true;
            Ok(to)
        }
        None => Err(Rejection::Overtaken(booking.state)),
    }
}

impl Booking {
    /// The page on which the customer may still be paying.
    pub fn open_page(&self) -> Option<&Session> {
        self.session
            .as_ref()
            .filter(|session| session.opened.is_some() && !session.closed)
    }

    /// The pages of which it is not known that nobody can pay on them: the last one that was shown,
    /// and the one before it until the provider said that it is closed.
    pub(super) fn pages_to_close(&self) -> Vec<String> {
        let replaced = self.session.as_ref().and_then(|it| it.replaces.clone());
        let last = self.open_page().and_then(Session::session_id);
        last.into_iter().chain(replaced).collect()
    }

    /// Notes that the customer is done on a page: if it is this one, it takes no more money.
    pub(super) fn complete_page(&mut self, session_id: &str) {
        let is_this = |page: &Session| page.session_id().as_deref() == Some(session_id);
        if self.open_page().is_some_and(is_this) {
            self.close_page();
        }
    }

    pub(super) fn close_page(&mut self) {
        // One that the provider has not opened yet is nobody's page.
        if let Some(session) = self.session.as_mut().filter(|it| it.opened.is_some()) {
            session.closed = true;
        }
    }
}

impl Session {
    pub fn session_id(&self) -> Option<String> {
        let opened = self.opened.as_ref()?;
        Some(opened.session_id.clone())
    }

    fn asks_for(&self, booking: &Booking) -> bool {
        self.amount.is_none_or(|amount| amount == booking.owed())
    }

    /// When nobody can have paid on it without our having heard; where the provider was asked to
    /// close it, not before it had time to answer.
    pub fn is_over_at(&self) -> DateTime<Utc> {
        let asked = self.closing_at.map(|at| at + CLOSING_TAKES);
        let ends = self.expires_at + SESSION_SETTLES;
        asked.map_or(ends, |asked| asked.max(ends))
    }
}
