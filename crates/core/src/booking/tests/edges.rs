//! Where a rule ends: the moment and the amount on either side of it.

use super::*;

fn after(booking: &Booking, command: Command, now: DateTime<Utc>) -> Booking {
    let decided = decide(booking, command, now);
    decided
        .unwrap_or_else(|why| panic!("{}", refusal(why)))
        .after
}

#[test]
fn a_reminder_is_sent_once() {
    let reminded = after(&booking(State::Pending), Command::Remind, hours(20));
    assert_eq!(reminded.reminded_at, Some(hours(20)));
    let again = decide(&reminded, Command::Remind, hours(21)).err();
    assert_eq!(again, Some(Rejection::Already));
}

#[test]
fn a_payment_is_known_by_its_name_alone_or_by_what_came() {
    let mut booking = booking(State::Confirmed);
    assert!(booking.knows("pi_1") && !booking.knows("pi_2"));
    booking.payments.clear();
    assert!(booking.knows("pi_1"), "a row of before payments were kept");
    booking.payments.push(paid_in_full("pi_2"));
    assert!(booking.knows("pi_2"));
}

#[test]
fn further_commands_of_a_step_count_the_version_up_once() {
    let pending = booking(State::Pending);
    let paid = decide(&pending, payment("pi_1", Some(gbp(2000))), hours(1)).unwrap();
    let both = paid.and(payment("pi_2", Some(gbp(500))), hours(1));
    assert_eq!(both.after.version, pending.version + 1);
    assert_eq!(both.refunded(), Some(gbp(500)));
}

#[test]
fn what_goes_back_is_said_in_the_currency_of_the_deposit() {
    let usd = Money::from_stripe(700, "usd").ok();
    let odd = after(&booking(State::Pending), payment("pi_1", usd), hours(1));
    let both = after(&odd, payment("pi_2", Some(gbp(500))), hours(2));
    let refunded = |booking: &Booking| {
        decide(booking, Command::Release, hours(60))
            .unwrap()
            .refunded()
    };
    assert_eq!(refunded(&both), Some(gbp(500)));
    assert_eq!(refunded(&odd), usd);
    assert_eq!(refunded(&booking(State::Pending)), None);
}

#[test]
fn a_payment_of_which_nothing_is_here_is_not_given_back_again() {
    let short = after(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(500))),
        hours(1),
    );
    let order = Command::Refund {
        payment_ref: None,
        amount: None,
        order: staff(),
    };
    let back = after(&short, order, hours(2));
    let released = decide(&back, Command::Release, hours(60)).unwrap();
    assert_eq!(released.refunded(), None);
}

#[test]
fn late_money_gets_the_slot_again_to_the_last_second_of_its_grace_and_before_the_start() {
    let released = booking(State::Released);
    let ends = hours(24) + TimeDelta::minutes(i64::from(released.policy.late_grace));
    let starts_at = released.place.starts_at;
    let state = |paid_at, now| {
        let command = payment_at("pi_2", Some(gbp(2000)), paid_at);
        after(&released, command, now).state
    };
    assert_eq!(state(ends, hours(30)), State::Confirmed);
    let late = ends + TimeDelta::seconds(1);
    assert_eq!(state(late, hours(30)), State::Released);
    let before = starts_at - TimeDelta::seconds(1);
    assert_eq!(state(ends, before), State::Confirmed);
    assert_eq!(state(ends, starts_at), State::Released);
}

#[test]
fn a_person_has_until_shortly_before_the_start_to_look_at_short_money_and_a_moment_even_then() {
    let pending = booking(State::Pending);
    let policy = &pending.policy;
    let starts_at = pending.place.starts_at;
    let latest = starts_at - TimeDelta::minutes(i64::from(policy.start_buffer));
    let grace = TimeDelta::minutes(i64::from(policy.late_grace));
    let deadline = |now| {
        let short = payment("pi_1", Some(gbp(1500)));
        after(&pending, short, now).deposit_deadline
    };
    assert_eq!(deadline(latest - grace - grace), latest);
    assert_eq!(deadline(latest), (latest + grace).min(starts_at));
}

