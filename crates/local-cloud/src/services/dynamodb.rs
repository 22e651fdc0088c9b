//! DynamoDB, played by dynoxide in this process.

use std::collections::BTreeSet;

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::dynamodb_gaps as gaps;
use crate::cloud::Cloud;
use crate::wire::{Answer, AwsRequest};

const READS: [&str; 5] = [
    "GetItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "TransactGetItems",
];

/// Performs a data operation.
pub(crate) fn perform(cloud: &Cloud, request: &AwsRequest) -> Answer {
    let answer = perform_on(&cloud.database, request);
    if !READS.contains(&request.operation.as_str()) {
        for table in tables_of(&request.body) {
            cloud.writes.note(table);
        }
    }
    answer
}

/// The tables that a request for writes names.
fn tables_of(body: &Value) -> BTreeSet<&str> {
    let one = body["TableName"].as_str();
    let several = body["RequestItems"].as_object().into_iter().flatten();
    let items = body["TransactItems"].as_array().into_iter().flatten();
    let writes = items.filter_map(Value::as_object).flatten();
    one.into_iter()
        .chain(several.map(|(table, _)| table.as_str()))
        .chain(writes.filter_map(|(_, write)| write["TableName"].as_str()))
        .collect()
}

/// Performs a data operation on one database or another.
pub(super) fn perform_on(database: &Database, request: &AwsRequest) -> Answer {
    let body = &request.body;
    let asked = body.get("ReturnConsumedCapacity");
    let metered = asked.is_none_or(|mode| mode == "NONE");
    let text = if metered {
        with_units(body)
    } else {
        body.to_string()
    };
    let no_old_row = gaps::asks_for_nothing(database, request);
    let called = gaps::check(request).and_then(|()| call_text(database, &request.operation, &text));
    match called {
        Ok(mut answer) => {
            if no_old_row && answer["Attributes"] == body["Key"] {
                answer["Attributes"] = Value::Null;
            }
            let units = units_of(&answer["ConsumedCapacity"]);
            if metered && let Some(object) = answer.as_object_mut() {
                object.remove("ConsumedCapacity");
            }
            Answer {
                units: Some(units),
                ..request.answer(&answer)
            }
        }
        Err(error) => Answer {
            status: error.status_code(),
            body: error.to_json().into(),
            ..request.error(error.status_code(), code_of(error.error_type()), "")
        },
    }
}

/// A request that asks for its request units as well.
fn with_units(body: &Value) -> String {
    match body.as_object() {
        Some(object) if !object.is_empty() && !object.contains_key("ReturnConsumedCapacity") => {
            let text = body.to_string();
            let rest = text.strip_prefix('{').unwrap_or_default();
            format!(r#"{{"ReturnConsumedCapacity":"TOTAL",{rest}"#)
        }
        Some(object) => {
            let mut object = object.clone();
            object.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
            Value::Object(object).to_string()
        }
        None => body.to_string(),
    }
}

/// The refusal when a transaction is in the way.
pub(crate) fn conflict(request: &AwsRequest) -> Answer {
    const KIND: &str = "com.amazonaws.dynamodb.v20120810#";
    let Some(items) = request.body["TransactItems"].as_array() else {
        let message = "Transaction is ongoing for the item";
        return request.error(400, &format!("{KIND}TransactionConflictException"), message);
    };
    let reason = |index: usize| match index {
        0 => {
            json!({"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"})
        }
        _ => json!({"Code": "None"}),
    };
    let codes: Vec<&str> = (0..items.len())
        .map(|index| {
            if index == 0 {
                "TransactionConflict"
            } else {
                "None"
            }
        })
        .collect();
    let body = json!({
        "__type": format!("{KIND}TransactionCanceledException"),
        "Message": format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{}]", codes.join(", ")),
        "CancellationReasons": (0..items.len()).map(reason).collect::<Vec<_>>(),
    });
    Answer {
        body: body.to_string().into(),
        ..request.error(400, "TransactionCanceledException", "")
    }
}

fn code_of(error_type: &str) -> &str {
    error_type.rsplit('#').next().unwrap_or(error_type)
}

