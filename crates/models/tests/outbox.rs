//! An order on its way to the customer's phone: what the rules promise, and what each flaw breaks.

use models::outbox::{self, Flaw, Outbox};
use models::{breaks, circle};
use stateright::{Checker, Model};

fn built_with(flaw: Flaw) -> Outbox {
    Outbox { flaw, faults: 2 }
}

#[test]
fn every_order_of_events_ends_in_one_text_or_a_case() {
    let checked = built_with(Flaw::None).checker().spawn_bfs().join();
    checked.assert_properties();
    assert!(checked.unique_state_count() > 200_000, "the world is small");
}

#[test]
fn every_run_ends() {
    let with_one_fault = Outbox {
        faults: 1,
        ..built_with(Flaw::None)
    };
    assert_eq!(circle(&with_one_fault), None);
}

/// Each flaw with the promise that it breaks.
const BROKEN: [(Flaw, &str); 9] = [
    (Flaw::OutboxApart, outbox::SENT_OR_CASE),
    (Flaw::MarkedFirst, outbox::MARKED_IS_QUEUED),
    (Flaw::BatchTakenForGranted, outbox::MARKED_IS_QUEUED),
    (Flaw::SweepAbsent, outbox::SENT_OR_CASE),
    (Flaw::SentUnclaimed, outbox::ONE_TEXT),
    (Flaw::ClaimUnconditional, outbox::ONE_TEXT),
    (Flaw::UnansweredSentAgain, outbox::ONE_TEXT),
    (Flaw::UnansweredForgotten, outbox::SENT_OR_CASE),
    (Flaw::PublishRepeated, outbox::ONE_TEXT),
];

#[test]
fn each_flaw_breaks_the_promise_that_it_stands_for() {
    for (flaw, promise) in BROKEN {
        assert!(breaks(built_with(flaw), promise), "{flaw:?}: {promise}");
    }
}
