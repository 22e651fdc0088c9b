//! Events twice, late, in any order and at once.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::dunning_hook::support::{Hook, invoice, of_subscription};

#[tokio::test]
async fn an_event_that_comes_twice_is_one() {
    let hook = Hook::new();
    let event = hook.failed("evt_1");
    for _ in 0..3 {
        hook.take(&event).await;
        hook.settle().await;
    }
    assert_eq!(hook.story(), ["charge_failed", "retry_planned"]);
    assert_eq!(hook.orders("dunning.plan"), 1);
}

#[tokio::test]
async fn bug_b12_two_events_for_one_change_are_one_also_after_the_ledger_forgot() {
    let hook = Hook::webhook_alone();
    let first = hook.failed("evt_1");
    let mut second = first.clone();
    second["id"] = json!("evt_2");
    hook.take(&first).await;
    hook.take(&second).await;
    assert_eq!(hook.outcome("evt_2"), "already");
    hook.settle().await;
    let version = hook.sub()["version"].clone();
    hook.advance(chrono::Duration::days(36)).await;
    hook.take(&first).await;
    assert_eq!(hook.sub()["version"], version);
    assert_eq!(hook.orders("dunning.plan"), 1);
}

#[tokio::test]
async fn a_failure_that_is_reported_after_its_payment_starts_nothing() {
    let hook = Hook::webhook_alone();
    let failed = hook.failed("evt_failed");
    hook.take(&hook.paid("evt_paid")).await;
    assert_eq!(hook.outcome("evt_paid"), "noted");
    assert_eq!(hook.outcome("invoice#in_1"), "paid");
    hook.advance(chrono::Duration::days(3)).await;
    hook.take(&failed).await;
    hook.take(&failed).await;
    hook.settle().await;
    assert_eq!(hook.outcome("evt_failed"), "ended_before");
    assert!(hook.rows("dunr-dunning").is_empty());
    assert!(hook.rows("dunr-outbox").is_empty(), "no mail, no retry");
}

#[tokio::test]
async fn a_failure_that_is_reported_after_the_end_of_its_subscription_starts_nothing() {
    let hook = Hook::new();
    let failed = hook.failed("evt_failed");
    hook.take(&hook.cancelled("evt_gone")).await;
    hook.take(&failed).await;
    assert_eq!(hook.outcome("evt_failed"), "ended_before");
    assert!(hook.rows("dunr-dunning").is_empty());
}

#[tokio::test]
async fn bug_g09_a_note_that_has_expired_is_none_even_while_it_is_there() {
    let hook = Hook::webhook_alone();
    hook.cloud.set_ttl_lag(chrono::Duration::days(30));
    hook.take(&hook.paid("evt_paid")).await;
    hook.advance(chrono::Duration::days(36)).await;
    assert_eq!(
        hook.outcome("invoice#in_1"),
        "paid",
        "the table has not deleted it"
    );
    hook.take(&hook.failed("evt_failed")).await;
    assert_eq!(hook.sub()["status"], "retrying");
}

#[tokio::test]
async fn a_note_about_one_invoice_stops_no_other() {
    let hook = Hook::new();
    hook.take(&hook.paid("evt_paid")).await;
    let next = invoice(&json!({"id": "in_2"}));
    hook.take(&hook.event("invoice.payment_failed", "evt_2", next))
        .await;
    hook.take(&hook.failed("evt_1")).await;
    let invoices = hook.sub()["invoices"].clone();
    assert_eq!(
        invoices.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["in_2"]
    );
}

