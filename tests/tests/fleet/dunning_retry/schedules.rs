//! Schedules that fire twice, early, late, after the fact or never.

use chrono::Duration;
use local_cloud::FaultKind;
use serde_json::json;

use crate::dunning_retry::support::{PAY, Story};

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_twice_at_once_charges_once() {
    let story = Story::once().await;
    story.wait_for_the_moment().await;
    let n = story.plan_no();
    let (one, other) = tokio::join!(story.fire(n), story.fire(n));
    let mut did = [one.unwrap(), other.unwrap()];
    did.sort();
    assert_eq!(did, ["captured", "in_flight"], "neither is a failure");
    assert_eq!(
        (story.charges(), story.row()["attempt_no"].as_u64()),
        ((1, 1), Some(1))
    );
    // And once more, by the schedule itself.
    story.town.advance(Duration::minutes(5)).await;
    assert_eq!(story.charges(), (1, 1));
    assert_eq!(story.idle_firings(), ["in_flight", "stale"]);
    assert_eq!(
        (
            story.counted("stale_schedules"),
            story.counted("retrier_failures")
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_early_or_after_its_plan_was_replaced_changes_nothing() {
    let story = Story::once().await;
    let before = story.row();
    for n in [1, story.plan_no(), 99] {
        assert_eq!(story.fire(n).await.unwrap(), "nothing");
    }
    assert_eq!((story.row(), story.charges()), (before, (0, 1)));
    assert_eq!(story.idle_firings(), ["early", "stale", "stale"]);
}

#[tokio::test]
async fn bug_g01_a_schedule_that_fires_again_beside_a_run_that_died_leaves_it_to_the_next_try_of_that()
 {
    let story = Story::once().await;
    let n = story.plan_no();
    story.fault(PAY, FaultKind::CrashBefore, 1);
    story.fires().await;
    assert_eq!(story.fire(n).await.unwrap(), "in_flight");
    assert_eq!(story.charges(), (0, 1));
    // Lambda waits a minute, by which time the lease is over.
    story.town.advance(Duration::minutes(1)).await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
    assert_eq!(story.row()["attempt_no"], 1);
}

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_after_success_changes_nothing() {
    let story = Story::once().await;
    let n = story.plan_no();
    story.fires().await;
    let before = story.row();
    assert_eq!(story.fire(n).await.unwrap(), "nothing");
    assert_eq!((story.row(), story.charges()), (before, (1, 1)));
    assert_eq!(story.idle_firings(), ["stale"]);
}

#[tokio::test]
async fn b54_a_schedule_that_fires_hours_late_gets_another_business_day() {
    let story = Story::once().await;
    story.fault("GetItem", FaultKind::CrashBefore, 60);
    story.town.advance_to("2026-12-01T22:00:00Z").await;
    story.town.fleet.cloud.faults().clear();
    assert_eq!(story.fire(story.plan_no()).await.unwrap(), "retry_skipped");
    story.town.settle().await;
    assert_eq!(story.charges(), (0, 1));
    assert_eq!(story.due().to_rfc3339(), "2026-12-02T10:00:00+00:00");
    story.fires().await;
    assert_eq!(story.charges(), (1, 1));
}

#[tokio::test]
async fn a_subscription_that_is_not_known_is_no_failure() {
    let story = Story::once().await;
    let event = json!({"subscription_id": "sub_nobody", "n": 1});
    let answer = story.town.fleet.cloud.invoke("dunr-retrier", event).await;
    assert_eq!(answer.unwrap(), json!({"did": "unknown"}));
}
