//! Reads resolved resources into a [`Stack`]: tables, queues, secrets, topics, buckets, roles,
//! functions.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::intrinsics::plain;
use super::model::{Bucket, Function, Queue, Redrive, Stack, Table};
use super::{Resource, names, triggers};
use crate::error::CloudError;
use crate::iam::{Role, one_or_many};

/// The resource types that the cloud plays. Others (alarms, log groups, …) are left alone.
pub(super) const KINDS: [&str; 19] = [
    "AWS::DynamoDB::Table",
    "AWS::SQS::Queue",
    "AWS::SecretsManager::Secret",
    "AWS::SNS::Topic",
    "AWS::SNS::Subscription",
    "AWS::IAM::Role",
    "AWS::IAM::Policy",
    "AWS::IAM::RolePolicy",
    "AWS::IAM::ManagedPolicy",
    "AWS::Serverless::Function",
    "AWS::Lambda::Function",
    "AWS::Lambda::Url",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Scheduler::Schedule",
    "AWS::Scheduler::ScheduleGroup",
    "AWS::S3::Bucket",
    "AWS::SES::ConfigurationSet",
    "AWS::SES::ConfigurationSetEventDestination",
];

pub(super) fn stack(resources: &[Resource]) -> Result<Stack, CloudError> {
    let mut stack = Stack::default();
    let roles = roles(resources)?;
    for resource in resources {
        let properties = &resource.properties;
        let named = |property: &str| name(resource, property);
        match resource.kind.as_str() {
            "AWS::DynamoDB::Table" => {
                stack.tables.insert(named("TableName"), table(resource)?);
            }
            "AWS::SQS::Queue" => {
                stack.queues.insert(named("QueueName"), queue(properties));
            }
            "AWS::SecretsManager::Secret" => {
                stack.secrets.insert(named("Name"));
            }
            "AWS::SNS::Topic" => {
                stack.topics.entry(named("TopicName")).or_default();
            }
            "AWS::Serverless::Function" | "AWS::Lambda::Function" => {
                stack
                    .functions
                    .insert(named("FunctionName"), function(resource, &roles)?);
            }
            "AWS::IAM::ManagedPolicy" => {
                let mut role = Role::default();
                role.add(&properties["PolicyDocument"])
                    .map_err(|problem| resource.problem(problem))?;
                stack.policies.insert(named("ManagedPolicyName"), role);
            }
            "AWS::Scheduler::ScheduleGroup" => {
                stack.schedule_groups.insert(named("Name"));
            }
            "AWS::S3::Bucket" => {
                let name = text(&properties["BucketName"])
                    .unwrap_or_else(|| names::bucket_name(&resource.logical_id));
                let versioning = &properties["VersioningConfiguration"]["Status"];
                let versioned = versioning == "Enabled";
                stack.buckets.insert(name, Bucket { versioned });
            }
            "AWS::SES::ConfigurationSet" => {
                stack.configuration_sets.entry(named("Name")).or_default();
            }
            "AWS::IAM::Role" if trusts_scheduler(properties) => {
                stack.scheduler_roles.insert(named("RoleName"));
            }
            // The other roles are read above, triggers below.
            _ => {}
        }
    }
    stack.roles = roles;
    for resource in resources {
        triggers::add(&mut stack, resource)?;
    }
    triggers::check(&stack)?;
    Ok(stack)
}

/// Whether EventBridge Scheduler may assume a role.
fn trusts_scheduler(role: &Value) -> bool {
    let statements = one_or_many(&role["AssumeRolePolicyDocument"]["Statement"]);
    statements.into_iter().any(|statement| {
        let mut services = one_or_many(&statement["Principal"]["Service"]).into_iter();
        services.any(|service| service == SCHEDULER)
    })
}

/// EventBridge Scheduler, as roles name it.
pub(crate) const SCHEDULER: &str = "scheduler.amazonaws.com";

pub(super) fn name(resource: &Resource, property: &str) -> String {
    text(&resource.properties[property]).unwrap_or_else(|| resource.logical_id.clone())
}

/// Reads a scalar as text; nothing and empty text are `None`.
pub(super) fn text(value: &Value) -> Option<String> {
    (!value.is_null() && !value.is_array() && !value.is_object())
        .then(|| plain(value))
        .filter(|text| !text.is_empty())
}

/// Reads a number that may be written as text.
pub(super) fn number<T: std::str::FromStr>(value: &Value) -> Option<T> {
    text(value).and_then(|text| text.parse().ok())
}

pub(super) fn truth(value: &Value) -> Option<bool> {
    text(value).map(|text| text == "true")
}

/// The last part of an ARN or URL: a queue's or topic's name.
pub(super) fn last_part(value: &Value) -> Option<String> {
    let text = text(value)?;
    text.rsplit([':', '/']).next().map(str::to_owned)
}

