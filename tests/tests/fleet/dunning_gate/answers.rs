//! What an app hears of each subscription, and who hears anything at all.

use expect_test::expect;
use fleet_tests::Town;
use paidonce_core::dunning::{Access, AccessBy, Status};
use serde_json::{Value, json};

use crate::dunning_gate::support::*;

#[tokio::test]
async fn an_app_hears_paused_only_where_the_retrier_gave_up_or_an_operator_said_so() {
    let words = [
        None,
        Some((Access::Granted, AccessBy::Retrier)),
        Some((Access::Paused, AccessBy::Retrier)),
        Some((Access::Granted, AccessBy::Operator)),
        Some((Access::Paused, AccessBy::Operator)),
    ];
    let now = MONDAY.parse().unwrap();
    let cases: Vec<_> = Status::ALL
        .into_iter()
        .flat_map(|status| words.map(|word| (status, word)))
        .collect();
    let id = |nth: usize| format!("sub_{nth}");
    let rows = cases.iter().enumerate();
    let town =
        town_with(rows.map(|(nth, (status, word))| row(&id(nth), *status, *word, now))).await;
    let mut table = String::new();
    for (nth, (status, word)) in cases.iter().enumerate() {
        let answer = town.gate(&subscription(&id(nth))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let answer = answer.json();
        assert_eq!(answer["status"], status.as_str());
        assert_eq!(
            answer["entitlement"].is_string(),
            answer["access"] == "granted"
        );
        let said = word.map_or("nobody".to_owned(), |(access, by)| {
            format!("{} by {by:?}", access.as_str())
        });
        let heard = answer["access"].as_str().unwrap();
        table.push_str(&format!("{}, {said}: {heard}\n", status.as_str()));
    }
    expect![[r#"
        active, nobody: granted
        active, granted by Retrier: granted
        active, paused by Retrier: granted
        active, granted by Operator: granted
        active, paused by Operator: paused
        retrying, nobody: granted
        retrying, granted by Retrier: granted
        retrying, paused by Retrier: granted
        retrying, granted by Operator: granted
        retrying, paused by Operator: paused
        paused, nobody: granted
        paused, granted by Retrier: granted
        paused, paused by Retrier: paused
        paused, granted by Operator: granted
        paused, paused by Operator: paused
        recovered, nobody: granted
        recovered, granted by Retrier: granted
        recovered, paused by Retrier: granted
        recovered, granted by Operator: granted
        recovered, paused by Operator: paused
        cancelled, nobody: granted
        cancelled, granted by Retrier: granted
        cancelled, paused by Retrier: granted
        cancelled, granted by Operator: granted
        cancelled, paused by Operator: paused
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn a_subscription_that_never_failed_is_granted() {
    let town = Town::at(MONDAY);
    let answer = town.gate(&subscription("sub_of_somebody")).await;
    assert_eq!(answer.headers["cache-control"], "private, max-age=90");
    let mut body = answer.json();
    assert!(body["entitlement"].take().is_string());
    let expected = json!({"subscription_id": "sub_of_somebody", "access": "granted",
        "status": "unknown", "as_of": "2026-11-30T09:00:00Z", "entitlement": null});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_warm_question_is_one_call() {
    let (town, subscriber) = town_with_paused().await;
    town.gate(&subscriber).await;
    town.forget_calls();
    for _ in 0..3 {
        assert_eq!(town.gate(&subscriber).await.json()["access"], "paused");
    }
    assert_eq!(town.calls("dunr-gatekeeper"), ["GetItem"; 3]);
}

#[tokio::test]
async fn bug_f03_a_subscription_is_paused_after_its_last_date_and_granted_once_it_is_paid() {
    let town = Town::at(MONDAY);
    let subscriber = town.subscriber("4242424242424242").await;
    let heard = async || {
        let answer = town.gate(&subscriber).await.json();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("status"), text("access"))
    };
    let words = |status: &str, access: &str| (status.to_owned(), access.to_owned());
    assert_eq!(heard().await, words("unknown", "granted"));
    town.fail_renewal(&subscriber, "insufficient_funds");
    town.settle().await;
    assert_eq!(heard().await, words("retrying", "granted"));
    // One look, and the four dates of the built-in policy.
    for _ in 0..5 {
        town.advance_to_retry(&subscriber).await;
    }
    assert_eq!(heard().await, words("paused", "paused"));
    let mails = town.dunning_mails();
    town.update_card_by_link(mails.last().unwrap(), "5555555555554444")
        .await;
    if town.next_retry(&subscriber).is_some() {
        town.advance_to_retry(&subscriber).await;
    }
    assert_eq!(heard().await, words("recovered", "granted"));
}

#[tokio::test]
async fn nobody_hears_anything_without_a_token() {
    let (town, _) = town_with_paused().await;
    town.forget_calls();
    let wrong = "another-token-0123456789";
    for token in [None, Some(""), Some("short"), Some(wrong)] {
        let answer = ask(&town, "GET", "/subscriptions/sub_1", token, "").await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "unauthorized")
        );
    }
    assert!(
        !town
            .calls("dunr-gatekeeper")
            .contains(&"GetItem".to_owned())
    );
}

#[tokio::test]
async fn a_changed_token_is_believed_at_once() {
    let (town, subscriber) = town_with_paused().await;
    town.gate(&subscriber).await;
    let new = json!({"apps": {"app": "rotated-token-0123456789"}, "operators": {},
        "entitlement_key": "0123456789abcdef0123456789abcdef"});
    town.fleet
        .cloud
        .set_secret("dunr/gatekeeper/tokens", &new.to_string());
    town.advance(chrono::Duration::minutes(1)).await;
    let answer = ask(
        &town,
        "GET",
        "/subscriptions/sub_1",
        Some("rotated-token-0123456789"),
        "",
    )
    .await;
    assert_eq!(answer.json()["access"], "paused", "{}", answer.text);
}

#[tokio::test]
async fn a_head_has_the_status_and_no_body_and_other_addresses_have_nothing() {
    let (town, _) = town_with_paused().await;
    let token = town.fleet.gate_tokens().app;
    let token = Some(token.as_str());
    let head = ask(&town, "HEAD", "/subscriptions/sub_1", token, "").await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/subscriptions", 404),
        ("GET", "/subscriptions/sub_1/pause", 404),
        ("DELETE", "/subscriptions/sub_1", 404),
        ("POST", "/subscriptions/sub_1/cancel", 404),
        ("GET", "/subscriptions/sub%2F..%2F1", 400),
        ("GET", "/subscriptions/sub_1@mail.example", 400),
    ] {
        assert_eq!(
            ask(&town, method, path, token, "").await.status,
            status,
            "{method} {path}"
        );
    }
    let long = format!("/subscriptions/{}", "s".repeat(256));
    assert_eq!(ask(&town, "GET", &long, token, "").await.status, 400);
}

#[tokio::test]
async fn an_answer_tells_nothing_of_the_person() {
    let now = MONDAY.parse().unwrap();
    let mut named = row("sub_1", Status::Retrying, None, now);
    named.name = Some("Perpetua Featherstone".to_owned());
    let town = town_with([named]).await;
    let answer = town.gate(&subscription("sub_1")).await;
    let Value::Object(fields) = answer.json() else {
        panic!("an object");
    };
    let fields: Vec<&String> = fields.keys().collect();
    assert_eq!(
        fields,
        [
            "access",
            "as_of",
            "entitlement",
            "status",
            "subscription_id"
        ]
    );
    assert!(!answer.text.contains("Perpetua"));
}
