//! What the stories of the guests have in common.

use std::collections::BTreeMap;

use bytes::Bytes;
use fleet_tests::{Answer, Booked, Town, deposit_paid};
use http::Request;
use paidonce_core::venue::BUILT_IN;
use serde_json::{Value, json};

pub const INTAKE: &str = "bdc-intake";

const TABLES: [&str; 7] = [
    "bdc-bookings",
    "bdc-slots",
    "bdc-payments",
    "bdc-audit",
    "bdc-outbox",
    "bdc-cases",
    "bdc-idempotency",
];

/// Every row of every table: for stories in which nothing may change.
pub fn everything(town: &Town) -> BTreeMap<&'static str, Vec<Value>> {
    TABLES
        .into_iter()
        .map(|table| (table, town.rows(table)))
        .collect()
}

/// The built-in venue, changed.
pub fn venue(change: impl FnOnce(&mut Value)) -> Value {
    let mut venue = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut venue);
    venue
}

/// A wish with some fields changed; null takes a field out.
pub fn wish(town: &Town, changes: &Value) -> Value {
    let mut wish = town.wish();
    for (field, value) in changes.as_object().unwrap() {
        wish[field] = value.clone();
    }
    wish.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    wish
}

/// GET from the intake as the staff, with further headers.
pub async fn get_as_staff(town: &Town, path: &str, headers: &[(&str, &str)]) -> Answer {
    let bearer = format!("Bearer {}", town.fleet.tokens().staff);
    let mut request = Request::get(path).header("authorization", bearer);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    town.request(INTAKE, request.body(Bytes::new()).unwrap())
        .await
}

/// What the staff see of a booking.
pub async fn seen_by_staff(town: &Town, booked: &Booked) -> Value {
    let path = format!("/bookings/{}", booked.id);
    get_as_staff(town, &path, &[]).await.json()
}

/// A booking that is paid at the provider, so that money can go back there.
pub async fn paid(town: &Town, changes: &Value) -> Booked {
    let booked = town.book(&wish(town, changes)).await;
    town.settle().await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    booked
}

/// A booking whose deposit was forfeited: nobody came.
pub async fn forfeited(town: &Town) -> Booked {
    let booked = paid(town, &json!({})).await;
    town.advance_to("2026-07-11T19:30:00Z").await;
    let body = json!({"attended": false, "by": "Sam"});
    assert_eq!(town.staff(&booked, "attendance", &body).await.status, 200);
    town.advance_to("2026-07-12T00:00:00Z").await;
    assert_eq!(town.state(&booked), "FORFEITED");
    booked
}

/// What the provider gave back in all, in minor units of the pound.
pub fn refunded(town: &Town) -> i64 {
    town.fleet.sandbox.ledger()["totals"]["gbp"]["refunded"]
        .as_i64()
        .unwrap_or_default()
}

/// Pays the deposit by an event made by hand; for payments of which no money goes back.
pub async fn pay_by_event(town: &Town, booked: &Booked, name: &str) {
    let event = deposit_paid(town, booked, &format!("evt_{name}"), &format!("pi_{name}"));
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
}
