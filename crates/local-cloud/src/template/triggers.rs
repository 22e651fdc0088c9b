//! What calls a function: event source mappings, schedules, subscriptions, URLs; and where SES
//! publishes its events.
//!
//! SAM's `Events` and the plain resources are the same thing written twice: both end up here.

use serde_json::Value;

use super::model::{EventDestination, QueueMapping, Stack, StreamMapping};
use super::read::{function_named, last_part, name, number, text, truth};
use super::{Resource, schedules};
use crate::error::CloudError;

/// Adds the triggers that a resource brings.
pub(super) fn add(stack: &mut Stack, resource: &Resource) -> Result<(), CloudError> {
    let properties = &resource.properties;
    match resource.kind.as_str() {
        "AWS::Serverless::Function" => add_sam_events(stack, resource),
        "AWS::Lambda::EventSourceMapping" => {
            let function = function_named(&properties["FunctionName"]);
            let function = function.ok_or_else(|| resource.problem("no FunctionName"))?;
            add_mapping(
                stack,
                resource,
                function,
                &properties["EventSourceArn"],
                properties,
            )
        }
        "AWS::Scheduler::Schedule" => {
            let name = name(resource, "Name");
            let schedule = schedules::read(properties, None);
            let schedule = schedule.map_err(|problem| resource.problem(problem))?;
            schedules::add(stack, name, schedule);
            Ok(())
        }
        "AWS::SNS::Subscription" => {
            if properties["Protocol"] == "lambda" {
                let function = function_named(&properties["Endpoint"]);
                add_subscription(stack, last_part(&properties["TopicArn"]), function);
            }
            Ok(())
        }
        "AWS::SES::ConfigurationSetEventDestination" => add_event_destination(stack, resource),
        "AWS::Lambda::Url" => {
            let function = function_named(&properties["TargetFunctionArn"]);
            let function = function.and_then(|name| stack.functions.get_mut(&name));
            function
                .ok_or_else(|| resource.problem("a URL of no function"))?
                .has_url = true;
            Ok(())
        }
        "AWS::Lambda::EventInvokeConfig" => {
            let function = function_named(&properties["FunctionName"]);
            let function = function.and_then(|name| stack.functions.get_mut(&name));
            let function = function.ok_or_else(|| resource.problem("of no function"))?;
            function.async_retries = number(&properties["MaximumRetryAttempts"]).unwrap_or(2);
            function.async_age_max_seconds =
                number(&properties["MaximumEventAgeInSeconds"]).unwrap_or(21_600);
            let queue = last_part(&properties["DestinationConfig"]["OnFailure"]["Destination"]);
            function.async_failure_queue = queue.or(function.async_failure_queue.take());
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add_sam_events(stack: &mut Stack, resource: &Resource) -> Result<(), CloudError> {
    let function = name(resource, "FunctionName");
    for (id, event) in resource.properties["Events"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let properties = &event["Properties"];
        match event["Type"].as_str().unwrap_or_default() {
            "SQS" => add_mapping(
                stack,
                resource,
                function.clone(),
                &properties["Queue"],
                properties,
            )?,
            "DynamoDB" => add_mapping(
                stack,
                resource,
                function.clone(),
                &properties["Stream"],
                properties,
            )?,
            "ScheduleV2" | "Schedule" => {
                let name = text(&properties["Name"])
                    .unwrap_or_else(|| format!("{}{id}", resource.logical_id));
                let schedule = schedules::read(properties, Some(function.clone()));
                let schedule = schedule.map_err(|problem| resource.problem(problem))?;
                schedules::add(stack, name, schedule);
            }
            "SNS" => {
                let topic = last_part(&properties["Topic"]);
                add_subscription(stack, topic, Some(function.clone()));
            }
            other => {
                return Err(
                    resource.problem(format!("events of type `{other}` are not known here"))
                );
            }
        }
    }
    Ok(())
}

fn add_mapping(
    stack: &mut Stack,
    resource: &Resource,
    function: String,
    source: &Value,
    properties: &Value,
) -> Result<(), CloudError> {
    if truth(&properties["Enabled"]) == Some(false) {
        return Ok(());
    }
    let source = text(source).ok_or_else(|| resource.problem("a mapping needs a source"))?;
    let answers = properties["FunctionResponseTypes"].as_array();
    let partial_failures =
        answers.is_some_and(|types| types.iter().any(|kind| kind == "ReportBatchItemFailures"));
    let batch_size = number(&properties["BatchSize"]);
    match source.split_once(":table/") {
        Some((_, table)) => stack.stream_mappings.push(StreamMapping {
            table: table.split('/').next().unwrap_or(table).to_owned(),
            function,
            batch_size: batch_size.unwrap_or(100),
            partial_failures,
            bisect: truth(&properties["BisectBatchOnFunctionError"]) == Some(true),
            // -1 is AWS's way to say "no limit".
            retries_max: number(&properties["MaximumRetryAttempts"]),
            record_age_max_seconds: number(&properties["MaximumRecordAgeInSeconds"])
                .filter(|age| *age > 0),
            filters: filters(resource, properties)?,
            failure_queue: last_part(&properties["DestinationConfig"]["OnFailure"]["Destination"]),
        }),
        None => stack.queue_mappings.push(QueueMapping {
            queue: source.rsplit(':').next().unwrap_or(&source).to_owned(),
            function,
            batch_size: batch_size.unwrap_or(10),
            partial_failures,
        }),
    }
    Ok(())
}

fn filters(resource: &Resource, properties: &Value) -> Result<Vec<Value>, CloudError> {
    let filters = properties["FilterCriteria"]["Filters"].as_array();
    let patterns = filters
        .into_iter()
        .flatten()
        .filter_map(|filter| filter["Pattern"].as_str());
    patterns
        .map(|pattern| {
            let pattern: Value = serde_json::from_str(pattern)
                .map_err(|error| resource.problem(format!("bad filter pattern: {error}")))?;
            crate::filter::check(&pattern).map_err(|problem| resource.problem(problem))?;
            Ok(pattern)
        })
        .collect()
}

fn add_subscription(stack: &mut Stack, topic: Option<String>, function: Option<String>) {
    if let (Some(topic), Some(function)) = (topic, function) {
        stack.topics.entry(topic).or_default().push(function);
    }
}

fn add_event_destination(stack: &mut Stack, resource: &Resource) -> Result<(), CloudError> {
    let set = text(&resource.properties["ConfigurationSetName"]).unwrap_or_default();
    let destination = &resource.properties["EventDestination"];
    let topic_arn = text(&destination["SnsDestination"]["TopicARN"]);
    let (Some(topic_arn), true) = (topic_arn, truth(&destination["Enabled"]) != Some(false)) else {
        // Metrics and streams of events are not played.
        return Ok(());
    };
    let known = stack.configuration_sets.get_mut(&set);
    let known =
        known.ok_or_else(|| resource.problem(format!("there is no configuration set `{set}`")))?;
    let kinds = destination["MatchingEventTypes"].as_array();
    known.push(EventDestination {
        kinds: kinds
            .into_iter()
            .flatten()
            .filter_map(text)
            // `renderingFailure` here, `RENDERING_FAILURE` in the API.
            .map(|kind| kind.to_lowercase().replace('_', ""))
            .collect(),
        topic_arn,
    });
    Ok(())
}

/// Checks that every trigger and redrive ends at something that exists.
pub(super) fn check(stack: &Stack) -> Result<(), CloudError> {
    let missing = |what: &str, name: &str, by: &str| CloudError::Resource {
        resource: by.to_owned(),
        problem: format!("there is no {what} `{name}`"),
    };
    for (by, queue) in &stack.queues {
        if let Some(redrive) = &queue.redrive
            && !stack.queues.contains_key(&redrive.dead_letter_queue)
        {
            return Err(missing("queue", &redrive.dead_letter_queue, by));
        }
    }
    for (by, schedule) in &stack.schedules {
        if !stack.has_schedule_group(&schedule.group) {
            return Err(missing("schedule group", &schedule.group, by));
        }
        if let Some(role) = &schedule.role
            && !stack.scheduler_roles.contains(role)
        {
            return Err(missing("role for EventBridge Scheduler", role, by));
        }
    }
    for mapping in &stack.queue_mappings {
        let queue = stack.queues.get(&mapping.queue);
        let queue = queue.ok_or_else(|| missing("queue", &mapping.queue, &mapping.function))?;
        let function = stack.functions.get(&mapping.function);
        let function =
            function.ok_or_else(|| missing("function", &mapping.function, &mapping.queue))?;
        // Lambda refuses such a mapping.
        if queue.visibility_seconds < function.timeout_seconds {
            return Err(CloudError::Resource {
                resource: mapping.queue.clone(),
                problem: format!(
                    "its visibility time-out is below the time-out of `{}`",
                    mapping.function
                ),
            });
        }
    }
    for mapping in &stack.stream_mappings {
        if stack
            .tables
            .get(&mapping.table)
            .is_none_or(|table| table.stream_view.is_none())
        {
            return Err(missing(
                "stream of table",
                &mapping.table,
                &mapping.function,
            ));
        }
        if !stack.functions.contains_key(&mapping.function) {
            return Err(missing("function", &mapping.function, &mapping.table));
        }
    }
    Ok(())
}
