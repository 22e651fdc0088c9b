//! Answers that did not come, and runs that died.

use chrono::Duration;
use local_cloud::FaultKind;
use serde_json::json;

use crate::dunning_retry::support::{PAY, Story};

const WRITE: &str = "TransactWriteItems";

/// Looks again, as often as the policy says.
async fn looks(story: &Story, times: usize) {
    for _ in 0..times {
        assert_eq!(story.plan()["purpose"], "look");
        story.fires().await;
    }
}

#[tokio::test]
async fn a_retry_that_works_recovers_the_subscription_and_orders_one_receipt() {
    let story = Story::once().await;
    story.town.forget_calls();
    story.fires().await;
    let row = story.row();
    assert_eq!(row["status"], "recovered");
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.mails(), ["failed", "receipt"]);
    assert_eq!(story.counted("charges_captured"), 1);
    assert_eq!(story.town.schedules(), []);
}

#[tokio::test]
async fn a_retry_costs_three_calls_of_tables_and_five_of_the_provider() {
    let story = Story::once().await;
    story.town.forget_calls();
    story.fires().await;
    let mut calls = story.town.calls("dunr-retrier");
    calls.sort();
    let own = |call: &&String| !call.contains("/v1/");
    let own: Vec<_> = calls.iter().filter(own).collect();
    // The secret was last read a day ago; within five minutes it is not read at all.
    let cold = ["GetSecretValue", "GetSecretValue"];
    let (tables, secrets): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|call| *call != "GetSecretValue");
    assert_eq!(
        tables,
        ["GetItem", "TransactWriteItems", "TransactWriteItems"]
    );
    assert_eq!(secrets, cold);
    let asked = calls.iter().filter(|call| call.contains("/v1/"));
    let asked: Vec<&str> = asked
        .map(|call| {
            call.split(['?', ' '])
                .nth(1)
                .unwrap()
                .split('/')
                .nth(2)
                .unwrap()
        })
        .collect();
    assert_eq!(
        asked,
        [
            "charges",
            "invoices",
            "payment_methods",
            "subscriptions",
            "invoices"
        ]
    );
}

#[tokio::test]
async fn bug_d14_a_charge_that_never_arrived_is_asked_for_again_under_its_key() {
    let story = Story::once().await;
    story.fault(PAY, FaultKind::NotSent, 3);
    story.fires().await;
    let attempt = story.row()["attempt"].clone();
    assert_eq!(attempt["key"], format!("dunr-{}-a1", story.invoice));
    assert_eq!(
        (story.charges(), story.counted("charge_unanswered")),
        ((0, 1), 1)
    );
    looks(&story, 1).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.row()["attempt_no"], 1);
}

#[tokio::test]
async fn bug_d14_a_charge_whose_answer_was_lost_is_not_made_again() {
    let story = Story::once().await;
    story.fault(PAY, FaultKind::AnswerLost, 3);
    story.fires().await;
    assert_eq!(story.counted("charge_unanswered"), 1);
    assert_eq!(story.row()["attempt"]["n"], 1);
    looks(&story, 1).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.row()["attempt_no"], 1);
}

#[tokio::test]
async fn bug_d14_a_charge_that_is_made_ten_minutes_later_is_found() {
    let story = Story::once().await;
    story.next_pay("hold");
    story.fires().await;
    assert_eq!(story.row()["attempt"]["looks"], 1);
    story.town.advance(Duration::minutes(10)).await;
    story.town.control("next-pay/release", &json!({}));
    story.town.settle().await;
    assert_eq!(story.row()["status"], "recovered", "its event came first");
    looks(&story, 1).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(
        story.mails(),
        ["failed", "receipt"],
        "one receipt for one payment"
    );
}

#[tokio::test]
async fn a_failure_that_the_provider_stored_ends_in_a_lookup_and_another_key_a_day_later() {
    let story = Story::once().await;
    story.next_pay("500");
    story.fires().await;
    looks(&story, 2).await;
    let row = story.row();
    assert_eq!((row["attempt"].is_null(), story.charges()), (true, (0, 1)));
    assert_eq!(row["plan"]["purpose"], "charge");
    story.fires().await;
    assert_eq!(
        (story.charges(), story.row()["attempt_no"].as_u64()),
        ((1, 1), Some(2))
    );
}

#[tokio::test]
async fn a_stored_failure_of_a_charge_that_was_made_is_found_paid() {
    let story = Story::once().await;
    story.next_pay("500_after_paying");
    story.fires().await;
    looks(&story, 2).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.mails(), ["failed", "receipt"]);
}

#[tokio::test]
async fn bug_d12_a_key_of_yesterday_is_not_sent_again() {
    let story = Story::once().await;
    story.fault(PAY, FaultKind::AnswerLost, 3);
    story.fires().await;
    // Nothing that looks gets through for a day.
    story.fault("GetItem", FaultKind::CrashBefore, 60);
    story.town.advance(Duration::hours(26)).await;
    story.town.fleet.cloud.faults().clear();
    story.town.forget_calls();
    assert!(story.fire(story.plan_no()).await.is_ok());
    let calls = story.town.calls("dunr-retrier");
    assert!(
        !calls.iter().any(|call| call.ends_with("/pay")),
        "{calls:?}"
    );
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
}

#[tokio::test]
async fn bug_d13_a_run_that_dies_between_its_claim_and_its_outcome_is_taken_over_under_its_key() {
    for fault in [FaultKind::CrashBefore, FaultKind::CrashAfter] {
        let story = Story::once().await;
        story.fault(PAY, fault, 1);
        story.fires().await;
        assert_eq!(story.row()["attempt"]["n"], 1, "{fault:?}");
        // Lambda tries again after a minute or two, once the lease is over.
        story.town.advance(Duration::minutes(5)).await;
        assert_eq!(
            (story.charges(), story.ended()),
            ((1, 1), json!("paid_by_us"))
        );
        assert_eq!(story.row()["attempt_no"], 1);
    }
}

#[tokio::test]
async fn an_outcome_that_could_not_be_written_is_asked_for_again_under_the_same_key() {
    let story = Story::once().await;
    let lost = local_cloud::FaultRule::once("dunr-retrier", WRITE, FaultKind::NotSent);
    story.town.fleet.cloud.faults().add(lost.nth(2).times(12));
    story.fires().await;
    story.town.fleet.cloud.faults().clear();
    assert_eq!(story.charges(), (1, 1));
    story.town.advance(Duration::minutes(5)).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.mails(), ["failed", "receipt"]);
}

#[tokio::test]
async fn bug_g02_a_write_whose_answer_was_lost_is_known_as_its_own() {
    for nth in [1, 2] {
        let story = Story::once().await;
        let lost = local_cloud::FaultRule::once("dunr-retrier", WRITE, FaultKind::AnswerLost);
        story.town.fleet.cloud.faults().add(lost.nth(nth));
        story.fires().await;
        assert_eq!(
            (story.charges(), story.ended()),
            ((1, 1), json!("paid_by_us")),
            "{nth}"
        );
        assert_eq!(story.counted("charges_captured"), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_not_charged_and_lambda_tries_again() {
    let story = Story::once().await;
    story.fault("GET /v1/charges*", FaultKind::NotSent, 3);
    story.fires().await;
    assert_eq!(
        (story.charges(), story.row()["attempt"].is_null()),
        ((0, 1), true)
    );
    assert_eq!(story.counted("retrier_failures"), 1);
    story.town.advance(Duration::minutes(2)).await;
    assert_eq!(story.charges(), (1, 1));
}
