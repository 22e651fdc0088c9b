//! Schedules that fire twice, early, late, after the fact or never.

use chrono::Duration;
use local_cloud::FaultKind;
use serde_json::json;

use crate::support::Story;

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_twice_at_once_charges_once() {
    let story = Story::once().await;
    story.wait_for_the_moment().await;
    let n = story.plan_no();
    let (one, other) = tokio::join!(story.fire(n), story.fire(n));
    let did: Vec<_> = [one, other].into_iter().filter_map(Result::ok).collect();
    assert!(did.contains(&"captured".to_owned()), "{did:?}");
    assert_eq!(
        (story.charges(), story.row()["attempt_no"].as_u64()),
        ((1, 1), Some(1))
    );
    // And once more, by the schedule itself.
    story.town.advance(Duration::minutes(5)).await;
    assert_eq!(story.charges(), (1, 1));
    assert!(story.counted("stale_schedules") >= 1);
}

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_early_or_after_its_plan_was_replaced_changes_nothing() {
    let story = Story::once().await;
    let before = story.row();
    for n in [1, story.plan_no(), 99] {
        assert_eq!(story.fire(n).await.unwrap(), "nothing");
    }
    assert_eq!((story.row(), story.charges()), (before, (0, 1)));
}

#[tokio::test]
async fn bug_f07_a_schedule_that_fires_after_success_changes_nothing() {
    let story = Story::once().await;
    let n = story.plan_no();
    story.fires().await;
    let before = story.row();
    assert_eq!(story.fire(n).await.unwrap(), "nothing");
    assert_eq!((story.row(), story.charges()), (before, (1, 1)));
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
    assert_eq!(story.due().to_rfc3339(), "2026-12-02T09:00:00+00:00");
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
