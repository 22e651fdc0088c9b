//! Around the visit: from when it can be marked and settled, and what is not done twice.

use super::*;

fn mark(booking: &Booking, attended: bool, now: DateTime<Utc>) -> Result<Booking, Rejection> {
    let command = Command::MarkAttendance {
        attended,
        marked_by: "bar".to_owned(),
    };
    decide(booking, command, now).map(|to| to.after)
}

fn settle(booking: &Booking, now: DateTime<Utc>) -> Result<Booking, Rejection> {
    decide(booking, Command::Settle, now).map(|to| to.after)
}

fn reverse(booking: &Booking, refund: bool) -> Result<Booking, Rejection> {
    let order = staff();
    let command = Command::ReverseForfeit { refund, order };
    decide(booking, command, hours(270)).map(|to| to.after)
}

#[test]
fn a_visit_is_marked_from_its_start_on_and_each_mark_is_taken_once() {
    let confirmed = booking(State::Confirmed);
    let starts_at = confirmed.place.starts_at;
    let early = mark(&confirmed, true, starts_at - TimeDelta::seconds(1)).err();
    assert_eq!(early, Some(Rejection::TooEarly(starts_at)));
    let came = mark(&confirmed, true, starts_at).ok().unwrap();
    let attendance = came.attendance.clone().unwrap();
    assert_eq!(
        (attendance.attended, attendance.marked_at),
        (true, starts_at)
    );
    assert_eq!(mark(&came, true, starts_at).err(), Some(Rejection::Already));
    assert!(mark(&came, false, starts_at).is_ok());
    for (state, attended, rejection) in [
        (State::Applied, true, Rejection::Already),
        (State::Applied, false, Rejection::TooLate),
        (State::Forfeited, true, Rejection::Already),
        (State::Released, true, Rejection::Overtaken(State::Released)),
    ] {
        let settled = Booking {
            state,
            ..came.clone()
        };
        assert_eq!(mark(&settled, attended, hours(300)).err(), Some(rejection));
    }
}

#[test]
fn a_deposit_is_settled_from_its_time_on_if_it_is_here() {
    let mut marked = booking(State::Confirmed);
    let settle_at = marked.settle_at();
    marked.attendance = Some(Attendance {
        attended: true,
        marked_by: "bar".to_owned(),
        marked_at: hours(248),
    });
    let early = settle(&marked, settle_at - TimeDelta::seconds(1)).err();
    assert_eq!(early, Some(Rejection::TooEarly(settle_at)));
    let applied = settle(&marked, settle_at).ok().unwrap();
    assert_eq!(
        (applied.state, applied.settled_at),
        (State::Applied, Some(settle_at))
    );
    assert_eq!(settle(&applied, settle_at).err(), Some(Rejection::Already));
    marked.payments[0].returned = Some(gbp(2000));
    assert_eq!(settle(&marked, settle_at).err(), Some(Rejection::Frozen));
}

#[test]
fn whether_the_customer_came_is_asked_once_where_the_policy_asks() {
    let confirmed = booking(State::Confirmed);
    let now = confirmed.settle_at();
    let asked = settle(&confirmed, now).ok().unwrap();
    assert_eq!((asked.state, asked.asked_at), (State::Confirmed, Some(now)));
    assert_eq!(settle(&asked, now).err(), Some(Rejection::Already));
}

#[test]
fn a_forfeit_is_taken_back_once_as_money_or_as_credit() {
    let forfeited = booking(State::Forfeited);
    for refund in [true, false] {
        let after = reverse(&forfeited, refund).ok().unwrap();
        let reversal = after.reversal.clone().unwrap();
        assert_eq!((reversal.refund, reversal.amount), (refund, gbp(2000)));
        assert_eq!(after.reversal_reason.as_deref(), Some("a regular"));
        assert_eq!(after.kept(), gbp(if refund { 0 } else { 2000 }));
        assert_eq!(reverse(&after, refund).err(), Some(Rejection::Already));
    }
    let mut gone = forfeited;
    gone.payments[0].returned = Some(gbp(2000));
    assert_eq!(reverse(&gone, true).err(), Some(Rejection::Frozen));
}
