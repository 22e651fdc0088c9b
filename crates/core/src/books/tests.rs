use std::collections::BTreeMap;

use chrono::{TimeDelta, TimeZone};

use super::*;
use crate::booking::{CancelledBy, State};
use crate::dispute::DisputeStatus;
use crate::refund::RefundStatus;

mod lives;
mod world;

use world::{World, gbp};

/// The balance of each account that has one: debits above zero.
fn balances(world: &World) -> BTreeMap<&'static str, i64> {
    let mut balances = BTreeMap::new();
    for entry in world.journal() {
        assert!(entry.is_balanced(), "{entry:?}");
        for line in &entry.lines {
            *balances.entry(line.account.as_str()).or_default() += line.signed();
        }
    }
    balances.retain(|_, sum| *sum != 0);
    balances
}

fn told(world: &World) -> Vec<&'static str> {
    let journal = world.journal().into_iter();
    journal.map(|entry| entry.what.as_str()).collect()
}

#[test]
fn a_deposit_is_owed_until_the_visit_and_then_earned() {
    let mut world = World::new();
    world.pay(2000);
    assert_eq!(
        balances(&world),
        BTreeMap::from([("deposit_liability", -2000), ("provider_clearing", 2000)])
    );
    world.visit(true);
    assert_eq!(
        balances(&world),
        BTreeMap::from([("provider_clearing", 2000), ("revenue_applied", -2000)])
    );
    assert_eq!(
        told(&world),
        ["payment_received", "deposit_taken", "deposit_applied"]
    );
}

#[test]
fn parts_stand_apart_until_the_rest_comes_or_they_go_back() {
    let mut world = World::new();
    world.pay(500);
    let apart = [("provider_clearing", 500), ("unallocated_payments", -500)];
    assert_eq!(balances(&world), apart.into());
    let mut paid = world.clone();
    paid.pay(1500);
    let owed = [("deposit_liability", -2000), ("provider_clearing", 2000)];
    assert_eq!(balances(&paid), owed.into());
    world.release();
    world.give_back(RefundStatus::Succeeded);
    assert_eq!(balances(&world), BTreeMap::new());
}

#[test]
fn what_is_over_the_deposit_is_never_part_of_it() {
    let mut world = World::new();
    world.pay(2500);
    let before = [
        ("deposit_liability", -2000),
        ("provider_clearing", 2500),
        ("unallocated_payments", -500),
    ];
    assert_eq!(balances(&world), before.into());
    world.give_back(RefundStatus::Succeeded);
    let after = [("deposit_liability", -2000), ("provider_clearing", 2000)];
    assert_eq!(balances(&world), after.into());
}

#[test]
fn a_second_and_a_late_payment_stand_apart_until_they_are_back() {
    let mut world = World::new();
    world.pay(2000);
    world.pay(2000);
    let held = [
        ("deposit_liability", -2000),
        ("provider_clearing", 4000),
        ("unallocated_payments", -2000),
    ];
    assert_eq!(balances(&world), held.into());
    let mut world = World::new();
    world.release();
    world.pay(2000);
    world.give_back(RefundStatus::Pending);
    assert_eq!(world.booking.state, State::Released);
    assert_eq!(
        balances(&world),
        BTreeMap::new(),
        "pending is on its way out"
    );
}

#[test]
fn a_cancellation_earns_what_the_policy_keeps_and_owes_the_rest() {
    let mut world = World::new();
    world.booking.policy.free_cancellation = 100_000;
    world.booking.policy.partial_cancellation = Some(crate::venue::PartialCancellation {
        until: 0,
        percent: 25,
    });
    world.pay(2000);
    world.cancel(CancelledBy::Customer);
    let due = [
        ("cancellation_revenue", -1500),
        ("provider_clearing", 2000),
        ("unallocated_payments", -500),
    ];
    assert_eq!(balances(&world), due.into());
    world.give_back(RefundStatus::Succeeded);
    let done = [("cancellation_revenue", -1500), ("provider_clearing", 1500)];
    assert_eq!(balances(&world), done.into());
}

