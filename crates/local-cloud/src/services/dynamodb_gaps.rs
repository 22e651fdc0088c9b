//! Where dynoxide does not answer as DynamoDB does, and what is done about it here.
//!
//! Found by telling other imitations of DynamoDB the same calls; AWS's documentation decided.

use dynoxide::{Database, DynoxideError};
use serde_json::{Value, json};

use super::dynamodb::call;
use crate::wire::AwsRequest;

/// Refuses an update that adds to or deletes from what is neither a number nor a set, before anything
/// is looked at: dynoxide takes some of them in silence.
///
/// # Errors
/// A `ValidationException`, which is one of the whole transaction too.
pub(super) fn check(request: &AwsRequest) -> Result<(), DynoxideError> {
    let actions = request.body["TransactItems"]
        .as_array()
        .into_iter()
        .flatten();
    let mut updates = actions
        .map(|action| &action["Update"])
        .chain([&request.body]);
    match updates.find_map(wrong_operand) {
        Some(complaint) => Err(DynoxideError::ValidationException(complaint)),
        None => Ok(()),
    }
}

fn wrong_operand(update: &Value) -> Option<String> {
    let expression = update["UpdateExpression"].as_str()?;
    let mut clause = String::new();
    for word in expression.split(|symbol: char| symbol.is_whitespace() || symbol == ',') {
        let upper = word.to_ascii_uppercase();
        if ["SET", "REMOVE", "ADD", "DELETE"].contains(&upper.as_str()) {
            clause = upper;
            continue;
        }
        let allowed: &[&str] = match clause.as_str() {
            "ADD" => &["N", "SS", "NS", "BS"],
            "DELETE" => &["SS", "NS", "BS"],
            _ => continue,
        };
        let value = update["ExpressionAttributeValues"].get(word);
        let kind = value
            .and_then(Value::as_object)
            .and_then(|value| value.keys().next());
        if let Some(kind) = kind.filter(|kind| !allowed.contains(&kind.as_str())) {
            return Some(format!(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; \
                 operator: {clause}, operand type: {kind}"
            ));
        }
    }
    None
}

/// Whether an update asks for a row as it was that is not there; then there is no row as it was.
/// dynoxide answers with its key.
pub(super) fn asks_for_nothing(database: &Database, request: &AwsRequest) -> bool {
    let body = &request.body;
    if request.operation != "UpdateItem" || body["ReturnValues"] != "ALL_OLD" {
        return false;
    }
    let wanted =
        json!({"TableName": body["TableName"], "Key": body["Key"], "ConsistentRead": true});
    call(database, "GetItem", &wanted).is_ok_and(|found| found["Item"].is_null())
}