fn table(resource: &Resource) -> Result<Table, CloudError> {
    const CREATE: [&str; 5] = [
        "AttributeDefinitions",
        "KeySchema",
        "GlobalSecondaryIndexes",
        "LocalSecondaryIndexes",
        "BillingMode",
    ];
    let properties = &resource.properties;
    let mut create = Map::new();
    create.insert("TableName".to_owned(), json!(name(resource, "TableName")));
    for property in CREATE {
        if let Some(value) = properties.get(property) {
            create.insert(property.to_owned(), value.clone());
        }
    }
    create
        .entry("BillingMode")
        .or_insert(json!("PAY_PER_REQUEST"));
    if create["BillingMode"] == "PROVISIONED" {
        create.insert(
            "ProvisionedThroughput".to_owned(),
            properties["ProvisionedThroughput"].clone(),
        );
    }
    for index in create
        .get_mut("GlobalSecondaryIndexes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        drop_unknown(
            index,
            &[
                "IndexName",
                "KeySchema",
                "Projection",
                "ProvisionedThroughput",
            ],
        );
    }
    let stream_view = text(&properties["StreamSpecification"]["StreamViewType"]);
    if stream_view.is_some() {
        // Both images are kept, so that an update that changed nothing can be told apart.
        let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
        create.insert("StreamSpecification".to_owned(), stream);
    }
    let ttl = &properties["TimeToLiveSpecification"];
    let keys = properties["KeySchema"].as_array();
    let keys = keys.ok_or_else(|| resource.problem("a table needs a KeySchema"))?;
    Ok(Table {
        create: Value::Object(create),
        stream_view,
        ttl_attribute: text(&ttl["AttributeName"])
            .filter(|_| truth(&ttl["Enabled"]) != Some(false)),
        key_names: keys
            .iter()
            .filter_map(|key| text(&key["AttributeName"]))
            .collect(),
    })
}

fn drop_unknown(object: &mut Value, known: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|key, _| known.contains(&key.as_str()));
    }
}

fn queue(properties: &Value) -> Queue {
    let policy = &properties["RedrivePolicy"];
    let redrive = last_part(&policy["deadLetterTargetArn"]).map(|dead_letter_queue| Redrive {
        dead_letter_queue,
        max_receive_count: number(&policy["maxReceiveCount"]).unwrap_or(10),
    });
    Queue {
        visibility_seconds: number(&properties["VisibilityTimeout"]).unwrap_or(30),
        delay_seconds: number(&properties["DelaySeconds"]).unwrap_or(0),
        retention_seconds: number(&properties["MessageRetentionPeriod"]).unwrap_or(345_600),
        redrive,
    }
}

/// Roles by name, with the policies that are attached from outside.
fn roles(resources: &[Resource]) -> Result<BTreeMap<String, Role>, CloudError> {
    let mut roles: BTreeMap<String, Role> = BTreeMap::new();
    for resource in resources {
        let properties = &resource.properties;
        let refused = |problem: String| resource.problem(problem);
        match resource.kind.as_str() {
            "AWS::IAM::Role" => {
                let role = roles.entry(name(resource, "RoleName")).or_default();
                for policy in properties["Policies"].as_array().into_iter().flatten() {
                    role.add(&policy["PolicyDocument"]).map_err(refused)?;
                }
            }
            "AWS::IAM::Policy" | "AWS::IAM::RolePolicy" => {
                let several = properties["Roles"].as_array().into_iter().flatten();
                for target in several.chain(properties.get("RoleName")).filter_map(text) {
                    let role = roles.entry(target).or_default();
                    role.add(&properties["PolicyDocument"]).map_err(refused)?;
                }
            }
            _ => {}
        }
    }
    Ok(roles)
}

fn function(resource: &Resource, roles: &BTreeMap<String, Role>) -> Result<Function, CloudError> {
    let properties = &resource.properties;
    let mut role = match text(&properties["Role"]) {
        Some(arn) => {
            let name = arn.rsplit('/').next().unwrap_or(&arn);
            roles
                .get(name)
                .cloned()
                .ok_or_else(|| resource.problem(format!("there is no role `{name}`")))?
        }
        None => Role::default(),
    };
    for policy in properties["Policies"].as_array().into_iter().flatten() {
        if policy.get("Statement").is_some() {
            role.add(policy)
                .map_err(|problem| resource.problem(problem))?;
        } else if !policy.is_string() {
            return Err(resource.problem("SAM policy templates are not known here"));
        }
    }
    let variables = properties["Environment"]["Variables"].as_object();
    let invoke = &properties["EventInvokeConfig"];
    let dead_letters = [
        &properties["DeadLetterQueue"]["TargetArn"],
        &properties["DeadLetterConfig"]["TargetArn"],
    ];
    let failure = last_part(&invoke["DestinationConfig"]["OnFailure"]["Destination"]);
    Ok(Function {
        environment: variables
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        role,
        timeout_seconds: number(&properties["Timeout"]).unwrap_or(3),
        has_url: properties.get("FunctionUrlConfig").is_some(),
        async_retries: number(&invoke["MaximumRetryAttempts"]).unwrap_or(2),
        async_age_max_seconds: number(&invoke["MaximumEventAgeInSeconds"]).unwrap_or(21_600),
        async_failure_queue: failure,
        async_dead_letter_queue: dead_letters.into_iter().find_map(last_part),
    })
}

/// The function that a property of a trigger names.
pub(super) fn function_named(value: &Value) -> Option<String> {
    text(value).map(|text| names::function_in(&text).to_owned())
}
