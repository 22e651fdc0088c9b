//! Every order of the calls of two handlers that race for one booking, one payment or one subscription:
//! in fair weather, and mostly once more with the first of them dying after each call that changed
//! something.
//! Then defects that are planted, to see that these walks would find them.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and so may its helpers; how many orders a race had is worth reading"
)]

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::collections::BTreeSet;

use paidonce_core::planted::{Defect, plant};
use simulator::{Effort, Explored, Race, races};

fn race(name: &str) -> &'static Race {
    races().find(|race| race.name == name).unwrap()
}

/// Walks a race; with the first one dying after some of its turns, if there are any.
fn explored(name: &str, effort: Effort, dying_after: &BTreeSet<usize>) -> Explored {
    let explored = match dying_after.is_empty() {
        true => race(name).explore(effort),
        false => race(name).explore_dying(effort, dying_after),
    };
    let dying = match dying_after.is_empty() {
        true => String::new(),
        false => format!(", the first dying after {dying_after:?}"),
    };
    println!(
        "{name}{dying}: {} orders of at most {} and {} turns, {} given up, {:?}",
        explored.orders, explored.turns[0], explored.turns[1], explored.given_up, explored.endings
    );
    explored
}

/// Walks every order, none of which may break a promise; returns after which turns of the first one it
/// matters that it dies.
fn holds(name: &str) -> BTreeSet<usize> {
    let explored = explored(name, Effort::WHOLE, &BTreeSet::new());
    if let Some((promise, what, order)) = explored.broken {
        panic!("{name}: {promise}: {what}\n{order}");
    }
    assert!(explored.is_whole, "{name} has more orders than are tried");
    assert!(explored.orders > 1, "{name} is no race");
    explored.changes
}

/// As [`holds`], and once more with the first one dying after each turn that changed something, and
/// coming again.
fn holds_if_the_first_dies(name: &str) {
    let after = holds(name);
    assert!(!after.is_empty(), "{name}: the first one changes something");
    let explored = explored(name, Effort::WHOLE, &after);
    if let Some((promise, what, order)) = explored.broken {
        panic!("{name}, dying: {promise}: {what}\n{order}");
    }
    assert!(
        explored.is_whole && explored.orders >= after.len(),
        "{name} dies after {after:?}"
    );
}

/// A defect that is planted breaks a promise in some order of a race.
fn finds(defect: Defect, name: &str, dying_after: &[usize]) {
    plant(Some(defect));
    let explored = explored(name, Effort::WHOLE, &dying_after.iter().copied().collect());
    plant(None);
    let broken = explored.broken;
    println!("`{}` in {name}: {broken:?}", defect.name());
    let found = broken.is_some_and(|(promise, ..)| promise != "the race can be run");
    assert!(found, "`{}` breaks nothing in {name}", defect.name());
}

// Slots, and a hold at its deadline.

#[test]
fn whoever_pays_on_their_page_beside_the_sweep_keeps_the_slot() {
    holds_if_the_first_dies("a payment on its page and the sweep after its deadline");
}

#[test]
fn whoever_pays_by_hand_beside_the_sweep_keeps_the_slot() {
    holds_if_the_first_dies("a payment on a page of its own and the sweep after its deadline");
}

#[test]
fn late_money_and_another_customer_beside_the_sweep_leave_one_of_them_the_slot() {
    holds("a payment after the deadline, and somebody else for the slot");
}

#[test]
fn a_page_that_is_closed_while_somebody_pays_on_it_costs_nobody_the_slot() {
    holds_if_the_first_dies("the closing of a page and the payment on it");
}

#[test]
fn two_sweeps_beside_each_other_release_and_tell_once() {
    holds("two sweeps after the deadline");
}

#[test]
fn of_two_customers_for_one_slot_one_gets_it() {
    holds_if_the_first_dies("two customers and one slot");
}

#[test]
fn one_form_twice_at_once_under_one_key_is_one_booking() {
    holds_if_the_first_dies("one form twice under one key");
}

