//! The payment page: for how long it is taken up again, and when nobody can have paid on it.

use super::*;

fn session() -> Session {
    with_open_page().session.unwrap()
}

fn pending(session: Session) -> Booking {
    Booking {
        session: Some(session),
        deposit_deadline: hours(100),
        ..booking(State::Pending)
    }
}

/// The number of the attempt that a click leads to: 1 is the page that is there.
fn attempt(booking: &Booking, now: DateTime<Utc>) -> u32 {
    match decide(booking, Command::IntendSession, now) {
        Ok(to) => to.after.session.unwrap().attempt,
        Err(rejection) => {
            assert_eq!(refusal(rejection), "already");
            1
        }
    }
}

fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

#[test]
fn an_open_page_is_taken_up_again_until_it_ends_or_asks_for_another_amount() {
    let open = pending(session());
    let ends = hours(25);
    assert_eq!(attempt(&open, ends - seconds(1)), 1);
    assert_eq!(attempt(&open, ends), 2);
    let of = |amount, closed| {
        pending(Session {
            amount,
            closed,
            ..session()
        })
    };
    assert_eq!(attempt(&of(Some(gbp(2000)), false), hours(24)), 1);
    assert_eq!(attempt(&of(Some(gbp(1500)), false), hours(24)), 2);
    assert_eq!(attempt(&of(None, true), hours(24)), 2);
}

#[test]
fn an_attempt_without_an_answer_is_asked_for_again_while_its_key_and_its_page_are_good() {
    let unanswered = |intended_at, expires_at, amount| {
        pending(Session {
            intended_at,
            expires_at,
            amount,
            opened: None,
            ..session()
        })
    };
    let far = unanswered(hours(0), hours(90), None);
    assert_eq!(attempt(&far, hours(23) - seconds(1)), 1);
    assert_eq!(attempt(&far, hours(23)), 2);
    let near = unanswered(hours(0), hours(10), None);
    let half = TimeDelta::minutes(30);
    assert_eq!(attempt(&near, hours(10) - half - seconds(1)), 1);
    assert_eq!(attempt(&near, hours(10) - half), 2);
    let less = unanswered(hours(0), hours(90), Some(gbp(1500)));
    assert_eq!(attempt(&less, hours(1)), 2);
}

#[test]
fn a_page_lives_as_long_as_its_deposit_may_be_paid_within_the_providers_bounds() {
    for (due_in, life) in [(1, 31), (31, 31), (32, 32), (1380, 1380), (1381, 1380)] {
        let mut booking = booking(State::Pending);
        let now = booking.deposit_deadline - TimeDelta::minutes(due_in);
        booking.session = Some(Session {
            closed: true,
            replaces: Some("cs_0".to_owned()),
            ..session()
        });
        let page = decide(&booking, Command::IntendSession, now).unwrap().after;
        let expected = Session {
            attempt: 2,
            intended_at: now,
            expires_at: now + TimeDelta::minutes(life),
            opened: None,
            spent: false,
            amount: Some(gbp(2000)),
            closing_at: None,
            closed: false,
            replaces: Some("cs_0".to_owned()),
        };
        assert_eq!(page.session, Some(expected), "{due_in}");
    }
}

#[test]
fn nobody_gets_a_page_whose_money_is_here_or_on_its_way() {
    let refused = |booking: &Booking, now| decide(booking, Command::IntendSession, now).err();
    let mut booking = booking(State::Pending);
    let deadline = booking.deposit_deadline;
    assert_eq!(refused(&booking, deadline - seconds(1)), None);
    assert_eq!(refused(&booking, deadline), Some(Rejection::TooLate));
    for (awaited, rejection) in [(true, Some(Rejection::TooLate)), (false, None)] {
        booking.funds = Some(Funds {
            payment_ref: "pi_2".to_owned(),
            awaited,
        });
        assert_eq!(refused(&booking, hours(1)), rejection);
    }
    booking.payments.push(paid_in_full("pi_1"));
    assert_eq!(refused(&booking, hours(1)), Some(Rejection::Frozen));
}

