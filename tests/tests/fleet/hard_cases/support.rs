//! What the hard cases share.

use chrono::Duration;
use fleet_tests::{Booked, Town};
use paidonce_core::venue::BUILT_IN;
use serde_json::{Value, json};

/// Saturday 11 July 2026, three hours before 20:00 in London: deposits are due after half an hour.
pub(crate) const AFTERNOON: &str = "2026-07-11T16:00:00Z";
pub(crate) const CASHIER: &str = "bdc-cashier";
pub(crate) const RELEASE: &str = "bdc-release-sweep";
pub(crate) const SETTLE: &str = "bdc-settle-sweep";

/// The built-in venue with some rules of its policy changed.
pub(crate) fn venue_with(rules: &Value) -> Value {
    let mut venue: Value = serde_json::from_str(BUILT_IN).unwrap();
    for (name, rule) in rules.as_object().unwrap() {
        venue["policy"][name] = rule.clone();
    }
    venue
}

/// A town at noon in which a deposit is due after half an hour, reminded ten minutes before.
pub(crate) fn brisk_town() -> Town {
    let rules = json!({"pay_within": 30, "remind_before": 10});
    Town::with_venue(&venue_with(&rules))
}

/// How the provider's events go wrong from now on.
pub(crate) fn mischief(town: &Town, rule: &Value) {
    let rules = json!({"rules": [rule]});
    let (status, answer) = town.provider("POST", "/_sandbox/webhooks", &rules);
    assert_eq!(status, 200, "{answer}");
}

/// Runs one sweep now, beside its schedule.
pub(crate) async fn sweep(town: &Town, function: &str) -> Value {
    let event = json!({"kind": "sweep"});
    town.fleet.cloud.invoke(function, event).await.unwrap()
}

pub(crate) async fn minutes(town: &Town, minutes: i64) {
    town.advance(Duration::minutes(minutes)).await;
}

/// The provider's latest event of a kind.
pub(crate) fn told(town: &Town, kind: &str) -> Value {
    let told = town.told_by_provider().into_iter();
    let mut told = told.filter(|event| event["type"] == kind);
    told.next_back().expect("the provider told of it")
}

/// Posts an event, which must be taken, and lets all follow that follows.
pub(crate) async fn take(town: &Town, event: &Value) {
    let answer = town.webhook(event).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    town.settle().await;
}

/// How often something stands in a list.
pub(crate) fn times<T: PartialEq<str>>(list: &[T], what: &str) -> usize {
    list.iter().filter(|one| **one == *what).count()
}

/// What the customer was told after the deposit request and the reminder.
pub(crate) fn told_after_the_reminder(town: &Town) -> Vec<String> {
    let mut kinds = town.kinds();
    kinds.retain(|kind| kind != "deposit_request" && kind != "reminder");
    kinds
}

/// The refunds of a payment at the provider, as amount and status.
pub(crate) fn refunds_of(town: &Town, payment_ref: &str) -> Vec<(i64, String)> {
    let mut refunds = town.refunds();
    refunds.retain(|refund| refund["payment_intent"] == payment_ref);
    let seen = |refund: &Value| {
        let status = refund["status"].as_str().unwrap().to_owned();
        (refund["amount"].as_i64().unwrap(), status)
    };
    refunds.iter().map(seen).collect()
}

/// A payment went back once, and has arrived.
pub(crate) fn assert_refunded_once(town: &Town, payment_ref: &str, minor: i64) {
    let expected = [(minor, "succeeded".to_owned())];
    assert_eq!(refunds_of(town, payment_ref), expected);
}

/// The entry of the one open case of a reason.
pub(crate) fn case(town: &Town, reason: &str) -> Value {
    let mut cases = town.rows("bdc-cases");
    cases.retain(|case| case["reason"] == reason && case["status"] == "OPEN");
    assert_eq!(
        cases.len(),
        1,
        "one open case of {reason}: {:?}",
        town.cases()
    );
    cases[0]["entries"][0].clone()
}

