//! What becomes of money, by amounts: each penny is confirmed, given back or in a person's hands.

use super::*;
use crate::venue::{Overpaid, PartialCancellation};

fn refunds(transition: &Transition) -> Vec<(String, i64)> {
    let orders = transition.consequences.iter().filter_map(|it| match it {
        Consequence::Refund(order) => Some((order.key.clone(), order.amount.minor())),
        Consequence::Message(_) | Consequence::Handover(..) | Consequence::ExpireSession { .. } => {
            None
        }
    });
    orders.collect()
}

fn apply(booking: &Booking, command: Command, now: DateTime<Utc>) -> Transition {
    let decided = decide(booking, command, now);
    decided.unwrap_or_else(|rejection| panic!("{}", refusal(rejection)))
}

#[test]
fn a_short_payment_and_the_rest_of_it_confirm_together() {
    let short = apply(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(1500))),
        hours(23),
    );
    assert_eq!(
        (short.after.kept(), short.after.owed()),
        (gbp(1500), gbp(500))
    );
    assert_eq!(
        short.after.deposit_deadline,
        hours(47),
        "a person has a day to look"
    );
    let rest = apply(&short.after, payment("pi_2", Some(gbp(500))), hours(30));
    assert_eq!(
        (rest.after.state, rest.after.kept()),
        (State::Confirmed, gbp(2000))
    );
    assert_eq!(refunds(&rest), []);
}

#[test]
fn the_rest_of_a_short_payment_may_be_too_much_and_the_difference_goes_back() {
    let short = apply(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(1500))),
        hours(1),
    );
    let whole = apply(&short.after, payment("pi_2", Some(gbp(2000))), hours(2));
    assert_eq!(whole.after.state, State::Confirmed);
    assert_eq!(refunds(&whole), [("refund:over:pi_2".to_owned(), 1500)]);
    assert_eq!(whole.after.kept(), gbp(2000));
}

#[test]
fn a_part_goes_back_when_its_hold_ends() {
    let short = apply(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(1500))),
        hours(1),
    );
    let released = apply(&short.after, Command::Release, hours(26));
    assert_eq!(refunds(&released), [("refund:part:pi_1".to_owned(), 1500)]);
    assert_eq!(released.after.kept(), gbp(0));
}

#[test]
fn too_much_is_a_persons_business_where_the_policy_asks() {
    let mut booking = booking(State::Pending);
    booking.policy.overpaid = Overpaid::Ask;
    let over = apply(&booking, payment("pi_1", Some(gbp(2500))), hours(1));
    assert_eq!((over.after.state, refunds(&over)), (State::Pending, vec![]));
    assert_eq!(over.after.kept(), gbp(2500), "a waiver takes it as it is");
}

#[test]
fn money_in_another_currency_pays_nothing_and_goes_back_when_the_hold_ends() {
    let usd = Money::from_stripe(2000, "usd").ok();
    let odd = apply(&booking(State::Pending), payment("pi_1", usd), hours(1));
    assert_eq!((odd.after.owed(), odd.after.payments.len()), (gbp(2000), 1));
    let released = apply(&odd.after, Command::Release, hours(26));
    assert_eq!(refunds(&released), [("refund:part:pi_1".to_owned(), 2000)]);
    assert_eq!(
        released.refunded(),
        usd,
        "and the customer is told how much"
    );
    let cancel = Command::Cancel {
        by: CancelledBy::Customer,
        reason: String::new(),
    };
    let cancelled = apply(&odd.after, cancel, hours(2));
    assert_eq!(cancelled.refunded(), usd);
}

#[test]
fn what_a_bank_disputes_does_not_go_back_with_the_hold_either() {
    let short = apply(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(1500))),
        hours(1),
    );
    let disputed = reported(0, Some(DisputeStatus::NeedsResponse));
    let disputed = apply(&short.after, disputed, hours(2));
    let released = apply(&disputed.after, Command::Release, hours(26));
    assert_eq!(released.after.state, State::Released);
    assert_eq!(refunds(&released), []);
    let about = disputed.after.payments.first().cloned();
    let case = Consequence::Handover(Reason::RefundDue, about);
    assert!(released.consequences.contains(&case));
}

#[test]
fn a_cancellation_gives_back_what_the_policy_of_the_booking_says() {
    let mut booking = booking(State::Confirmed);
    booking.policy.partial_cancellation = Some(PartialCancellation {
        until: 120,
        percent: 33,
    });
    let starts_at = booking.place.starts_at;
    let cancel = |booking: &Booking, by, before: i64| {
        let at = starts_at - TimeDelta::minutes(before);
        let reason = String::new();
        let to = apply(booking, Command::Cancel { by, reason }, at);
        to.refunded().map_or(0, Money::minor)
    };
    let customer = |before| cancel(&booking, CancelledBy::Customer, before);
    assert_eq!([1440, 1439, 120, 119].map(customer), [2000, 660, 660, 0]);
    assert_eq!(cancel(&booking, CancelledBy::Business, 1), 2000);
    let mut odd = booking.clone();
    odd.deposit = gbp(1999);
    odd.payments[0].amount = Some(gbp(1999));
    let back = cancel(&odd, CancelledBy::Customer, 500);
    assert_eq!(back, 660, "659.67, and the odd penny is the customer's");
}

