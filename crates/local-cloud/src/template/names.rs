//! What `Ref` and `GetAtt` of each resource give: deployed names, ARNs and URLs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::intrinsics::{ACCOUNT, REGION, Scope, plain};
use super::model::DEFAULT_GROUP;
use crate::error::CloudError;

/// Enters the names of all resources into `scope`.
///
/// # Errors
/// A name that depends on another resource.
pub(super) fn give_names(
    scope: &mut Scope,
    resources: &BTreeMap<String, Value>,
    base_url: &str,
) -> Result<(), CloudError> {
    for (logical_id, resource) in resources {
        let name = deployed_name(scope, logical_id, resource)?;
        let named = named(resource["Type"].as_str().unwrap_or_default(), &name);
        scope.references.insert(logical_id.clone(), named.reference);
        for (attribute, value) in named.attributes {
            scope
                .attributes
                .insert(format!("{logical_id}.{attribute}"), value);
        }
        if resource["Type"] == "AWS::Serverless::Function" {
            give_sam_names(scope, logical_id, &name, base_url);
        }
    }
    for (logical_id, resource) in resources {
        let group = resource["Properties"].get("GroupName");
        if let (true, Some(group)) = (resource["Type"] == "AWS::Scheduler::Schedule", group) {
            let group = plain(&scope.resolve(group)?);
            let name = deployed_name(scope, logical_id, resource)?;
            scope
                .attributes
                .insert(format!("{logical_id}.Arn"), schedule_arn(&group, &name));
        }
        if resource["Type"] == "AWS::Lambda::Url" {
            let target = scope.resolve(&resource["Properties"]["TargetFunctionArn"])?;
            let url = function_url(base_url, function_in(&plain(&target)));
            scope
                .attributes
                .insert(format!("{logical_id}.FunctionUrl"), url);
        }
    }
    Ok(())
}

/// SAM makes a URL, an alias and a version beside a function.
fn give_sam_names(scope: &mut Scope, logical_id: &str, name: &str, base_url: &str) {
    let url = function_url(base_url, name);
    scope
        .attributes
        .insert(format!("{logical_id}Url.FunctionUrl"), url);
    let arn = arn("lambda", &format!("function:{name}"));
    scope
        .references
        .insert(format!("{logical_id}.Alias"), format!("{arn}:live"));
    scope
        .references
        .insert(format!("{logical_id}.Version"), format!("{arn}:1"));
}

pub(super) fn function_url(base_url: &str, function: &str) -> String {
    format!("{}/url/{function}/", base_url.trim_end_matches('/'))
}

/// The function in a name, an ARN, or an ARN with an alias.
pub(crate) fn function_in(text: &str) -> &str {
    match text.split_once(":function:") {
        Some((_, rest)) => rest.split(':').next().unwrap_or(rest),
        None => text,
    }
}

pub(super) fn arn(service: &str, resource: &str) -> String {
    format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}")
}

fn deployed_name(scope: &Scope, logical_id: &str, resource: &Value) -> Result<String, CloudError> {
    const NAME_PROPERTIES: [&str; 11] = [
        "TableName",
        "QueueName",
        "FunctionName",
        "RoleName",
        "TopicName",
        "LogGroupName",
        "BucketName",
        "AlarmName",
        "EmailIdentity",
        "Name",
        "StateMachineName",
    ];
    let takes_name =
        resource["Type"] != "AWS::Lambda::Url" && resource["Type"] != "AWS::Lambda::Permission";
    let given = NAME_PROPERTIES
        .iter()
        .find_map(|property| resource["Properties"].get(property));
    match given {
        // An event source mapping's FunctionName is somebody else's name.
        Some(name)
            if takes_name
                && resource["Type"] != "AWS::Lambda::EventSourceMapping"
                && resource["Type"] != "AWS::Lambda::EventInvokeConfig"
                && resource["Type"] != "AWS::Lambda::Alias" =>
        {
            Ok(plain(&scope.resolve(name)?))
        }
        None if resource["Type"] == "AWS::S3::Bucket" => Ok(bucket_name(logical_id)),
        Some(_) | None => Ok(logical_id.to_owned()),
    }
}

struct Named {
    reference: String,
    attributes: Vec<(&'static str, String)>,
}

fn named(kind: &str, name: &str) -> Named {
    let own = |reference: String, attributes| Named {
        reference,
        attributes,
    };
    match kind {
        "AWS::DynamoDB::Table" => {
            let table = arn("dynamodb", &format!("table/{name}"));
            let stream = format!("{table}/stream/local");
            own(name.to_owned(), vec![("Arn", table), ("StreamArn", stream)])
        }
        "AWS::SQS::Queue" => {
            let url = queue_url(name);
            let attributes = vec![
                ("Arn", arn("sqs", name)),
                ("QueueName", name.to_owned()),
                ("QueueUrl", url.clone()),
            ];
            own(url, attributes)
        }
        "AWS::SecretsManager::Secret" => {
            let arn = secret_arn(name);
            own(arn.clone(), vec![("Id", arn)])
        }
        "AWS::SNS::Topic" => {
            let topic = arn("sns", name);
            own(
                topic.clone(),
                vec![("TopicArn", topic), ("TopicName", name.to_owned())],
            )
        }
        "AWS::Serverless::Function" | "AWS::Lambda::Function" => own(
            name.to_owned(),
            vec![("Arn", arn("lambda", &format!("function:{name}")))],
        ),
        "AWS::IAM::Role" => {
            let role = format!("arn:aws:iam::{ACCOUNT}:role/{name}");
            own(
                name.to_owned(),
                vec![("Arn", role), ("RoleId", format!("AROA{name}"))],
            )
        }
        "AWS::Scheduler::Schedule" => own(
            name.to_owned(),
            vec![("Arn", schedule_arn(DEFAULT_GROUP, name))],
        ),
        "AWS::Scheduler::ScheduleGroup" => own(
            name.to_owned(),
            vec![("Arn", arn("scheduler", &format!("schedule-group/{name}")))],
        ),
        "AWS::Logs::LogGroup" => own(
            name.to_owned(),
            vec![("Arn", arn("logs", &format!("log-group:{name}:*")))],
        ),
        "AWS::S3::Bucket" => own(
            name.to_owned(),
            vec![("Arn", format!("arn:aws:s3:::{name}"))],
        ),
        other => {
            let service = other.split("::").nth(1).unwrap_or("local").to_lowercase();
            own(name.to_owned(), vec![("Arn", arn(&service, name))])
        }
    }
}

/// A bucket's name has no capital letters; without one of its own it is made from the stack's.
pub(super) fn bucket_name(logical_id: &str) -> String {
    format!("paidonce-{}", logical_id.to_lowercase())
}

pub(crate) fn schedule_arn(group: &str, name: &str) -> String {
    arn("scheduler", &format!("schedule/{group}/{name}"))
}

pub(crate) fn queue_url(name: &str) -> String {
    format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}")
}

/// A secret's ARN ends in six characters that AWS chooses.
pub(crate) fn secret_arn(name: &str) -> String {
    arn("secretsmanager", &format!("secret:{name}-LoCaL1"))
}

pub(crate) fn function_arn(function: &str) -> String {
    arn("lambda", &format!("function:{function}"))
}

pub(crate) fn topic_arn(topic: &str) -> String {
    arn("sns", topic)
}
