//! What an operator orders: once, again, late, and beside others.

use chrono::Duration;
use fleet_tests::{Subscriber, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use paidonce_core::dunning::{Access, AccessBy, Status};
use serde_json::Value;

use crate::dunning_gate::support::*;

async fn town_with_retrying() -> (Town, Subscriber) {
    let now = MONDAY.parse().unwrap();
    let town = town_with([row("sub_1", Status::Retrying, None, now)]).await;
    (town, subscription("sub_1"))
}

async fn access(town: &Town, subscriber: &Subscriber) -> String {
    let answer = town.gate(subscriber).await.json();
    answer["access"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_operator_pauses_restores_and_leaves_it_to_the_rules() {
    let (town, subscriber) = town_with_paused().await;
    for (order, heard) in [
        ("restore", "granted"),
        ("pause", "paused"),
        ("restore", "granted"),
        ("release", "paused"),
    ] {
        let answer = town.order_access(&subscriber, order).await;
        assert_eq!(
            (answer.status, &answer.json()["access"]),
            (200, &Value::from(heard)),
            "{order}"
        );
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(access(&town, &subscriber).await, heard, "{order}");
    }
    let told = [
        "access_restored",
        "access_paused",
        "access_restored",
        "access_paused",
    ];
    assert_eq!(town.dunning_log(&subscriber), told);
    let rows = town.rows("dunr-log");
    assert_eq!(rows[0]["who"], "operator:ops");
    assert_eq!(town.dunning(&subscriber)["access_by"], "retrier");
}

#[tokio::test]
async fn an_order_that_comes_twice_is_written_once() {
    let (town, subscriber) = town_with_retrying().await;
    for order in ["pause", "release"] {
        for _ in 0..2 {
            assert_eq!(town.order_access(&subscriber, order).await.status, 200);
        }
    }
    assert_eq!(
        town.dunning_log(&subscriber),
        ["access_paused", "access_restored"]
    );
    assert_eq!(town.dunning(&subscriber)["version"], 3);
}

#[tokio::test]
async fn an_order_that_comes_late_is_about_what_stands_then() {
    let now = MONDAY.parse().unwrap();
    let paused = Some((Access::Paused, AccessBy::Operator));
    let town = town_with([row("sub_1", Status::Recovered, paused, now)]).await;
    let subscriber = subscription("sub_1");
    town.advance(Duration::hours(3)).await;
    // It has been paid since the operator paused it, so the rules let the customer in.
    assert_eq!(access(&town, &subscriber).await, "paused");
    let answer = town.order_access(&subscriber, "release").await;
    assert_eq!(answer.json()["access"], "granted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn orders_beside_each_other_end_in_one_word_and_lose_none() {
    let (town, subscriber) = town_with_retrying().await;
    let orders = ["pause", "restore"].into_iter().cycle().take(12);
    let answers = join_all(orders.map(|order| town.order_access(&subscriber, order))).await;
    assert!(
        answers
            .iter()
            .all(|answer| [200, 503].contains(&answer.status))
    );
    let row = town.dunning(&subscriber);
    let log = town.dunning_log(&subscriber);
    assert_eq!(row["version"].as_u64().unwrap(), 1 + log.len() as u64);
    let last = match row["access"].as_str().unwrap() {
        "paused" => "access_paused",
        _ => "access_restored",
    };
    assert_eq!(log.last().unwrap(), last);
    assert!(
        log.windows(2).all(|pair| pair[0] != pair[1]),
        "no order is written twice in a row"
    );
}

#[tokio::test]
async fn an_app_orders_nothing() {
    let (town, subscriber) = town_with_retrying().await;
    let app = town.fleet.gate_tokens().app;
    for (token, status, code) in [
        (Some(app.as_str()), 403, "operators_only"),
        (Some("another-token-0123456789"), 401, "unauthorized"),
        (None, 401, "unauthorized"),
    ] {
        let answer = ask(&town, "POST", "/subscriptions/sub_1/pause", token, "").await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    assert_eq!(town.dunning(&subscriber)["version"], 1);
    // An operator may ask as well.
    let operator = town.fleet.gate_tokens().operator;
    let answer = ask(&town, "GET", "/subscriptions/sub_1", Some(&operator), "").await;
    assert_eq!(answer.json()["access"], "granted");
}

#[tokio::test]
async fn an_order_about_a_subscription_that_is_not_in_dunning_is_refused() {
    let (town, _) = town_with_retrying().await;
    let answer = town.order_access(&subscription("sub_other"), "pause").await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (404, "no_such_subscription")
    );
    assert_eq!(town.rows("dunr-dunning").len(), 1);
}

#[tokio::test]
async fn the_log_takes_the_number_of_a_ticket_and_no_words_about_a_person() {
    let (town, _) = town_with_retrying().await;
    let operator = town.fleet.gate_tokens().operator;
    let order = async |body: &str| {
        ask(
            &town,
            "POST",
            "/subscriptions/sub_1/pause",
            Some(&operator),
            body,
        )
        .await
    };
    for (body, status) in [
        (r#"{"reason": "Mary asked for it"}"#, 400),
        (r#"{"reference": "mary@mail.example"}"#, 422),
        (r#"{"reference": "07700 900123"}"#, 422),
        (r#"{"reference": 7}"#, 400),
        ("not json", 400),
    ] {
        assert_eq!(order(body).await.status, status, "{body}");
    }
    assert_eq!(
        order(&format!("{{\"reference\": \"{}\"}}", "T".repeat(5000)))
            .await
            .status,
        413
    );
    assert_eq!(town.rows("dunr-log"), Vec::<Value>::new());
    assert_eq!(order(r#"{"reference": "T-1234"}"#).await.status, 200);
    assert_eq!(town.rows("dunr-log")[0]["correlation_id"], "T-1234");
}

#[tokio::test]
async fn an_order_whose_answer_was_lost_is_answered_like_one_that_was() {
    for fault in [
        FaultKind::AnswerLost,
        FaultKind::Throttled,
        FaultKind::Conflict,
        FaultKind::NotSent,
    ] {
        let (town, subscriber) = town_with_retrying().await;
        let faults = town.fleet.cloud.faults();
        faults.add(FaultRule::once(
            "dunr-gatekeeper",
            "TransactWriteItems",
            fault,
        ));
        let first = town.order_access(&subscriber, "pause").await;
        assert!(
            [200, 503].contains(&first.status),
            "{fault:?}: {}",
            first.text
        );
        assert_eq!(town.order_access(&subscriber, "pause").await.status, 200);
        assert_eq!(
            town.dunning_log(&subscriber),
            ["access_paused"],
            "{fault:?}"
        );
        assert_eq!(access(&town, &subscriber).await, "paused");
    }
}
