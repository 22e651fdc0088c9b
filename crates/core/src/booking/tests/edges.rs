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