#[test]
fn where_nothing_went_back_nothing_is_noted() {
    let disputed = reported(0, Some(DisputeStatus::NeedsResponse));
    let disputed = after(&booking(State::Confirmed), disputed, hours(2));
    assert_eq!(disputed.payments[0].returned, None);
}

#[test]
fn a_message_asks_for_the_deposit_before_it_is_paid_and_not_later() {
    use MessageKind::*;
    let asking = MessageKind::ALL
        .into_iter()
        .filter(|it| it.asks_for_deposit());
    assert_eq!(asking.collect::<Vec<_>>(), [DepositRequest, Reminder]);
}

fn awaiting(payment_ref: &str) -> Command {
    Command::AwaitFunds {
        payment_ref: payment_ref.to_owned(),
        collected: false,
    }
}

fn failing(payment_ref: &str) -> Command {
    Command::FailFunds {
        payment_ref: payment_ref.to_owned(),
    }
}

#[test]
fn a_slot_waits_for_money_that_takes_days_until_shortly_before_the_start() {
    let pending = booking(State::Pending);
    let buffer = TimeDelta::minutes(i64::from(pending.policy.start_buffer));
    let latest = pending.place.starts_at - buffer;
    let awaited = after(&pending, awaiting("pi_2"), latest - TimeDelta::minutes(1));
    assert_eq!(awaited.deposit_deadline, latest);
}

#[test]
fn money_that_will_not_come_is_heard_of_once_and_only_if_it_was_waited_for() {
    let awaited = after(&booking(State::Pending), awaiting("pi_2"), hours(1));
    let another = decide(&awaited, failing("pi_3"), hours(2)).err();
    assert_eq!(another, Some(Rejection::Overtaken(State::Pending)));
    let failed = after(&awaited, failing("pi_2"), hours(2));
    assert_eq!(failed.deposit_deadline, hours(2));
    let again = decide(&failed, failing("pi_2"), hours(3)).err();
    assert_eq!(again, Some(Rejection::Already));
}

#[test]
fn a_deposit_is_waived_once() {
    let waived = after(&booking(State::Pending), Command::Waive(staff()), hours(1));
    let again = |booking: &Booking| decide(booking, Command::Waive(staff()), hours(2)).err();
    assert_eq!(again(&waived), Some(Rejection::Already));
    let paid = booking(State::Confirmed);
    assert_eq!(again(&paid), Some(Rejection::Overtaken(State::Confirmed)));
}

#[test]
fn a_payment_of_nothing_confirms_nothing_even_if_nothing_is_owed() {
    let mut booking = booking(State::Pending);
    booking.policy.overpaid = crate::venue::Overpaid::Ask;
    let over = after(&booking, payment("pi_1", Some(gbp(2500))), hours(1));
    assert_eq!(over.owed(), gbp(0));
    let nothing = after(&over, payment("pi_2", Some(gbp(0))), hours(2));
    assert_eq!(nothing.state, State::Pending);
}

#[test]
fn money_that_is_not_here_any_more_is_not_counted_as_the_deposit() {
    let short = after(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(500))),
        hours(1),
    );
    for (went_back, counted) in [(499, Some(gbp(1))), (500, None)] {
        let less = after(&short, reported(went_back, None), hours(2));
        let waived = after(&less, Command::Waive(staff()), hours(3));
        let amount = waived.payments[0].counted.as_ref().map(|it| it.amount);
        assert_eq!(amount, counted);
    }
}

#[test]
fn a_cancellation_says_whether_money_goes_back() {
    let confirmed = booking(State::Confirmed);
    let cancelled = |by, now| {
        let reason = String::new();
        let after = after(&confirmed, Command::Cancel { by, reason }, now);
        after.cancelled.unwrap().refund_due
    };
    let late = confirmed.place.starts_at - TimeDelta::minutes(1);
    assert!(cancelled(CancelledBy::Customer, hours(2)));
    assert!(!cancelled(CancelledBy::Customer, late));
    assert!(cancelled(CancelledBy::Business, late));
}
