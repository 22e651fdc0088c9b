//! What goes wrong on purpose, who may do what, and who wins a race.

use super::*;

#[tokio::test]
async fn a_throttle_and_a_lost_answer_end_in_a_failed_condition_on_its_own_write() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::Throttled));
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::AnswerLost).nth(2));
    assert_eq!(put(&cloud, "a").await, 409);
    let expected = [
        pair("PutItem", "ThrottlingException"),
        pair("PutItem", "ok"),
        pair("PutItem", "ConditionalCheckFailedException"),
    ];
    assert_eq!(operations(&cloud), expected);
    assert_eq!(cloud.table("rows").unwrap().len(), 1);
}

#[tokio::test]
async fn each_fault_is_suffered_as_it_says() {
    for (fault, status, rows) in [
        (FaultKind::NotSent, 201, 1),
        (FaultKind::AnswerLost, 409, 1),
        (FaultKind::Throttled, 201, 1),
        (FaultKind::Conflict, 502, 0),
        (FaultKind::InternalError, 201, 1),
        (FaultKind::Slow, 502, 1),
        (FaultKind::CrashBefore, 502, 0),
        (FaultKind::CrashAfter, 502, 1),
    ] {
        let cloud = cloud();
        cloud
            .faults()
            .add(FaultRule::once("writer", "dynamodb", fault));
        assert_eq!(put(&cloud, "a").await, status, "{fault:?}");
        assert_eq!(cloud.table("rows").unwrap().len(), rows, "{fault:?}");
        assert_eq!(
            put(&cloud, "b").await,
            201,
            "{fault:?}: a new instance works"
        );
    }
}

#[tokio::test]
async fn an_instance_that_used_up_its_retries_takes_none_from_those_of_another_cloud() {
    let throttled = |times| FaultRule::once("writer", "PutItem", FaultKind::Throttled).times(times);
    let tries = |cloud: &LocalCloud| operations(cloud).len();
    let (busy, other) = (cloud(), cloud());
    // A retry after a throttle costs 5 of 500, and none of these gives it back.
    busy.faults().add(throttled(1_000));
    for _ in 0..50 {
        assert_eq!(put(&busy, "a").await, 502);
    }
    assert_eq!(tries(&busy), 150);
    assert_eq!(put(&busy, "a").await, 502);
    assert_eq!(tries(&busy), 151, "its budget is empty");
    other.faults().add(throttled(2));
    assert_eq!(put(&other, "a").await, 201);
    assert_eq!(tries(&other), 3);
}

#[tokio::test]
async fn a_panic_and_an_unknown_url_are_answered_as_aws_does() {
    let cloud = cloud();
    let request = Request::post("/")
        .header("content-type", "application/json")
        .body(Bytes::from_static(br#"{"id":"panic"}"#));
    let response = cloud.call_url("writer", request.unwrap()).await;
    assert_eq!(response.status().as_u16(), 502);
    assert_eq!(
        response.body().as_ref(),
        br#"{"message":"Internal Server Error"}"#
    );
    assert_eq!(
        cloud
            .call_url("nobody", Request::new(Bytes::new()))
            .await
            .status(),
        404
    );
    assert_eq!(
        cloud
            .call_url("worker", Request::new(Bytes::new()))
            .await
            .status(),
        403
    );
}

#[tokio::test]
async fn a_role_is_obeyed_and_what_it_never_needed_is_told() {
    let cloud = cloud();
    assert_eq!(post(&cloud, json!({"id": "a", "secret": "x"})).await, 502);
    let denied = cloud.denied();
    assert_eq!(
        (denied[0].function.as_str(), denied[0].action.as_str()),
        ("writer", "dynamodb:PutItem")
    );
    assert_eq!(cloud.table("rows").unwrap(), Vec::<Value>::new());
    put(&cloud, "a").await;
    put(&cloud, "text").await;
    put(&cloud, "secret").await;
    cloud.settle().await;
    let left = cloud.unused_permissions();
    let rows = "arn:aws:dynamodb:eu-west-2:000000000000:table/rows";
    let dead = "arn:aws:sqs:eu-west-2:000000000000:relay-dlq";
    assert_eq!(
        left,
        [
            format!("relay sqs:SendMessage {dead}"),
            format!("writer dynamodb:DeleteItem {rows}")
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_racing_writers_one_wins() {
    let cloud = cloud();
    let racers = (0..64).map(|_| {
        let cloud = cloud.clone();
        tokio::spawn(async move { put(&cloud, "a").await })
    });
    let statuses: Vec<u16> = futures::future::join_all(racers)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 63);
}
