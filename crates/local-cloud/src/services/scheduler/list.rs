//! ListSchedules: by group and name, page by page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{Refusal, invalid};
use crate::cloud::Cloud;
use crate::store::MadeSchedule;
use crate::template::{Schedule, schedule_arn};
use crate::wire::AwsRequest;

const PAGE_MAX: usize = 100;

pub(super) fn list(cloud: &Cloud, request: &AwsRequest) -> Result<Value, Refusal> {
    let query = |name: &str| request.rest.query(name);
    let size: usize = match query("MaxResults").map(str::parse) {
        None => PAGE_MAX,
        Some(Ok(size)) if (1..=PAGE_MAX).contains(&size) => size,
        Some(_) => return Err(invalid("MaxResults must be from 1 to 100")),
    };
    let after = query("NextToken").map(place).transpose()?;
    let wanted = |entry: &Value| {
        let is = |name: &str, wanted: Option<&str>| wanted.is_none_or(|text| entry[name] == text);
        let name = entry["Name"].as_str().unwrap_or_default();
        is("GroupName", query("ScheduleGroup"))
            && is("State", query("State"))
            && name.starts_with(query("NamePrefix").unwrap_or_default())
            && after.as_ref().is_none_or(|after| key(entry) > *after)
    };
    let mut entries = entries(cloud);
    entries.retain(wanted);
    entries.sort_by_cached_key(key);
    let more = entries.len() > size;
    entries.truncate(size);
    let next = entries.last().filter(|_| more).map(key);
    Ok(json!({
        "Schedules": entries,
        "NextToken": next.map(|place| URL_SAFE_NO_PAD.encode(place)),
    }))
}

/// Reads a token back into the place after which a page starts.
fn place(token: &str) -> Result<String, Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let place = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    place.ok_or_else(|| invalid("Invalid NextToken"))
}

fn key(entry: &Value) -> String {
    let part = |name: &str| entry[name].as_str().unwrap_or_default();
    format!("{}/{}", part("GroupName"), part("Name"))
}

fn entries(cloud: &Cloud) -> Vec<Value> {
    let of_template = cloud.stack.schedules.values();
    let mut entries: Vec<Value> = of_template.map(template_entry).collect();
    cloud
        .store
        .look(|state| entries.extend(state.schedules.values().map(made_entry)));
    entries
}

fn template_entry(schedule: &Schedule) -> Value {
    let definition = &schedule.definition;
    let name = definition["Name"].as_str().unwrap_or_default();
    json!({
        "Arn": schedule_arn(&schedule.group, name),
        "GroupName": schedule.group,
        "Name": name,
        "State": "ENABLED",
        "Target": {"Arn": definition["Target"]["Arn"]},
    })
}

fn made_entry(made: &MadeSchedule) -> Value {
    json!({
        "Arn": schedule_arn(&made.group, &made.name),
        "GroupName": made.group,
        "Name": made.name,
        "State": made.definition["State"],
        "Target": {"Arn": made.definition["Target"]["Arn"]},
        "CreationDate": made.created_at.timestamp(),
        "LastModificationDate": made.modified_at.timestamp(),
    })
}
