//! `ops explain`, for a subscription that went through the fleet.

use fleet_tests::{SUBSCRIBER, SUBSCRIBER_EMAIL, Town};

const MONDAY: &str = "2026-11-30T09:00:00Z";

#[tokio::test]
async fn an_operator_reads_what_happened_by_which_rule_and_what_follows() {
    let town = Town::at(MONDAY);
    let subscriber = town.subscriber("4242424242424242").await;
    // What the template gives to whoever asks, and no more.
    let aws = town.fleet.cloud.principal("DunrOperatorPolicy");
    let client = lambda_kit::client!(aws_sdk_dynamodb, &aws);
    let id = subscriber.subscription_id.as_str();
    let explain = async || {
        ops::explain::subscription(&client, id, town.now())
            .await
            .unwrap()
    };
    assert_eq!(explain().await, None);
    let invoice = town.fail_renewal(&subscriber, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&subscriber).await;
    let explained = explain().await.unwrap();
    assert!(!explained.needs_a_person);
    let text = explained.text;
    for said in [
        "status   retrying since",
        "access   granted",
        "What follows",
        "What happened",
        "charge_failed",
        "retry_planned",
        "date 1 of 4 (policy 2026-11)",
        "failed, ordered",
        invoice.as_str(),
    ] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
    for personal in [SUBSCRIBER, SUBSCRIBER_EMAIL, "@"] {
        assert!(!text.contains(personal), "{text}");
    }
}

#[tokio::test]
async fn a_case_is_told_with_what_to_do() {
    let town = Town::at(MONDAY);
    let subscriber = town.subscriber("4242424242424242").await;
    town.fail_renewal(&subscriber, "fraudulent");
    town.settle().await;
    town.advance_to_retry(&subscriber).await;
    // What the template gives to whoever asks, and no more.
    let aws = town.fleet.cloud.principal("DunrOperatorPolicy");
    let client = lambda_kit::client!(aws_sdk_dynamodb, &aws);
    let id = subscriber.subscription_id.as_str();
    let explained = ops::explain::subscription(&client, id, town.now())
        .await
        .unwrap()
        .unwrap();
    assert!(explained.needs_a_person, "{}", explained.text);
    assert!(
        explained.text.contains("fraud, since"),
        "{}",
        explained.text
    );
    assert!(
        explained
            .text
            .contains("Don't tell the customer the bank's reason."),
        "{}",
        explained.text
    );
}
