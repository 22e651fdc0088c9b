use super::*;

const TEMPLATE: &str = r#"
Parameters:
  Stage: {Type: String, Default: prod}
  WithAudit: {Type: String, Default: "no"}
Conditions:
  Audited: !Equals [!Ref WithAudit, "yes"]
Globals:
  Function:
    Timeout: 9
    Environment: {Variables: {STAGE: !Ref Stage, SHARED: global}}
Resources:
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "rows-${Stage}"
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
  Audit:
    Type: AWS::DynamoDB::Table
    Condition: Audited
    Properties:
      TableName: audit
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt JobsDead.Arn, maxReceiveCount: 5}
  JobsDead: {Type: "AWS::SQS::Queue", Properties: {QueueName: jobs-dlq}}
  Key: {Type: "AWS::SecretsManager::Secret", Properties: {Name: bdc-signing-key}}
  WorkerRole:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyName: own
          PolicyDocument:
            Statement:
              - {Effect: Allow, Action: sqs:SendMessage, Resource: !GetAtt Jobs.Arn}
              - {Effect: Allow, Action: dynamodb:Query, Resource: !Sub "${Rows.Arn}/index/by-age"}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: worker
      Role: !GetAtt WorkerRole.Arn
      FunctionUrlConfig: {AuthType: NONE}
      Environment:
        Variables:
          SHARED: own
          QUEUE: !Ref Jobs
          SECRET: !Ref Key
          ITSELF: !GetAtt WorkerUrl.FunctionUrl
          AUDIT: !If [Audited, !Ref Audit, ""]
      Events:
        FromQueue:
          Type: SQS
          Properties: {Queue: !GetAtt Jobs.Arn, BatchSize: 3, FunctionResponseTypes: [ReportBatchItemFailures]}
        FromTime:
          Type: ScheduleV2
          Properties: {ScheduleExpression: rate(5 minutes), Input: '{"kind": "sweep"}'}
  FromStream:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Worker
      EventSourceArn: !GetAtt Rows.StreamArn
      FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT"]}'}]}
      DestinationConfig: {OnFailure: {Destination: !GetAtt JobsDead.Arn}}
"#;

fn stack(parameters: &[(&str, &str)]) -> Result<Arc<Stack>, CloudError> {
    let parameters = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    load(TEMPLATE, &parameters.collect(), "http://127.0.0.1:8787")
}

#[test]
fn a_function_gets_its_environment_role_and_triggers() {
    let stack = stack(&[]).unwrap();
    let worker = &stack.functions["worker"];
    let variable = |name: &str| worker.environment[name].as_str();
    assert_eq!(variable("STAGE"), "prod");
    assert_eq!(variable("SHARED"), "own");
    assert_eq!(
        variable("QUEUE"),
        "https://sqs.eu-west-2.amazonaws.com/000000000000/jobs"
    );
    assert_eq!(variable("SECRET"), secret_arn("bdc-signing-key"));
    assert_eq!(variable("ITSELF"), "http://127.0.0.1:8787/url/worker/");
    assert_eq!(variable("AUDIT"), "");
    assert_eq!(worker.timeout_seconds, 9);
    let allowed: Vec<String> = worker
        .role
        .allowed()
        .into_iter()
        .map(|(_, resource)| resource)
        .collect();
    assert_eq!(
        allowed,
        [
            "arn:aws:dynamodb:eu-west-2:000000000000:table/rows-prod/index/by-age",
            "arn:aws:sqs:eu-west-2:000000000000:jobs"
        ]
    );
    let mapping = &stack.queue_mappings[0];
    assert_eq!(
        (
            mapping.queue.as_str(),
            mapping.batch_size,
            mapping.partial_failures
        ),
        ("jobs", 3, true)
    );
    let mapping = &stack.stream_mappings[0];
    assert_eq!(
        (mapping.table.as_str(), mapping.function.as_str()),
        ("rows-prod", "worker")
    );
    assert_eq!(mapping.failure_queue.as_deref(), Some("jobs-dlq"));
    assert_eq!(
        stack.schedules["WorkerFromTime"].input,
        json!({"kind": "sweep"})
    );
}

#[test]
fn a_resource_is_there_when_its_condition_holds() {
    assert!(!stack(&[]).unwrap().tables.contains_key("audit"));
    let audited = stack(&[("WithAudit", "yes")]).unwrap();
    assert!(audited.tables.contains_key("audit"));
    assert_eq!(audited.functions["worker"].environment["AUDIT"], "audit");
}

#[test]
fn a_parameter_that_is_not_there_is_an_error() {
    assert!(stack(&[("Sage", "prod")]).is_err());
}

#[test]
fn a_name_that_stands_for_nothing_names_its_resource() {
    let template = TEMPLATE.replace("QUEUE: !Ref Jobs", "QUEUE: !Ref Jops");
    let error = load(&template, &BTreeMap::new(), "http://local").unwrap_err();
    assert!(
        error.to_string().contains("Worker") && error.to_string().contains("Jops"),
        "{error}"
    );
}

#[test]
fn a_queue_that_shows_messages_again_too_soon_is_refused() {
    let template = TEMPLATE.replace("VisibilityTimeout: 60", "VisibilityTimeout: 5");
    assert!(load(&template, &BTreeMap::new(), "http://local").is_err());
}

#[test]
fn the_deployed_template_is_understood() {
    let template = include_str!("../../../../template.yaml");
    let stack = load(template, &BTreeMap::new(), "http://127.0.0.1:8787").unwrap();
    assert!(stack.functions.contains_key("bdc-relay"));
    assert_eq!(stack.stream_mappings.len(), 1);
}
