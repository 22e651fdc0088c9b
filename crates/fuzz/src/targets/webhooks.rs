//! The body of a signed event, through the whole handler of a webhook: its door, its reading, the
//! decision, and the step that is written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_kit::Function;
use paidonce_core::signature::sign;
use serde_json::{Value, json};

use crate::personal::Personal;
use crate::world::{SIGNING_SECRET, World, now};

pub(crate) fn booking(input: &[u8]) {
    thread_local!(static WORLDS: [World<bdc_webhook::Webhook>; 2] = [World::of(true), World::of(false)]);
    WORLDS.with(|worlds| worlds.iter().for_each(|world| deliver(world, input)));
}

pub(crate) fn dunning(input: &[u8]) {
    thread_local!(static WORLD: World<dunr_webhook::Webhook> = World::of(false));
    WORLD.with(|world| deliver(world, input));
}

fn deliver<F: Function>(world: &World<F>, body: &[u8]) {
    let event = json!({
        "rawPath": "/", "rawQueryString": "", "isBase64Encoded": true,
        "headers": {"Stripe-Signature": sign(body, &[SIGNING_SECRET], now())},
        "body": STANDARD.encode(body),
        "requestContext": {"domainName": "example.org", "http": {"method": "POST"}},
    });
    let personal = Personal::of(body);
    let (answer, written) = world.handle(event);
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => panic!(
            "a signed event fails for ever: {}",
            lambda_kit::chain(&*failure)
        ),
    };
    let status = answer["statusCode"].as_u64();
    assert!(
        matches!(status, Some(200 | 400 | 413 | 500 | 503)),
        "an answer of {status:?}"
    );
    assert!(
        written.is_empty() || status == Some(200),
        "written and refused"
    );
    let reply = answer["body"].as_str().unwrap_or_default();
    personal.is_not_in(reply);
    let document: Value = serde_json::from_str(reply).expect("the answer is JSON");
    assert!(document["received"] == Value::Bool(true) || document["code"].is_string());
}
