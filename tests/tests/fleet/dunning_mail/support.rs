//! A subscription that owes a mail, put as it is, and deliveries by hand.

use chrono::{DateTime, Duration, Utc};
use fleet_tests::{DunningMail, SUBSCRIBER, SUBSCRIBER_EMAIL, Town};
use local_cloud::{FaultKind, FaultRule};
use paidonce_core::dunning::declines::{Class, Wording};
use paidonce_core::dunning::mail::{Mail, MailKind, MailState};
use paidonce_core::dunning::policy::{BUILT_IN, Policy, Terms};
use paidonce_core::dunning::{Access, AccessBy, Block, Debt, Dunning, Plan, Purpose, Status};
use paidonce_core::email::EmailAddress;
use paidonce_core::step::{Row, Step, Written, write};
use serde_json::{Value, json};

/// Monday 30 November 2026, 09:00 in London.
pub const MONDAY: &str = "2026-11-30T09:00:00Z";
pub const SUB: &str = "sub_1";
pub const INVOICE: &str = "in_1";
pub const SECOND_EMAIL: &str = "accounts@featherstone.example";
pub const BUCKET: &str = "dunr-assets-000000000000";
/// Longer than the mail queue's visibility time-out, and than a claim.
pub fn redelivery() -> Duration {
    Duration::seconds(181)
}

pub fn town() -> Town {
    Town::at(MONDAY)
}

pub fn terms() -> Terms {
    Policy::from_json(BUILT_IN).unwrap().terms
}

/// A subscription with one failed invoice of 24 pounds, whose next charge is on Tuesday.
pub fn retrying(now: DateTime<Utc>) -> Dunning {
    let mut row = Dunning::new(SUB, "cus_1", terms(), now);
    let debt = json!({"amount": {"amount": 2_400, "currency": "GBP"}, "created": now, "failed_at": now,
        "hosted_url": "https://pay.example/i/1", "known": true});
    let debt: Debt = serde_json::from_value(debt).unwrap();
    row.invoices.insert(INVOICE.to_owned(), debt);
    row.invoice_id = Some(INVOICE.to_owned());
    row.status = Status::Retrying;
    row.entered_dunning_at = Some(now);
    row.email = Some(EmailAddress::parse(SUBSCRIBER_EMAIL).unwrap());
    row.name = Some(SUBSCRIBER.to_owned());
    let at = "2026-12-01T10:00:00Z".parse().unwrap();
    row.next_retry_at = Some(at);
    row.plan_no = 1;
    row.plan = Some(Plan {
        n: 1,
        purpose: Purpose::Charge,
        invoice_id: INVOICE.to_owned(),
        at,
        why: "a story".to_owned(),
    });
    row.version = 1;
    row
}

/// The same, with what stands in the way of charging it.
pub fn blocked(now: DateTime<Utc>, class: Class, wording: Wording) -> Dunning {
    let mut row = retrying(now);
    let debt = row.invoices.get_mut(INVOICE).unwrap();
    debt.block = Some(Block {
        class,
        wording,
        payment_method: Some("pm_1".to_owned()),
    });
    (row.plan, row.next_retry_at) = (None, None);
    row
}

/// The same, after the last date.
pub fn paused(now: DateTime<Utc>) -> Dunning {
    let mut row = retrying(now);
    row.invoices.get_mut(INVOICE).unwrap().exhausted = true;
    row.status = Status::Paused;
    row.paused_at = Some(now);
    (row.access, row.access_by) = (Some(Access::Paused), Some(AccessBy::Retrier));
    (row.plan, row.next_retry_at) = (None, None);
    row
}

/// Orders a mail on a row.
pub fn owing(mut row: Dunning, kind: MailKind) -> Dunning {
    row.mails.no += 1;
    let mail = Mail {
        kind,
        invoice_id: Some(INVOICE.to_owned()),
        ordered_at: row.moved_at,
        ordered_again_at: None,
        state: MailState::Owed,
    };
    row.mails.items.insert(row.mails.no, mail);
    row
}

/// Puts a row as it is.
pub async fn put(town: &Town, row: &Dunning) {
    let now = town.now();
    let seed = row.subscription_id.bytes().map(u64::from).sum();
    let entropy = lambda_kit::Entropy::seeded(seed);
    let step = Step::new(entropy.ulid(now), format!("story:{}", row.key()), now)
        .create_subject("dunr-dunning", row);
    let written = write(&town.fleet.cloud.dynamodb(), &step).await.unwrap();
    assert!(matches!(written, Written::Applied));
}

/// The order of a mail, as it is queued.
pub fn order(subscription_id: &str, no: u32) -> Value {
    let body = json!({"event_id": "01J", "type": "dunning.mail", "schema_version": 1,
        "aggregate": format!("subscription#{subscription_id}"), "occurred_at": MONDAY,
        "payload": {"subscription_id": subscription_id, "no": no}});
    json!({"Records": [{"messageId": "m-1", "body": body.to_string(), "eventSource": "aws:sqs"}]})
}

/// Delivers the order of a mail. Returns whether it is to come again; so it does, too, if the
/// function itself failed.
pub async fn deliver(town: &Town, subscription_id: &str, no: u32) -> bool {
    let event = order(subscription_id, no);
    match town.fleet.cloud.invoke("dunr-mailer", event).await {
        Ok(reply) => !reply["batchItemFailures"].as_array().unwrap().is_empty(),
        Err(_) => true,
    }
}

/// Puts a row that owes a mail, and delivers its order once.
pub async fn sent(town: &Town, row: Dunning, kind: MailKind) -> DunningMail {
    let row = owing(row, kind);
    put(town, &row).await;
    assert!(!deliver(town, &row.subscription_id, row.mails.no).await);
    let mut mails = town.dunning_mails();
    assert_eq!(mails.len(), 1);
    mails.remove(0)
}

pub fn row(town: &Town, subscription_id: &str) -> Value {
    let rows = town.rows("dunr-dunning").into_iter();
    let mut rows = rows.filter(|row| row["subscription_id"] == subscription_id);
    rows.next().unwrap()
}

/// The state of a mail, such as `"owed"` or `{"sent": {…}}`, by its first word.
pub fn state(town: &Town, no: u32) -> String {
    let row = row(town, SUB);
    let state = &row["mails"]["items"][no.to_string()]["state"];
    match state {
        Value::String(name) => name.clone(),
        other => other.as_object().unwrap().keys().next().unwrap().clone(),
    }
}

pub fn fault(town: &Town, function: &str, operation: &str, kind: FaultKind) {
    let rule = FaultRule::once(function, operation, kind);
    town.fleet.cloud.faults().add(rule);
}

/// How often a function called an operation.
pub fn calls(town: &Town, function: &str, operation: &str) -> usize {
    let calls = town.fleet.cloud.calls().into_iter();
    calls
        .filter(|call| call.function == function && call.operation == operation)
        .count()
}
