//! Customers with an address, and what the ledger says of a message.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Duration;
use fleet_tests::{Booked, Town};
use local_cloud::Message;
use paidonce_core::venue::BUILT_IN;
use serde_json::{Value, json};

pub const COMPOSER: &str = "bdc-composer";
pub const EMAIL: &str = "philippa.quillfeather@example.net";

/// A little longer than the visibility time-out of a queue: a failed delivery comes again.
pub fn redelivery() -> Duration {
    Duration::seconds(181)
}

/// Every redelivery that a message can have.
pub fn all_redeliveries() -> Duration {
    redelivery() * 6
}

/// The built-in venue, changed.
pub fn venue(change: impl FnOnce(&mut Value)) -> Value {
    let mut venue = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut venue);
    venue
}

/// The wish of the form, with an address.
pub fn with_email(town: &Town) -> Value {
    let mut wish = town.wish();
    wish["email"] = json!(EMAIL);
    wish
}

/// A wish at a time of its own.
pub fn at_time(mut wish: Value, starts_at: &str) -> Value {
    wish["starts_at"] = json!(starts_at);
    wish
}

/// A booking of which all that follows has run.
pub async fn booked(town: &Town, wish: &Value) -> Booked {
    let booked = town.book(wish).await;
    town.settle().await;
    booked
}

/// The mails to customers.
pub fn mails(town: &Town) -> Vec<Message> {
    let mails = town.mails().into_iter();
    mails.filter(|mail| mail.function == COMPOSER).collect()
}

/// The kinds of the mails to customers, in order.
pub fn mail_kinds(town: &Town) -> Vec<String> {
    mails(town).into_iter().map(|mail| mail.kind).collect()
}

/// The rows of the ledger of a message: the end of each key, and what it says.
pub fn ledger(town: &Town, booked: &Booked, occasion: &str) -> Vec<(String, String)> {
    let prefix = format!("message#{occasion}#");
    let rows = town.rows("bdc-audit").into_iter();
    let own = rows.filter(|row| row["booking_id"] == booked.id.as_str());
    own.filter_map(|row| {
        let key = row["ts"].as_str().unwrap().strip_prefix(&prefix)?;
        let end = key.rsplit('#').next().unwrap().to_owned();
        Some((end, row["what"].as_str().unwrap().to_owned()))
    })
    .collect()
}

/// The ends of the ledger alone, such as `1-intent`.
pub fn ends(town: &Town, booked: &Booked, occasion: &str) -> Vec<String> {
    let rows = ledger(town, booked, occasion).into_iter();
    rows.map(|(end, _)| end).collect()
}

/// What the last row of the ledger says.
pub fn said(town: &Town, booked: &Booked, occasion: &str) -> String {
    let rows = ledger(town, booked, occasion);
    rows.last()
        .map(|(_, what)| what.clone())
        .unwrap_or_default()
}

/// The event that Lambda makes of queued messages.
pub fn queue_event(bodies: &[String]) -> Value {
    let record = |(nth, body): (usize, &String)| json!({"messageId": format!("m-{nth}"), "body": body, "eventSource": "aws:sqs"});
    json!({"Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>()})
}

/// The job that ordered a kind of message about a booking, as it is queued.
pub fn job(town: &Town, booked: &Booked, kind: &str) -> String {
    let rows = town.rows("bdc-outbox").into_iter();
    let own = rows.filter(|row| row["aggregate"] == format!("booking#{}", booked.id));
    let jobs = own.map(|row| {
        let payload: Value = serde_json::from_str(row["payload"].as_str().unwrap()).unwrap();
        json!({"event_id": row["event_id"], "type": row["type"], "schema_version": 1,
            "aggregate": row["aggregate"], "occurred_at": row["created_at"], "payload": payload})
        .to_string()
    });
    let wanted = format!("\"kind\":\"{kind}\"");
    let mut jobs = jobs.filter(|job| job.contains(&wanted));
    jobs.next().expect("the booking ordered such a message")
}

/// The messages that wait in a queue.
pub fn waiting(town: &Town, queue: &str) -> usize {
    town.fleet.cloud.queues()[queue].as_array().unwrap().len()
}

/// Sets one attribute of a row as no code of ours would.
pub async fn set(town: &Town, table: &str, key: (&str, &str), name: &str, value: &str) {
    let text = |value: &str| AttributeValue::S(value.to_owned());
    #[expect(clippy::disallowed_methods, reason = "an operator's hand")]
    let update = town.fleet.cloud.dynamodb().update_item();
    update
        .table_name(table)
        .key(key.0, text(key.1))
        .update_expression("SET #name = :value")
        .expression_attribute_names("#name", name)
        .expression_attribute_values(":value", text(value))
        .send()
        .await
        .unwrap();
}

/// An order of the staff that must succeed, and all that follows from it.
pub async fn ordered(town: &Town, booked: &Booked, order: &str, body: Value) {
    let answer = town.staff(booked, order, &body).await;
    assert_eq!(answer.status, 200, "{order}: {}", answer.text);
    town.settle().await;
}

/// A payment of the whole deposit, and all that follows from it.
pub async fn paid(town: &Town, booked: &Booked, event: &str, payment: &str) {
    let event = fleet_tests::deposit_paid(town, booked, event, payment);
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
}
