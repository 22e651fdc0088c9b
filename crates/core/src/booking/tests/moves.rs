//! Calling off and moving: what the business keeps, and when the deposit is due then.

use super::*;

fn moved(booking: &Booking, starts_at: DateTime<Utc>, now: DateTime<Utc>) -> Booking {
    let to = place("table-4", starts_at);
    let by = CancelledBy::Business;
    let moved = decide(booking, Command::Reschedule { to, by }, now);
    moved.unwrap().after
}

fn cancelled(booking: &Booking, by: CancelledBy, reason: &str, now: DateTime<Utc>) -> Booking {
    let reason = reason.to_owned();
    let cancelled = decide(booking, Command::Cancel { by, reason }, now);
    cancelled.unwrap().after
}

/// Confirmed by a payment that is the deposit, and disputed by the customer's bank.
fn disputed() -> Booking {
    let paid = decide(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(2000))),
        hours(1),
    );
    let disputed = reported(0, Some(DisputeStatus::NeedsResponse));
    let disputed = decide(&paid.unwrap().after, disputed, hours(2));
    disputed.unwrap().after
}

#[test]
fn of_a_disputed_deposit_the_business_keeps_what_the_policy_does_not_give_back() {
    let late = disputed().place.starts_at - TimeDelta::minutes(1);
    for (by, retained) in [
        (CancelledBy::Customer, gbp(2000)),
        (CancelledBy::Business, gbp(0)),
    ] {
        let after = cancelled(&disputed(), by, "", late);
        assert_eq!(after.payments[0].retained, Some(retained), "{by:?}");
        assert_eq!(after.payments[0].returned, None, "a person decides");
    }
}

#[test]
fn why_it_was_called_off_is_kept_if_it_was_said() {
    let reason = |said| {
        let booking = booking(State::Confirmed);
        cancelled(&booking, CancelledBy::Business, said, hours(2)).cancelled_reason
    };
    assert_eq!(reason("a burst pipe").as_deref(), Some("a burst pipe"));
    assert_eq!(reason(""), None);
}

#[test]
fn a_move_to_where_it_is_moves_nothing() {
    for state in [State::Pending, State::Confirmed] {
        let booking = booking(state);
        let mut to = booking.place.clone();
        to.slot_keys = vec!["table-5#a".to_owned(), "table-5#b".to_owned()];
        let by = CancelledBy::Business;
        let refused = |to: Place| {
            let command = Command::Reschedule { to, by };
            decide(&booking, command, hours(2)).err()
        };
        assert_eq!(
            refused(to.clone()),
            Some(Rejection::Already),
            "another unit"
        );
        to.slot_keys.pop();
        assert_eq!(refused(to.clone()), None, "fewer slots");
        to.slot_keys.push("table-5#b".to_owned());
        to.resource = "table-5".to_owned();
        assert_eq!(refused(to), None, "another resource");
    }
}

#[test]
fn the_deposit_of_a_hold_that_moves_forward_is_due_earlier_and_of_others_when_it_was() {
    let pending = booking(State::Pending);
    let (policy, zone) = (&pending.policy, pending.place.zone);
    let (now, sooner) = (hours(2), hours(12));
    let due = policy.deposit_deadline(now, sooner, zone);
    assert!(due < pending.deposit_deadline);
    let after = moved(&pending, sooner, now);
    assert_eq!(after.deposit_deadline, due);
    assert_eq!(after.remind_at, policy.remind_at(now, due, zone));
    assert!(after.remind_at.is_some());
    // Also where it is due at the last moment that the new start leaves, and to the second.
    let starts_at = hours(60);
    let mut exact = pending.clone();
    exact.deposit_deadline = policy.deposit_due_by(starts_at, zone);
    let others = [
        (&pending, hours(400)),
        (&exact, starts_at),
        (&booking(State::Confirmed), sooner),
    ];
    for (booking, starts_at) in others {
        let after = moved(booking, starts_at, now);
        assert_eq!(after.deposit_deadline, booking.deposit_deadline);
        assert_eq!(after.remind_at, booking.remind_at);
    }
}

#[test]
fn where_a_part_of_the_deposit_is_here_nobody_is_reminded_of_it_after_a_move() {
    let short = payment("pi_1", Some(gbp(500)));
    let mut short = decide(&booking(State::Pending), short, hours(1))
        .unwrap()
        .after;
    short.remind_at = Some(hours(20));
    let sooner = hours(12);
    let latest = short.policy.deposit_due_by(sooner, short.place.zone);
    let grace = TimeDelta::minutes(i64::from(short.policy.late_grace));
    for (now, due) in [(hours(2), latest), (latest, (latest + grace).min(sooner))] {
        let after = moved(&short, sooner, now);
        assert_eq!((after.remind_at, after.deposit_deadline), (None, due));
    }
}

#[test]
fn of_two_payments_the_newer_goes_back_first_and_the_rest_is_kept_of_the_older() {
    let mut pending = booking(State::Pending);
    pending.policy.partial_cancellation = Some(crate::venue::PartialCancellation {
        until: 120,
        percent: 33,
    });
    let mut paid = pending.clone();
    for (payment_ref, amount) in [("pi_1", 1500), ("pi_2", 500)] {
        let command = payment(payment_ref, Some(gbp(amount)));
        paid = decide(&paid, command, hours(1)).unwrap().after;
    }
    let disputed = reported(0, Some(DisputeStatus::NeedsResponse));
    let disputed = decide(&paid, disputed, hours(2)).unwrap().after;
    let now = disputed.place.starts_at - TimeDelta::hours(3);
    let after = cancelled(&disputed, CancelledBy::Customer, "", now);
    let retained: Vec<_> = after.payments.iter().map(|it| it.retained).collect();
    assert_eq!(retained, [Some(gbp(1340)), Some(gbp(0))]);
}
