//! Rows past their time to live are deleted when the virtual clock passes, once an hour.
//!
//! A row past its time may still be read until then, as on AWS (where it can take days: see
//! `LocalCloud::set_ttl_lag`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use chrono::Duration;
use serde_json::{Map, Value, json};

use crate::cloud::Cloud;
use crate::services::{dynamodb, index_lag};

const PAGES_MAX: usize = 10_000;

/// When the first row of each table expires, in seconds, with the number of writes when that was looked
/// up: before then, and without a write since, there is nothing to delete.
pub(crate) type Expiries = Mutex<BTreeMap<String, (u64, Option<i64>)>>;

pub(super) fn sweep_if_due(cloud: &Cloud) {
    let now = cloud.clock.now();
    let due = cloud
        .store
        .look(|state| state.ttl_swept_at + Duration::hours(1) <= now);
    if due {
        sweep(cloud);
        cloud.store.change(|state| state.ttl_swept_at = now);
    }
}

fn sweep(cloud: &Cloud) {
    let lag = *cloud.ttl_lag.lock().unwrap_or_else(PoisonError::into_inner);
    let before = (cloud.clock.now() - lag).timestamp();
    for (name, table) in &cloud.stack.tables {
        let Some(attribute) = &table.ttl_attribute else {
            continue;
        };
        if !may_have_expired(cloud, name, before) {
            continue;
        }
        for row in expired(cloud, name, attribute, before) {
            let key: Map<String, Value> = table
                .key_names
                .iter()
                .map(|part| (part.clone(), row[part].clone()))
                .collect();
            // The condition: the row may have been given more time since it was read.
            let mut delete = json!({
                "TableName": name, "Key": key,
                "ConditionExpression": "#ttl < :before",
                "ExpressionAttributeNames": {"#ttl": attribute},
                "ExpressionAttributeValues": {":before": {"N": before.to_string()}},
            });
            let _ = dynamodb::call(&cloud.database, "DeleteItem", &delete);
            cloud.writes.note(name);
            index_lag::note(cloud, name, delete["Key"].take());
        }
    }
}

fn may_have_expired(cloud: &Cloud, table: &str, before: i64) -> bool {
    let expiries = cloud
        .expiries
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    match expiries.get(table) {
        Some((written, first)) if *written == cloud.writes.count(table) => {
            first.is_some_and(|first| first < before)
        }
        Some(_) | None => true,
    }
}

/// The rows of a table that have expired. Notes when the first of the others will.
fn expired(cloud: &Cloud, table: &str, attribute: &str, before: i64) -> Vec<Value> {
    let written = cloud.writes.count(table);
    let expires = |row: &Value| row[attribute]["N"].as_str()?.parse::<i64>().ok();
    let (expired, others): (Vec<_>, Vec<_>) = with_expiry(cloud, table, attribute)
        .into_iter()
        .partition(|row| expires(row).is_some_and(|at| at < before));
    let first = others.iter().filter_map(expires).min();
    if expired.is_empty() {
        let mut expiries = cloud
            .expiries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        expiries.insert(table.to_owned(), (written, first));
    }
    expired
}

fn with_expiry(cloud: &Cloud, table: &str, attribute: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut scan = json!({
        "TableName": table,
        "FilterExpression": "attribute_type(#ttl, :number)",
        "ExpressionAttributeNames": {"#ttl": attribute},
        "ExpressionAttributeValues": {":number": {"S": "N"}},
    });
    for _ in 0..PAGES_MAX {
        let Ok(page) = dynamodb::call(&cloud.database, "Scan", &scan) else {
            break;
        };
        rows.extend(page["Items"].as_array().into_iter().flatten().cloned());
        if page["LastEvaluatedKey"].is_null() {
            break;
        }
        scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
    rows
}
