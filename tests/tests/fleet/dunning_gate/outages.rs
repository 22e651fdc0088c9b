//! An outage shuts nobody out.

use chrono::Duration;
use local_cloud::{FaultKind, FaultRule};
use serde_json::Value;

use crate::dunning_gate::support::*;

/// Faults after which the function still answers.
const SURVIVED: [FaultKind; 5] = [
    FaultKind::NotSent,
    FaultKind::AnswerLost,
    FaultKind::Throttled,
    FaultKind::Conflict,
    FaultKind::InternalError,
];

fn always(operation: &str, fault: FaultKind) -> FaultRule {
    FaultRule::once("dunr-gatekeeper", operation, fault).times(100)
}

#[tokio::test]
async fn b59_a_store_that_does_not_answer_is_granted_for_a_few_seconds_without_an_entitlement() {
    for operation in ["GetItem", "GetSecretValue"] {
        for fault in SURVIVED {
            let (town, subscriber) = town_with_paused().await;
            town.fleet.cloud.faults().add(always(operation, fault));
            let answer = town.gate(&subscriber).await;
            let body = answer.json();
            assert_eq!(answer.status, 200, "{operation} {fault:?}: {}", answer.text);
            assert_eq!(
                (&body["access"], &body["degraded"]),
                (&Value::from("granted"), &Value::from(true))
            );
            assert_eq!(body["entitlement"], Value::Null);
            assert_eq!(answer.headers["cache-control"], "private, max-age=10");
            assert!(town.counted("dunr-gatekeeper", "degraded") >= 1);
            // At most one repetition: the answer comes in time.
            let tries = town
                .calls("dunr-gatekeeper")
                .into_iter()
                .filter(|call| call == operation);
            assert!(tries.count() <= 2, "{operation} {fault:?}");
            town.fleet.cloud.faults().clear();
            assert_eq!(town.gate(&subscriber).await.json()["access"], "paused");
        }
    }
}

#[tokio::test]
async fn one_lost_answer_is_asked_for_again() {
    for fault in SURVIVED {
        let (town, subscriber) = town_with_paused().await;
        let once = FaultRule::once("dunr-gatekeeper", "GetItem", fault);
        town.fleet.cloud.faults().add(once);
        let body = town.gate(&subscriber).await.json();
        assert_ne!(body["access"], Value::Null);
        if body["degraded"] != true {
            assert_eq!(body["access"], "paused", "{fault:?}");
        }
    }
}

#[tokio::test]
async fn an_invocation_that_dies_never_says_paused() {
    for fault in [
        FaultKind::Slow,
        FaultKind::CrashBefore,
        FaultKind::CrashAfter,
    ] {
        let (town, subscriber) = town_with_paused().await;
        town.fleet.cloud.faults().add(always("GetItem", fault));
        let answer = town.gate(&subscriber).await;
        // The platform's own answer: the app goes on with its entitlement.
        assert_eq!(answer.status, 502, "{fault:?}");
        assert!(!answer.text.contains("paused"));
    }
}

#[tokio::test]
async fn known_tokens_are_believed_while_the_secret_can_not_be_read() {
    let (town, subscriber) = town_with_paused().await;
    town.gate(&subscriber).await;
    town.fleet
        .cloud
        .faults()
        .add(always("GetSecretValue", FaultKind::InternalError));
    town.advance(Duration::hours(1)).await;
    let body = town.gate(&subscriber).await.json();
    assert_eq!(
        (&body["access"], &body["degraded"]),
        (&Value::from("paused"), &Value::Null)
    );
    town.advance(Duration::hours(6)).await;
    assert_eq!(town.gate(&subscriber).await.json()["degraded"], true);
}

#[tokio::test]
async fn a_wrong_token_stays_wrong_while_the_secret_can_not_be_read() {
    let (town, subscriber) = town_with_paused().await;
    town.gate(&subscriber).await;
    town.fleet
        .cloud
        .faults()
        .add(always("GetSecretValue", FaultKind::InternalError));
    town.advance(Duration::minutes(1)).await;
    let wrong = Some("another-token-0123456789");
    let answer = ask(&town, "GET", "/subscriptions/sub_1", wrong, "").await;
    assert_eq!(answer.status, 401, "{}", answer.text);
}

#[tokio::test]
async fn an_order_waits_for_an_outage_to_end() {
    for (operation, fault) in [
        ("GetSecretValue", FaultKind::InternalError),
        ("GetItem", FaultKind::Throttled),
        ("TransactWriteItems", FaultKind::InternalError),
    ] {
        let (town, subscriber) = town_with_paused().await;
        town.fleet.cloud.faults().add(always(operation, fault));
        let answer = town.order_access(&subscriber, "restore").await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (503, "busy"),
            "{operation}"
        );
        assert_eq!(answer.headers["retry-after"], "2");
        town.fleet.cloud.faults().clear();
        assert_eq!(town.order_access(&subscriber, "restore").await.status, 200);
        assert_eq!(
            town.dunning_log(&subscriber),
            ["access_restored"],
            "{operation}"
        );
    }
}

#[tokio::test]
async fn a_secret_that_is_no_json_shuts_nobody_out_and_stays_secret() {
    let (town, subscriber) = town_with_paused().await;
    town.fleet
        .cloud
        .set_secret("dunr/gatekeeper/tokens", "not json");
    let answer = town.gate(&subscriber).await;
    assert_eq!(
        (answer.status, &answer.json()["degraded"]),
        (200, &Value::from(true))
    );
    assert!(!answer.text.contains("not json"));
}
