//! How dunning ends by an event.

use serde_json::{Value, json};

use crate::dunning_hook::support::{Hook, invoice, of_subscription, subscription};

/// A subscription that is in dunning, with the schedule of its first plan.
async fn dunned() -> Hook {
    let hook = Hook::new();
    hook.take(&hook.failed("evt_failed")).await;
    hook.settle().await;
    assert_eq!(hook.schedule_names().await, ["dunr-retry-sub_1-1"]);
    hook
}

async fn ended_by(kind: &str, invoice_fields: &Value) -> (Hook, Value) {
    let hook = dunned().await;
    let event = hook.event(kind, "evt_end", invoice(invoice_fields));
    hook.take(&event).await;
    hook.settle().await;
    assert_eq!(hook.schedule_names().await, Vec::<String>::new(), "{kind}");
    assert_eq!(hook.sub()["plan"], Value::Null);
    let how = hook.debt()["end"]["how"].clone();
    (hook, how)
}

#[tokio::test]
async fn an_invoice_that_is_paid_ends_dunning_with_a_receipt() {
    let (hook, how) = ended_by(
        "invoice.paid",
        &json!({"status": "paid", "amount_remaining": 0}),
    )
    .await;
    assert_eq!(
        (how, &hook.sub()["status"]),
        (json!("paid_by_customer"), &json!("recovered"))
    );
    assert_eq!(hook.orders("dunning.mail"), 1);
    // The same fact by its other names.
    for (n, kind) in ["invoice.payment_succeeded", "invoice.updated"]
        .into_iter()
        .enumerate()
    {
        let object = invoice(&json!({"status": "paid", "amount_remaining": 0}));
        let id = format!("evt_again_{n}");
        hook.take(&hook.event(kind, &id, object)).await;
        assert_eq!(hook.outcome(&id), "already");
    }
    assert_eq!(hook.orders("dunning.mail"), 1);
}

#[tokio::test]
async fn money_at_the_time_that_the_provider_had_announced_is_its_own_retry() {
    let hook = Hook::webhook_alone();
    let announced = hook.now() + chrono::Duration::days(3);
    let object = invoice(&json!({"next_payment_attempt": announced.timestamp()}));
    hook.take(&hook.event("invoice.payment_failed", "evt_1", object))
        .await;
    hook.advance(chrono::Duration::days(3) + chrono::Duration::minutes(20))
        .await;
    hook.take(&hook.paid("evt_2")).await;
    assert_eq!(hook.debt()["end"]["how"], "paid_by_provider");
}

#[tokio::test]
async fn b49_an_invoice_that_is_void_given_up_or_paid_elsewhere_is_left_alone() {
    let void = json!({"status": "void"});
    let (hook, how) = ended_by("invoice.voided", &void).await;
    assert_eq!(
        (how, &hook.sub()["status"]),
        (json!("voided"), &json!("active"))
    );
    let given_up = json!({"status": "uncollectible"});
    let (hook, how) = ended_by("invoice.marked_uncollectible", &given_up).await;
    assert_eq!(
        (how, &hook.sub()["status"]),
        (json!("uncollectible"), &json!("active"))
    );
    assert_eq!(hook.orders("dunning.mail"), 0);
    for elsewhere in [
        json!({"amount_paid_off_stripe": 2000}),
        json!({"paid_out_of_band": true}),
    ] {
        let mut paid = json!({"status": "paid", "amount_remaining": 0});
        paid.as_object_mut()
            .unwrap()
            .extend(elsewhere.as_object().unwrap().clone());
        let (hook, how) = ended_by("invoice.paid", &paid).await;
        assert_eq!(
            (how, &hook.sub()["status"]),
            (json!("out_of_band"), &json!("recovered"))
        );
    }
}

#[tokio::test]
async fn b60_an_invoice_that_a_credit_note_covers_is_closed() {
    let (hook, how) = ended_by("invoice.updated", &json!({"amount_remaining": 0})).await;
    assert_eq!(
        (how, &hook.sub()["status"]),
        (json!("covered"), &json!("active"))
    );
}