pub(crate) fn assert_no_cases(town: &Town) {
    assert_eq!(town.cases(), Vec::<String>::new());
}

/// Confirmed with its slot, and told so once.
pub(crate) fn assert_stands(town: &Town, booked: &Booked) {
    assert_eq!(town.state(booked), "CONFIRMED");
    assert_eq!(town.holder(booked.slot_key()).as_ref(), Some(&booked.id));
    assert_eq!(times(&town.kinds(), "confirmation"), 1);
}

pub(crate) fn gbp(minor: i64) -> Value {
    json!({"amount": minor, "currency": "GBP"})
}

/// An order of the staff that must be taken, and all that follows.
pub(crate) async fn staff(town: &Town, booked: &Booked, order: &str, body: &Value) {
    let answer = town.staff(booked, order, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    town.settle().await;
}

/// The orders that the cashier was given, as its queue delivered them, in order.
pub(crate) fn cashier_jobs(town: &Town) -> Vec<Value> {
    let mut rows = town.rows("bdc-outbox");
    rows.retain(|row| row["type"] == "cashier.order");
    rows.sort_by_key(|row| row["event_id"].as_str().unwrap().to_owned());
    let envelope = |row: &Value| {
        let payload: Value = serde_json::from_str(row["payload"].as_str().unwrap()).unwrap();
        json!({"event_id": row["event_id"], "type": row["type"], "schema_version": 1,
            "aggregate": row["aggregate"], "occurred_at": row["created_at"], "payload": payload})
    };
    rows.iter().map(envelope).collect()
}

/// The one order to the cashier of a kind, such as `refund`.
pub(crate) fn cashier_job(town: &Town, kind: &str) -> Value {
    let mut jobs = cashier_jobs(town);
    jobs.retain(|job| job["payload"]["order"][kind].is_object());
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}

/// Delivers a job to the cashier once more, as its queue may.
pub(crate) async fn deliver(town: &Town, job: &Value) {
    assert_eq!(try_to_deliver(town, job).await, Some(true));
    town.settle().await;
}

/// One invocation of the cashier with a job, and nothing that follows. Says whether the job is done;
/// nothing if the invocation failed.
pub(crate) async fn try_to_deliver(town: &Town, job: &Value) -> Option<bool> {
    let record = json!({"messageId": "m-1", "receiptHandle": "r-1", "body": job.to_string(),
        "attributes": {"ApproximateReceiveCount": "1"}, "messageAttributes": {},
        "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-west-2:000000000000:bdc-cashier"});
    let event = json!({"Records": [record]});
    let answer = town.fleet.cloud.invoke(CASHIER, event).await.ok()?;
    Some(answer["batchItemFailures"] == json!([]))
}

/// How the provider answers the next refund.
pub(crate) fn next_refund(town: &Town, status: &str) {
    let body = json!({"status": status});
    let (code, answer) = town.provider("POST", "/_sandbox/refunds/next", &body);
    assert_eq!(code, 200, "{answer}");
}

/// Has a refund become something else at the provider.
pub(crate) fn move_refund(town: &Town, refund_id: &str, status: &str) {
    let path = format!("/_sandbox/refunds/{refund_id}/move");
    let (code, answer) = town.provider("POST", &path, &json!({"status": status}));
    assert_eq!(code, 200, "{answer}");
}

/// Lets `slow`, an invocation of `function`, make so many calls and stop; runs `fast` from start to
/// end; then lets `slow` go on. Says whether `slow` was still under way.
pub(crate) async fn weave<S: Future, F: Future>(
    town: &Town,
    function: &str,
    calls: usize,
    slow: S,
    fast: F,
) -> (S::Output, F::Output, bool) {
    let mut slow = std::pin::pin!(slow);
    let made = || town.calls(function).len();
    let until = made() + calls;
    while made() < until {
        if let std::task::Poll::Ready(slow) = futures::poll!(slow.as_mut()) {
            return (slow, fast.await, false);
        }
        tokio::task::yield_now().await;
    }
    let fast = fast.await;
    (slow.await, fast, true)
}
