//! A log with a month in it, and what came of its summary.

use chrono::{DateTime, Utc};
use fleet_tests::{DunningMail, Town};
use local_cloud::InvokeError;
use paidonce_core::dunning::{LogRow, MONTH_SHARDS, month_shard};
use paidonce_core::step::{Step, Written, write};
use serde_json::{Map, Value, json};
use ulid::Ulid;

/// The first Monday of the next month, before it is nine in London.
pub const START: &str = "2026-12-07T08:50:00Z";
/// Shortly after the first Monday's nine o'clock in London.
pub const TOLD: &str = "2026-12-07T09:05:00Z";

/// A row of the log about invoice `in_{subscription}` of £20.
pub fn row(subscription: &str, at: &str, event: &str, more: Value) -> LogRow {
    let at: DateTime<Utc> = at.parse().unwrap();
    let stamp = at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let shard = subscription.bytes().map(u64::from).sum::<u64>() % MONTH_SHARDS;
    let mut row = json!({
        "subscription_id": subscription, "ts": format!("{stamp}#000001#{event}"), "at": at,
        "month": month_shard(at, shard), "event": event, "invoice_id": format!("in_{subscription}"),
        "amount": {"amount": 2000, "currency": "GBP"}, "before": "retrying", "after": "retrying",
        "why": "a test", "who": "test", "correlation_id": "c", "causation_id": "c",
        "set": Map::new(), "removed": [],
    });
    for (name, value) in more.as_object().unwrap() {
        row[name] = value.clone();
    }
    serde_json::from_value(row).unwrap()
}

/// November: three invoices failed, of which we recovered one and a customer paid one.
pub fn november() -> Vec<LogRow> {
    let code = |code: &str| json!({"failure_code": code});
    vec![
        row("sub_a", "2026-11-02T10:00:00Z", "charge_failed", json!({})),
        row(
            "sub_a",
            "2026-11-02T10:01:00Z",
            "looked",
            code("insufficient_funds"),
        ),
        row(
            "sub_a",
            "2026-11-03T10:00:00Z",
            "retry_attempted",
            json!({"attempt_no": 1}),
        ),
        row(
            "sub_a",
            "2026-11-03T10:00:01Z",
            "retry_succeeded",
            json!({"attempt_no": 1, "result": "captured", "after": "recovered"}),
        ),
        row("sub_b", "2026-11-04T10:00:00Z", "charge_failed", json!({})),
        row(
            "sub_b",
            "2026-11-04T10:01:00Z",
            "looked",
            code("expired_card"),
        ),
        row(
            "sub_b",
            "2026-11-05T10:00:00Z",
            "invoice_ended",
            json!({"result": "paid_by_customer", "after": "recovered"}),
        ),
        row("sub_c", "2026-11-06T10:00:00Z", "charge_failed", json!({})),
        row(
            "sub_c",
            "2026-11-06T10:01:00Z",
            "looked",
            code("insufficient_funds"),
        ),
        // Neither of these is of November.
        row("sub_d", "2026-10-31T23:59:59Z", "charge_failed", json!({})),
        row("sub_e", "2026-12-01T00:00:00Z", "charge_failed", json!({})),
    ]
}

pub async fn town_with(rows: Vec<LogRow>) -> Town {
    let town = Town::at(START);
    let client = town.fleet.cloud.dynamodb();
    for (nth, row) in rows.into_iter().enumerate() {
        let step = Step::new(Ulid::from_parts(1, nth as u128), "test", town.now());
        let written = write(&client, &step.create("dunr-log", &row))
            .await
            .unwrap();
        assert!(matches!(written, Written::Applied));
    }
    town
}

pub async fn start(town: &Town, event: Value) -> Result<Value, InvokeError> {
    town.fleet.cloud.invoke("dunr-summary", event).await
}

pub fn summaries(town: &Town) -> Vec<DunningMail> {
    let mails = town.dunning_mails().into_iter();
    mails.filter(|mail| mail.kind == "summary").collect()
}

/// A kept report, and its version.
pub fn kept(town: &Town, file: &str) -> (String, String) {
    let key = format!("reports/{file}");
    let object = town.fleet.cloud.object("dunr-assets-000000000000", &key);
    let object = object.expect("it is kept");
    (
        String::from_utf8_lossy(&object.bytes).into_owned(),
        object.version,
    )
}
