//! Requests that arrive late, batches that are refused in part, invocations that are paused: what
//! the cloud does with them when their time has come.

use super::*;

const BATCHER: &str = r#"
  Batcher:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: batcher
      Environment: {Variables: {QUEUE: !Ref Jobs, TABLE: !Ref Rows}}
      Policies:
        - Statement:
            - {Effect: Allow, Action: sqs:SendMessage, Resource: !GetAtt Jobs.Arn}
            - {Effect: Allow, Action: dynamodb:BatchWriteItem, Resource: !GetAtt Rows.Arn}
"#;

/// Sends six messages or writes six rows in one call; answers how many were refused.
struct Batcher {
    sqs: aws_sdk_sqs::Client,
    dynamodb: aws_sdk_dynamodb::Client,
    queue: String,
    table: String,
}

impl Function for Batcher {
    const NAME: &'static str = "batcher";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let queue = setup.environment.text("QUEUE");
        let table = setup.environment.text("TABLE");
        setup.environment.check(Self {
            sqs: lambda_kit::client!(aws_sdk_sqs, &setup.aws),
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            queue,
            table,
        })
    }

    async fn handle(&self, event: Value, _: DateTime<Utc>) -> Result<Value, Failure> {
        let ids = (0..6).map(|index| format!("b-{index}"));
        if event == "messages" {
            let entry = |id: String| {
                let entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder();
                entry.id(&id).message_body(id).build()
            };
            let entries: Result<Vec<_>, _> = ids.map(entry).collect();
            let send = self.sqs.send_message_batch().queue_url(&self.queue);
            let sent = send.set_entries(Some(entries?)).send().await?;
            return Ok(json!([sent.successful().len(), sent.failed().len()]));
        }
        let write = |id: String| {
            let put = aws_sdk_dynamodb::types::PutRequest::builder();
            let put = put.item("id", AttributeValue::S(id)).build()?;
            let write = aws_sdk_dynamodb::types::WriteRequest::builder();
            Ok(write.put_request(put).build())
        };
        let writes: Result<Vec<_>, Failure> = ids.map(write).collect();
        let call = self.dynamodb.batch_write_item();
        let done = call.request_items(&self.table, writes?).send().await?;
        let left = done
            .unprocessed_items()
            .and_then(|left| left.get(&self.table));
        Ok(json!(left.map_or(0, Vec::len)))
    }
}

#[tokio::test]
async fn some_entries_of_a_batch_are_refused_and_only_the_others_are_applied() {
    let cloud = LocalCloud::from_template(&format!("{TEMPLATE}{BATCHER}"), options()).unwrap();
    cloud.install::<Batcher>().unwrap();
    let faults = cloud.faults();
    for operation in ["SendMessageBatch", "BatchWriteItem"] {
        faults.add(FaultRule::once(
            "batcher",
            operation,
            FaultKind::FailedEntries,
        ));
    }
    let sent = cloud.invoke("batcher", json!("messages")).await.unwrap();
    let refused = sent[1].as_u64().unwrap();
    assert!((1..=6).contains(&refused), "{refused}");
    assert_eq!(sent[0], 6 - refused);
    assert_eq!(bodies(&cloud, "jobs").len() as u64, 6 - refused);
    let refused = cloud.invoke("batcher", json!("rows")).await.unwrap();
    let refused = refused.as_u64().unwrap();
    assert!((1..=6).contains(&refused), "{refused}");
    assert_eq!(cloud.table("rows").unwrap().len() as u64, 6 - refused);
    assert_eq!(cloud.invoke("batcher", json!("rows")).await.unwrap(), 0);
    assert_eq!(cloud.table("rows").unwrap().len(), 6);
    let injected = cloud.faults().injected();
    assert_eq!(injected, BTreeMap::from([("failed_entries", 2)]));
}

#[tokio::test]
async fn a_late_request_is_applied_when_it_arrives_to_what_is_there_then() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::Late).times(3));
    assert_eq!(put(&cloud, "a").await, 502, "each attempt was lost");
    assert_eq!(cloud.table("rows").unwrap(), Vec::<Value>::new());
    assert_eq!(cloud.unfinished(), 3);
    let due = cloud.next_due().unwrap();
    assert!(due > options().start && due <= options().start + Duration::minutes(10));
    cloud.advance(Duration::minutes(10)).await;
    assert_eq!(
        (cloud.table("rows").unwrap().len(), cloud.unfinished()),
        (1, 0)
    );
    let outcomes: Vec<(String, String)> = operations(&cloud);
    let condition = pair("PutItem", "ConditionalCheckFailedException");
    let put_calls = outcomes.iter().filter(|call| call.0 == "PutItem");
    let put_calls: Vec<_> = put_calls.cloned().collect();
    let unsent = pair("PutItem", "not_yet");
    let expected = [
        unsent.clone(),
        unsent.clone(),
        unsent,
        pair("PutItem", "ok"),
        condition.clone(),
        condition,
    ];
    assert_eq!(put_calls, expected);
    assert_eq!(cloud.faults().injected()["late_arrived"], 3);
    let sent = outcomes.iter().filter(|call| call.0 == "SendMessage");
    assert_eq!(sent.count(), 1, "the stream saw the row that came late");
}

