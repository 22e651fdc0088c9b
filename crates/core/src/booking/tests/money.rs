//! What becomes of money, by amounts: each penny is confirmed, given back or in a person's hands.

use std::collections::BTreeSet;

use super::*;
use crate::dispute::DisputeStatus;
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
fn money_in_another_currency_pays_nothing_and_is_not_lost_sight_of() {
    let usd = Money::from_stripe(2000, "usd").ok();
    let odd = apply(&booking(State::Pending), payment("pi_1", usd), hours(1));
    assert_eq!((odd.after.owed(), odd.after.payments.len()), (gbp(2000), 1));
    let released = apply(&odd.after, Command::Release, hours(26));
    assert_eq!(refunds(&released), [("refund:part:pi_1".to_owned(), 2000)]);
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
    assert!(lost.is_frozen(), "nothing is here to settle");
    assert_eq!(lost.kept(), gbp(0));
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
fn a_dispute_of_money_that_went_back_freezes_nothing() {
    let second = apply(
        &booking(State::Confirmed),
        payment("pi_2", Some(gbp(2000))),
        hours(2),
    );
    let disputed = Disputed {
        payment_ref: "pi_2".to_owned(),
        status: DisputeStatus::NeedsResponse,
        amount: gbp(2000),
    };
    let facts = MoneyFacts {
        payment_ref: "pi_2".to_owned(),
        refunds: Refunds::default(),
        by_others: false,
        disputes: BTreeMap::from([("du_2".to_owned(), disputed)]),
    };
    let disputed = apply(&second.after, Command::SyncMoney(facts), hours(3)).after;
    assert!(!disputed.is_frozen());
}

#[test]
fn a_refund_that_came_to_nothing_may_be_ordered_again_under_a_key_of_its_own() {
    let all = || Command::Refund {
        payment_ref: None,
        amount: None,
        order: staff(),
    };
    let ordered = apply(&booking(State::Confirmed), all(), hours(2));
    let key = "refund:staff:pi_1:2000".to_owned();
    assert_eq!(refunds(&ordered), [(key.clone(), 2000)]);
    assert_eq!(
        decide(&ordered.after, all(), hours(3)).err(),
        Some(Rejection::Already)
    );
    let facts = MoneyFacts {
        payment_ref: "pi_1".to_owned(),
        refunds: Refunds {
            returned: 2000,
            stranded: 2000,
            keys: BTreeSet::from([key.clone()]),
            dead: BTreeSet::from([key]),
        },
        by_others: false,
        disputes: BTreeMap::new(),
    };
    let dead = apply(&ordered.after, Command::SyncMoney(facts), hours(4)).after;
    assert_eq!(dead.kept(), gbp(0), "it is still owed");
    let again = apply(&dead, all(), hours(5));
    assert_eq!(again.after.kept(), gbp(0));
    assert_eq!(
        refunds(&again),
        [("refund:staff:pi_1:2000:2".to_owned(), 2000)]
    );
    let once = again.after.payments[0].returned;
    assert_eq!(once, Some(gbp(2000)), "the second stands for the first");
    let third = decide(&again.after, all(), hours(6)).err();
    assert_eq!(third, Some(Rejection::Already), "nothing is owed any more");
    let none = decide(&booking(State::Pending), all(), hours(6)).err();
    assert_eq!(none, Some(Rejection::NotThatMuch), "nothing ever came");
}

#[test]
fn the_staff_give_back_all_payments_of_a_deposit_at_once() {
    let short = apply(
        &booking(State::Pending),
        payment("pi_1", Some(gbp(500))),
        hours(1),
    );
    let whole = apply(&short.after, payment("pi_2", Some(gbp(1500))), hours(2));
    let all = Command::Refund {
        payment_ref: None,
        amount: None,
        order: staff(),
    };
    let keys: Vec<i64> = refunds(&apply(&whole.after, all, hours(3)))
        .into_iter()
        .map(|(_, amount)| amount)
        .collect();
    assert_eq!(keys, [1500, 500]);
}

#[test]
fn money_that_was_seen_is_a_persons_business_where_no_booking_waits_for_it() {
    let seen = || Command::AwaitFunds {
        payment_ref: "pi_9".to_owned(),
        collected: true,
    };
    let unseen = |to: &Transition| {
        to.consequences
            .iter()
            .any(|it| matches!(it, Consequence::Handover(Reason::FundsUnseen, Some(_))))
    };
    let cancelled = booking(State::Cancelled);
    let noted = apply(&cancelled, seen(), hours(3));
    assert!(unseen(&noted));
    assert_eq!(
        decide(&noted.after, seen(), hours(4)).err(),
        Some(Rejection::Already)
    );
    let back = apply(&noted.after, payment("pi_9", Some(gbp(2000))), hours(5));
    assert_eq!(back.after.funds, None, "it has been heard of");
    let awaiting = apply(&booking(State::Pending), seen(), hours(3)).after;
    let cancel = Command::Cancel {
        by: CancelledBy::Customer,
        reason: String::new(),
    };
    for command in [cancel, Command::Waive(staff())] {
        assert!(unseen(&apply(&awaiting, command, hours(4))));
    }
    let other = apply(&awaiting, payment("pi_1", Some(gbp(2000))), hours(4));
    assert_eq!(other.after.state, State::Confirmed);
    assert!(unseen(&other), "it was not this money that was waited for");
    let same = apply(&awaiting, payment("pi_9", Some(gbp(2000))), hours(4));
    assert!(!unseen(&same) && same.after.funds.is_none());
}

#[test]
fn a_short_payment_that_was_waited_for_leaves_the_rest_to_be_paid() {
    let seen = Command::AwaitFunds {
        payment_ref: "pi_1".to_owned(),
        collected: true,
    };
    let awaiting = apply(&booking(State::Pending), seen, hours(3)).after;
    let short = apply(&awaiting, payment("pi_1", Some(gbp(1500))), hours(4)).after;
    assert!(decide(&short, Command::IntendSession, hours(5)).is_ok());
}

#[test]
fn a_hold_that_moves_forward_is_not_asked_again_for_money_that_is_on_its_way() {
    let mut waiting = booking(State::Pending);
    waiting.funds = Some(Funds {
        payment_ref: "pi_1".to_owned(),
        awaited: true,
    });
    waiting.deposit_deadline = hours(90);
    let sooner = place("table-4", hours(60));
    let command = Command::Reschedule {
        to: sooner,
        by: CancelledBy::Business,
    };
    let moved = apply(&waiting, command, hours(2)).after;
    assert_eq!(
        moved.deposit_deadline,
        hours(58),
        "two hours before the start"
    );
    assert_eq!(moved.remind_at, None);
}

#[test]
fn a_hold_that_ends_gives_back_every_currency() {
    let usd = Money::from_stripe(700, "usd").ok();
    let odd = apply(&booking(State::Pending), payment("pi_1", usd), hours(1));
    let both = apply(&odd.after, payment("pi_2", Some(gbp(500))), hours(2));
    let released = apply(&both.after, Command::Release, hours(27));
    let keys = ["refund:part:pi_2", "refund:part:pi_1"].map(str::to_owned);
    let refunded: Vec<String> = refunds(&released).into_iter().map(|(key, _)| key).collect();
    assert_eq!(refunded, keys);
}

#[test]
fn a_replaced_page_is_closed_before_the_slot_goes_even_if_its_successor_never_opened() {
    let mut booking = with_open_page();
    booking.deposit_deadline = hours(30);
    let first = apply(&booking, payment("pi_5", Some(gbp(500))), hours(24)).after;
    // Paid elsewhere: the page that is open asks for too much now, and makes way.
    let mut open = first.clone();
    if let Some(session) = &mut open.session {
        session.closed = false;
        session.amount = Some(gbp(2000));
    }
    let next = apply(&open, Command::IntendSession, hours(24)).after;
    let session = next.session.clone().unwrap();
    assert_eq!(
        (session.attempt, session.replaces.as_deref()),
        (2, Some("cs_1"))
    );
    let closing = apply(&next, Command::Release, hours(60));
    let expire = Consequence::ExpireSession {
        session_id: "cs_1".to_owned(),
    };
    assert_eq!(closing.consequences, [expire]);
    let close = Command::CloseSession {
        session_id: "cs_1".to_owned(),
    };
    let closed = apply(&closing.after, close, hours(60)).after;
    assert_eq!(
        apply(&closed, Command::Release, hours(60)).after.state,
        State::Released
    );
}