fn units_of(consumed: &Value) -> f64 {
    match consumed.as_array() {
        Some(tables) => tables.iter().map(units_of).sum(),
        None => consumed["CapacityUnits"].as_f64().unwrap_or_default(),
    }
}

/// Calls dynoxide by operation name.
///
/// # Errors
/// What DynamoDB would answer.
pub(crate) fn call(
    database: &Database,
    operation: &str,
    body: &Value,
) -> Result<Value, DynoxideError> {
    call_text(database, operation, &body.to_string())
}

/// Through text: dynoxide reads some members from the raw JSON, which a value can't give it.
fn call_text(database: &Database, operation: &str, body: &str) -> Result<Value, DynoxideError> {
    match operation {
        "CreateTable" => with(body, |request| database.create_table(request)),
        "DescribeTable" => with(body, |request| database.describe_table(request)),
        "ListTables" => with(body, |request| database.list_tables(request)),
        "UpdateTable" => with(body, |request| database.update_table(request)),
        "UpdateTimeToLive" => with(body, |request| database.update_time_to_live(request)),
        "PutItem" => with(body, |request| database.put_item(request)),
        "GetItem" => with(body, |request| database.get_item(request)),
        "UpdateItem" => with(body, |request| database.update_item(request)),
        "DeleteItem" => with(body, |request| database.delete_item(request)),
        "Query" => with(body, |request| database.query(request)),
        "Scan" => with(body, |request| database.scan(request)),
        "BatchGetItem" => with(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => with(body, |request| database.batch_write_item(request)),
        "TransactWriteItems" => with(body, |request| database.transact_write_items(request)),
        "TransactGetItems" => with(body, |request| database.transact_get_items(request)),
        "DescribeStream" => with(body, |request| database.describe_stream(request)),
        "GetShardIterator" => with(body, |request| database.get_shard_iterator(request)),
        "GetRecords" => with(body, |request| database.get_records(request)),
        unknown => Err(DynoxideError::ValidationException(format!(
            "UnknownOperationException: {unknown}"
        ))),
    }
}

fn with<Q: DeserializeOwned, A: Serialize>(
    body: &str,
    perform: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<Value, DynoxideError> {
    let request = serde_json::from_str(body).map_err(|error| refused(&error.to_string()))?;
    let answer = perform(request)?;
    serde_json::to_value(answer)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// A request that can't be read; dynoxide marks the kind of refusal in the text.
fn refused(message: &str) -> DynoxideError {
    let message = message.split(" at line ").next().unwrap_or(message);
    match message.strip_prefix("SERIALIZATION:") {
        Some(rest) => DynoxideError::SerializationException(rest.to_owned()),
        None => {
            let rest = message
                .trim_start_matches("VALIDATION_REQUEST:")
                .trim_start_matches("VALIDATION:");
            DynoxideError::ValidationException(rest.to_owned())
        }
    }
}

/// An attribute value as plain JSON: sets and lists as arrays, numbers as numbers.
pub(crate) fn plain_json(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Value::Null;
    };
    match kind.as_str() {
        "N" => number(inner),
        "NULL" => Value::Null,
        "M" => plain_item(inner),
        "L" => inner
            .as_array()
            .into_iter()
            .flatten()
            .map(plain_json)
            .collect(),
        "NS" => inner.as_array().into_iter().flatten().map(number).collect(),
        _ => inner.clone(),
    }
}

/// A row as a plain JSON object.
pub(crate) fn plain_item(item: &Value) -> Value {
    let entries = item.as_object().into_iter().flatten();
    Value::Object(
        entries
            .map(|(name, value)| (name.clone(), plain_json(value)))
            .collect(),
    )
}

fn number(text: &Value) -> Value {
    text.as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_becomes_plain_json() {
        let item = json!({
            "id": {"S": "b-1"}, "amount": {"N": "2500"}, "rate": {"N": "0.5"}, "note": {"NULL": true},
            "tags": {"SS": ["a", "b"]}, "nested": {"M": {"list": {"L": [{"BOOL": true}, {"N": "1"}]}}},
        });
        let expected = json!({
            "id": "b-1", "amount": 2500, "rate": 0.5, "note": null,
            "tags": ["a", "b"], "nested": {"list": [true, 1]},
        });
        assert_eq!(plain_item(&item), expected);
    }
}
