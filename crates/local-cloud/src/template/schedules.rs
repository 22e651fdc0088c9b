//! Schedules, of a template or of a call of the API: both write the same properties.

use serde_json::{Value, json};

use super::model::{DEFAULT_GROUP, Schedule, ScheduleTarget, Stack};
use super::names::function_arn;
use super::read::{function_named, last_part, text, truth};
use crate::schedule::Timing;

/// Reads the properties of a schedule. SAM's events name no target: it is `function`.
///
/// # Errors
/// What AWS would refuse, as a sentence.
pub(crate) fn read(properties: &Value, function: Option<String>) -> Result<Schedule, String> {
    let expression = [&properties["ScheduleExpression"], &properties["Schedule"]]
        .into_iter()
        .find_map(text)
        .ok_or("a schedule needs an expression")?;
    let zone = text(&properties["ScheduleExpressionTimezone"]);
    let timing = Timing::parse(&expression, zone.as_deref())?;
    let target = &properties["Target"];
    let input = [&target["Input"], &properties["Input"]]
        .into_iter()
        .find_map(text);
    let input = match input {
        Some(json) => serde_json::from_str(&json).map_err(|error| format!("bad Input: {error}"))?,
        None => Value::Object(serde_json::Map::new()),
    };
    let dead_letters = [
        &target["DeadLetterConfig"]["Arn"],
        &properties["DeadLetterConfig"]["Arn"],
    ];
    let roles = [&target["RoleArn"], &properties["RoleArn"]];
    let mut definition = properties.clone();
    if let Some(function) = &function {
        definition["ScheduleExpression"] = json!(expression);
        definition["Target"] = json!({"Arn": function_arn(function), "Input": input.to_string()});
    }
    Ok(Schedule {
        timing,
        group: text(&properties["GroupName"]).unwrap_or_else(|| DEFAULT_GROUP.to_owned()),
        target: goal(target, function)?,
        input,
        dead_letter_queue: dead_letters.into_iter().find_map(last_part),
        role: roles.into_iter().find_map(last_part),
        definition,
    })
}

fn goal(target: &Value, function: Option<String>) -> Result<ScheduleTarget, String> {
    if let Some(function) = function {
        return Ok(ScheduleTarget::Function(function));
    }
    let arn = text(&target["Arn"]).unwrap_or_default();
    if arn.contains(":sqs:") {
        let queue = last_part(&target["Arn"]).unwrap_or_default();
        return Ok(ScheduleTarget::Queue(queue));
    }
    let function = function_named(&target["Arn"]).ok_or("a schedule needs a target")?;
    Ok(ScheduleTarget::Function(function))
}

/// Adds a schedule of the template, unless it is disabled.
pub(super) fn add(stack: &mut Stack, name: String, mut schedule: Schedule) {
    let definition = &mut schedule.definition;
    let disabled = text(&definition["State"]).as_deref() == Some("DISABLED")
        || truth(&definition["Enabled"]) == Some(false);
    if disabled {
        return;
    }
    definition["Name"] = json!(name);
    let key = match schedule.group.as_str() {
        DEFAULT_GROUP => name,
        group => format!("{group}/{name}"),
    };
    stack.schedules.insert(key, schedule);
}
