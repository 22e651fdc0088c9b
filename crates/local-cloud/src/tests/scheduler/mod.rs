//! Schedules that calls make.

mod calls;
mod firing;

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::operation::create_schedule::builders::CreateScheduleFluentBuilder;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, ScheduleState, Target,
};

use super::*;

const TEMPLATE: &str = r#"
Resources:
  Group: {Type: "AWS::Scheduler::ScheduleGroup", Properties: {Name: dunning}}
  Dead: {Type: "AWS::SQS::Queue", Properties: {QueueName: schedules-dlq}}
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: rows
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  StartRole:
    Type: AWS::IAM::Role
    Properties:
      RoleName: start
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Principal: {Service: scheduler.amazonaws.com}, Action: sts:AssumeRole}]
      Policies:
        - PolicyName: own
          PolicyDocument:
            Statement:
              - {Effect: Allow, Action: lambda:InvokeFunction, Resource: !GetAtt Target.Arn}
              - {Effect: Allow, Action: sqs:SendMessage, Resource: !GetAtt Dead.Arn}
  OtherRole:
    Type: AWS::IAM::Role
    Properties:
      RoleName: other
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Principal: {Service: [lambda.amazonaws.com]}, Action: sts:AssumeRole}]
  Planner:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: planner
      Policies:
        - Statement:
            - Effect: Allow
              Action: [scheduler:CreateSchedule, scheduler:GetSchedule, scheduler:DeleteSchedule]
              Resource: !Sub "arn:aws:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/dunning/*"
            - Effect: Allow
              Action: iam:PassRole
              Resource: !GetAtt StartRole.Arn
              Condition: {StringEquals: {iam:PassedToService: scheduler.amazonaws.com}}
  Target:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: writer
      Environment: {Variables: {TABLE: !Ref Rows, SECRET: none}}
      Policies:
        - Statement: [{Effect: Allow, Action: dynamodb:PutItem, Resource: !GetAtt Rows.Arn}]
  Report:
    Type: AWS::Scheduler::Schedule
    Properties:
      Name: report
      GroupName: !Ref Group
      ScheduleExpression: cron(0 9 ? * 2#1 *)
      ScheduleExpressionTimezone: Europe/London
      FlexibleTimeWindow: {Mode: "OFF"}
      Target: {Arn: !GetAtt Target.Arn, RoleArn: !GetAtt StartRole.Arn, Input: '{"body": "{\"id\": \"report\"}"}'}
"#;

const WRITER: &str = "arn:aws:lambda:eu-west-2:000000000000:function:writer";
const START_ROLE: &str = "arn:aws:iam::000000000000:role/start";

fn cloud() -> LocalCloud {
    opened(options())
}

fn opened(options: Options) -> LocalCloud {
    let cloud = LocalCloud::from_template(TEMPLATE, options).unwrap();
    cloud.install::<Writer>().unwrap();
    cloud
}

fn operator(cloud: &LocalCloud) -> Client {
    lambda_kit::client!(aws_sdk_scheduler, &cloud.operator())
}

fn planner(cloud: &LocalCloud) -> Client {
    lambda_kit::client!(aws_sdk_scheduler, &cloud.setup("planner").unwrap().aws)
}

/// The target that writes a row with this id.
fn target(id: &str) -> aws_sdk_scheduler::types::builders::TargetBuilder {
    let dead = DeadLetterConfig::builder().arn("arn:aws:sqs:eu-west-2:000000000000:schedules-dlq");
    let retries = RetryPolicy::builder()
        .maximum_event_age_in_seconds(900)
        .maximum_retry_attempts(2);
    Target::builder()
        .arn(WRITER)
        .role_arn(START_ROLE)
        .input(json!({"body": json!({ "id": id }).to_string()}).to_string())
        .dead_letter_config(dead.build())
        .retry_policy(retries.build())
}

/// A schedule of the group `dunning` that is gone when it has fired.
fn once(client: &Client, name: &str, at: &str) -> CreateScheduleFluentBuilder {
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
    client
        .create_schedule()
        .name(name)
        .group_name("dunning")
        .schedule_expression(format!("at({at})"))
        .flexible_time_window(window.build().unwrap())
        .action_after_completion(ActionAfterCompletion::Delete)
        .target(target(name).build().unwrap())
}

async fn code(create: CreateScheduleFluentBuilder) -> String {
    match create.send().await {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let error = error.into_service_error();
            error.meta().code().unwrap_or_default().to_owned()
        }
    }
}

fn ids(cloud: &LocalCloud) -> Vec<String> {
    let rows = cloud.table("rows").unwrap();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| format!("{} {}", text(row, "id"), text(row, "made_at")))
        .collect()
}

fn made(cloud: &LocalCloud) -> Vec<Planned> {
    let mut schedules = cloud.schedules();
    schedules.retain(|schedule| !schedule.of_template);
    schedules
}
