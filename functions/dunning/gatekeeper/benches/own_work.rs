//! The gatekeeper's own work on one question: from the event that Lambda sends to the reply. No call
//! is made, so this is what an answer costs beside the one read of its row.

use std::collections::HashMap;
use std::hint::black_box;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use divan::Bencher;
use dunr_gatekeeper::{Answer, Caller, Callers};
use lambda_kit::{Request, bearer_token};
use paidonce_core::step::from_item;
use serde_json::{Value, json};

const TOKEN: &str = "app-token-0123456789abcdef";
const SECRET: &str = r#"{"apps": {"web": "app-token-0123456789abcdef", "phone": "phone-token-0123456789"},
    "operators": {"ops": "ops-token-0123456789abcdef"},
    "entitlement_key": "an entitlement key of forty-eight bytes in all.."}"#;

fn main() {
    divan::main();
}

/// All of it: envelope, token, row, entitlement, reply.
#[divan::bench]
fn answer_a_question(bencher: Bencher<'_, '_>) {
    let (event, row) = (event(), row());
    bencher
        .with_inputs(|| (event.clone(), row.clone()))
        .bench_values(|(event, row)| {
            let request = Request::read(event, 4096).expect("it is an event");
            let request = request.expect("its body is small");
            let callers = Callers::read(black_box(SECRET)).expect("it is a secret");
            let caller = bearer_token(&request).and_then(|token| callers.caller(token));
            assert_eq!(caller, Some(Caller::App("web".to_owned())));
            let standing = from_item(row).expect("the row fits");
            let answer = Answer::of("sub_1", Some(standing), now());
            let answer = answer.signed(callers.entitlement_key(), 24);
            answer.reply(90).into_event()
        });
}

#[divan::bench]
fn only_find_the_caller(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        let callers = Callers::read(black_box(SECRET)).expect("it is a secret");
        callers.caller(black_box(TOKEN))
    });
}

#[divan::bench]
fn only_sign(bencher: Bencher<'_, '_>) {
    let callers = Callers::read(SECRET).expect("it is a secret");
    let answer = Answer::of("sub_1", None, now());
    bencher.bench(|| black_box(answer.clone()).signed(callers.entitlement_key(), 24));
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_783_600_000, 0).expect("a time of this century")
}

fn event() -> Value {
    json!({
        "rawPath": "/subscriptions/sub_1", "rawQueryString": "", "isBase64Encoded": false,
        "headers": {"authorization": format!("Bearer {TOKEN}"), "accept": "application/json"},
        "requestContext": {"domainName": "example.org", "http": {"method": "GET"}},
    })
}

fn row() -> HashMap<String, AttributeValue> {
    let pairs = [
        ("status", "retrying"),
        ("access", "granted"),
        ("access_by", "retrier"),
    ];
    let text = |(name, value): (&str, &str)| (name.to_owned(), AttributeValue::S(value.to_owned()));
    pairs.into_iter().map(text).collect()
}
