//! A batch of which some entries, or all, are refused although the answer is 200.

use rand::Rng;
use serde_json::{Map, Value, json};

use crate::cloud::Cloud;
use crate::roll;
use crate::services;
use crate::wire::{Answer, AwsRequest};

/// Does what is left of a batch when at least one entry is refused. `ordinal` rolls which.
pub(crate) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest, ordinal: u64) -> Answer {
    let mut dice = roll::dice(cloud.seed, ordinal);
    let (kept, refused) = match request.operation.as_str() {
        "SendMessageBatch" => split_messages(request, &mut dice),
        _ => split_writes(request, &mut dice),
    };
    let mut answer = match &kept {
        Some(kept) => services::perform(cloud, caller, kept),
        None => request.answer(&json!({"Successful": []})),
    };
    if answer.error.is_none() {
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let member = match request.operation.as_str() {
            "SendMessageBatch" => "Failed",
            _ => "UnprocessedItems",
        };
        add(&mut body[member], refused);
        answer.body = body.to_string().into();
    }
    answer
}

/// Puts what is refused by the fault beside what is refused anyway.
fn add(member: &mut Value, refused: Value) {
    match (member, refused) {
        (Value::Array(known), Value::Array(more)) => known.extend(more),
        (Value::Object(known), Value::Object(more)) => known.extend(more),
        (member, refused) => *member = refused,
    }
}

/// Which of `count` entries are refused: one for certain, each other as often as not.
fn refusals(count: usize, dice: &mut impl Rng) -> Vec<bool> {
    let certain = dice.random_range(0..count.max(1));
    let refused = |index| index == certain || dice.random_bool(0.5);
    (0..count).map(refused).collect()
}

fn split_messages(request: &AwsRequest, dice: &mut impl Rng) -> (Option<AwsRequest>, Value) {
    let entries = request.body["Entries"].as_array();
    let entries = entries.cloned().unwrap_or_default();
    let refusals = refusals(entries.len(), dice);
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (entry, is_refused) in entries.into_iter().zip(refusals) {
        if is_refused {
            refused.push(json!({
                "Id": entry["Id"],
                "SenderFault": false,
                "Code": "InternalError",
                "Message": "An internal error occurred",
            }));
        } else {
            kept.push(entry);
        }
    }
    let rest = (!kept.is_empty()).then(|| {
        let mut rest = request.clone();
        rest.body["Entries"] = Value::Array(kept);
        rest
    });
    (rest, Value::Array(refused))
}

fn split_writes(request: &AwsRequest, dice: &mut impl Rng) -> (Option<AwsRequest>, Value) {
    let tables = request.body["RequestItems"].as_object();
    let tables = tables.into_iter().flatten();
    let writes: Vec<(&String, &Value)> = tables
        .flat_map(|(table, writes)| {
            let writes = writes.as_array().into_iter().flatten();
            writes.map(move |write| (table, write))
        })
        .collect();
    let refusals = refusals(writes.len(), dice);
    let (mut kept, mut refused) = (Map::new(), Map::new());
    for ((table, write), is_refused) in writes.into_iter().zip(refusals) {
        let into = if is_refused { &mut refused } else { &mut kept };
        let writes = into.entry(table.clone()).or_insert_with(|| json!([]));
        if let Some(writes) = writes.as_array_mut() {
            writes.push(write.clone());
        }
    }
    let rest = (!kept.is_empty()).then(|| {
        let mut rest = request.clone();
        rest.body["RequestItems"] = Value::Object(kept);
        rest
    });
    (rest, Value::Object(refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_entry_is_refused_and_sometimes_all_are() {
        let mut seen = [0; 4];
        for number in 0..200 {
            let refused = refusals(3, &mut roll::dice(1, number));
            seen[refused.iter().filter(|refused| **refused).count()] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|count| *count > 20), "{seen:?}");
    }
}
