//! What the daily sweep finds.

use local_cloud::FaultKind;
use serde_json::json;

use crate::dunning_retry::support::{PAY, Story};

async fn sweep(story: &Story) -> serde_json::Value {
    let swept = story.town.fleet.cloud.invoke("dunr-sweep", json!({})).await;
    let swept = swept.unwrap();
    story.town.settle().await;
    swept
}

#[tokio::test]
async fn b54_a_schedule_that_never_fired_is_made_again() {
    let story = Story::once().await;
    story.fault("GetItem", FaultKind::CrashBefore, 60);
    story.town.advance_to("2026-12-01T12:00:00Z").await;
    story.town.fleet.cloud.faults().clear();
    assert_eq!((story.town.schedules(), story.charges()), (vec![], (0, 1)));
    assert_eq!(sweep(&story).await["looked_at"], 1);
    assert!(story.due() > story.town.now());
    story.fires().await;
    assert_eq!(story.charges(), (1, 1));
}

#[tokio::test]
async fn a_claim_that_nobody_came_back_to_is_looked_for() {
    let story = Story::once().await;
    // The run and both of Lambda's tries die with the money taken.
    story.fault(PAY, FaultKind::CrashAfter, 3);
    story.fires().await;
    story.town.advance_to("2026-12-01T12:00:00Z").await;
    assert_eq!(story.row()["attempt"]["n"], 1);
    sweep(&story).await;
    assert_eq!(story.town.counted("dunr-sweep", "unanswered_attempts"), 1);
    assert_eq!(story.plan()["purpose"], "look");
    story.fires().await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_us"))
    );
}

#[tokio::test]
async fn a_sweep_with_nothing_to_do_says_how_long_the_bank_holidays_are_known() {
    let story = Story::once().await;
    assert_eq!(
        sweep(&story).await,
        json!({"looked_at": 0, "failed": 0, "more": false})
    );
    let days = story.town.counted("dunr-sweep", "holiday_data_days_left");
    assert!(days > 365, "{days}");
    assert_eq!(story.town.counted("dunr-sweep", "sweep_failures"), 0);
}
