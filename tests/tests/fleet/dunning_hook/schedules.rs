//! Plans and their schedules.

use std::sync::Arc;

use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::dunning_hook::support::{Hook, SCHEDULER, plan_job, tidy_job};

const FIRST: &str = "dunr-retry-sub_1-1";

/// A subscription whose first plan has its schedule.
async fn planned() -> Hook {
    let hook = Hook::new();
    hook.take(&hook.failed("evt_1")).await;
    hook.settle().await;
    hook
}

/// A subscription that failed, and nobody planned.
async fn unplanned() -> Hook {
    let hook = Hook::without_scheduler();
    hook.take(&hook.failed("evt_1")).await;
    hook.settle().await;
    hook.install_scheduler();
    hook
}

#[tokio::test]
async fn a_plans_schedule_starts_the_retrier_once_in_utc_and_not_a_day_late() {
    let hook = planned().await;
    let input = json!({"subscription_id": "sub_1", "n": 1});
    let at = "at(2026-11-02T09:01:00)".to_owned();
    assert_eq!(hook.schedules().await, [(FIRST.to_owned(), at, input)]);
    let one = hook
        .scheduler()
        .get_schedule()
        .group_name("dunr")
        .name(FIRST);
    let one = one.send().await.unwrap();
    assert_eq!(one.schedule_expression_timezone(), Some("UTC"));
    assert_eq!(one.action_after_completion().unwrap().as_str(), "DELETE");
    assert_eq!(one.flexible_time_window().unwrap().mode().as_str(), "OFF");
    let target = one.target().unwrap();
    assert!(target.arn().ends_with(":dunr-retrier"));
    let retries = target.retry_policy().unwrap();
    assert_eq!(retries.maximum_event_age_in_seconds(), Some(3600));
    assert!(retries.maximum_retry_attempts().unwrap() <= 3);
    let dead_letters = target.dead_letter_config().unwrap().arn().unwrap();
    assert!(dead_letters.ends_with(":dunr-schedules-dlq"));
}

