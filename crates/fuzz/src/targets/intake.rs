//! A request to the booking API: its first line as in HTTP, then the body.
//!
//! `{signed}` in the first line is the query that a customer's link to the booking has.

use std::cell::OnceCell;

use chrono::TimeDelta;
use paidonce_core::link::{LinkKey, Purpose};
use serde_json::{Value, json};

use crate::input::line_and_text;
use crate::personal::Personal;
use crate::rows::BOOKING_ID;
use crate::world::{LINK_SECRET, STAFF_TOKEN, World, now};

const DETAIL_BYTES_MAX: usize = 300;

pub(crate) fn run(input: &[u8]) {
    let Some((line, body)) = line_and_text(input) else {
        return;
    };
    let Some((method, address)) = line.split_once(' ') else {
        return;
    };
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let path = path.replace("{id}", BOOKING_ID);
    let event = json!({
        "rawPath": path, "rawQueryString": query.replace("{signed}", &signed()),
        "headers": {"authorization": format!("Bearer {STAFF_TOKEN}"), "idempotency-key": "k-1"},
        "body": body, "isBase64Encoded": false,
        "requestContext": {"domainName": "example.org", "http": {"method": method}},
    });
    thread_local!(static WORLD: World<bdc_intake::Intake> = World::of(true));
    WORLD.with(|world| {
        let (answer, written) = world.handle(event);
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => panic!("a request fails: {}", lambda_kit::chain(&*failure)),
        };
        let status = answer["statusCode"].as_u64().unwrap_or_default();
        assert!((200..=503).contains(&status) && status != 500, "{status}");
        assert!(
            written.is_empty() || status < 400,
            "written, and refused with {status}"
        );
        match answer["headers"]["content-type"].as_str() {
            Some("application/problem+json") => check_problem(&answer, body),
            Some("application/json") => {
                let text = answer["body"].as_str().unwrap_or_default();
                assert!(serde_json::from_str::<Value>(text).is_ok());
            }
            Some(_) | None => check_page(&answer, body),
        }
    });
}

/// The customer's link, as it would be signed now.
fn signed() -> String {
    thread_local!(static SIGNED: OnceCell<String> = const { OnceCell::new() });
    SIGNED.with(|signed| {
        let make = || {
            let key = LinkKey::new(LINK_SECRET.as_bytes()).expect("the key is long enough");
            key.sign(Purpose::Manage, BOOKING_ID, now() + TimeDelta::days(1))
        };
        signed.get_or_init(make).clone()
    })
}

fn check_problem(answer: &Value, body: &str) {
    let text = answer["body"].as_str().unwrap_or_default();
    let problem: Value = serde_json::from_str(text).expect("a problem is JSON");
    assert_eq!(problem["status"], answer["statusCode"]);
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!((1..=DETAIL_BYTES_MAX).contains(&detail.len()), "{detail}");
    Personal::of(body.as_bytes()).is_not_in(text);
    if problem["status"] == 422 {
        assert!(problem["field"].is_string(), "which field? {text}");
    }
}

/// Nothing that was typed is markup.
fn check_page(answer: &Value, body: &str) {
    let page = answer["body"].as_str().unwrap_or_default();
    for part in body.split(['&', '=', '"']) {
        let is_markup = part.len() > 4 && part.starts_with('<') && !part.contains(['\n', ' ']);
        assert!(!is_markup || !page.contains(part), "{part} is on the page");
    }
}
