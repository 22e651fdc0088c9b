//! Events that are not ours, and failures that are: what is answered, and what is kept.

use fleet::FleetOptions;
use fleet_tests::{NOON, Town, deposit_paid, session_event};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::payments::support::{WEBHOOK, assert_confirmed_once, everything, ledger};

fn town_with(name: &str, value: &str) -> Town {
    let mut options = FleetOptions::starting(NOON.parse().unwrap());
    options.parameters.insert(name.to_owned(), value.to_owned());
    Town::with(options)
}

/// Posts an event that is kept as `outcome` and has no other effect, even when it comes twice.
async fn assert_only_kept(town: &Town, event: &Value, outcome: &str) {
    let before = everything(town);
    for _ in 0..2 {
        assert_eq!(town.webhook(event).await.status, 200);
    }
    town.settle().await;
    let after = everything(town);
    for table in ["bdc-bookings", "bdc-slots", "bdc-outbox", "bdc-cases"] {
        assert_eq!(after[table], before[table], "{table}");
    }
    assert_eq!(ledger(town), [("evt_1".to_owned(), outcome.to_owned())]);
    let audited: Vec<_> = after["bdc-audit"]
        .iter()
        .filter(|row| row["booking_id"] == "event#evt_1")
        .map(|row| (row["what"].as_str().unwrap(), row["why"].as_str().unwrap()))
        .collect();
    assert_eq!(audited, [("event ignored", outcome)]);
    assert_eq!(town.counted(WEBHOOK, "event_not_for_us"), 2);
}

#[tokio::test]
async fn bug_a08_a_live_event_at_a_test_deployment_is_kept_and_ignored() {
    let town = Town::new();
    let booked = town.pending().await;
    let mut event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    event["livemode"] = json!(true);
    assert_only_kept(&town, &event, "wrong_mode").await;
}

#[tokio::test]
async fn bug_a08_a_test_event_at_a_live_deployment_is_kept_and_ignored() {
    let town = town_with("Livemode", "true");
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_only_kept(&town, &event, "wrong_mode").await;
    let mut live = deposit_paid(&town, &booked, "evt_2", "pi_1");
    live["livemode"] = json!(true);
    assert_eq!(town.webhook(&live).await.status, 200);
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn bug_a08_an_event_of_somebody_elses_account_is_kept_and_ignored() {
    for own in ["", "acct_own"] {
        let town = town_with("ProviderAccount", own);
        let booked = town.pending().await;
        let mut event = deposit_paid(&town, &booked, "evt_1", "pi_1");
        event["account"] = json!("acct_other");
        assert_only_kept(&town, &event, "foreign_account").await;
    }
    let town = town_with("ProviderAccount", "acct_own");
    let booked = town.pending().await;
    let mut event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    event["account"] = json!("acct_own");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn bug_a12_a_store_that_fails_is_a_5xx_with_nothing_recorded_and_the_next_try_confirms() {
    for operation in ["GetItem", "TransactWriteItems"] {
        for fault in [
            FaultKind::Throttled,
            FaultKind::InternalError,
            FaultKind::NotSent,
        ] {
            let town = Town::new();
            let booked = town.pending().await;
            let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
            let before = everything(&town);
            // Longer than the SDK and our own retries last.
            let rule = FaultRule::once(WEBHOOK, operation, fault).times(20);
            town.fleet.cloud.faults().add(rule);
            let answer = town.webhook(&event).await;
            assert!(
                answer.status >= 500,
                "{operation} {fault:?}: {}",
                answer.status
            );
            assert_eq!(everything(&town), before, "{operation} {fault:?}");
            town.fleet.cloud.faults().clear();
            assert_eq!(town.webhook(&event).await.status, 200);
            town.settle().await;
            assert_confirmed_once(&town, &booked);
        }
    }
}

#[tokio::test]
async fn bug_a12_an_unknown_type_and_a_foreign_object_are_200_and_counted() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = everything(&town);
    town.forget_calls();
    let paid = deposit_paid(&town, &booked, "evt_1", "pi_1");
    for kind in [
        "foo.bar",
        "payment_intent.canceled",
        "payment_intent.succeeded",
        "v2.core.event",
    ] {
        let mut event = paid.clone();
        event["type"] = json!(kind);
        assert_eq!(town.webhook(&event).await.status, 200, "{kind}");
    }
    assert_eq!(town.counted(WEBHOOK, "event_ignored"), 4);
    let foreign = session_event(&town, "checkout.session.completed", "evt_2", &json!({}));
    assert_eq!(town.webhook(&foreign).await.status, 200);
    assert_eq!(town.counted(WEBHOOK, "foreign_object"), 1);
    assert_eq!(town.calls(WEBHOOK), ["GetSecretValue"; 2]);
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn bug_b10_objects_of_another_product_are_left_alone_whatever_their_metadata() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = everything(&town);
    town.forget_calls();
    let strange = [
        json!({}),
        json!({"metadata": null}),
        json!({"metadata": ""}),
        json!({"metadata": []}),
        json!({"metadata": {"booking_id": ""}}),
        json!({"metadata": {"booking_id": "1"}}),
        json!({"metadata": {"booking_id": 1}}),
        json!({"metadata": {"booking_id": null, "order": {"deep": true}}}),
        json!({"metadata": {"booking_id": "bkg_1"}}),
        json!({"metadata": {"booking_id": "bkg_01jzq#01jzq01jzq01jzq01jzq"}}),
        json!({"metadata": {"booking_id": "1"}, "client_reference_id": booked.id}),
        json!({"client_reference_id": "order-77", "amount_total": "12.50", "currency": "gold"}),
    ];
    for (index, object) in strange.iter().enumerate() {
        for kind in ["checkout.session.completed", "payment_intent.succeeded"] {
            let event = session_event(&town, kind, &format!("evt_{index}"), object);
            assert_eq!(town.webhook(&event).await.status, 200, "{kind} {object}");
        }
    }
    town.settle().await;
    assert_eq!(everything(&town), before);
    assert_eq!(town.calls(WEBHOOK), ["GetSecretValue"; 2]);
    assert_eq!(town.mails().len(), 0);
    assert_eq!(town.counted(WEBHOOK, "foreign_object"), 12);
}

#[tokio::test]
async fn an_event_of_another_version_train_is_taken_and_counted() {
    let town = Town::new();
    let booked = town.pending().await;
    let mut event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    event["api_version"] = json!("2025-03-31.basil");
    event["data"]["object"]["something_new"] = json!({"deep": [1, null]});
    event["data"]["object"]["payment_intent"] = json!({"id": "pi_1", "object": "payment_intent"});
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.counted(WEBHOOK, "api_version_mismatch"), 1);
    assert_eq!(town.row(&booked)["payment_ref"], "pi_1");
}
