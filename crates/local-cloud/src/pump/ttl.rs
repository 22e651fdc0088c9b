//! Rows past their time to live are deleted when the virtual clock passes, once an hour.
//!
//! A row past its time may still be read until then, as on AWS (where it can take days: see
//! `LocalCloud::set_ttl_lag`).

use chrono::Duration;
use serde_json::{Map, Value, json};

use crate::cloud::Cloud;
use crate::services::{dynamodb, index_lag};

const PAGES_MAX: usize = 10_000;

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
    let lag = *cloud
        .ttl_lag
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = (cloud.clock.now() - lag).timestamp();
    for (name, table) in &cloud.stack.tables {
        let Some(attribute) = &table.ttl_attribute else {
            continue;
        };
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
            cloud.writes.note();
            index_lag::note(cloud, name, delete["Key"].take());
        }
    }
}

fn expired(cloud: &Cloud, table: &str, attribute: &str, before: i64) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut scan = json!({
        "TableName": table,
        "FilterExpression": "attribute_type(#ttl, :number) AND #ttl < :before",
        "ExpressionAttributeNames": {"#ttl": attribute},
        "ExpressionAttributeValues": {":before": {"N": before.to_string()}, ":number": {"S": "N"}},
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
