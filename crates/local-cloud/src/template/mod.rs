//! Reads `template.yaml` (SAM or CloudFormation) into a [`Stack`].
//!
//! First every resource whose condition holds gets its names, so that `Ref` and `GetAtt` work in
//! any order; then the resources that the cloud plays are resolved and read.

mod intrinsics;
mod model;
mod names;
mod read;
mod schedules;
mod triggers;
mod yaml;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

pub(crate) use intrinsics::{ACCOUNT, REGION, plain};
pub(crate) use model::{
    DEFAULT_GROUP, QueueMapping, Schedule, ScheduleTarget, Stack, StreamMapping, Table,
};
pub(crate) use names::{function_arn, function_in, schedule_arn, secret_arn, topic_arn};
pub(crate) use read::SCHEDULER;
pub(crate) use schedules::read as read_schedule;

use crate::error::CloudError;
use intrinsics::Scope;
use yaml::long_form;

/// One resource with its intrinsic functions resolved.
struct Resource {
    logical_id: String,
    kind: String,
    properties: Value,
}

impl Resource {
    fn problem(&self, problem: impl Into<String>) -> CloudError {
        CloudError::Resource {
            resource: self.logical_id.clone(),
            problem: problem.into(),
        }
    }
}

/// What a stack was read from: a template, its parameters and the base URL.
type Origin = (String, BTreeMap<String, String>, String);

/// The stacks that this process read last: thousands of clouds may be opened from one template.
static READ: Mutex<Vec<(Origin, Arc<Stack>)>> = Mutex::new(Vec::new());
const READ_MAX: usize = 8;

/// Reads a template, or remembers what it read. `base_url` is where Function URLs will be served.
///
/// # Errors
/// The first thing that can't be understood, with its resource.
pub(crate) fn load(
    template: &str,
    parameters: &BTreeMap<String, String>,
    base_url: &str,
) -> Result<Arc<Stack>, CloudError> {
    let known = |(known, stack): &(Origin, Arc<Stack>)| {
        let same = known.0 == template && known.1 == *parameters && known.2 == base_url;
        same.then(|| Arc::clone(stack))
    };
    let mut stacks = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stack) = stacks.iter().find_map(known) {
        return Ok(stack);
    }
    let stack = Arc::new(read_new(template, parameters, base_url)?);
    let origin = (template.to_owned(), parameters.clone(), base_url.to_owned());
    if stacks.len() == READ_MAX {
        stacks.remove(0);
    }
    stacks.push((origin, Arc::clone(&stack)));
    Ok(stack)
}

fn read_new(
    template: &str,
    parameters: &BTreeMap<String, String>,
    base_url: &str,
) -> Result<Stack, CloudError> {
    let document: serde_yaml_ng::Value = serde_yaml_ng::from_str(template)
        .map_err(|error| CloudError::Template(error.to_string()))?;
    let document = long_form(document)?;
    let mut scope = scope_of_parameters(&document, parameters)?;
    let resources = wanted_resources(&document, &scope)?;
    names::give_names(&mut scope, &resources, base_url)?;
    let globals = &document["Globals"]["Function"];
    let mut read = Vec::new();
    for (logical_id, resource) in resources {
        let kind = resource["Type"].as_str().unwrap_or_default().to_owned();
        if !read::KINDS.contains(&kind.as_str()) {
            continue;
        }
        let mut properties = resource["Properties"].clone();
        if kind == "AWS::Serverless::Function" {
            properties = merged(globals.clone(), properties);
        }
        read.push(Resource {
            properties: scope
                .resolve(&properties)
                .map_err(|error| CloudError::Resource {
                    resource: logical_id.clone(),
                    problem: error.to_string(),
                })?,
            logical_id,
            kind,
        });
    }
    read::stack(&read)
}

fn scope_of_parameters(
    document: &Value,
    given: &BTreeMap<String, String>,
) -> Result<Scope, CloudError> {
    let mut parameters = BTreeMap::from([
        ("AWS::Region".to_owned(), json!(REGION)),
        ("AWS::AccountId".to_owned(), json!(ACCOUNT)),
        ("AWS::Partition".to_owned(), json!("aws")),
        ("AWS::URLSuffix".to_owned(), json!("amazonaws.com")),
        ("AWS::StackName".to_owned(), json!("paidonce")),
        (
            "AWS::StackId".to_owned(),
            json!(format!(
                "arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/paidonce/local"
            )),
        ),
    ]);
    for (name, parameter) in document["Parameters"].as_object().into_iter().flatten() {
        let value = given
            .get(name)
            .map(|text| json!(text))
            .or_else(|| parameter.get("Default").cloned());
        let value = value
            .ok_or_else(|| CloudError::Template(format!("parameter `{name}` has no value")))?;
        parameters.insert(name.clone(), parameter_value(parameter, &value));
    }
    if let Some(unknown) = given.keys().find(|name| !parameters.contains_key(*name)) {
        return Err(CloudError::Template(format!(
            "there is no parameter `{unknown}`"
        )));
    }
    let conditions = document["Conditions"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    Ok(Scope {
        parameters,
        references: BTreeMap::new(),
        attributes: BTreeMap::new(),
        conditions: conditions.into_iter().collect(),
    })
}

/// Parameters are text, except the list types.
fn parameter_value(parameter: &Value, value: &Value) -> Value {
    let kind = parameter["Type"].as_str().unwrap_or("String");
    let text = plain(value);
    if kind.starts_with("List<") || kind == "CommaDelimitedList" {
        text.split(',').map(|part| part.trim().to_owned()).collect()
    } else {
        Value::String(text)
    }
}

fn wanted_resources(
    document: &Value,
    scope: &Scope,
) -> Result<BTreeMap<String, Value>, CloudError> {
    let resources = document["Resources"]
        .as_object()
        .ok_or_else(|| CloudError::Template("there are no resources".to_owned()))?;
    let mut wanted = BTreeMap::new();
    for (logical_id, resource) in resources {
        let holds = match resource["Condition"].as_str() {
            Some(name) => scope.holds(&json!({ "Condition": name }))?,
            None => true,
        };
        if holds {
            wanted.insert(logical_id.clone(), resource.clone());
        }
    }
    Ok(wanted)
}

/// SAM's rule for `Globals`: maps are merged, the resource's own scalar wins.
fn merged(globals: Value, own: Value) -> Value {
    match (globals, own) {
        (Value::Object(mut globals), Value::Object(own)) => {
            for (key, value) in own {
                let general = globals.remove(&key).unwrap_or(Value::Null);
                globals.insert(key, merged(general, value));
            }
            Value::Object(globals)
        }
        (globals, Value::Null) => globals,
        (_, own) => own,
    }
}

#[cfg(test)]
mod tests;
