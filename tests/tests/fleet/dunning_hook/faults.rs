//! Calls that go wrong.

use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::dunning_hook::support::{Hook, SCHEDULER, WEBHOOK};

/// As often as the SDK and our own retries ask in one invocation.
const ALL_TRIES: u32 = 12;

fn strike(hook: &Hook, function: &str, operation: &str, fault: FaultKind, times: u32) {
    let rule = FaultRule::once(function, operation, fault).times(times);
    hook.cloud.faults().set(vec![rule]);
}

#[tokio::test]
async fn whatever_happens_to_its_write_a_failure_is_taken_once_in_the_end() {
    for fault in FaultKind::ALL {
        for times in [1, ALL_TRIES] {
            let hook = Hook::new();
            let event = hook.failed("evt_1");
            strike(&hook, WEBHOOK, "TransactWriteItems", fault, times);
            let first = hook.post(&event).await.status;
            assert!(first == 200 || first >= 500, "{fault:?} {first}");
            hook.cloud.faults().clear();
            hook.take(&event).await;
            hook.settle().await;
            assert_eq!(
                hook.story(),
                ["charge_failed", "retry_planned"],
                "{fault:?} {times}"
            );
            assert_eq!(hook.orders("dunning.plan"), 1);
            assert_eq!(hook.schedules().await.len(), 1);
        }
    }
}

#[tokio::test]
async fn bug_g03_contention_is_a_5xx_and_never_an_answer() {
    let hook = Hook::new();
    strike(
        &hook,
        WEBHOOK,
        "TransactWriteItems",
        FaultKind::Conflict,
        ALL_TRIES,
    );
    let answer = hook.post(&hook.failed("evt_1")).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    assert!(
        hook.rows("dunr-dedupe").is_empty(),
        "it will be taken when it comes again"
    );
}

#[tokio::test]
async fn a_note_whose_answer_was_lost_is_there_once() {
    for times in [1, ALL_TRIES] {
        let hook = Hook::new();
        let event = hook.paid("evt_1");
        strike(
            &hook,
            WEBHOOK,
            "TransactWriteItems",
            FaultKind::AnswerLost,
            times,
        );
        let _ = hook.post(&event).await;
        hook.cloud.faults().clear();
        hook.take(&event).await;
        assert_eq!(hook.rows("dunr-dedupe").len(), 2);
        assert_eq!(hook.outcome("evt_1"), "noted");
    }
}

#[tokio::test]
async fn whatever_happens_to_a_call_of_the_scheduler_a_plan_has_one_schedule_in_the_end() {
    for operation in ["GetItem", "TransactWriteItems", "CreateSchedule"] {
        for fault in FaultKind::ALL {
            for times in [1, ALL_TRIES] {
                let hook = Hook::new();
                strike(&hook, SCHEDULER, operation, fault, times);
                hook.take(&hook.failed("evt_1")).await;
                hook.settle().await;
                hook.cloud.faults().clear();
                hook.advance(chrono::Duration::minutes(10)).await;
                let case = format!("{operation} {fault:?} {times}");
                let schedules = hook.schedules().await;
                assert_eq!(schedules.len(), 1, "{case}");
                assert_eq!(
                    schedules[0].2,
                    json!({"subscription_id": "sub_1", "n": 1}),
                    "{case}"
                );
                assert_eq!(hook.story(), ["charge_failed", "retry_planned"], "{case}");
                assert_eq!(hook.cloud.queues()["dunr-events-dlq"], json!([]), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn whatever_happens_to_a_delete_the_schedule_is_gone_in_the_end() {
    for fault in FaultKind::ALL {
        let hook = Hook::new();
        hook.take(&hook.failed("evt_1")).await;
        hook.settle().await;
        strike(&hook, SCHEDULER, "DeleteSchedule", fault, 3);
        hook.take(&hook.paid("evt_2")).await;
        hook.settle().await;
        hook.cloud.faults().clear();
        hook.advance(chrono::Duration::minutes(10)).await;
        assert_eq!(hook.schedules().await, [], "{fault:?}");
    }
}