#[tokio::test]
async fn a_paused_invocation_goes_on_later_with_the_time_that_it_had() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::Paused));
    assert_eq!(
        put(&cloud, "a").await,
        502,
        "it has timed out for its caller"
    );
    assert_eq!(
        (cloud.table("rows").unwrap().len(), cloud.unfinished()),
        (0, 1)
    );
    assert_eq!(
        put(&cloud, "b").await,
        201,
        "others have an instance of their own"
    );
    cloud.settle().await;
    assert_eq!(cloud.table("rows").unwrap().len(), 1, "it sleeps");
    cloud.advance(Duration::minutes(15)).await;
    let made = json!("2027-03-01T09:00:00+00:00");
    let rows = cloud.table("rows").unwrap();
    assert_eq!(rows[0], json!({"id": "a", "made_at": made}));
    assert_eq!(cloud.unfinished(), 0);
    let calls = cloud.calls().into_iter();
    let woken = calls.filter(|call| call.fault == Some(FaultKind::Paused));
    let woken: Vec<_> = woken
        .map(|call| (call.outcome, call.invocation, call.at > options().start))
        .collect();
    assert_eq!(woken, [("ok".to_owned(), Some(1), true)]);
}

#[tokio::test]
async fn what_a_paused_invocation_would_write_meets_what_others_wrote_meanwhile() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::Paused));
    put(&cloud, "a").await;
    assert_eq!(put(&cloud, "a").await, 201);
    cloud.advance(Duration::minutes(15)).await;
    let failed = pair("PutItem", "ConditionalCheckFailedException");
    assert!(operations(&cloud).contains(&failed));
}

#[tokio::test]
async fn a_batch_whose_invocation_is_paused_comes_again_and_both_do_the_work() {
    let cloud = cloud();
    cloud
        .faults()
        .add(FaultRule::once("relay", "SendMessage", FaultKind::Paused));
    put(&cloud, "fail-1").await;
    cloud.advance(Duration::seconds(1)).await;
    assert_eq!(
        bodies(&cloud, "jobs"),
        ["fail-1"],
        "the stream has tried again"
    );
    cloud.advance(Duration::minutes(15)).await;
    assert_eq!(bodies(&cloud, "jobs-dlq"), ["fail-1", "fail-1"]);
}

#[tokio::test]
async fn an_invocation_that_has_woken_up_may_die_of_its_next_call() {
    let cloud = cloud();
    let faults = cloud.faults();
    faults.add(FaultRule::once("relay", "SendMessage", FaultKind::Paused).times(2));
    faults.add(FaultRule::once("relay", "SendMessage", FaultKind::CrashAfter).nth(5));
    for id in ["fail-1", "fail-2"] {
        put(&cloud, id).await;
    }
    cloud.advance(Duration::hours(1)).await;
    assert_eq!(cloud.unfinished(), 0);
    let of = |fault: FaultKind| {
        let calls = cloud.calls().into_iter();
        let calls = calls.filter(move |call| call.fault == Some(fault));
        calls.map(|call| call.invocation).collect::<Vec<_>>()
    };
    let woken = of(FaultKind::Paused);
    assert_eq!(woken.len(), 2);
    assert_eq!(of(FaultKind::CrashAfter).len(), 1);
    assert!(woken.contains(&of(FaultKind::CrashAfter)[0]));
    let mut dead = bodies(&cloud, "jobs-dlq");
    dead.sort();
    let expected = ["fail-1", "fail-1", "fail-1", "fail-2", "fail-2"];
    assert_eq!(
        dead, expected,
        "two that woke up, and the stream's own tries"
    );
}

#[tokio::test]
async fn a_cloud_with_paused_work_is_dropped_like_any_other() {
    let cloud = cloud();
    let faults = cloud.faults();
    faults.add(FaultRule::once("writer", "PutItem", FaultKind::Paused));
    put(&cloud, "a").await;
    assert_eq!(cloud.unfinished(), 1);
    let kept = std::sync::Arc::downgrade(&cloud.0);
    drop(cloud);
    assert!(kept.upgrade().is_none());
}

#[tokio::test]
async fn a_script_of_what_struck_gives_the_same_run_again() {
    let run = |script: Option<Vec<(u64, FaultKind)>>| async {
        let cloud = cloud();
        let kinds = FaultKind::EVERY.map(|kind| (kind, 1)).to_vec();
        match script {
            Some(script) => cloud.faults().set_script(script),
            None => cloud.faults().set_random(Some(RandomFaults {
                seed: 5,
                per_mille: 300,
                kinds,
            })),
        }
        for number in 0..30 {
            put(&cloud, &format!("row-{number}")).await;
            cloud.advance(Duration::minutes(3)).await;
        }
        cloud.advance(Duration::hours(2)).await;
        (cloud.faults().struck(), cloud.calls(), cloud.queues())
    };
    let first = run(None).await;
    assert!(first.0.len() > 10);
    let script = first.0.iter();
    let script = script
        .map(|struck| (struck.ordinal, struck.fault))
        .collect();
    assert_eq!(run(Some(script)).await, first);
}
