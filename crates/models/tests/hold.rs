//! A slot, its booking and their money: what the rules promise, and what each flaw breaks.

use models::hold::{self, Flaw, Hold};
use models::{breaks, circle};
use stateright::{Checker, Model};

fn built_with(flaw: Flaw) -> Hold {
    Hold { flaw, faults: 1 }
}

#[test]
fn every_order_of_events_leaves_slot_and_money_where_they_belong() {
    let with_two_faults = Hold {
        faults: 2,
        ..built_with(Flaw::None)
    };
    let checked = with_two_faults.checker().spawn_bfs().join();
    checked.assert_properties();
    assert!(checked.unique_state_count() > 300_000, "the world is small");
}

#[test]
fn every_run_ends() {
    assert_eq!(circle(&built_with(Flaw::None)), None);
}

/// Each flaw with the promise that it breaks.
const BROKEN: [(Flaw, &str); 13] = [
    (Flaw::HoldUnconditional, hold::LIVE_BOOKING_HOLDS),
    (Flaw::EventRecordedFirst, hold::MONEY_IS_ACCOUNTED_FOR),
    (Flaw::ConfirmUnconditional, hold::ONE_DEPOSIT),
    (Flaw::AwaitedFundsForgotten, hold::MONEY_IS_ACCOUNTED_FOR),
    (Flaw::SecondPaymentKept, hold::ONE_DEPOSIT),
    (Flaw::HeldAgainUnasked, hold::LIVE_BOOKING_HOLDS),
    (Flaw::SweepAbsent, hold::NOTHING_UNPAID_IS_HELD),
    (Flaw::ReleaseUnconditional, hold::PAID_STAYS_CONFIRMED),
    (Flaw::SlotFreedApart, hold::LIVE_BOOKING_HOLDS),
    (Flaw::PageLeftOpen, hold::NO_PAGE_BEHIND_A_SALE),
    (Flaw::PaidPageTakenForClosed, hold::MONEY_IS_ACCOUNTED_FOR),
    (Flaw::RefundKeyFresh, hold::GIVEN_BACK_ONCE),
    (Flaw::RefundNotLookedUp, hold::GIVEN_BACK_ONCE),
];

#[test]
fn each_flaw_breaks_the_promise_that_it_stands_for() {
    for (flaw, promise) in BROKEN {
        assert!(breaks(built_with(flaw), promise), "{flaw:?}: {promise}");
    }
}