#[test]
fn a_refund_comes_out_of_where_the_money_stood_and_one_that_fails_is_owed() {
    let mut world = World::new();
    world.pay(2000);
    world.refund(600);
    world.give_back(RefundStatus::Succeeded);
    world.visit(false);
    let forfeited = [("provider_clearing", 1400), ("revenue_forfeited", -1400)];
    assert_eq!(balances(&world), forfeited.into());
    world.refund(400);
    world.give_back(RefundStatus::Succeeded);
    world.fail_last_refund();
    let owed = [
        ("provider_clearing", 1400),
        ("revenue_forfeited", -1000),
        ("unallocated_payments", -400),
    ];
    assert_eq!(balances(&world), owed.into());
    // A person pays it by hand at the provider.
    world.refund_by_hand(400);
    let paid = [("provider_clearing", 1000), ("revenue_forfeited", -1000)];
    assert_eq!(balances(&world), paid.into());
}

#[test]
fn a_forfeit_that_was_taken_back_goes_back_or_is_a_credit() {
    for (refund, end) in [
        (true, BTreeMap::new()),
        (
            false,
            [("customer_credits", -2000), ("provider_clearing", 2000)].into(),
        ),
    ] {
        let mut world = World::new();
        world.pay(2000);
        world.visit(false);
        world.reverse(refund);
        world.give_back(RefundStatus::Succeeded);
        assert_eq!(balances(&world), end);
    }
}

#[test]
fn a_dispute_moves_the_money_out_and_ends_a_debt_or_is_a_loss() {
    let mut world = World::new();
    world.pay(2000);
    world.dispute(DisputeStatus::NeedsResponse);
    let open = [
        ("deposit_liability", -2000),
        ("disputed_funds", 2000),
        ("provider_clearing", -1500),
        ("provider_fees", 1500),
    ];
    assert_eq!(balances(&world), open.into());
    let mut won = world.clone();
    won.dispute(DisputeStatus::Won);
    let back = [
        ("deposit_liability", -2000),
        ("provider_clearing", 500),
        ("provider_fees", 1500),
    ];
    assert_eq!(balances(&won), back.into());
    world.dispute(DisputeStatus::Lost);
    let gone = [("provider_clearing", -1500), ("provider_fees", 1500)];
    assert_eq!(
        balances(&world),
        gone.into(),
        "the bank has paid the customer"
    );

    let mut world = World::new();
    world.pay(2000);
    world.visit(false);
    world.dispute(DisputeStatus::Lost);
    let loss = [
        ("dispute_losses", 2000),
        ("provider_clearing", -1500),
        ("provider_fees", 1500),
        ("revenue_forfeited", -2000),
    ];
    assert_eq!(balances(&world), loss.into());
}

#[test]
fn a_waived_deposit_counts_what_came_of_it() {
    let mut world = World::new();
    world.waive();
    assert!(world.journal().is_empty());
    let mut world = World::new();
    world.pay(700);
    world.waive();
    world.visit(true);
    let applied = [("provider_clearing", 700), ("revenue_applied", -700)];
    assert_eq!(balances(&world), applied.into());
}

#[test]
fn two_clocks_that_differ_keep_the_order_of_what_happened() {
    let mut world = World::new();
    world.pay(2000);
    world.payments[0].paid_at = Some(world.now + TimeDelta::hours(5));
    world.refund(2000);
    world.give_back(RefundStatus::Succeeded);
    let told = told(&world);
    assert_eq!(told[0], "payment_received");
    assert_eq!(balances(&world), BTreeMap::new());
    let sorted = world.journal();
    assert!(sorted.is_sorted_by_key(|entry| entry.at));
    assert_eq!(
        sorted[0].at,
        chrono::Utc.from_utc_datetime(&sorted[0].at.naive_utc())
    );
}

#[test]
fn money_of_which_nothing_is_known_is_in_no_entry() {
    let row = PaymentRow::unclaimed("pi_1", chrono::DateTime::UNIX_EPOCH);
    assert!(entries(&row, None).is_empty());
    let row = PaymentRow::collected("pi_1", "bkg_1", None, chrono::DateTime::UNIX_EPOCH);
    assert!(entries(&row, None).is_empty());
    // Of a booking that is not ours it is, and stands apart.
    let row = PaymentRow::collected(
        "pi_1",
        "bkg_1",
        Some(gbp(100)),
        chrono::DateTime::UNIX_EPOCH,
    );
    assert_eq!(entries(&row, None).len(), 1);
}
