//! The webhook's own work on one event of 5 KB: from the bytes of the body to the step that is
//! ready to be written. No call is made, so this is what a delivery costs beside waiting.

use std::collections::BTreeMap;
use std::hint::black_box;

use aws_sdk_dynamodb::config::BehaviorVersion;
use bdc_webhook::event::{Event, Meaning};
use bdc_webhook::{Known, Webhook};
use chrono::{DateTime, Utc};
use divan::Bencher;
use lambda_kit::{Entropy, Environment, Function, Request, SdkConfig, Setup};
use paidonce_core::booking::Booking;
use paidonce_core::signature::{sign, verify};
use paidonce_core::step::Step;
use serde_json::{Value, json};

const BODY_BYTES: usize = 5 * 1024;
const CURRENT: &str = "whsec_current_0123456789abcdef";
const PREVIOUS: &str = "whsec_previous_0123456789abcde";
const BOOKING_ID: &str = "bkg_01kx3bzgg0brthaehq7yhe17bs";

fn main() {
    divan::main();
}

/// All of it, signed with the current secret while the previous one still lives.
#[divan::bench]
fn verify_parse_decide_and_build_the_step(bencher: Bencher<'_, '_>) {
    let (webhook, booking, body) = (webhook(), booking(), body());
    let header = sign(&body, &[CURRENT], now());
    bencher.bench(|| {
        let verified = verify(&header, black_box(&body), &[CURRENT, PREVIOUS], now());
        verified.expect("it is genuine");
        step(&webhook, &booking, &body)
    });
}

#[divan::bench]
fn only_verify(bencher: Bencher<'_, '_>) {
    let body = body();
    let header = sign(&body, &[CURRENT], now());
    bencher.bench(|| verify(&header, black_box(&body), &[CURRENT, PREVIOUS], now()));
}

/// Garbage is hashed with every active secret.
#[divan::bench]
fn only_refuse(bencher: Bencher<'_, '_>) {
    let body = body();
    let header = sign(&body, &["whsec_garbage"], now());
    bencher.bench(|| verify(&header, black_box(&body), &[CURRENT, PREVIOUS], now()));
}

#[divan::bench]
fn only_parse_decide_and_build_the_step(bencher: Bencher<'_, '_>) {
    let (webhook, booking, body) = (webhook(), booking(), body());
    bencher.bench(|| step(&webhook, &booking, black_box(&body)));
}

/// The envelope that Lambda wraps around the body.
#[divan::bench]
fn only_read_the_envelope(bencher: Bencher<'_, '_>) {
    let body = String::from_utf8(body()).expect("it is JSON");
    let header = sign(body.as_bytes(), &[CURRENT], now());
    let event = json!({
        "rawPath": "/", "rawQueryString": "", "body": body, "isBase64Encoded": false,
        "headers": {"content-type": "application/json", "stripe-signature": header},
        "requestContext": {"domainName": "example.org", "http": {"method": "POST"}},
    });
    let read = |event| Request::read(event, bdc_webhook::BODY_BYTES_MAX);
    bencher.with_inputs(|| event.clone()).bench_values(read);
}

fn step(webhook: &Webhook, booking: &Booking, body: &[u8]) -> Step {
    let event = Event::read(body).expect("it is an event");
    match webhook
        .meaning(&event, body)
        .expect("its object is a session")
    {
        Meaning::Order(order) => webhook.step(&event, &order, &Known::default(), booking, now()),
        Meaning::OtherType | Meaning::OtherProduct | Meaning::NotForUs(_) | Meaning::Report(_) => {
            unreachable!("the event is about a booking of ours")
        }
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_783_600_000, 0).expect("a time of this century")
}

/// A warm instance.
fn webhook() -> Webhook {
    let names = [
        "BOOKINGS_TABLE",
        "PAYMENTS_TABLE",
        "SLOTS_TABLE",
        "CASHIER_QUEUE",
        "AUDIT_TABLE",
        "OUTBOX_TABLE",
        "SIGNING_SECRET",
        "JOBS_QUEUE",
        "HANDOVERS_QUEUE",
    ];
    let mut variables: BTreeMap<String, String> = names
        .into_iter()
        .map(|name| (name.to_owned(), name.to_lowercase()))
        .collect();
    variables.insert("LIVEMODE".to_owned(), "false".to_owned());
    variables.insert(
        "PROVIDER_API_VERSION".to_owned(),
        "2026-07-29.dahlia".to_owned(),
    );
    let aws = SdkConfig::builder().behavior_version(BehaviorVersion::latest());
    Webhook::new(&Setup {
        environment: Environment::new(variables),
        aws: aws.build(),
        entropy: Entropy::seeded(0),
    })
    .expect("all variables are set")
}

fn booking() -> Booking {
    let row = json!({
        "booking_id": BOOKING_ID, "state": "PENDING", "version": 3, "party": 2,
        "name": "Philippa Quillfeather", "phone": "+447700900123", "source": "form",
        "created_at": "2026-07-09T12:00:00Z", "deposit": {"amount": 2000, "currency": "GBP"},
        "deposit_deadline": "2026-07-10T12:00:00Z", "remind_at": "2026-07-10T08:00:00Z",
        "place": {"resource": "table-4", "label": "table", "zone": "Europe/London",
            "starts_at": "2026-07-11T19:00:00Z", "ends_at": "2026-07-11T20:30:00Z",
            "slot_keys": ["table-4#2026-07-11T20:00", "table-4#2026-07-11T20:30", "table-4#2026-07-11T21:00"]},
        "session": {"attempt": 1, "intended_at": "2026-07-09T12:01:00Z",
            "expires_at": "2026-07-10T11:01:00Z", "opened": {"session_id": "cs_test_1",
            "url": "https://checkout.example/c/pay/cs_test_1"}},
        "policy": {"pay_within": 1440, "start_buffer": 120, "pay_time_min": 30,
            "remind_before": 240, "funds_within": 4320, "settle_after": 120, "unmarked": "ASK",
            "free_cancellation": 1440},
    });
    serde_json::from_value(row).expect("the row fits its type")
}

/// A paid session as the provider sends it, indented, up to 5 KB with fields that we don't read.
fn body() -> Vec<u8> {
    let mut event = json!({
        "id": "evt_1", "object": "event", "type": "checkout.session.completed",
        "api_version": "2026-07-29.dahlia", "created": now().timestamp(), "livemode": false,
        "pending_webhooks": 1, "request": {"id": null, "idempotency_key": null},
        "data": {"object": {
            "id": "cs_test_1", "object": "checkout.session", "amount_total": 2000,
            "currency": "gbp", "payment_status": "paid", "status": "complete",
            "client_reference_id": BOOKING_ID, "metadata": {"booking_id": BOOKING_ID},
            "payment_intent": "pi_1", "customer_details": {"address": {"city": null, "country": "GB"}},
        }},
    });
    for number in 0.. {
        let text = format!("{event:#}");
        if text.len() >= BODY_BYTES {
            return text.into_bytes();
        }
        let unread = json!({"enabled": false, "limits": [1, 2, null], "note": "unread"});
        let object: &mut Value = &mut event["data"]["object"];
        object[format!("option_{number}")] = unread;
    }
    unreachable!("it grew to its size")
}