#[test]
fn one_form_twice_at_once_without_a_key_is_one_booking() {
    holds_if_the_first_dies("one form twice without a key");
}

#[test]
fn a_booking_that_moves_to_where_another_wants_is_there_or_where_it_was() {
    holds_if_the_first_dies("a booking that is moved and a customer for its new slot");
}

#[test]
fn two_bookings_that_move_into_each_others_slots_both_keep_one() {
    holds("two bookings that are moved into each other's slots");
}

// Money.

#[test]
fn a_deposit_that_comes_while_the_business_cancels_goes_back_whole() {
    holds_if_the_first_dies("a cancellation by the business and the payment");
}

#[test]
fn a_deposit_that_comes_while_the_customer_cancels_is_accounted_for() {
    holds_if_the_first_dies("a cancellation by the customer and the payment");
}

#[test]
fn a_button_that_is_pressed_twice_at_once_opens_one_page() {
    holds_if_the_first_dies("the button of a payment page twice");
}

#[test]
fn of_two_payments_at_once_one_goes_back() {
    holds_if_the_first_dies("two payments of one booking");
}

#[test]
fn a_refund_and_the_event_of_its_charge_beside_each_other_are_one_refund() {
    holds_if_the_first_dies("a refund that is made and the event that its charge was refunded");
}

#[test]
fn a_refund_and_its_own_event_beside_each_other_are_one_refund() {
    holds_if_the_first_dies("a refund that is made and the event that there is one");
}

#[test]
fn one_order_of_a_refund_twice_at_once_moves_money_once() {
    holds_if_the_first_dies("one order of a refund twice");
}

#[test]
fn a_refund_whose_key_is_forgotten_moves_money_once() {
    holds_if_the_first_dies("a refund in part and the provider that forgets its key");
}

#[test]
fn a_refund_beside_one_by_hand_gives_back_no_more_than_came() {
    holds_if_the_first_dies("a refund that is made and one by hand at the provider");
}

#[test]
fn a_refund_that_is_ordered_beside_one_by_hand_asks_for_no_more_than_there_is() {
    holds("a refund that the staff order and the event of one by hand");
}

// Texts.

#[test]
fn the_stream_and_the_sweep_of_the_outbox_beside_each_other_tell_once() {
    holds_if_the_first_dies("the outbox's stream and its sweep");
}

#[test]
fn one_order_of_a_text_twice_at_once_is_one_text() {
    holds_if_the_first_dies("one order of a text twice");
}

#[test]
fn no_text_is_begun_after_a_stop_that_comes_beside_it() {
    holds_if_the_first_dies("a text and the customer's STOP");
}

// A failed invoice.

#[test]
fn an_invoice_that_its_customer_pays_beside_our_charge_is_taken_once() {
    holds_if_the_first_dies("a charge and the customer's own payment");
}

#[test]
fn an_invoice_that_its_customer_has_paid_is_not_charged_while_we_hear_of_it() {
    holds_if_the_first_dies("a charge and the event that the customer has paid");
}

#[test]
fn a_schedule_that_fires_twice_at_once_charges_once() {
    holds_if_the_first_dies("a schedule that fires twice");
}

#[test]
fn a_new_card_beside_our_charge_is_asked_at_most_once() {
    holds_if_the_first_dies("a charge and the event of a new card");
}

#[test]
fn one_order_to_plan_twice_at_once_is_one_plan() {
    holds_if_the_first_dies("one order to plan twice");
}

#[test]
fn one_failure_that_is_reported_twice_at_once_is_one_plan() {
    holds_if_the_first_dies("one failure that is reported twice");
}

#[test]
fn an_operators_word_beside_a_payment_is_heard_as_the_payment_is() {
    holds("an operator's word and the event of a payment");
}

#[test]
fn the_page_of_another_card_opens_beside_a_payment() {
    holds("the page of another card and the event of a payment");
}

// The walks themselves.

#[test]
fn every_race_is_walked_here() {
    let tests = include_str!("races.rs");
    for race in races() {
        assert!(
            tests.contains(&format!("(\"{}\")", race.name)),
            "{}",
            race.name
        );
    }
}