#[tokio::test]
async fn b50_a_cancelled_subscription_gets_no_retry_and_no_mail() {
    let hook = dunned().await;
    hook.take(&hook.cancelled("evt_gone")).await;
    hook.settle().await;
    assert_eq!(hook.sub()["status"], "cancelled");
    assert_eq!(hook.schedule_names().await, Vec::<String>::new());
    // What fails after that is the provider's last try.
    hook.take(&hook.failed("evt_late")).await;
    hook.take(&hook.cancelled("evt_gone_again")).await;
    hook.settle().await;
    assert_eq!(
        (hook.outcome("evt_late"), hook.outcome("evt_gone_again")),
        ("overtaken".to_owned(), "already".to_owned())
    );
    assert_eq!(hook.sub()["status"], "cancelled");
    assert_eq!(hook.orders("dunning.mail"), 0);
}

#[tokio::test]
async fn b51_money_for_a_cancelled_subscription_is_a_persons() {
    let hook = dunned().await;
    hook.take(&hook.cancelled("evt_gone")).await;
    hook.take(&hook.paid("evt_paid")).await;
    hook.settle().await;
    assert!(hook.sub()["cases"]["paid_after_cancellation"].is_string());
    assert_eq!(hook.sub()["status"], "cancelled");
}

#[tokio::test]
async fn a_subscription_that_only_says_that_it_has_ended_has_ended() {
    let hook = dunned().await;
    let object = subscription(&json!({"status": "canceled"}));
    let before = json!({"status": "past_due"});
    hook.take(&hook.change("customer.subscription.updated", "evt_2", object, before))
        .await;
    assert_eq!(hook.sub()["status"], "cancelled");
}

#[tokio::test]
async fn an_invoice_that_is_sent_to_be_paid_by_hand_is_reported_too() {
    let hook = Hook::new();
    let object = invoice(&json!({"collection_method": "send_invoice"}));
    hook.take(&hook.event("invoice.payment_failed", "evt_1", object))
        .await;
    assert_eq!(hook.sub()["status"], "retrying");
}

#[tokio::test]
async fn b47_a_bank_that_asks_its_customer_is_noted_on_the_invoice() {
    let hook = Hook::new();
    let event = hook.event(
        "invoice.payment_action_required",
        "evt_1",
        invoice(&json!({})),
    );
    hook.take(&event).await;
    hook.take(&hook.failed("evt_2")).await;
    hook.settle().await;
    assert_eq!(hook.debt()["block"]["class"], "ACTION");
    assert_eq!(hook.debt()["block"]["wording"], "APPROVE");
    assert_eq!(hook.schedule_names().await.len(), 1);
}

#[tokio::test]
async fn b53_an_open_invoice_that_changes_is_known_by_its_new_amount() {
    let hook = dunned().await;
    let object = invoice(&json!({"amount_remaining": 1500}));
    hook.take(&hook.event("invoice.updated", "evt_2", object))
        .await;
    assert_eq!(hook.debt()["amount"]["amount"], 1500);
    assert_eq!(hook.outcome("evt_2"), "invoice_updated");
}

#[tokio::test]
async fn an_invoice_that_changes_and_never_failed_is_no_debt() {
    let hook = Hook::new();
    for (n, status) in ["draft", "open"].into_iter().enumerate() {
        let object = invoice(&json!({"status": status, "amount_remaining": 900}));
        hook.take(&hook.event("invoice.updated", &format!("evt_{n}"), object))
            .await;
    }
    assert!(hook.rows("dunr-dunning").is_empty() && hook.rows("dunr-dedupe").is_empty());
}

#[tokio::test]
async fn b52_two_open_invoices_are_one_row_and_the_oldest_is_next() {
    let hook = dunned().await;
    let older = json!({"id": "in_0", "created": 1_793_000_000, "parent": of_subscription("sub_1")});
    hook.take(&hook.event("invoice.payment_failed", "evt_2", invoice(&older)))
        .await;
    hook.settle().await;
    assert_eq!(hook.rows("dunr-dunning").len(), 1);
    assert_eq!(hook.sub()["invoice_id"], "in_0");
    hook.take(&hook.paid("evt_3")).await;
    hook.settle().await;
    assert_eq!(
        (&hook.sub()["status"], &hook.sub()["invoice_id"]),
        (&json!("retrying"), &json!("in_0"))
    );
}
