//! The calls: what they answer, what they refuse, and who may make them.

use super::*;

#[tokio::test]
async fn a_schedule_that_is_kept_after_its_firing_can_be_read_and_its_name_is_taken() {
    let cloud = cloud();
    let client = operator(&cloud);
    let create = || {
        once(&client, "kept", "2027-03-01T10:00:00")
            .action_after_completion(ActionAfterCompletion::None)
    };
    create().send().await.unwrap();
    cloud.advance(Duration::hours(2)).await;
    assert_eq!(ids(&cloud).len(), 1);
    let read = || {
        client
            .get_schedule()
            .group_name("dunning")
            .name("kept")
            .send()
    };
    let kept = read().await.unwrap();
    assert_eq!(kept.schedule_expression(), Some("at(2027-03-01T10:00:00)"));
    assert_eq!(kept.schedule_expression_timezone(), Some("UTC"));
    assert_eq!(kept.state(), Some(&ScheduleState::Enabled));
    assert_eq!(
        kept.creation_date().unwrap().secs(),
        options().start.timestamp()
    );
    let kept_target = kept.target().unwrap();
    assert_eq!(
        (kept_target.arn(), kept_target.role_arn()),
        (WRITER, START_ROLE)
    );
    let later = once(&client, "kept", "2027-03-02T10:00:00");
    assert_eq!(code(later).await, "ConflictException");
    let delete = || {
        client
            .delete_schedule()
            .group_name("dunning")
            .name("kept")
            .send()
    };
    delete().await.unwrap();
    assert!(
        read()
            .await
            .unwrap_err()
            .into_service_error()
            .is_resource_not_found_exception()
    );
    assert!(
        delete()
            .await
            .unwrap_err()
            .into_service_error()
            .is_resource_not_found_exception()
    );
}

#[tokio::test]
async fn an_update_replaces_the_whole_schedule() {
    let cloud = cloud();
    let client = operator(&cloud);
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
    let update = client
        .update_schedule()
        .name("moved")
        .schedule_expression("at(2027-03-03T09:00:00)")
        .flexible_time_window(window.build().unwrap())
        .target(target("moved").build().unwrap());
    let missing = update.clone().group_name("dunning").send().await;
    assert!(
        missing
            .unwrap_err()
            .into_service_error()
            .is_resource_not_found_exception()
    );
    once(&client, "moved", "2027-03-02T09:00:00")
        .send()
        .await
        .unwrap();
    update.group_name("dunning").send().await.unwrap();
    cloud.advance(Duration::days(3)).await;
    assert_eq!(ids(&cloud), ["moved 2027-03-03T09:00:00+00:00"]);
    assert_eq!(
        made(&cloud)[0].next_at,
        None,
        "it is kept, as the update says no more"
    );
}

#[tokio::test]
async fn what_aws_refuses_is_refused() {
    let cloud = cloud();
    let client = operator(&cloud);
    let later = "2027-03-02T09:00:00";
    let role = |name: &str| {
        let target = target("a").role_arn(format!("arn:aws:iam::000000000000:role/{name}"));
        once(&client, "a", later).target(target.build().unwrap())
    };
    let long = "x".repeat(65);
    let bad_retries = RetryPolicy::builder()
        .maximum_event_age_in_seconds(59)
        .build();
    let bad_input = target("a").input("no JSON").build().unwrap();
    for (create, expected) in [
        (once(&client, "a b", later), "ValidationException"),
        (once(&client, &long, later), "ValidationException"),
        (
            once(&client, "a", "2027-03-01T09:00:00"),
            "ValidationException",
        ),
        (once(&client, "a", "2027-03-02"), "ValidationException"),
        (
            once(&client, "a", later).schedule_expression_timezone("Europe/Londres"),
            "ValidationException",
        ),
        (
            once(&client, "a", later).group_name("nobody"),
            "ResourceNotFoundException",
        ),
        (role("other"), "ValidationException"),
        (role("nobody"), "ValidationException"),
        (
            once(&client, "a", later)
                .target(target("a").retry_policy(bad_retries).build().unwrap()),
            "ValidationException",
        ),
        (
            once(&client, "a", later).target(bad_input),
            "ValidationException",
        ),
        (once(&client, "report", later), "ConflictException"),
        (once(&client, "report", later).group_name("default"), "ok"),
        (once(&client, "a", later), "ok"),
    ] {
        let asked = format!("{:?}", create.as_input());
        assert_eq!(code(create).await, expected, "{asked}");
    }
}