#[test]
fn a_refund_by_the_staff_is_made_once_for_each_amount_and_never_beyond_what_is_here() {
    let order = |amount| Command::Refund {
        payment_ref: None,
        amount: Some(gbp(amount)),
        order: staff(),
    };
    let first = apply(&booking(State::Confirmed), order(500), hours(2)).after;
    assert_eq!(
        decide(&first, order(500), hours(3)).err(),
        Some(Rejection::Already)
    );
    assert_eq!(
        decide(&first, order(1501), hours(3)).err(),
        Some(Rejection::NotThatMuch)
    );
    let second = apply(&first, order(1500), hours(3)).after;
    assert!(second.is_frozen(), "nothing is left to settle");
    assert_eq!(second.due_at(), None);
}

#[test]
fn a_dispute_freezes_the_deposit_until_it_is_won() {
    let disputed = |status| reported(0, Some(status));
    let frozen = apply(
        &booking(State::Confirmed),
        disputed(DisputeStatus::NeedsResponse),
        hours(2),
    );
    let settled = decide(&frozen.after, Command::Settle, hours(300)).err();
    assert_eq!(settled, Some(Rejection::Frozen));
    let cancelled = Command::Cancel {
        by: CancelledBy::Business,
        reason: String::new(),
    };
    let cancelled = apply(&frozen.after, cancelled, hours(3));
    assert_eq!(refunds(&cancelled), [], "a refund on top would pay twice");
    let won = apply(&frozen.after, disputed(DisputeStatus::Won), hours(20)).after;
    assert!(!won.is_frozen());
    let lost = apply(&frozen.after, disputed(DisputeStatus::Lost), hours(20)).after;
    assert!(lost.is_frozen());
    let late = decide(&won, disputed(DisputeStatus::UnderReview), hours(21)).err();
    assert_eq!(
        late,
        Some(Rejection::Already),
        "an older report changes nothing"
    );
}

#[test]
fn a_forfeit_is_reversed_once() {
    let reverse = |refund| Command::ReverseForfeit {
        refund,
        order: staff(),
    };
    let reversed = apply(&booking(State::Forfeited), reverse(true), hours(300));
    let key = "refund:reversal:bkg_1:pi_1".to_owned();
    assert_eq!(refunds(&reversed), [(key, 2000)]);
    for refund in [true, false] {
        let again = decide(&reversed.after, reverse(refund), hours(301)).err();
        assert_eq!(again, Some(Rejection::Already));
    }
}

#[test]
fn a_page_that_is_open_elsewhere_is_closed_when_the_deposit_is_paid_or_no_longer_wanted() {
    let expire = Consequence::ExpireSession {
        session_id: "cs_1".to_owned(),
    };
    let other = Command::ReceivePayment(Payment {
        payment_ref: "pi_9".to_owned(),
        session_id: "cs_0".to_owned(),
        amount: Some(gbp(2000)),
        paid_at: hours(23),
        hold_again: None,
    });
    let cancel = Command::Cancel {
        by: CancelledBy::Customer,
        reason: String::new(),
    };
    for command in [other, cancel, Command::Waive(staff())] {
        let to = apply(&with_open_page(), command, hours(23));
        assert!(to.consequences.contains(&expire), "{}", to.what);
    }
    let its_own = apply(
        &with_open_page(),
        payment("pi_1", Some(gbp(2000))),
        hours(23),
    );
    assert!(!its_own.consequences.contains(&expire), "it is complete");
}

#[test]
fn what_went_back_by_hand_counts_beside_our_orders_and_not_if_it_failed() {
    let order = Command::Refund {
        payment_ref: None,
        amount: Some(gbp(500)),
        order: staff(),
    };
    let ordered = apply(&booking(State::Confirmed), order, hours(1)).after;
    let by_hand = apply(&ordered, reported(300, None), hours(2)).after;
    assert_eq!(by_hand.kept(), gbp(1200));
    let more = apply(&by_hand, reported(1500, None), hours(3));
    assert_eq!(more.after.kept(), gbp(0));
    let gone = Consequence::Handover(Reason::RefundedElsewhere, Some(by_hand.payments[0].clone()));
    assert_eq!(more.consequences, [gone]);
    assert!(more.after.is_frozen());
    // All of what was done by hand failed later: as if it had never been.
    let failed = apply(&more.after, reported(0, None), hours(4)).after;
    assert_eq!(failed.payments, ordered.payments);
    assert!(!failed.is_frozen());
}
