//! The event of a Function URL, as bytes of JSON, and the request that is read from it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_kit::{Problem, Reply, Request, bearer_token, decoded};
use paidonce_core::money::Money;
use serde::Deserialize;
use serde_json::Value;

const BODY_BYTES_MAX: usize = 1024;
/// More than any sentence of ours has beside the names of a type's fields.
const DETAIL_BYTES_MAX: usize = 400;

/// A body with fields of several kinds, none of which may come back in an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what it is read into does not matter")]
struct Order {
    amount: Option<Money>,
    phone: Option<String>,
    party: Option<u8>,
    how: Option<How>,
    rows: Option<Vec<bool>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Refund,
    Credit,
}

pub(crate) fn run(input: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let body = event["body"].as_str().unwrap_or_default().to_owned();
    let is_base64 = event["isBase64Encoded"] == Value::Bool(true);
    let Ok(answer) = Request::read(event.clone(), BODY_BYTES_MAX) else {
        return;
    };
    let request = match answer {
        Ok(request) => request,
        Err(problem) => {
            let decoded = STANDARD.decode(&body).map_or(0, |bytes| bytes.len());
            let size = if is_base64 { decoded } else { body.len() };
            match problem.status {
                400 => assert!(is_base64 && STANDARD.decode(&body).is_err()),
                status => assert!(status == 413 && size > BODY_BYTES_MAX, "{problem}"),
            }
            return check_problem(&problem, "");
        }
    };
    check_body(&request, &body, is_base64);
    check_names(&request, &event);
    if let Err(problem) = request.json::<Order>() {
        check_problem(&problem, &String::from_utf8_lossy(&request.body));
    }
    if let Err(problem) = request.json::<Vec<Order>>() {
        check_problem(&problem, &String::from_utf8_lossy(&request.body));
    }
    let shown = format!("{request:?}");
    assert!(shown.len() <= request.method.len() + 40, "{shown}");
}

fn check_body(request: &Request, body: &str, is_base64: bool) {
    assert!(request.body.len() <= BODY_BYTES_MAX);
    match is_base64 {
        true => assert_eq!(STANDARD.encode(&request.body), body),
        false => assert_eq!(request.body, body.as_bytes()),
    }
}

fn check_names(request: &Request, event: &Value) {
    for segment in &request.path {
        assert!(!segment.is_empty() && !segment.contains('/'));
        let plain = decoded(segment);
        assert!(plain.len() <= segment.len().saturating_mul(3));
        if !segment.contains('%') {
            assert_eq!(&plain, segment, "a segment without an escape is itself");
        }
    }
    for (name, value) in event["headers"].as_object().into_iter().flatten() {
        // Another of the same name in another case with another value: then neither counts.
        let found = request.header(&name.to_ascii_uppercase());
        assert!(found.is_none() || found == value.as_str(), "{name}");
        assert_eq!(found, request.header(&name.to_ascii_lowercase()));
    }
    if let Some(token) = bearer_token(request) {
        assert_eq!(token, token.trim());
    }
}

/// A problem is a document of its own words: nothing of what was sent stands in it.
pub(crate) fn check_problem(problem: &Problem, input: &str) {
    let detail = &problem.detail;
    assert!(
        detail.len() <= DETAIL_BYTES_MAX,
        "{} bytes: {detail}",
        detail.len()
    );
    for word in words(input) {
        assert!(
            words(detail).all(|said| said != word) || OURS.contains(&word),
            "the detail repeats `{word}`: {detail}"
        );
    }
    let reply = Reply::from(problem.clone());
    let document: Value = serde_json::from_str(&reply.body).expect("a problem is JSON");
    assert_eq!(document["status"], problem.status);
    assert_eq!(document["code"], problem.code);
}

/// What could be somebody's: runs of letters and digits that are not words of ours.
fn words(input: &str) -> impl Iterator<Item = &str> {
    input
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| word.len() >= 5)
}

/// Words that stand in our sentences and serde's, whatever was sent.
const OURS: [&str; 40] = [
    "amount",
    "currency",
    "phone",
    "party",
    "refund",
    "credit",
    "Order",
    "struct",
    "string",
    "integer",
    "expected",
    "invalid",
    "missing",
    "field",
    "unknown",
    "variant",
    "line",
    "column",
    "floating",
    "point",
    "boolean",
    "sequence",
    "map",
    "duplicate",
    "value",
    "bytes",
    "content",
    "elements",
    "length",
    "Money",
    "there",
    "code",
    "this",
    "type",
    "unit",
    "number",
    "newtype",
    "optional",
    "other",
    "which",
];
