//! Who is let in, and what an event is.

use paidonce_core::signature::sign;
use serde_json::json;

use crate::dunning_hook::support::{
    EMAIL, Hook, SECOND_EMAIL, SECRET_NAME, WEBHOOK, invoice, of_subscription, subscription,
};

#[tokio::test]
async fn a_failed_invoice_starts_dunning_and_takes_nobodys_access() {
    let hook = Hook::new();
    hook.take(&hook.failed("evt_1")).await;
    hook.settle().await;
    let row = hook.sub();
    assert_eq!(row["status"], "retrying");
    assert_eq!(row["customer_id"], "cus_1");
    assert_eq!(
        hook.debt()["amount"],
        json!({"amount": 2000, "currency": "GBP"})
    );
    assert_eq!(hook.story(), ["charge_failed", "retry_planned"]);
    assert_eq!(hook.outcome("evt_1"), "charge_failed");
}

#[tokio::test]
async fn bug_f03_the_first_decline_shuts_nobody_out() {
    let hook = Hook::new();
    hook.take(&hook.failed("evt_1")).await;
    hook.settle().await;
    let row = hook.sub();
    assert!(
        row["access"].is_null() && row["access_by"].is_null(),
        "{row}"
    );
    assert_ne!(row["status"], "paused");
}

#[tokio::test]
async fn an_event_costs_one_read_and_one_write() {
    let hook = Hook::new();
    hook.take(&hook.failed("evt_1")).await;
    hook.settle().await;
    let events = [
        hook.event(
            "invoice.updated",
            "evt_2",
            invoice(&json!({"amount_remaining": 1500})),
        ),
        hook.failed("evt_2b"),
        hook.paid("evt_3"),
        hook.paid("evt_4"),
        hook.cancelled("evt_5"),
    ];
    for event in events {
        hook.cloud.clear_calls();
        hook.take(&event).await;
        let calls = hook.cloud.calls().into_iter();
        let calls: Vec<_> = calls
            .filter(|call| call.function == WEBHOOK)
            .map(|call| call.operation)
            .collect();
        assert_eq!(calls, ["GetItem", "TransactWriteItems"], "{event}");
    }
}

#[tokio::test]
async fn what_nobody_signed_is_refused_and_counted() {
    let hook = Hook::new();
    let body = hook.failed("evt_1").to_string();
    for secret in ["whsec_somebody", "to-be-set-by-the-operator"] {
        let header = sign(body.as_bytes(), &[secret], hook.now());
        let answer = hook.post_signed(body.as_bytes(), &header).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "bad_signature")
        );
    }
    assert_eq!(hook.counted(WEBHOOK, "signature_fail"), 2);
    assert!(hook.rows("dunr-dunning").is_empty());
}

#[tokio::test]
async fn b61_while_a_secret_is_rolled_either_signature_will_do() {
    let hook = Hook::new();
    let old = hook.cloud.secrets()[SECRET_NAME].clone();
    hook.take(&hook.failed("evt_0")).await;
    let new = "whsec_rolled_0123456789abcdef";
    hook.cloud.set_secret(SECRET_NAME, new);
    let signed_with: [&[&str]; 4] = [&[&old], &[new], &[&old, new], &["whsec_later", new]];
    for (n, secrets) in signed_with.into_iter().enumerate() {
        hook.advance(chrono::Duration::minutes(1)).await;
        let body = hook.failed(&format!("evt_{}", n + 1)).to_string();
        let header = sign(body.as_bytes(), secrets, hook.now());
        assert_eq!(header.matches("v1=").count(), secrets.len());
        assert_eq!(hook.post_signed(body.as_bytes(), &header).await.status, 200);
    }
    hook.cloud.remove_previous(SECRET_NAME);
    hook.advance(chrono::Duration::minutes(10)).await;
    let body = hook.failed("evt_9").to_string();
    let header = sign(body.as_bytes(), &[&old], hook.now());
    assert_eq!(hook.post_signed(body.as_bytes(), &header).await.status, 400);
}

#[tokio::test]
async fn an_event_of_another_mode_or_account_is_kept_and_does_nothing() {
    let hook = Hook::new();
    let mut live = hook.failed("evt_live");
    live["livemode"] = json!(true);
    let mut foreign = hook.failed("evt_foreign");
    foreign["account"] = json!("acct_other");
    for event in [live, foreign] {
        hook.take(&event).await;
        hook.take(&event).await;
    }
    assert_eq!(hook.outcome("evt_live"), "wrong_mode");
    assert_eq!(hook.outcome("evt_foreign"), "foreign_account");
    assert!(hook.rows("dunr-dunning").is_empty());
}

#[tokio::test]
async fn another_release_train_is_counted_and_taken() {
    let hook = Hook::new();
    let mut event = hook.failed("evt_1");
    event["api_version"] = json!("2027-01-01.edelweiss");
    hook.take(&event).await;
    assert_eq!(hook.counted(WEBHOOK, "api_version_mismatch"), 1);
    assert_eq!(hook.sub()["status"], "retrying");
}

