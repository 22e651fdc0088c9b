//! What a DynamoDB request touches: table or index, action, and top-level attributes.
//!
//! A transaction needs the permission of each of its single-item actions. The attribute names are
//! those that the request names: in its item or key, and in its expressions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::iam::Access;
use crate::template::{ACCOUNT, REGION};
use crate::wire::AwsRequest;

/// What a request needs permission for; `None` for an operation that functions can't call.
pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    let body = &request.body;
    match request.operation.as_str() {
        "PutItem" | "GetItem" | "UpdateItem" | "DeleteItem" => {
            Some(vec![item_access(&request.operation, body)])
        }
        "Query" | "Scan" => Some(vec![index_access(&request.operation, body)]),
        "BatchGetItem" => Some(batch_access("BatchGetItem", body)),
        "BatchWriteItem" => Some(batch_access("BatchWriteItem", body)),
        "TransactWriteItems" | "TransactGetItems" => Some(transaction_access(body)),
        "DescribeTable" => Some(vec![item_access("DescribeTable", body)]),
        _ => None,
    }
}

fn table_arn(body: &Value) -> String {
    let name = body["TableName"].as_str().unwrap_or_default();
    if name.starts_with("arn:") {
        return name.to_owned();
    }
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}")
}

fn item_access(operation: &str, body: &Value) -> Access {
    access(operation, table_arn(body), body)
}

fn index_access(operation: &str, body: &Value) -> Access {
    let table = table_arn(body);
    let resource = match body["IndexName"].as_str() {
        Some(index) => format!("{table}/index/{index}"),
        None => table,
    };
    access(operation, resource, body)
}

fn access(operation: &str, resource: String, body: &Value) -> Access {
    let mut access = Access::new(format!("dynamodb:{operation}"), resource);
    access
        .context
        .insert("dynamodb:Attributes".to_owned(), attributes(body));
    for (member, key) in [
        ("ReturnValues", "dynamodb:ReturnValues"),
        ("Select", "dynamodb:Select"),
    ] {
        if let Some(value) = body[member].as_str() {
            access
                .context
                .insert(key.to_owned(), BTreeSet::from([value.to_owned()]));
        }
    }
    access
}

fn batch_access(operation: &str, body: &Value) -> Vec<Access> {
    let tables = body["RequestItems"].as_object().into_iter().flatten();
    tables
        .map(|(table, requests)| {
            let resource = table_arn(&serde_json::json!({ "TableName": table }));
            let mut access = access(operation, resource, requests);
            let names = access
                .context
                .entry("dynamodb:Attributes".to_owned())
                .or_default();
            for key in requests["Keys"].as_array().into_iter().flatten() {
                names.extend(member_names(key));
            }
            for request in requests.as_array().into_iter().flatten() {
                names.extend(member_names(&request["PutRequest"]["Item"]));
                names.extend(member_names(&request["DeleteRequest"]["Key"]));
            }
            access
        })
        .collect()
}

fn transaction_access(body: &Value) -> Vec<Access> {
    let items = body["TransactItems"].as_array().into_iter().flatten();
    items
        .filter_map(|item| {
            item.as_object()
                .and_then(|object| object.iter().find(|(_, part)| part.is_object()))
        })
        .map(|(kind, part)| {
            let operation = match kind.as_str() {
                "Put" => "PutItem",
                "Update" => "UpdateItem",
                "Delete" => "DeleteItem",
                "ConditionCheck" => "ConditionCheckItem",
                _ => "GetItem",
            };
            item_access(operation, part)
        })
        .collect()
}

fn member_names(object: &Value) -> Vec<String> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

