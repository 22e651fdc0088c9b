//! From a row through the stream and the queue to a function, in time.

use super::*;

#[tokio::test]
async fn a_row_travels_through_the_stream_and_the_queue() {
    let cloud = cloud();
    assert_eq!(put(&cloud, "a").await, 201);
    assert_eq!(put(&cloud, "a").await, 409);
    let settled = cloud.settle().await;
    assert_eq!(
        settled,
        Settled {
            deliveries: 2,
            failures: 0,
            quiet: true
        }
    );
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
    assert_eq!(
        cloud.table("rows").unwrap(),
        [json!({"id": "a", "made_at": "2027-03-01T09:00:00+00:00"})]
    );
    assert_eq!(cloud.denied(), []);
    let units: Vec<Option<f64>> = cloud.calls().into_iter().map(|call| call.units).collect();
    assert_eq!(units, [Some(1.0), None, None]);
}

#[tokio::test]
async fn a_message_that_fails_comes_back_and_ends_in_the_dead_letter_queue() {
    let cloud = cloud();
    put(&cloud, "fail-1").await;
    put(&cloud, "b").await;
    cloud.settle().await;
    assert_eq!(bodies(&cloud, "jobs"), ["fail-1"]);
    cloud.advance(Duration::seconds(29)).await;
    assert_eq!(cloud.queues()["jobs"][0]["receive_count"], 1);
    cloud.advance(Duration::seconds(31)).await;
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
    assert_eq!(bodies(&cloud, "jobs-dlq"), ["fail-1"]);
}

#[tokio::test]
async fn a_partial_failure_keeps_what_was_done_and_gives_up_on_the_bad_record_alone() {
    let cloud = cloud();
    for id in ["a", "bad", "c", "d", "e"] {
        put(&cloud, id).await;
    }
    cloud.advance(Duration::seconds(10)).await;
    let relayed: Vec<String> = cloud
        .calls()
        .iter()
        .filter(|call| call.service == "sqs")
        .map(|call| call.operation.clone())
        .collect();
    assert_eq!(relayed.len(), 4, "a, c, d and e once each");
    let reports = bodies(&cloud, "relay-dlq");
    assert_eq!(reports.len(), 1);
    let report: Value = serde_json::from_str(&reports[0]).unwrap();
    assert_eq!(report["DDBStreamBatchInfo"]["batchSize"], 1);
    assert_eq!(
        report["requestContext"]["condition"],
        "RetryAttemptsExhausted"
    );
}

#[tokio::test]
async fn a_batch_that_fails_whole_is_split_until_the_bad_record_is_alone() {
    let cloud = cloud();
    for id in ["a", "worse", "c"] {
        put(&cloud, id).await;
    }
    cloud.advance(Duration::seconds(10)).await;
    assert_eq!(bodies(&cloud, "relay-dlq").len(), 1);
    let sent = cloud
        .calls()
        .into_iter()
        .filter(|call| call.service == "sqs")
        .count();
    assert_eq!(sent, 4, "a three times, as its batch failed twice; c once");
}

#[tokio::test]
async fn an_advance_stops_at_every_due_instant_in_order() {
    let cloud = cloud();
    let mut happenings = cloud.watch();
    put(&cloud, "fail-1").await;
    let settled = cloud.advance(Duration::minutes(11)).await;
    assert!(settled.quiet);
    let mut instants = Vec::new();
    while let Ok(happening) = happenings.try_recv() {
        if let Happening::InvocationStarted { at, function, .. } = happening {
            instants.push((at.format("%H:%M:%S").to_string(), function));
        }
    }
    let at = |time: &str, function: &str| (time.to_owned(), function.to_owned());
    let expected = [
        at("09:00:00", "writer"),
        at("09:00:00", "relay"),
        at("09:00:00", "worker"),
        at("09:00:30", "worker"),
        at("09:05:00", "worker"),
        at("09:10:00", "worker"),
    ];
    assert_eq!(instants, expected);
    assert_eq!(cloud.clock().now(), options().start + Duration::minutes(11));
    assert_eq!(
        cloud.next_due(),
        Some(options().start + Duration::minutes(15))
    );
}

#[tokio::test]
async fn an_update_that_changes_nothing_reaches_nobody() {
    let template = TEMPLATE.replace(
        r#"'{"eventName": ["INSERT"]}'"#,
        r#"'{"eventName": ["INSERT", "MODIFY"]}'"#,
    );
    let cloud = LocalCloud::from_template(&template, options()).unwrap();
    cloud.install::<Relay>().unwrap();
    let put = || {
        cloud
            .dynamodb()
            .put_item()
            .table_name("rows")
            .item("id", AttributeValue::S("a".to_owned()))
            .send()
    };
    put().await.unwrap();
    put().await.unwrap();
    cloud.settle().await;
    assert_eq!(bodies(&cloud, "jobs"), ["a"]);
}

#[tokio::test]
async fn what_may_not_be_delivered_holds_up_nothing() {
    let template = TEMPLATE.replace("sqs:ReceiveMessage, sqs:DeleteMessage, ", "");
    let cloud = LocalCloud::from_template(&template, options()).unwrap();
    cloud.install::<Writer>().unwrap();
    cloud.install::<Relay>().unwrap();
    cloud.install::<Worker>().unwrap();
    put(&cloud, "a").await;
    let settled = cloud.advance(Duration::minutes(6)).await;
    assert!(settled.quiet);
    assert_eq!(bodies(&cloud, "jobs"), ["a"]);
    assert_eq!(cloud.denied()[0].action, "sqs:ReceiveMessage");
    assert_eq!(cloud.next_due(), Some(cloud.clock().now()));
}

#[tokio::test]
async fn an_asynchronous_invocation_is_tried_three_times_then_given_up() {
    let cloud = cloud();
    let mut happenings = cloud.watch();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::CrashBefore).times(9));
    let event = json!({"body": r#"{"id": "a"}"#});
    cloud.0.invoke_later("writer", event);
    cloud.advance(Duration::minutes(4)).await;
    let mut told = Vec::new();
    while let Ok(happening) = happenings.try_recv() {
        if let Happening::InvocationStarted { at, .. } = &happening {
            told.push(at.format("%M").to_string());
        }
        if let Happening::Dropped { from, .. } = happening {
            told.push(from);
        }
    }
    assert_eq!(told, ["00", "01", "03", "invocation of writer"]);
}

#[tokio::test]
async fn in_disorder_everything_still_arrives_and_some_of_it_twice() {
    let run = || async {
        let cloud = cloud();
        cloud.set_disorder(Some(Disorder {
            seed: 3,
            duplicates_per_mille: 300,
            shuffle: true,
            ..Disorder::default()
        }));
        for number in 0..20 {
            put(&cloud, &format!("row-{number}")).await;
        }
        let settled = cloud.settle().await;
        assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
        (settled, cloud.calls().len())
    };
    let (settled, calls) = run().await;
    assert!(
        settled.quiet && calls > 40,
        "20 writes, and more than 20 relays: {calls}"
    );
    assert_eq!(run().await, (settled, calls));
}
