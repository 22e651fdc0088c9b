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
        refund_reason: None,
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::step::Row;
    use crate::venue::{BUILT_IN, Venue};

    fn booking(state: State) -> Booking {
        let policy = Venue::from_json(BUILT_IN).unwrap().policy;
        let at = "2026-07-11T19:00:00Z";
        let opened = json!({"session_id": "cs_1", "url": "https://pay.example/cs_1"});
        let booking = json!({
            "booking_id": "bkg_1", "state": state, "party": 2, "source": "form",
            "place": {"resource": "table-4", "label": "table", "starts_at": at, "ends_at": at,
                "zone": "Europe/London", "slot_keys": ["table-4#a"]},
            "name": "Ada Lovelace", "phone": "+447700900123", "email": "ada@example.com",
            "notes": "by the window", "cancelled_reason": "Ada is ill",
            "waived_reason": "Ada is a friend", "reversal_reason": "Ada was there",
            "session": {"attempt": 1, "intended_at": at, "expires_at": at, "opened": opened},
            "deposit": {"amount": 2000, "currency": "GBP"}, "deposit_deadline": at,
            "policy": policy, "created_at": at, "version": 3,
        });
        serde_json::from_value(booking).unwrap()
    }

    #[test]
    fn whoever_is_still_to_come_is_not_forgotten() {
        for state in State::ALL {
            let outcome = forget(&booking(state)).map(|_| ());
            let expected = match state {
                State::Pending | State::Confirmed => Err(Refusal::Standing(state)),
                State::Released | State::Cancelled | State::Applied | State::Forfeited => Ok(()),
            };
            assert_eq!(outcome, expected, "{state:?}");
        }
    }

    #[test]
    fn nothing_that_is_personal_is_left_and_everything_else_is() {
        let before = booking(State::Forfeited);
        let after = forget(&before).unwrap();
        let attributes = |booking: &Booking| -> Value {
            serde_dynamo::from_item(booking.item().unwrap()).unwrap()
        };
        let (before, written) = (attributes(&before), attributes(&after));
        for (name, value) in before.as_object().unwrap() {
            match name.as_str() {
                "version" => assert_eq!(written[name], 4),
                "name" => assert_eq!(written[name], ""),
                "session" => {
                    assert_eq!(written[name]["opened"]["url"], "");
                    assert_eq!(written[name]["opened"]["session_id"], "cs_1");
                }
                _ if Booking::PERSONAL.contains(&name.as_str()) => {
                    assert!(written[name].is_null(), "{name}");
                }
                _ => assert_eq!(&written[name], value, "{name}"),
            }
        }
        for word in ["Ada", "Lovelace", "900123", "example", "window"] {
            assert!(!written.to_string().contains(word), "{word}");
        }
        assert_eq!(forget(&after).err(), Some(Refusal::Already));
    }
}
