//! Secrets that are rolled while the functions run: what is believed, when, and at which price.

use std::sync::Arc;

use chrono::Duration;
use fleet_tests::{SIGNING_SECRET_NAME, Town, deposit_paid};
use local_cloud::{FaultKind, FaultRule};
use paidonce_core::signature::sign;
use serde_json::Value;

use crate::payments::support::{CARD, CASHIER, WEBHOOK, ledger, location};

const LINK_SECRET: &str = "bdc-link-key";
const PROVIDER_SECRET: &str = "bdc-provider-key";
const OLD: &str = "whsec_old_0123456789";
const NEW: &str = "whsec_new_0123456789";

async fn post_signed(town: &Town, event: &Value, secrets: &[&str]) -> u16 {
    let body = event.to_string();
    let header = sign(body.as_bytes(), secrets, town.now());
    town.post_event(body.as_bytes(), &header).await.status
}

fn secret_reads(town: &Town, function: &str) -> usize {
    let calls = town.calls(function);
    calls
        .iter()
        .filter(|call| *call == "GetSecretValue")
        .count()
}

/// A town whose warm webhook knows `OLD` alone.
async fn town_with_old_secret() -> (Town, Value) {
    let town = Town::new();
    town.fleet.cloud.set_secret(SIGNING_SECRET_NAME, OLD);
    town.fleet.cloud.remove_previous(SIGNING_SECRET_NAME);
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(post_signed(&town, &event, &[OLD]).await, 200);
    town.advance(Duration::seconds(1)).await;
    town.forget_calls();
    (town, event)
}

#[tokio::test]
async fn bug_a07_a_rolled_secret_is_believed_at_once_and_so_is_the_old_one_while_both_live() {
    let (town, event) = town_with_old_secret().await;
    assert_eq!(
        post_signed(&town, &event, &[NEW]).await,
        400,
        "nobody knows it yet"
    );
    town.fleet.rotate_signing_secret(NEW);
    town.advance(Duration::seconds(31)).await;
    assert_eq!(post_signed(&town, &event, &[NEW]).await, 200);
    assert_eq!(post_signed(&town, &event, &[OLD]).await, 200);
    assert_eq!(post_signed(&town, &event, &[OLD, NEW]).await, 200);
    assert_eq!(ledger(&town).len(), 1);
}