#[tokio::test]
async fn what_we_do_not_handle_is_taken_and_counted() {
    let hook = Hook::new();
    let ignored = [
        "invoice.upcoming",
        "invoice.overpaid",
        "customer.created",
        "a.new.type",
    ];
    for (n, kind) in ignored.into_iter().enumerate() {
        let object = json!({"id": format!("x_{n}"), "amount_remaining": "a text"});
        hook.take(&hook.event(kind, &format!("evt_{n}"), object))
            .await;
    }
    assert_eq!(hook.counted(WEBHOOK, "event_ignored"), 4);
    let of_none = invoice(&json!({"parent": null}));
    hook.take(&hook.event("invoice.payment_failed", "evt_o", of_none))
        .await;
    assert_eq!(hook.counted(WEBHOOK, "foreign_object"), 1);
    assert!(hook.rows("dunr-dunning").is_empty() && hook.rows("dunr-dedupe").is_empty());
}

#[tokio::test]
async fn what_is_signed_and_never_can_be_read_is_a_400_and_counted() {
    let hook = Hook::new();
    let unreadable = [
        hook.event("invoice.payment_failed", "evt_1", json!({"id": "in_1"})),
        hook.event("invoice.paid", "evt_2", json!("in_1")),
        hook.event(
            "invoice.payment_failed",
            "evt_3",
            invoice(&json!({"currency": "zzz"})),
        ),
        hook.event(
            "invoice.payment_failed",
            "evt_4",
            invoice(&json!({"customer": null})),
        ),
        hook.event(
            "customer.subscription.deleted",
            "evt_5",
            subscription(&json!({"id": ""})),
        ),
        hook.event("customer.subscription.deleted", "evt_6", json!({"id": 7})),
    ];
    for event in &unreadable {
        assert_eq!(hook.post(event).await.status, 400, "{event}");
    }
    assert_eq!(hook.counted(WEBHOOK, "event_unreadable"), 6);
    assert_eq!(hook.post(&json!([])).await.code(), "not_an_event");
    assert!(hook.rows("dunr-dunning").is_empty());
}

#[tokio::test]
async fn an_invoice_of_before_2025_names_its_subscription_itself() {
    let hook = Hook::new();
    let old = invoice(&json!({"parent": null, "subscription": {"id": "sub_1"},
        "subscription_details": {"metadata": {"billing_contact_email": SECOND_EMAIL}}}));
    hook.take(&hook.event("invoice.payment_failed", "evt_1", old))
        .await;
    assert_eq!(hook.sub()["second_email"], SECOND_EMAIL);
    assert_eq!(hook.sub()["status"], "retrying");
}

#[tokio::test]
async fn a_second_contact_that_is_no_address_is_dropped_and_counted() {
    let hook = Hook::new();
    for (n, text) in ["Accounts, ask Jo", SECOND_EMAIL].into_iter().enumerate() {
        let mut parent = of_subscription(&format!("sub_{n}"));
        parent["subscription_details"]["metadata"] = json!({"billing_contact_email": text});
        let object = invoice(&json!({"id": format!("in_{n}"), "parent": parent}));
        hook.take(&hook.event("invoice.payment_failed", &format!("evt_{n}"), object))
            .await;
    }
    assert!(hook.sub_of("sub_0")["second_email"].is_null());
    assert_eq!(hook.sub_of("sub_0")["email"], EMAIL);
    assert_eq!(hook.sub_of("sub_1")["second_email"], SECOND_EMAIL);
    assert_eq!(hook.counted(WEBHOOK, "billing_contact_unreadable"), 1);
}

#[tokio::test]
async fn bug_g13_subscription_ids_of_any_shape_are_dunned_apart() {
    let hook = Hook::new();
    let long = "s".repeat(255);
    let odd = [
        "sub/with:odd#signs",
        "süb_ünicode",
        long.as_str(),
        &long[1..],
    ];
    for (n, id) in odd.into_iter().enumerate() {
        let object = invoice(&json!({"id": format!("in_{n}"), "parent": of_subscription(id)}));
        hook.take(&hook.event("invoice.payment_failed", &format!("evt_{n}"), object))
            .await;
    }
    hook.settle().await;
    for id in odd {
        assert_eq!(hook.sub_of(id)["status"], "retrying");
    }
    let schedules = hook.schedules().await;
    let mut ids: Vec<_> = schedules
        .iter()
        .map(|it| it.2["subscription_id"].as_str())
        .collect();
    ids.sort_unstable();
    let mut wanted = odd.map(Some).to_vec();
    wanted.sort_unstable();
    assert_eq!(ids, wanted);
    let too_long = invoice(&json!({"parent": of_subscription(&"s".repeat(256))}));
    let event = hook.event("invoice.payment_failed", "evt_l", too_long);
    assert_eq!(hook.post(&event).await.status, 400);
}
