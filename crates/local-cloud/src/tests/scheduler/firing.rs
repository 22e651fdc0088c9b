//! In time, once, in the role of the schedule, and what may go wrong with that.

use super::*;

#[tokio::test]
async fn a_schedule_fires_once_at_its_time_in_its_zone_and_is_gone() {
    let cloud = cloud();
    let made_it = once(&planner(&cloud), "inv-1.2", "2027-04-01T10:30:00")
        .schedule_expression_timezone("Europe/London")
        .send()
        .await
        .unwrap();
    let arn = "arn:aws:scheduler:eu-west-2:000000000000:schedule/dunning/inv-1.2";
    assert_eq!(made_it.schedule_arn(), arn);
    let planned = &made(&cloud)[0];
    let seen = [
        &planned.group,
        &planned.name,
        &planned.expression,
        &planned.zone,
    ];
    let expected = [
        "dunning",
        "inv-1.2",
        "at(2027-04-01T10:30:00)",
        "Europe/London",
    ];
    assert_eq!(seen, expected);
    assert_eq!(planned.input["body"], r#"{"id":"inv-1.2"}"#);
    assert_eq!(
        planned.next_at,
        Some("2027-04-01T09:30:00Z".parse().unwrap())
    );
    cloud
        .advance_to("2027-04-01T09:29:59Z".parse().unwrap())
        .await;
    assert_eq!(ids(&cloud), Vec::<String>::new());
    cloud.advance(Duration::days(2)).await;
    assert_eq!(ids(&cloud), ["inv-1.2 2027-04-01T09:30:00+00:00"]);
    assert_eq!(made(&cloud), []);
    assert_eq!(cloud.denied(), []);
}

#[tokio::test]
async fn what_the_schedules_role_may_not_start_ends_in_the_dead_letter_queue() {
    let without = TEMPLATE.replace(
        "Action: lambda:InvokeFunction",
        "Action: lambda:GetFunction",
    );
    let cloud = LocalCloud::from_template(&without, options()).unwrap();
    cloud.install_as::<Worker>("writer").unwrap();
    once(&operator(&cloud), "a", "2027-03-01T10:00:00")
        .send()
        .await
        .unwrap();
    let settled = cloud.advance(Duration::hours(2)).await;
    assert_eq!((settled.deliveries, settled.failures), (1, 1));
    assert_eq!(
        bodies(&cloud, "schedules-dlq"),
        [r#"{"body":"{\"id\":\"a\"}"}"#]
    );
    assert_eq!(cloud.denied()[0].function, "start");
    assert_eq!(cloud.denied()[0].action, "lambda:InvokeFunction");
}

#[tokio::test]
async fn a_target_that_fails_is_invoked_again_as_lambda_does() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::CrashBefore));
    once(&operator(&cloud), "a", "2027-03-01T10:00:00")
        .send()
        .await
        .unwrap();
    cloud.advance(Duration::hours(2)).await;
    assert_eq!(ids(&cloud), ["a 2027-03-01T10:01:00+00:00"]);
}

#[tokio::test]
async fn a_schedule_can_fire_twice_late_or_never() {
    let cloud = cloud();
    let client = operator(&cloud);
    for name in ["twice", "late", "never"] {
        once(&client, name, "2027-03-01T10:00:00")
            .send()
            .await
            .unwrap();
    }
    assert!(cloud.delay_schedule("late", Duration::minutes(40)));
    assert!(cloud.drop_schedule("dunning/never"));
    let mut happenings = cloud.watch();
    cloud.advance(Duration::hours(2)).await;
    assert!(
        cloud.fire_schedule("twice"),
        "it has fired and is gone, and comes again"
    );
    cloud.settle().await;
    let mut started = Vec::new();
    while let Ok(happening) = happenings.try_recv() {
        if let Happening::InvocationStarted { at, .. } = happening {
            started.push(at.format("%H:%M").to_string());
        }
    }
    assert_eq!(started, ["10:00", "10:40", "11:00"]);
    let rows = [
        "late 2027-03-01T10:40:00+00:00",
        "twice 2027-03-01T10:00:00+00:00",
    ];
    assert_eq!(ids(&cloud), rows);
    assert!(!cloud.fire_schedule("nobody") && !cloud.drop_schedule("never"));
}

#[tokio::test]
async fn a_restart_finds_the_schedules_again() {
    let folder = std::env::temp_dir().join(format!("local-cloud-schedules-{}", std::process::id()));
    let options = Options {
        state: Some(folder.clone()),
        ..options()
    };
    {
        let cloud = opened(options.clone());
        once(&operator(&cloud), "a", "2027-03-01T10:00:00")
            .send()
            .await
            .unwrap();
    }
    let cloud = opened(options);
    assert_eq!(made(&cloud)[0].name, "a");
    cloud.advance(Duration::hours(2)).await;
    assert_eq!(ids(&cloud), ["a 2027-03-01T10:00:00+00:00"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_first_monday_of_a_month_comes_on_the_wall_clock_of_its_zone() {
    let cloud = cloud();
    let report = cloud.schedules().remove(0);
    assert_eq!(
        (report.group.as_str(), report.of_template),
        ("dunning", true)
    );
    assert_eq!(
        report.next_at,
        Some("2027-04-05T08:00:00Z".parse().unwrap())
    );
    cloud
        .advance_to("2027-04-05T08:00:00Z".parse().unwrap())
        .await;
    assert_eq!(ids(&cloud), ["report 2027-04-05T08:00:00+00:00"]);
    assert_eq!(
        cloud.schedules()[0].next_at,
        Some("2027-05-03T08:00:00Z".parse().unwrap())
    );
}

#[tokio::test]
async fn a_deleted_schedule_may_fire_anyway_and_a_late_one_can_still_be_deleted() {
    for (disorder, fires) in [
        (
            Disorder {
                schedule_after_delete_per_mille: 1_000,
                ..Disorder::default()
            },
            true,
        ),
        (
            Disorder {
                schedule_late_per_mille: 1_000,
                ..Disorder::default()
            },
            false,
        ),
    ] {
        let cloud = cloud();
        let client = operator(&cloud);
        cloud.set_disorder(Some(disorder));
        once(&client, "a", "2027-03-01T10:00:00")
            .send()
            .await
            .unwrap();
        if !fires {
            cloud.advance(Duration::hours(1)).await;
            let next_at = made(&cloud)[0].next_at.unwrap();
            assert!(next_at > "2027-03-01T10:00:00Z".parse::<DateTime<Utc>>().unwrap());
        }
        let delete = client.delete_schedule().name("a").group_name("dunning");
        delete.send().await.unwrap();
        assert_eq!(made(&cloud), []);
        cloud.advance(Duration::hours(4)).await;
        let expected: &[&str] = match fires {
            true => &["a 2027-03-01T10:00:00+00:00"],
            false => &[],
        };
        assert_eq!(ids(&cloud), expected);
    }
}