fn attributes(body: &Value) -> BTreeSet<String> {
    const EXPRESSIONS: [&str; 5] = [
        "ConditionExpression",
        "UpdateExpression",
        "FilterExpression",
        "KeyConditionExpression",
        "ProjectionExpression",
    ];
    let mut names: BTreeSet<String> = member_names(&body["Item"]).into_iter().collect();
    names.extend(member_names(&body["Key"]));
    let aliases = body["ExpressionAttributeNames"]
        .as_object()
        .into_iter()
        .flatten();
    let aliases: BTreeMap<&str, &str> = aliases
        .filter_map(|(alias, name)| Some((alias.as_str(), name.as_str()?)))
        .collect();
    for expression in EXPRESSIONS
        .iter()
        .filter_map(|member| body[*member].as_str())
    {
        for name in top_level_names(expression) {
            let resolved = aliases
                .get(name.as_str())
                .map_or(name.clone(), |name| (*name).to_owned());
            names.insert(resolved);
        }
    }
    names
}

/// The first part of every document path in an expression: no keywords, functions or values.
fn top_level_names(expression: &str) -> BTreeSet<String> {
    const KEYWORDS: [&str; 9] = [
        "AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE",
    ];
    let is_word = |symbol: char| symbol.is_alphanumeric() || "_#:-".contains(symbol);
    let mut names = BTreeSet::new();
    let mut rest = expression;
    let mut before = ' ';
    while let Some(symbol) = rest.chars().next() {
        let end = rest.find(|symbol| !is_word(symbol)).unwrap_or(rest.len());
        if end == 0 {
            before = if symbol.is_whitespace() {
                before
            } else {
                symbol
            };
            rest = &rest[symbol.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        let function = after.trim_start().starts_with('(')
            && !KEYWORDS.contains(&word.to_uppercase().as_str());
        let nested = before == '.' || before == '[';
        let value = word.starts_with(':')
            || word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if !function && !nested && !value && !KEYWORDS.contains(&word.to_uppercase().as_str()) {
            names.insert(word.to_owned());
        }
        before = ' ';
        rest = after;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_names_of_an_expression_are_its_top_level_attributes() {
        let expression = "SET #s = :s, money.paid = if_not_exists(money.paid, :zero) + :n, tags[0] = :t REMOVE #r ADD seen :one";
        let names: Vec<String> = top_level_names(expression).into_iter().collect();
        assert_eq!(names, ["#r", "#s", "money", "seen", "tags"]);
        let condition = "attribute_exists(booking_id) AND (NOT #s IN (:a, :b)) OR size(x) > :n";
        let names: Vec<String> = top_level_names(condition).into_iter().collect();
        assert_eq!(names, ["#s", "booking_id", "x"]);
    }

    #[test]
    fn a_transaction_needs_each_of_its_actions() {
        let body = json!({"TransactItems": [
            {"Put": {"TableName": "payments", "Item": {"event_id": {"S": "e"}}}},
            {"Update": {"TableName": "bookings", "Key": {"id": {"S": "b"}}, "UpdateExpression": "SET #p = :p",
                "ExpressionAttributeNames": {"#p": "payment_ref"}}},
            {"ConditionCheck": {"TableName": "optout", "Key": {"phone": {"S": "p"}}, "ConditionExpression": "attribute_not_exists(phone)"}},
        ]});
        let needed = transaction_access(&body);
        let actions: Vec<&str> = needed.iter().map(|access| access.action.as_str()).collect();
        assert_eq!(
            actions,
            [
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
                "dynamodb:ConditionCheckItem"
            ]
        );
        let touched = &needed[1].context["dynamodb:Attributes"];
        assert_eq!(
            touched.iter().map(String::as_str).collect::<Vec<_>>(),
            ["id", "payment_ref"]
        );
    }

    #[test]
    fn a_query_on_an_index_needs_the_index() {
        let access = index_access(
            "Query",
            &json!({"TableName": "bookings", "IndexName": "due-index"}),
        );
        assert_eq!(
            access.resources,
            ["arn:aws:dynamodb:eu-west-2:000000000000:table/bookings/index/due-index"]
        );
    }
}