#[tokio::test]
async fn a_repeat_with_the_same_token_is_the_same_request() {
    let cloud = cloud();
    let client = operator(&cloud);
    let at = "2027-03-02T09:00:00";
    let create = |name: &str| once(&client, name, at).client_token("token-1");
    assert_eq!(code(create("a")).await, "ok");
    assert_eq!(code(create("a")).await, "ok");
    assert_eq!(code(create("b")).await, "ConflictException");
    assert_eq!(code(once(&client, "a", at)).await, "ConflictException");
    assert_eq!(made(&cloud).len(), 1);
    cloud.advance(Duration::days(2)).await;
    assert_eq!(
        code(create("a")).await,
        "ok",
        "it was done, however long ago"
    );
    assert_eq!(made(&cloud), []);
    assert_eq!(ids(&cloud).len(), 1);
}

#[tokio::test]
async fn a_lost_answer_is_found_by_the_sdk_itself_and_as_a_conflict_by_the_next_run() {
    let cloud = cloud();
    let client = planner(&cloud);
    let lose = |times| {
        let rule = FaultRule::once("planner", "CreateSchedule", FaultKind::AnswerLost);
        cloud.faults().add(rule.times(times));
    };
    let at = "2027-03-02T09:00:00";
    lose(1);
    assert_eq!(code(once(&client, "a", at)).await, "ok");
    assert_eq!(
        operations(&cloud),
        [pair("CreateSchedule", "ok"), pair("CreateSchedule", "ok")]
    );
    lose(3);
    assert!(once(&client, "b", at).send().await.is_err());
    assert_eq!(made(&cloud).len(), 2, "it was applied");
    assert_eq!(code(once(&client, "b", at)).await, "ConflictException");
    for fault in [
        FaultKind::NotSent,
        FaultKind::Throttled,
        FaultKind::InternalError,
    ] {
        cloud
            .faults()
            .add(FaultRule::once("planner", "scheduler", fault));
        assert_eq!(code(once(&client, &format!("c-{fault:?}"), at)).await, "ok");
    }
    assert_eq!(made(&cloud).len(), 5);
}

#[tokio::test]
async fn the_role_of_the_caller_says_which_group_and_which_role() {
    let cloud = cloud();
    let client = planner(&cloud);
    let later = "2027-03-02T09:00:00";
    let other = target("a").role_arn("arn:aws:iam::000000000000:role/other");
    let denied = "AccessDeniedException";
    assert_eq!(
        code(once(&client, "a", later).group_name("default")).await,
        denied
    );
    assert_eq!(
        code(once(&client, "a", later).target(other.build().unwrap())).await,
        denied
    );
    let listed = client.list_schedules().group_name("dunning").send().await;
    assert_eq!(
        listed.unwrap_err().into_service_error().meta().code(),
        Some(denied)
    );
    let actions: Vec<String> = cloud
        .denied()
        .into_iter()
        .map(|denied| denied.action)
        .collect();
    assert_eq!(
        actions,
        [
            "scheduler:CreateSchedule",
            "iam:PassRole",
            "scheduler:ListSchedules"
        ]
    );
    let elsewhere = TEMPLATE.replace("PassedToService: scheduler", "PassedToService: states");
    let cloud = LocalCloud::from_template(&elsewhere, options()).unwrap();
    assert_eq!(code(once(&planner(&cloud), "a", later)).await, denied);
    assert_eq!(made(&cloud), []);
}

#[tokio::test]
async fn schedules_are_listed_by_name_page_by_page() {
    let cloud = cloud();
    let client = operator(&cloud);
    for name in ["inv-1", "inv-2", "inv-3", "other"] {
        once(&client, name, "2027-03-02T09:00:00")
            .send()
            .await
            .unwrap();
    }
    let list = || {
        let list = client.list_schedules().group_name("dunning");
        list.name_prefix("inv-").max_results(2)
    };
    let names = |page: &[aws_sdk_scheduler::types::ScheduleSummary]| -> Vec<String> {
        page.iter()
            .filter_map(|entry| entry.name())
            .map(str::to_owned)
            .collect()
    };
    let first = list().send().await.unwrap();
    assert_eq!(names(first.schedules()), ["inv-1", "inv-2"]);
    let second = list()
        .set_next_token(first.next_token.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(names(second.schedules()), ["inv-3"]);
    assert_eq!(second.next_token(), None);
    let bad = list()
        .next_token("?")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(bad.is_validation_exception());
    let all = client.list_schedules().send().await.unwrap();
    assert_eq!(
        names(all.schedules()),
        ["inv-1", "inv-2", "inv-3", "other", "report"]
    );
}