#[tokio::test]
async fn bug_d13_an_order_that_comes_five_times_makes_one_schedule() {
    let hook = unplanned().await;
    for _ in 0..5 {
        assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    }
    assert_eq!(hook.schedule_names().await, [FIRST]);
    assert_eq!(hook.sub()["plan_no"], 1);
    hook.settle().await;
    assert_eq!(hook.schedule_names().await, [FIRST]);
    assert_eq!(hook.counted(SCHEDULER, "schedule_mismatch"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_g15_orders_at_once_make_one_schedule() {
    for _ in 0..5 {
        let hook = Arc::new(unplanned().await);
        let tasks = (0..20).map(|_| {
            let hook = Arc::clone(&hook);
            tokio::spawn(async move {
                for _ in 0..20 {
                    if hook.jobs(&[plan_job()]).await.is_empty() {
                        return;
                    }
                }
                panic!("never taken");
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(hook.schedule_names().await, [FIRST]);
        assert_eq!(hook.story(), ["charge_failed", "retry_planned"]);
    }
}

#[tokio::test]
async fn bug_g15_a_schedule_that_was_made_and_not_answered_is_found() {
    let hook = unplanned().await;
    let lost = FaultRule::once(SCHEDULER, "CreateSchedule", FaultKind::AnswerLost).times(12);
    hook.cloud.faults().set(vec![lost]);
    assert_eq!(hook.jobs(&[plan_job()]).await, ["m-0"]);
    hook.cloud.faults().clear();
    let before = hook.schedules().await;
    assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    assert_eq!(hook.schedules().await, before);
    assert_eq!(hook.counted(SCHEDULER, "schedule_mismatch"), 0);
}

#[tokio::test]
async fn bug_g14_an_order_that_is_days_late_is_planned_for_a_minute_from_now() {
    let hook = Hook::without_scheduler();
    hook.take(&hook.failed("evt_1")).await;
    hook.advance(chrono::Duration::days(3)).await;
    hook.install_scheduler();
    hook.settle().await;
    assert_eq!(hook.schedules().await[0].1, "at(2026-11-05T09:01:00)");
    assert_eq!(hook.cloud.queues()["dunr-events-dlq"], json!([]));
}

#[tokio::test]
async fn bug_g14_a_plan_whose_time_has_passed_starts_a_minute_from_now() {
    let hook = unplanned().await;
    let lost = FaultRule::once(SCHEDULER, "CreateSchedule", FaultKind::NotSent).times(12);
    hook.cloud.faults().set(vec![lost]);
    assert_eq!(hook.jobs(&[plan_job()]).await, ["m-0"]);
    hook.settle().await;
    hook.cloud.faults().clear();
    assert_eq!(hook.schedules().await, []);
    hook.advance(chrono::Duration::seconds(61) + chrono::Duration::milliseconds(300))
        .await;
    assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    let schedules = hook.schedules().await;
    assert_eq!((schedules.len(), schedules[0].0.as_str()), (1, FIRST));
    assert!(
        schedules[0].1.as_str() > "at(2026-11-02T09:01:59)",
        "{schedules:?}"
    );
    // Made late, it is still the plan's own when the order comes again even later.
    hook.advance(chrono::Duration::seconds(30)).await;
    assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    assert_eq!(hook.schedules().await, schedules);
    assert_eq!(hook.counted(SCHEDULER, "schedule_mismatch"), 0);
}

#[tokio::test]
async fn another_schedule_of_the_same_name_is_made_anew_and_told() {
    let hook = unplanned().await;
    let target = Target::builder()
        .arn(arn_of(&hook))
        .role_arn(role_of(&hook))
        .input(r#"{"subscription_id":"sub_2","n":9}"#);
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
    let foreign = hook
        .scheduler()
        .create_schedule()
        .group_name("dunr")
        .name(FIRST);
    let foreign = foreign
        .schedule_expression("at(2026-12-01T00:00:00)")
        .flexible_time_window(window.build().unwrap())
        .target(target.build().unwrap());
    foreign.send().await.unwrap();
    assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    let schedules = hook.schedules().await;
    assert_eq!(schedules[0].2, json!({"subscription_id": "sub_1", "n": 1}));
    assert_eq!(schedules[0].1, "at(2026-11-02T09:01:00)");
    assert_eq!(hook.counted(SCHEDULER, "schedule_mismatch"), 1);
}

fn arn_of(hook: &Hook) -> String {
    setting(hook, "RETRIER_ARN")
}

fn role_of(hook: &Hook) -> String {
    setting(hook, "SCHEDULES_ROLE_ARN")
}

fn setting(hook: &Hook, variable: &str) -> String {
    let setup = hook.cloud.setup(SCHEDULER).unwrap();
    setup.environment.text(variable)
}

#[tokio::test]
async fn b54_a_schedule_that_is_lost_gets_a_plan_of_its_own_once_it_is_overdue() {
    let hook = planned().await;
    let lost = hook.scheduler().delete_schedule().group_name("dunr");
    lost.name(FIRST).send().await.unwrap();
    hook.advance(chrono::Duration::minutes(17)).await;
    assert_eq!(hook.jobs(&[plan_job()]).await, Vec::<String>::new());
    hook.settle().await;
    assert_eq!(hook.schedule_names().await, ["dunr-retry-sub_1-2"]);
}

#[tokio::test]
async fn the_schedule_of_the_plan_that_stands_is_never_tidied_away() {
    let hook = planned().await;
    let job = tidy_job(&["dunr-retry-sub_1-0", FIRST]);
    assert_eq!(hook.jobs(&[job]).await, Vec::<String>::new());
    assert_eq!(hook.schedule_names().await, [FIRST]);
    hook.take(&hook.paid("evt_2")).await;
    hook.settle().await;
    assert_eq!(hook.schedules().await, []);
    assert_eq!(
        hook.jobs(&[tidy_job(&[FIRST])]).await,
        Vec::<String>::new(),
        "gone is as good"
    );
}

#[tokio::test]
async fn an_order_to_plan_what_has_ended_or_is_not_there_does_nothing() {
    let hook = planned().await;
    hook.take(&hook.paid("evt_2")).await;
    hook.settle().await;
    let nobody = json!({"order": "plan", "subscription_id": "sub_none"});
    assert_eq!(hook.jobs(&[plan_job(), nobody]).await, Vec::<String>::new());
    assert_eq!(hook.schedules().await, []);
}

#[tokio::test]
async fn bug_g05_bad_messages_fail_alone() {
    let hook = unplanned().await;
    let envelope = |payload: &Value| {
        json!({"event_id": "01", "type": "dunning.plan", "schema_version": 1,
            "aggregate": "subscription#sub_1", "occurred_at": "", "payload": payload})
        .to_string()
    };
    let bodies = vec![
        "not JSON".to_owned(),
        envelope(&json!({"order": "cancel", "subscription_id": "sub_1"})),
        envelope(&plan_job()),
        json!({"order": "plan"}).to_string(),
        envelope(&json!({"order": "tidy", "subscription_id": "sub_1"})),
    ];
    assert_eq!(hook.messages_of(bodies).await, ["m-0", "m-1", "m-3", "m-4"]);
    assert_eq!(hook.schedule_names().await, [FIRST]);
}