#[tokio::test]
async fn bug_a07_a_flood_of_garbage_reads_the_secret_once_in_an_interval() {
    let (town, event) = town_with_old_secret().await;
    for _ in 0..1_000 {
        assert_eq!(post_signed(&town, &event, &["whsec_garbage"]).await, 400);
    }
    assert_eq!(
        secret_reads(&town, WEBHOOK),
        2,
        "the current and the previous version, once"
    );
    assert_eq!(town.calls(WEBHOOK).len(), 2);
    assert_eq!(town.counted(WEBHOOK, "signature_fail"), 1_000);
    town.advance(Duration::seconds(29)).await;
    assert_eq!(post_signed(&town, &event, &["whsec_garbage"]).await, 400);
    assert_eq!(secret_reads(&town, WEBHOOK), 2);
    town.advance(Duration::seconds(1)).await;
    for _ in 0..20 {
        assert_eq!(post_signed(&town, &event, &["whsec_garbage"]).await, 400);
    }
    assert_eq!(
        secret_reads(&town, WEBHOOK),
        4,
        "once more in the next interval"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_a07_garbage_from_all_sides_reads_the_secret_once() {
    let (town, event) = town_with_old_secret().await;
    let town = Arc::new(town);
    let deliveries = (0..50).map(|_| {
        let (town, event) = (Arc::clone(&town), event.clone());
        tokio::spawn(async move { post_signed(&town, &event, &["whsec_garbage"]).await })
    });
    for answer in futures::future::join_all(deliveries).await {
        assert_eq!(answer.unwrap(), 400);
    }
    assert_eq!(secret_reads(&town, WEBHOOK), 2);
}

#[tokio::test]
async fn bug_a07_a_secret_that_was_taken_away_is_refused_once_the_cache_is_old() {
    let (town, event) = town_with_old_secret().await;
    town.fleet.rotate_signing_secret(NEW);
    assert_eq!(post_signed(&town, &event, &[NEW]).await, 200);
    town.fleet.cloud.remove_previous(SIGNING_SECRET_NAME);
    town.advance(Duration::seconds(299)).await;
    assert_eq!(
        post_signed(&town, &event, &[OLD]).await,
        200,
        "known to a warm instance"
    );
    town.advance(Duration::seconds(1)).await;
    assert_eq!(post_signed(&town, &event, &[OLD]).await, 400);
    assert_eq!(post_signed(&town, &event, &[NEW]).await, 200);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_our_failure_and_not_the_senders() {
    let (town, event) = town_with_old_secret().await;
    let fail = |times| {
        let rule = FaultRule::once(WEBHOOK, "GetSecretValue", FaultKind::InternalError);
        town.fleet.cloud.faults().add(rule.times(times));
    };
    fail(3);
    assert!(
        post_signed(&town, &event, &[NEW]).await >= 500,
        "it may be genuine"
    );
    town.fleet.cloud.faults().clear();
    // What is in memory does not need the store.
    fail(99);
    assert_eq!(post_signed(&town, &event, &[OLD]).await, 200);
    town.fleet.cloud.faults().clear();
}

#[tokio::test]
async fn a_placeholder_that_stands_where_the_secret_belongs_signs_nothing() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    for placeholder in ["to-be-set-by-the-operator", "", " "] {
        town.fleet
            .cloud
            .set_secret(SIGNING_SECRET_NAME, placeholder);
        town.fleet.cloud.set_secret(SIGNING_SECRET_NAME, OLD);
        town.advance(Duration::seconds(31)).await;
        assert_eq!(post_signed(&town, &event, &[placeholder]).await, 400);
    }
    town.fleet
        .cloud
        .set_secret(SIGNING_SECRET_NAME, "to-be-set-by-the-operator");
    town.fleet.cloud.remove_previous(SIGNING_SECRET_NAME);
    town.advance(Duration::minutes(5)).await;
    assert_eq!(
        post_signed(&town, &event, &[OLD]).await,
        502,
        "it comes again, and an alarm hangs on it"
    );
    assert_eq!(town.state(&booked), "PENDING");
}

#[tokio::test]
async fn links_that_the_previous_key_signed_still_work() {
    let town = Town::new();
    let booked = town.pending().await;
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.fleet
        .cloud
        .set_secret(LINK_SECRET, "another-link-key-0123456789abcdef");
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.advance(Duration::minutes(5)).await;
    assert_eq!(
        town.cashier("GET", booked.pay_url()).await.status,
        200,
        "by the previous version"
    );
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 303);
    town.fleet
        .cloud
        .set_secret(LINK_SECRET, "a-third-link-key-0123456789abcdef");
    town.advance(Duration::minutes(5)).await;
    assert_eq!(
        town.cashier("GET", booked.pay_url()).await.status,
        404,
        "a second change ends them"
    );
}

#[tokio::test]
async fn a_link_that_a_rolled_key_signed_works_at_a_cashier_that_knows_the_old_one() {
    let town = Town::new();
    let old = town.pending().await;
    town.advance(Duration::minutes(4)).await;
    assert_eq!(
        town.cashier("GET", old.pay_url()).await.status,
        200,
        "warm for five minutes"
    );
    town.fleet
        .cloud
        .set_secret(LINK_SECRET, "another-link-key-0123456789abcdef");
    town.advance(Duration::minutes(2)).await;
    let mut wish = town.wish();
    wish["resource"] = "table-5".into();
    let new = town.book(&wish).await;
    assert_eq!(town.cashier("GET", new.pay_url()).await.status, 200);
    assert_eq!(town.cashier("GET", old.pay_url()).await.status, 200);
    assert_eq!(town.press_pay(new.pay_url()).await.status, 303);
}

#[tokio::test]
async fn a_flood_of_forged_links_reads_the_key_once_in_an_interval() {
    let town = Town::new();
    let booked = town.pending().await;
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.advance(Duration::seconds(31)).await;
    town.forget_calls();
    let forged = booked.pay_url().replace("sig=", "sig=A");
    for method in ["GET", "POST"].repeat(50) {
        assert_eq!(town.cashier(method, &forged).await.status, 404);
    }
    assert_eq!(town.calls(CASHIER), ["GetSecretValue"; 2]);
}

#[tokio::test]
async fn a_provider_key_that_was_rolled_is_used_at_once() {
    let town = Town::new();
    let good = town.fleet.cloud.secrets().remove(PROVIDER_SECRET).unwrap();
    let first = town.pending().await;
    town.fleet
        .cloud
        .set_secret(PROVIDER_SECRET, "rk_test_revoked_0123456789");
    let refused = town.press_pay(first.pay_url()).await;
    assert_eq!(refused.status, 502, "the provider does not take this one");
    town.fleet.cloud.set_secret(PROVIDER_SECRET, &good);
    town.advance(Duration::seconds(31)).await;
    let led = town.press_pay(first.pay_url()).await;
    assert_eq!(led.status, 303);
    assert!(location(&led).contains("/pay/cs_test_"));
    assert_eq!(town.pay_session(&led, CARD).0, 200);
}
