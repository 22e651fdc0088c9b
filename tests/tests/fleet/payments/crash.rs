//! Every call of the webhook goes wrong in every way, and the provider sends again.

use fleet_tests::{Booked, Town, deposit_paid};
use local_cloud::{FaultKind, FaultRule};
use serde_json::Value;

use crate::payments::support::{
    ALL_TRIES, WEBHOOK, assert_confirmed_once, assert_refunded_once, case, confirmations,
    hasty_town, ledger, let_the_grace_pass, numbered, redeliver, runs_of, times,
};

async fn paid() -> (Town, Booked, Value) {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    (town, booked, event)
}

/// The calls of a cold webhook in a run without faults.
async fn plan() -> Vec<(String, u32)> {
    let (town, booked, event) = paid().await;
    assert_eq!(town.webhook(&event).await.status, 200);
    let calls = numbered(&town.calls(WEBHOOK));
    town.settle().await;
    assert_confirmed_once(&town, &booked);
    let operations: Vec<&str> = calls
        .iter()
        .map(|(operation, _)| operation.as_str())
        .collect();
    let expected = [
        "GetSecretValue",
        "GetSecretValue",
        "GetItem",
        "TransactWriteItems",
    ];
    assert_eq!(operations, expected);
    calls
}

async fn assert_converges(town: &Town, booked: &Booked, event: &Value, what: &str) {
    redeliver(town, event).await;
    town.fleet.cloud.faults().clear();
    town.settle().await;
    assert_eq!(town.state(booked), "CONFIRMED", "{what}");
    assert_eq!(confirmations(town), 1, "{what}");
    assert_eq!(times(&town.history(booked), "deposit paid"), 1, "{what}");
    let expected = [("evt_1".to_owned(), "confirmed".to_owned())];
    assert_eq!(ledger(town), expected, "{what}");
    assert_confirmed_once(town, booked);
}

#[tokio::test]
async fn a_fault_at_any_call_ends_in_one_confirmation_once_the_event_comes_again() {
    for (operation, nth) in plan().await {
        for fault in FaultKind::ALL {
            for &times in runs_of(fault) {
                let (town, booked, event) = paid().await;
                let rule = FaultRule::once(WEBHOOK, &operation, fault)
                    .nth(nth)
                    .times(times);
                town.fleet.cloud.faults().add(rule);
                let what = format!("{operation} {nth} {fault:?} x{times}");
                assert_converges(&town, &booked, &event, &what).await;
            }
        }
    }
}

#[tokio::test]
async fn bug_g02_a_write_whose_answer_was_lost_is_known_as_our_own() {
    for (fault, tries) in [(FaultKind::AnswerLost, 1), (FaultKind::AnswerLost, 2)] {
        let (town, booked, event) = paid().await;
        let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault).times(tries);
        town.fleet.cloud.faults().add(rule);
        assert_eq!(
            town.webhook(&event).await.status,
            200,
            "the first delivery is enough"
        );
        town.settle().await;
        assert_confirmed_once(&town, &booked);
        assert_eq!(ledger(&town).len(), 1);
    }
}

#[tokio::test]
async fn bug_g03_contention_is_retried_and_never_an_answer() {
    for fault in [FaultKind::Conflict, FaultKind::Throttled] {
        let (town, booked, event) = paid().await;
        let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault).times(2);
        town.fleet.cloud.faults().add(rule);
        assert_eq!(town.webhook(&event).await.status, 200, "{fault:?} passes");
        town.settle().await;
        assert_confirmed_once(&town, &booked);

        let (town, booked, event) = paid().await;
        let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault).times(99);
        town.fleet.cloud.faults().add(rule);
        let answer = town.webhook(&event).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (503, "busy"),
            "{fault:?}"
        );
        assert_eq!(answer.headers["retry-after"], "5");
        let tries = times(&town.calls(WEBHOOK), "TransactWriteItems");
        assert!(tries <= 12, "bounded: {tries}");
        town.fleet.cloud.faults().clear();
        assert_converges(&town, &booked, &event, "afterwards").await;
    }
}

#[tokio::test]
async fn two_faults_in_a_row_at_the_write_end_in_one_confirmation() {
    let kinds = [
        FaultKind::AnswerLost,
        FaultKind::InternalError,
        FaultKind::CrashBefore,
        FaultKind::CrashAfter,
        FaultKind::Slow,
    ];
    for first in kinds {
        for second in kinds {
            let (town, booked, event) = paid().await;
            for fault in [first, second] {
                let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault).times(ALL_TRIES);
                town.fleet.cloud.faults().set(vec![rule]);
                town.webhook(&event).await;
            }
            town.fleet.cloud.faults().clear();
            assert_converges(&town, &booked, &event, &format!("{first:?} {second:?}")).await;
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_call_of_a_late_payment_gives_it_back_once_and_ends_in_one_case() {
    for operation in ["GetItem", "TransactWriteItems"] {
        for fault in FaultKind::ALL {
            let town = hasty_town().await;
            let booked = town.pending().await;
            let_the_grace_pass(&town, &booked).await;
            let payment = town.pay_quietly(&booked, 2000);
            let event = deposit_paid(&town, &booked, "evt_1", &payment);
            town.fleet
                .cloud
                .faults()
                .add(FaultRule::once(WEBHOOK, operation, fault));
            redeliver(&town, &event).await;
            town.settle().await;
            let case = case(&town, "late_payment");
            assert_eq!(case["entries"].as_array().unwrap().len(), 1);
            assert_eq!(town.mails().len(), 1, "{operation} {fault:?}");
            let outcome = &town.events()[0]["outcome"];
            assert_eq!(outcome, "refunded", "{operation} {fault:?}");
            assert_eq!(town.state(&booked), "RELEASED");
            assert_refunded_once(&town, &payment, 2000);
            assert_eq!(times(&town.kinds(), "late_refund"), 1);
            town.assert_money_is_accounted_for();
        }
    }
}

#[tokio::test]
async fn bug_g19_an_invocation_leaves_nothing_behind_that_runs_later() {
    let (town, booked, event) = paid().await;
    assert_eq!(town.webhook(&event).await.status, 200);
    let calls = town.calls(WEBHOOK).len();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(town.calls(WEBHOOK).len(), calls, "nothing was spawned");
    // Frozen for twenty minutes, then a second payment: the old connection breaks, the clock moved.
    town.advance(chrono::Duration::minutes(20)).await;
    let rule = FaultRule::once(WEBHOOK, "GetItem", FaultKind::NotSent);
    town.fleet.cloud.faults().add(rule);
    assert_eq!(
        town.webhook(&deposit_paid(&town, &booked, "evt_2", "pi_1"))
            .await
            .status,
        200
    );
    town.settle().await;
    assert_confirmed_once(&town, &booked);
}