#[test]
fn orders_that_are_left_out_end_as_those_that_are_tried() {
    let nowhere = BTreeSet::new();
    for name in [
        "a cancellation by the business and the payment",
        "two payments of one booking",
        "the closing of a page and the payment on it",
    ] {
        let effort = Effort {
            is_reduced: false,
            ..Effort::WHOLE
        };
        let (all, some) = (
            explored(name, effort, &nowhere),
            explored(name, Effort::WHOLE, &nowhere),
        );
        assert!(
            all.broken.is_none() && all.is_whole,
            "{name}: {:?}",
            all.broken
        );
        assert!(all.orders > some.orders, "{name}");
        assert!(all.endings.keys().eq(some.endings.keys()), "{name}");
    }
}

#[test]
fn a_walk_that_has_more_orders_than_it_may_try_says_so() {
    let effort = Effort {
        orders_max: 2,
        ..Effort::WHOLE
    };
    let explored = explored(
        "a cancellation by the business and the payment",
        effort,
        &BTreeSet::new(),
    );
    assert_eq!((explored.orders, explored.is_whole), (2, false));
}

#[test]
fn a_change_that_does_not_ask_what_the_row_is_by_now_is_found() {
    finds(
        Defect::LastWriteWins,
        "a cancellation by the business and the payment",
        &[],
    );
    finds(Defect::LastWriteWins, "a schedule that fires twice", &[]);
}

#[test]
fn slots_that_are_freed_before_anybody_asked_are_found() {
    let race = "a payment on a page of its own and the sweep after its deadline";
    finds(Defect::FreesUnasked, race, &[]);
}

#[test]
fn a_page_that_is_left_open_is_found() {
    finds(
        Defect::PageLeftOpen,
        "a payment on its page and the sweep after its deadline",
        &[],
    );
}

#[test]
fn late_money_that_is_dropped_is_found() {
    let race = "a payment after the deadline, and somebody else for the slot";
    finds(Defect::LatePaymentDropped, race, &[]);
}

#[test]
fn a_second_payment_that_is_kept_is_found() {
    finds(
        Defect::SecondPaymentKept,
        "two payments of one booking",
        &[],
    );
}

#[test]
fn a_form_that_books_twice_is_found() {
    finds(
        Defect::RepeatBooksTwice,
        "one form twice under one key",
        &[],
    );
}

#[test]
fn a_refund_with_a_key_per_try_is_found() {
    finds(Defect::RefundKeyPerTry, "one order of a refund twice", &[]);
}

#[test]
fn a_refund_that_does_not_look_at_what_is_left_is_found() {
    finds(
        Defect::RefundRoomUnread,
        "a refund that is made and one by hand at the provider",
        &[],
    );
}

#[test]
fn a_refund_that_is_asked_for_again_without_a_look_is_found_when_the_cashier_dies() {
    finds(
        Defect::RefundResentUnlooked,
        "a refund in part and the provider that forgets its key",
        &[1, 2, 3, 4, 5, 6],
    );
}

#[test]
fn a_text_that_is_claimed_after_it_was_sent_is_found() {
    finds(Defect::ClaimedAfterSend, "one order of a text twice", &[]);
}

#[test]
fn a_stop_that_is_asked_for_too_early_is_found() {
    finds(
        Defect::OptoutCheckedEarly,
        "a text and the customer's STOP",
        &[],
    );
}

#[test]
fn an_event_that_is_noted_before_its_work_is_found_when_the_handler_dies() {
    finds(
        Defect::EventBeforeWork,
        "a payment on its page and the sweep after its deadline",
        &[1, 2, 3, 4],
    );
}

#[test]
fn an_order_that_is_marked_before_it_is_sent_is_found_when_the_relay_dies() {
    finds(
        Defect::MarkedBeforeSent,
        "the outbox's stream and its sweep",
        &[1, 2],
    );
}

#[test]
fn a_page_with_a_key_per_try_is_found() {
    finds(
        Defect::SessionKeyPerTry,
        "the button of a payment page twice",
        &[],
    );
}
