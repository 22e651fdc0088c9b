//! The cloud from outside: small functions, real SDK clients, time that only moves when told.

mod calls_gone_wrong;
mod delivery;
mod deployments;
mod disorderly;
mod faults;
mod index_lag;
mod mails;
mod neighbours;
mod objects;
mod scheduler;
mod services;
mod state;

use std::sync::atomic::{AtomicU32, Ordering};

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use lambda_kit::{ConfigError, Failure};

use super::*;

const TEMPLATE: &str = r#"
Resources:
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: rows
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      VisibilityTimeout: 30
      RedrivePolicy: {deadLetterTargetArn: !GetAtt JobsDead.Arn, maxReceiveCount: 2}
  JobsDead: {Type: "AWS::SQS::Queue", Properties: {QueueName: jobs-dlq}}
  RelayDead: {Type: "AWS::SQS::Queue", Properties: {QueueName: relay-dlq}}
  Key: {Type: "AWS::SecretsManager::Secret", Properties: {Name: bdc-signing-key}}
  Inbound: {Type: "AWS::SNS::Topic", Properties: {TopicName: bdc-inbound-sms}}
  Writer:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: writer
      Timeout: 10
      FunctionUrlConfig: {AuthType: NONE}
      Environment: {Variables: {TABLE: !Ref Rows, SECRET: !Ref Key}}
      Policies:
        - Statement:
            - {Effect: Allow, Action: dynamodb:PutItem, Resource: !GetAtt Rows.Arn}
            - {Effect: Deny, Action: dynamodb:PutItem, Resource: !GetAtt Rows.Arn,
               Condition: {"ForAnyValue:StringEquals": {dynamodb:Attributes: [secret]}}}
            - {Effect: Allow, Action: [dynamodb:DeleteItem, logs:PutLogEvents], Resource: !GetAtt Rows.Arn}
            - {Effect: Allow, Action: secretsmanager:GetSecretValue, Resource: !Ref Key}
            - {Effect: Allow, Action: sns:Publish, Resource: "*"}
      Events:
        Texts: {Type: SNS, Properties: {Topic: !Ref Inbound}}
  Relay:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: relay
      Timeout: 10
      Environment: {Variables: {QUEUE: !Ref Jobs}}
      Policies:
        - Statement:
            - {Effect: Allow, Action: sqs:SendMessage, Resource: [!GetAtt Jobs.Arn, !GetAtt RelayDead.Arn]}
            - Effect: Allow
              Action: [dynamodb:DescribeStream, dynamodb:GetRecords, dynamodb:GetShardIterator, dynamodb:ListStreams]
              Resource: !GetAtt Rows.StreamArn
      Events:
        Stream:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Rows.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 4
            MaximumRetryAttempts: 2
            BisectBatchOnFunctionError: true
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT"]}'}]}
            DestinationConfig: {OnFailure: {Destination: !GetAtt RelayDead.Arn}}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: worker
      Timeout: 10
      Policies:
        - Statement:
            - Effect: Allow
              Action: [sqs:ReceiveMessage, sqs:DeleteMessage, sqs:GetQueueAttributes]
              Resource: !GetAtt Jobs.Arn
      Events:
        Queue: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
        Time: {Type: ScheduleV2, Properties: {Name: tick, ScheduleExpression: rate(5 minutes), Input: '{"kind": "sweep"}'}}
"#;

/// Puts the JSON body of its request as a row, if there is none.
struct Writer {
    dynamodb: aws_sdk_dynamodb::Client,
    secrets: aws_sdk_secretsmanager::Client,
    sns: aws_sdk_sns::Client,
    table: String,
    secret: String,
}

