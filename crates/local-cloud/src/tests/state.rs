//! What is kept: secrets, messages, rows until their time, and all of it over a restart.

use super::*;

#[tokio::test]
async fn a_secret_rotates_and_a_text_is_kept() {
    let cloud = cloud();
    cloud.set_secret("bdc-signing-key", "whsec_new");
    put(&cloud, "secret").await;
    assert_eq!(cloud.secrets()["bdc-signing-key"], "whsec_new");
    let operator = lambda_kit::client!(aws_sdk_secretsmanager, &cloud.operator());
    let previous = || {
        operator
            .get_secret_value()
            .secret_id("bdc-signing-key")
            .version_stage("AWSPREVIOUS")
            .send()
    };
    assert!(
        previous()
            .await
            .unwrap()
            .secret_string()
            .unwrap()
            .starts_with("whsec_local_")
    );
    cloud.remove_previous("bdc-signing-key");
    assert!(
        previous()
            .await
            .unwrap_err()
            .into_service_error()
            .is_resource_not_found_exception()
    );
    assert_eq!(put(&cloud, "text").await, 200);
    let message = &cloud.messages()[0];
    assert_eq!(
        (message.channel.as_str(), message.text.as_str()),
        ("sms", "Hi <you> & me")
    );
}

#[tokio::test]
async fn an_inbound_text_invokes_its_function() {
    let cloud = cloud();
    cloud.reply_by_sms("+447700900123", "STOP");
    let settled = cloud.settle().await;
    assert_eq!(settled.deliveries, 1);
}

#[tokio::test]
async fn a_row_past_its_time_is_gone_within_the_hour() {
    let cloud = cloud();
    let expires = options().start.timestamp() + 60;
    let put = cloud
        .dynamodb()
        .put_item()
        .table_name("rows")
        .item("id", AttributeValue::S("a".to_owned()));
    put.item("expires_at", AttributeValue::N(expires.to_string()))
        .send()
        .await
        .unwrap();
    cloud.advance(Duration::minutes(30)).await;
    assert_eq!(cloud.table("rows").unwrap().len(), 1);
    cloud.advance(Duration::minutes(31)).await;
    assert_eq!(cloud.table("rows").unwrap().len(), 0);
}

#[tokio::test]
async fn a_restart_finds_everything_again() {
    let folder = std::env::temp_dir().join(format!("local-cloud-test-{}", std::process::id()));
    let options = Options {
        state: Some(folder.clone()),
        ..options()
    };
    let drawn = |cloud: &LocalCloud| cloud.setup("writer").unwrap().entropy.ulid(options.start);
    let first_drawn = {
        let cloud = LocalCloud::from_template(TEMPLATE, options.clone()).unwrap();
        cloud.install::<Writer>().unwrap();
        cloud.install::<Relay>().unwrap();
        put(&cloud, "fail-1").await;
        cloud.advance(Duration::minutes(1)).await;
        drawn(&cloud)
    };
    let cloud = LocalCloud::from_template(TEMPLATE, options.clone()).unwrap();
    assert_eq!(cloud.clock().now(), options.start + Duration::minutes(1));
    assert_ne!(drawn(&cloud), first_drawn, "no id is given out again");
    assert_eq!(bodies(&cloud, "jobs"), ["fail-1"]);
    assert_eq!(cloud.table("rows").unwrap().len(), 1);
    cloud.install::<Relay>().unwrap();
    assert_eq!(
        cloud.settle().await.deliveries,
        0,
        "the stream was read before"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn one_package_under_two_names_has_two_environments_and_two_roles() {
    let twin = r#"
  Others: {Type: "AWS::SQS::Queue", Properties: {QueueName: others}}
  Twin:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: twin-relay
      Environment: {Variables: {QUEUE: !Ref Others}}
      Policies:
        - Statement:
            - {Effect: Allow, Action: sqs:SendMessage, Resource: !GetAtt Others.Arn}
            - Effect: Allow
              Action: [dynamodb:DescribeStream, dynamodb:GetRecords, dynamodb:GetShardIterator, dynamodb:ListStreams]
              Resource: !GetAtt Rows.StreamArn
      Events:
        Stream: {Type: DynamoDB, Properties: {Stream: !GetAtt Rows.StreamArn, StartingPosition: TRIM_HORIZON}}
"#;
    let cloud = LocalCloud::from_template(&format!("{TEMPLATE}{twin}"), options()).unwrap();
    cloud.install::<Writer>().unwrap();
    cloud.install::<Relay>().unwrap();
    cloud.install_as::<Relay>("twin-relay").unwrap();
    put(&cloud, "a").await;
    cloud.settle().await;
    assert_eq!(bodies(&cloud, "jobs"), ["a"]);
    assert_eq!(bodies(&cloud, "others"), ["a"]);
    assert_eq!(cloud.denied(), []);
    let senders: Vec<String> = cloud
        .calls()
        .into_iter()
        .map(|call| call.function)
        .collect();
    assert!(senders.contains(&"relay".to_owned()) && senders.contains(&"twin-relay".to_owned()));
}

#[test]
fn the_deployed_template_can_be_built() {
    let template = include_str!("../../../../template.yaml");
    let cloud = LocalCloud::from_template(template, options()).unwrap();
    assert!(cloud.functions().contains(&"bdc-intake".to_owned()));
    assert_eq!(cloud.table("bdc-outbox").unwrap(), Vec::<Value>::new());
    assert!(cloud.secrets()["bdc-tokens"].contains("front-of-house"));
}

#[tokio::test]
async fn the_deployed_schedules_may_start_their_functions() {
    let template = include_str!("../../../../template.yaml");
    let cloud = LocalCloud::from_template(template, options()).unwrap();
    assert!(!cloud.schedules().is_empty());
    for schedule in cloud.schedules() {
        let function = crate::template::function_in(&schedule.target);
        cloud.install_as::<Worker>(function).unwrap();
        assert!(cloud.fire_schedule(&schedule.name));
    }
    let settled = cloud.settle().await;
    assert_eq!(settled.deliveries, cloud.schedules().len());
    let denied = cloud.denied().into_iter();
    let denied: Vec<String> = denied
        .map(|denied| denied.action)
        .filter(|action| action == "lambda:InvokeFunction")
        .collect();
    assert_eq!(denied, Vec::<String>::new());
}