#[tokio::test]
async fn an_older_amount_that_comes_late_is_no_news() {
    let hook = Hook::webhook_alone();
    hook.take(&hook.failed("evt_1")).await;
    hook.advance(chrono::Duration::hours(1)).await;
    let amount = |minor: i64| invoice(&json!({"amount_remaining": minor}));
    let older = hook.event("invoice.updated", "evt_2", amount(1700));
    hook.advance(chrono::Duration::seconds(1)).await;
    hook.take(&hook.event("invoice.updated", "evt_3", amount(1500)))
        .await;
    hook.take(&older).await;
    assert_eq!(hook.debt()["amount"]["amount"], 1500);
    assert_eq!(hook.outcome("evt_2"), "already");
}

/// Every order of `items`.
fn orders(items: &[Value]) -> Vec<Vec<Value>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (n, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(n);
        for mut order in orders(&rest) {
            order.insert(0, first.clone());
            all.push(order);
        }
    }
    all
}

/// The events of one failed and paid invoice of a subscription of its own.
fn life(hook: &Hook, n: usize) -> Vec<Value> {
    let of = |more: Value| {
        let mut fields = json!({"id": format!("in_{n}"), "customer": format!("cus_{n}"),
            "parent": of_subscription(&format!("sub_{n}"))});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        invoice(&fields)
    };
    let paid = json!({"status": "paid", "amount_remaining": 0});
    let events = [
        ("invoice.payment_failed", json!({})),
        ("invoice.payment_action_required", json!({})),
        ("invoice.updated", json!({"amount_remaining": 1900})),
        ("invoice.paid", paid.clone()),
        ("invoice.payment_succeeded", paid),
    ];
    let event =
        |(kind, more): (&str, Value)| hook.event(kind, &format!("evt_{n}_{kind}"), of(more));
    events.map(event).to_vec()
}

#[tokio::test]
async fn in_any_order_a_paid_invoice_ends_without_a_debt() {
    let hook = Hook::webhook_alone();
    let count = orders(&life(&hook, 0)).len();
    assert_eq!(count, 120);
    for n in 0..count {
        for event in orders(&life(&hook, n)).swap_remove(n) {
            hook.take(&event).await;
        }
    }
    for row in hook.rows("dunr-dunning") {
        assert_eq!(row["status"], "recovered", "{row}");
        assert_eq!(row["plan"], Value::Null);
        let kinds = row["mails"]["items"].as_object().unwrap().values();
        assert!(kinds.clone().all(|mail| mail["kind"] == "receipt"), "{row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_deliveries_at_once_are_one_step() {
    let hook = Arc::new(Hook::new());
    let event = hook.failed("evt_1");
    let deliver = |event: Value| {
        let hook = Arc::clone(&hook);
        tokio::spawn(async move {
            // A delivery that finds others writing is sent again, as the provider does.
            for _ in 0..20 {
                if hook.post(&event).await.status == 200 {
                    return;
                }
            }
            panic!("never taken");
        })
    };
    let tasks: Vec<_> = (0..50).map(|_| deliver(event.clone())).collect();
    for task in tasks {
        task.await.unwrap();
    }
    hook.settle().await;
    assert_eq!(hook.story(), ["charge_failed", "retry_planned"]);
    assert_eq!(hook.schedules().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failure_and_its_payment_at_once_leave_no_open_debt() {
    for round in 0..20 {
        let hook = Arc::new(Hook::new());
        let events = [
            hook.failed("evt_failed"),
            hook.paid("evt_paid"),
            hook.cancelled("evt_gone"),
        ];
        let tasks = events.into_iter().enumerate().map(|(place, event)| {
            let hook = Arc::clone(&hook);
            tokio::spawn(async move {
                for _ in 0..(place * round) % 5 * 20 {
                    tokio::task::yield_now().await;
                }
                for _ in 0..20 {
                    if hook.post(&event).await.status == 200 {
                        return;
                    }
                }
                panic!("never taken");
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        hook.settle().await;
        let row = hook.sub();
        assert!(row.is_null() || row["status"] == "cancelled", "{row}");
        assert!(row.is_null() || !hook.debt()["end"].is_null(), "{row}");
        assert_eq!(hook.schedules().await, []);
    }
}
