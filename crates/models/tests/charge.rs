//! An invoice and those who charge it: what the rules promise, and what each flaw breaks.

use models::charge::{self, Charge, Flaw};
use models::{breaks, circle};
use stateright::{Checker, Model};

fn built_with(flaw: Flaw) -> Charge {
    Charge { flaw, faults: 2 }
}

#[test]
fn every_order_of_events_takes_the_money_once_and_leaves_no_charge_open() {
    let checked = built_with(Flaw::None).checker().spawn_bfs().join();
    checked.assert_properties();
    assert!(checked.unique_state_count() > 200_000, "the world is small");
}

#[test]
fn every_run_ends() {
    let with_one_fault = Charge {
        faults: 1,
        ..built_with(Flaw::None)
    };
    assert_eq!(circle(&with_one_fault), None);
}

/// Each flaw with the promise that it breaks.
const BROKEN: [(Flaw, &str); 8] = [
    (Flaw::ClaimUnconditional, charge::ONE_CAPTURE),
    (Flaw::NewKeyOnRetry, charge::ONE_CAPTURE),
    (Flaw::TimeoutTakenAsDecline, charge::DECLINED_IS_TRUE),
    (Flaw::ResentPastExpiry, charge::BANK_ASKED_ONCE),
    (Flaw::StaleHolderWrites, charge::DECLINED_IS_TRUE),
    (Flaw::NotMadeAtOnce, charge::ONE_CAPTURE),
    (Flaw::NotMadeFromClaim, charge::ONE_CAPTURE),
    (Flaw::SweepAbsent, charge::NOTHING_STAYS_OPEN),
];

#[test]
fn each_flaw_breaks_the_promise_that_it_stands_for() {
    for (flaw, promise) in BROKEN {
        assert!(breaks(built_with(flaw), promise), "{flaw:?}: {promise}");
    }
}