#[test]
fn an_answer_is_recorded_for_the_attempt_that_waits_for_it() {
    let record = |booking: &Booking, attempt| {
        let opened = opened();
        decide(
            booking,
            Command::RecordSession { attempt, opened },
            hours(24),
        )
    };
    let spend =
        |booking: &Booking, attempt| decide(booking, Command::SpendSession { attempt }, hours(24));
    let waiting = pending(Session {
        opened: None,
        closed: true,
        ..session()
    });
    let page = record(&waiting, 1).unwrap().after.session.unwrap();
    assert_eq!((page.opened, page.closed), (Some(opened()), false));
    assert!(spend(&waiting, 1).unwrap().after.session.unwrap().spent);
    let overtaken = Some(Rejection::Overtaken(State::Pending));
    let open = pending(session());
    assert_eq!(record(&waiting, 2).err(), overtaken);
    assert_eq!(record(&open, 1).err(), Some(Rejection::Already));
    assert_eq!(record(&open, 2).err(), overtaken);
    assert_eq!(spend(&waiting, 2).err(), overtaken);
    assert_eq!(spend(&open, 1).err(), overtaken);
    assert_eq!(spend(&booking(State::Pending), 1).err(), overtaken);
    let released = Booking {
        state: State::Released,
        ..waiting
    };
    let gone = Some(Rejection::Overtaken(State::Released));
    assert_eq!(record(&released, 1).err(), gone);
}

#[test]
fn the_page_that_is_closed_is_the_one_that_was_named() {
    let close = |session: Session, session_id: &str| {
        let session_id = session_id.to_owned();
        let closed = decide(
            &pending(session),
            Command::CloseSession { session_id },
            hours(24),
        );
        closed.map(|to| to.after.session.unwrap())
    };
    let replacing = || Session {
        replaces: Some("cs_0".to_owned()),
        ..session()
    };
    assert_eq!(close(replacing(), "cs_0").ok(), Some(session()));
    let closed = close(replacing(), "cs_1").ok().unwrap();
    assert!(closed.closed && closed.replaces.as_deref() == Some("cs_0"));
    assert_eq!(close(closed, "cs_1").err(), Some(Rejection::Already));
    let other = close(replacing(), "cs_2").err();
    assert_eq!(other, Some(Rejection::Overtaken(State::Pending)));
}

#[test]
fn a_payment_ends_the_page_that_it_was_made_on() {
    let paid_on = |session_id: &str| {
        let payment = Payment {
            payment_ref: "pi_1".to_owned(),
            session_id: session_id.to_owned(),
            amount: Some(gbp(500)),
            paid_at: hours(24),
            hold_again: None,
        };
        let command = Command::ReceivePayment(payment);
        let to = decide(&pending(session()), command, hours(24)).unwrap();
        to.after.open_page().is_none()
    };
    assert!(paid_on("cs_1"));
    assert!(!paid_on("cs_2"));
}

#[test]
fn a_page_that_was_not_opened_is_nobodys_and_money_on_its_way_closes_it_not() {
    for (opened, closed) in [(Some(opened()), true), (None, false)] {
        let booking = pending(Session {
            opened,
            ..session()
        });
        let awaited = Command::AwaitFunds {
            payment_ref: "pi_2".to_owned(),
            collected: true,
        };
        let to = decide(&booking, awaited, hours(24)).unwrap();
        assert_eq!(to.after.session.unwrap().closed, closed);
    }
}

#[test]
fn a_page_is_over_some_minutes_after_its_end_and_after_it_was_asked_to_close() {
    let page = |closing_at| Session {
        closing_at,
        ..session()
    };
    let ends = hours(25) + TimeDelta::minutes(5);
    assert_eq!(page(None).is_over_at(), ends);
    for (asked, over) in [(-31, 0), (-30, 0), (-29, 1)] {
        let asked = hours(25) + TimeDelta::minutes(asked);
        let over = ends + TimeDelta::minutes(over);
        assert_eq!(page(Some(asked)).is_over_at(), over);
    }
}
