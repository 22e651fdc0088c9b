//! Another payment method, and the same one anew.

use serde_json::{Value, json};

use crate::dunning_hook::support::{Hook, WEBHOOK, invoice, of_subscription, subscription};

/// Two subscriptions of one customer that failed, and one of another.
async fn three() -> Hook {
    let hook = Hook::new();
    for (subscription, customer) in [("sub_1", "cus_1"), ("sub_2", "cus_1"), ("sub_3", "cus_3")] {
        let fields = json!({"id": format!("in_{subscription}"), "customer": customer,
            "parent": of_subscription(subscription)});
        let id = format!("evt_{subscription}");
        hook.take(&hook.event("invoice.payment_failed", &id, invoice(&fields)))
            .await;
    }
    hook.settle().await;
    hook
}

fn customer(payment_method: Value) -> Value {
    json!({"id": "cus_1", "object": "customer",
        "invoice_settings": {"default_payment_method": payment_method}})
}

/// What the next charge of each subscription is to name.
fn chosen(hook: &Hook) -> [Value; 3] {
    ["sub_1", "sub_2", "sub_3"].map(|id| hook.sub_of(id)["new_card"].clone())
}

#[tokio::test]
async fn a_subscriptions_new_default_is_charged_next() {
    let hook = three().await;
    let object = subscription(&json!({"default_payment_method": {"id": "pm_new"}}));
    let before = json!({"default_payment_method": "pm_old"});
    let event = hook.change("customer.subscription.updated", "evt_card", object, before);
    hook.take(&event).await;
    hook.take(&event).await;
    hook.settle().await;
    assert_eq!(chosen(&hook), [json!("pm_new"), Value::Null, Value::Null]);
    assert_eq!(hook.sub()["plan"]["purpose"], "charge_new_card");
    let names = hook.schedule_names().await;
    assert_eq!(
        names,
        [
            "dunr-retry-sub_1-2",
            "dunr-retry-sub_2-1",
            "dunr-retry-sub_3-1"
        ]
    );
}

#[tokio::test]
async fn b42_a_customers_new_default_reaches_each_of_its_subscriptions_once() {
    let hook = three().await;
    let before = json!({"invoice_settings": {"default_payment_method": null}});
    let event = hook.change(
        "customer.updated",
        "evt_card",
        customer(json!("pm_new")),
        before,
    );
    hook.take(&event).await;
    hook.take(&event).await;
    hook.settle().await;
    assert_eq!(
        chosen(&hook),
        [json!("pm_new"), json!("pm_new"), Value::Null]
    );
    let story = hook.story();
    assert_eq!(story.iter().filter(|it| *it == "card_updated").count(), 2);
    // Another event about the same change finds it done.
    let mut other = event.clone();
    other["id"] = json!("evt_other");
    hook.take(&other).await;
    assert_eq!(hook.outcome("evt_other/sub_2"), "already");
}

#[tokio::test]
async fn a_card_that_is_only_attached_is_not_chosen_and_counted() {
    let hook = three().await;
    let card = json!({"id": "pm_new", "object": "payment_method", "customer": "cus_1"});
    hook.take(&hook.event("payment_method.attached", "evt_1", card))
        .await;
    let intent = json!({"id": "seti_1", "customer": "cus_1", "payment_method": "pm_new"});
    hook.take(&hook.event("setup_intent.succeeded", "evt_2", intent))
        .await;
    assert_eq!(chosen(&hook), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(hook.counted(WEBHOOK, "card_not_chosen"), 2);
}

#[tokio::test]
async fn changes_of_something_else_than_the_card_are_nothing() {
    let hook = three().await;
    let card = json!({"id": "pm_1", "object": "payment_method", "customer": "cus_1"});
    let unmoved = json!({"billing_details": {"name": "M. L."}});
    let events = [
        hook.change(
            "customer.updated",
            "evt_1",
            customer(json!("pm_new")),
            json!({"name": "M."}),
        ),
        hook.change(
            "customer.updated",
            "evt_2",
            customer(Value::Null),
            json!({"invoice_settings": {"default_payment_method": "pm_old"}}),
        ),
        hook.change("payment_method.updated", "evt_3", card, unmoved),
        hook.change(
            "customer.subscription.updated",
            "evt_4",
            subscription(&json!({"default_payment_method": "pm_1"})),
            json!({"status": "active"}),
        ),
    ];
    for event in &events {
        hook.take(event).await;
    }
    assert_eq!(chosen(&hook), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(hook.counted(WEBHOOK, "event_ignored"), 4);
}

#[tokio::test]
async fn a_renewed_card_that_nobody_is_known_to_pay_with_is_not_chosen() {
    let hook = three().await;
    let card = json!({"id": "pm_other", "object": "payment_method", "customer": "cus_1"});
    let before = json!({"card": {"exp_year": 2026}});
    hook.take(&hook.event(
        "payment_method.automatically_updated",
        "evt_1",
        card.clone(),
    ))
    .await;
    hook.take(&hook.change("payment_method.updated", "evt_2", card, before))
        .await;
    assert_eq!(chosen(&hook), [Value::Null, Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_card_that_is_nobodys_in_dunning_leaves_no_trace() {
    let hook = Hook::new();
    let before = json!({"invoice_settings": {"default_payment_method": null}});
    let event = hook.change(
        "customer.updated",
        "evt_1",
        customer(json!("pm_new")),
        before,
    );
    hook.take(&event).await;
    let object = subscription(&json!({"default_payment_method": "pm_new"}));
    let before = json!({"default_payment_method": null});
    hook.take(&hook.change("customer.subscription.updated", "evt_2", object, before))
        .await;
    assert!(hook.rows("dunr-dunning").is_empty() && hook.rows("dunr-dedupe").is_empty());
}