impl Function for Writer {
    const NAME: &'static str = "writer";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let table = setup.environment.text("TABLE");
        let secret = setup.environment.text("SECRET");
        setup.environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            secrets: lambda_kit::client!(aws_sdk_secretsmanager, &setup.aws),
            sns: lambda_kit::client!(aws_sdk_sns, &setup.aws),
            table,
            secret,
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let Some(body) = event["body"].as_str() else {
            return Ok(json!({"statusCode": 200, "body": "text"}));
        };
        let row: BTreeMap<String, String> = serde_json::from_str(body)?;
        match row["id"].as_str() {
            "panic" => panic!("as asked"),
            "secret" => {
                let value = self
                    .secrets
                    .get_secret_value()
                    .secret_id(&self.secret)
                    .send()
                    .await?;
                return Ok(json!({"statusCode": 200, "body": value.secret_string()}));
            }
            "text" => {
                self.sns
                    .publish()
                    .phone_number("+447700900123")
                    .message("Hi <you> & me")
                    .send()
                    .await?;
                return Ok(json!({"statusCode": 200}));
            }
            _ => {}
        }
        let mut put = self
            .dynamodb
            .put_item()
            .table_name(&self.table)
            .condition_expression("attribute_not_exists(id)");
        put = put.item("made_at", AttributeValue::S(now.to_rfc3339()));
        for (name, value) in row {
            put = put.item(name, AttributeValue::S(value));
        }
        match put.send().await.map_err(|error| error.into_service_error()) {
            Ok(_) => Ok(json!({"statusCode": 201})),
            Err(error) if error.is_conditional_check_failed_exception() => {
                Ok(json!({"statusCode": 409}))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Sends each new row's id to the queue; a row `bad` fails, and a row `worse` fails everything.
struct Relay {
    sqs: aws_sdk_sqs::Client,
    queue: String,
}

impl Function for Relay {
    const NAME: &'static str = "relay";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let queue = setup.environment.text("QUEUE");
        setup.environment.check(Self {
            sqs: lambda_kit::client!(aws_sdk_sqs, &setup.aws),
            queue,
        })
    }

    async fn handle(&self, event: Value, _: DateTime<Utc>) -> Result<Value, Failure> {
        for record in event["Records"].as_array().into_iter().flatten() {
            let images = &record["dynamodb"];
            let id = images["NewImage"]["id"]["S"].as_str().unwrap_or_default();
            assert!(images.get("OldImage").is_none());
            match id {
                "bad" => {
                    return Ok(
                        json!({"batchItemFailures": [{"itemIdentifier": images["SequenceNumber"]}]}),
                    );
                }
                "worse" => return Err("worse".into()),
                _ => {}
            }
            self.sqs
                .send_message()
                .queue_url(&self.queue)
                .message_body(id)
                .send()
                .await?;
        }
        Ok(json!({"batchItemFailures": []}))
    }
}

static SWEEPS: AtomicU32 = AtomicU32::new(0);

/// Takes messages; those that start with `fail` come back.
struct Worker;

impl Function for Worker {
    const NAME: &'static str = "worker";

    fn new(_: &Setup) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    async fn handle(&self, event: Value, _: DateTime<Utc>) -> Result<Value, Failure> {
        if event["kind"] == "sweep" {
            SWEEPS.fetch_add(1, Ordering::Relaxed);
        }
        let records = event["Records"].as_array().into_iter().flatten();
        let failed = records.filter(|record| {
            record["body"]
                .as_str()
                .is_some_and(|body| body.starts_with("fail"))
        });
        let failures: Vec<Value> = failed
            .map(|record| json!({"itemIdentifier": record["messageId"]}))
            .collect();
        Ok(json!({ "batchItemFailures": failures }))
    }
}

fn options() -> Options {
    Options {
        parameters: BTreeMap::new(),
        base_url: "http://127.0.0.1:8787".to_owned(),
        start: "2027-03-01T09:00:00Z".parse().unwrap(),
        seed: 1,
        state: None,
    }
}

fn cloud() -> LocalCloud {
    let cloud = LocalCloud::from_template(TEMPLATE, options()).unwrap();
    cloud.install::<Writer>().unwrap();
    cloud.install::<Relay>().unwrap();
    cloud.install::<Worker>().unwrap();
    cloud
}

async fn post(cloud: &LocalCloud, body: Value) -> u16 {
    let request = Request::post("/").header("content-type", "application/json");
    let response = cloud
        .call_url(
            "writer",
            request.body(Bytes::from(body.to_string())).unwrap(),
        )
        .await;
    response.status().as_u16()
}

async fn put(cloud: &LocalCloud, id: &str) -> u16 {
    post(cloud, json!({ "id": id })).await
}

fn bodies(cloud: &LocalCloud, queue: &str) -> Vec<String> {
    let queues = cloud.queues();
    let messages = queues[queue].as_array().into_iter().flatten();
    messages
        .map(|message| message["body"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn operations(cloud: &LocalCloud) -> Vec<(String, String)> {
    cloud
        .calls()
        .into_iter()
        .map(|call| (call.operation, call.outcome))
        .collect()
}

fn pair(operation: &str, outcome: &str) -> (String, String) {
    (operation.to_owned(), outcome.to_owned())
}
