//! Forgetting a person: what names them goes, what the money did stays.
//!
//! A booking keeps its id, its times, its amounts and its history: the books and the bank need them.
//! The name, the phone, the address and whatever somebody wrote in their own words go, in one step
//! with an audit row that says so. Nothing about a person is in an audit row, an outbox row or a
//! case, so nothing else has to be changed; see `docs/decisions`.

use crate::audit::Audit;
use crate::booking::{Booking, OpenedSession, Session, State};
use crate::booking_step::Origin;
use crate::step::Step;

/// Why a booking's person is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing left to forget.
    Already,
    /// The visit or the deposit is still to come: cancel it or let it settle first.
    Standing(State),
}

/// Returns the booking without its person.
///
/// # Errors
/// Why it stays as it is.
pub fn forget(booking: &Booking) -> Result<Booking, Refusal> {
    match booking.state {
        State::Pending | State::Confirmed => return Err(Refusal::Standing(booking.state)),
        State::Released | State::Cancelled | State::Applied | State::Forfeited => {}
    }
    let forgotten = Booking {
        name: String::new(),
        phone: None,
        email: None,
        notes: None,
        // The page of the payment may show who paid; that there was one is part of the history.
        session: booking.session.clone().map(without_page),
        waived_reason: None,
        reversal_reason: None,
        cancelled_reason: None,
        ..booking.clone()
    };
    if forgotten == *booking {
        return Err(Refusal::Already);
    }
    Ok(Booking {
        version: booking.version + 1,
        ..forgotten
    })
}

fn without_page(session: Session) -> Session {
    let opened = session.opened.map(|opened| OpenedSession {
        url: String::new(),
        ..opened
    });
    Session { opened, ..session }
}

/// Builds the step that forgets, to be sent by [`crate::step::write`].
pub fn forget_step(
    step: Step,
    (bookings_table, audit_table): (&str, &str),
    before: &Booking,
    after: &Booking,
    origin: Origin<'_>,
) -> Step {
    let state = Some(before.state.as_str());
    step.change(bookings_table, before, after, before.version)
        .audit(
            audit_table,
            Audit {
                subject: &before.booking_id,
                who: origin.who,
                what: "person forgotten",
                before: state,
                after: state,
                why: "on their own request".to_owned(),
                correlation_id: origin.correlation_id,
            },
        )
}
