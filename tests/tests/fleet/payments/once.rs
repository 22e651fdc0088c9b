//! One payment, however often and in whatever order the provider tells of it.

use std::sync::Arc;

use chrono::Duration;
use fleet_tests::{Booked, Town, deposit_paid, session_event};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::payments::support::{
    WEBHOOK, assert_confirmed_once, assert_refunded_once, confirmations, hasty_town, ledger,
    let_the_grace_pass, redeliver, times, until_calls,
};

fn outcomes(town: &Town) -> Vec<String> {
    let mut outcomes: Vec<String> = ledger(town)
        .into_iter()
        .map(|(_, outcome)| outcome)
        .collect();
    outcomes.sort();
    outcomes
}

/// What DynamoDB's time to live will do to the ledger, days late.
async fn forget_event(town: &Town, event_id: &str) {
    let key = aws_sdk_dynamodb::types::AttributeValue::S(event_id.to_owned());
    #[expect(clippy::disallowed_methods, reason = "plays DynamoDB's own deletion")]
    let deletion = town.fleet.cloud.dynamodb().delete_item();
    let deletion = deletion.table_name("bdc-payments").key("event_id", key);
    deletion.send().await.unwrap();
    assert!(!ledger(town).iter().any(|(id, _)| id == event_id));
}

/// Makes the ledger's row one that DynamoDB should have deleted, and has not yet.
async fn outlive_its_time(town: &Town, event_id: &str) {
    use aws_sdk_dynamodb::types::AttributeValue::{N, S};
    #[expect(
        clippy::disallowed_methods,
        reason = "the row as it will be in 35 days"
    )]
    let update = town.fleet.cloud.dynamodb().update_item();
    let update = update
        .table_name("bdc-payments")
        .key("event_id", S(event_id.to_owned()))
        .update_expression("SET expires_at = :past")
        .expression_attribute_values(":past", N((town.now().timestamp() - 1).to_string()));
    update.send().await.unwrap();
}

#[tokio::test]
async fn an_event_delivered_twice_confirms_once() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    for _ in 0..3 {
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
    }
    assert_confirmed_once(&town, &booked);
    assert_eq!(
        ledger(&town),
        [("evt_1".to_owned(), "confirmed".to_owned())]
    );
    let row = town.row(&booked);
    assert_eq!(
        (&row["payment_ref"], &row["version"]),
        (&json!("pi_1"), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_b04_twenty_deliveries_of_one_event_at_once_confirm_once() {
    for round in 0..5 {
        let town = Arc::new(Town::new());
        let booked = town.pending().await;
        let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
        let deliveries = (0..20).map(|_| {
            let (town, event) = (Arc::clone(&town), event.clone());
            tokio::spawn(async move { town.webhook(&event).await.status })
        });
        for status in futures::future::join_all(deliveries).await {
            let status = status.unwrap();
            assert!(status == 200 || status == 503, "round {round}: {status}");
        }
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
        assert_confirmed_once(&town, &booked);
        assert_eq!(outcomes(&town), ["confirmed"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_b04_two_events_of_one_payment_at_once_confirm_once() {
    for round in 0..10 {
        let town = Arc::new(Town::new());
        let booked = town.pending().await;
        let events: Vec<Value> = (0..6)
            .map(|n| deposit_paid(&town, &booked, &format!("evt_{}", n % 2), "pi_1"))
            .collect();
        let deliveries = events.iter().cloned().map(|event| {
            let town = Arc::clone(&town);
            tokio::spawn(async move { redeliver(&town, &event).await })
        });
        for statuses in futures::future::join_all(deliveries).await {
            statuses.unwrap();
        }
        town.settle().await;
        assert_confirmed_once(&town, &booked);
        assert_eq!(outcomes(&town), ["already", "confirmed"], "round {round}");
    }
}

/// A town with a warm webhook, for deliveries that are woven by hand.
async fn warm_town() -> (Town, Booked) {
    let town = Town::new();
    let booked = town.pending().await;
    let warm_up = json!({"id": "evt_0", "type": "foo", "created": 0, "livemode": false, "data": {"object": {}}});
    assert_eq!(town.webhook(&warm_up).await.status, 200);
    town.forget_calls();
    (town, booked)
}

#[tokio::test]
async fn bug_b04_deliveries_woven_at_every_call_confirm_once() {
    // The same event, or another one of the same payment, takes over after each call of the first.
    for second_id in ["evt_1", "evt_2"] {
        for calls in 0..=2 {
            let (town, booked) = warm_town().await;
            let first = deposit_paid(&town, &booked, "evt_1", "pi_1");
            let second = deposit_paid(&town, &booked, second_id, "pi_1");
            let mut slow = Box::pin(town.webhook(&first));
            let ended = until_calls(&town, WEBHOOK, calls, &mut slow).await;
            assert_eq!(town.webhook(&second).await.status, 200);
            let answer = match ended {
                Some(answer) => answer,
                None => slow.await,
            };
            assert_eq!(answer.status, 200);
            town.settle().await;
            assert_confirmed_once(&town, &booked);
            let expected = if second_id == "evt_1" { 1 } else { 2 };
            assert_eq!(ledger(&town).len(), expected);
        }
    }
}

#[tokio::test]
async fn bug_b12_two_events_of_one_fact_have_one_effect() {
    let town = Town::new();
    let booked = town.pending().await;
    for id in ["evt_1", "evt_2"] {
        let event = deposit_paid(&town, &booked, id, "pi_1");
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
    }
    assert_confirmed_once(&town, &booked);
    assert_eq!(outcomes(&town), ["already", "confirmed"]);
}

#[tokio::test]
async fn bug_b12_an_event_that_the_ledger_has_forgotten_has_no_second_effect() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    let before = town.row(&booked);

    forget_event(&town, "evt_1").await;
    assert_eq!(town.webhook(&event).await.status, 200);
    outlive_its_time(&town, "evt_1").await;
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    assert_eq!(town.row(&booked), before);
    assert_confirmed_once(&town, &booked);
    assert_eq!(ledger(&town), [("evt_1".to_owned(), "already".to_owned())]);
}

#[tokio::test]
async fn a_late_payment_that_the_ledger_has_forgotten_is_not_given_back_again() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    let_the_grace_pass(&town, &booked).await;
    let payment = town.pay_quietly(&booked, 2000);
    let event = deposit_paid(&town, &booked, "evt_1", &payment);
    for _ in 0..2 {
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
        forget_event(&town, "evt_1").await;
    }
    assert_refunded_once(&town, &payment, 2000);
    assert_eq!(town.cases(), ["late_payment"]);
    assert_eq!(town.mails().len(), 1);
    assert_eq!(times(&town.kinds(), "late_refund"), 1);
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("RELEASED", 0)
    );
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn an_event_that_comes_again_after_the_day_itself_changes_nothing() {
    let town = Town::at("2026-07-11T18:00:00Z");
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-11T21:30");
    let booked = town.book(&wish).await;
    town.settle().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.advance_to("2026-07-11T20:40:00Z").await;
    let marked = town
        .staff(&booked, "attendance", &json!({"attended": false}))
        .await;
    assert_eq!(marked.status, 200, "{}", marked.text);
    town.advance_to("2026-07-12T01:30:00Z").await;
    assert_eq!(town.state(&booked), "FORFEITED");
    let again = deposit_paid(&town, &booked, "evt_2", "pi_1");
    for event in [&event, &again] {
        assert_eq!(town.webhook(event).await.status, 200);
    }
    town.settle().await;
    assert_eq!(town.state(&booked), "FORFEITED");
    assert_eq!((confirmations(&town), town.cases().len()), (1, 0));
}

#[tokio::test]
async fn bug_b02_a_crash_around_the_write_leaves_all_of_it_or_nothing() {
    for fault in [FaultKind::CrashBefore, FaultKind::CrashAfter] {
        let town = Town::new();
        let booked = town.pending().await;
        let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
        let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault);
        town.fleet.cloud.faults().add(rule);
        assert_eq!(town.webhook(&event).await.status, 502);
        let is_written = fault == FaultKind::CrashAfter;
        assert_eq!(ledger(&town).len(), usize::from(is_written));
        assert_eq!(town.state(&booked) == "CONFIRMED", is_written);
        town.advance(Duration::minutes(1)).await;
        assert_eq!(
            confirmations(&town),
            usize::from(is_written),
            "the outbox sends by itself"
        );
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
        assert_confirmed_once(&town, &booked);
        assert_eq!(ledger(&town).len(), 1);
    }
}

#[tokio::test]
async fn bug_b02_a_crash_between_the_booking_and_the_queue_sends_the_confirmation_once() {
    for fault in FaultKind::ALL {
        let town = Town::new();
        let booked = town.pending().await;
        let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
        assert_eq!(town.webhook(&event).await.status, 200);
        let rule = FaultRule::once("bdc-relay", "SendMessageBatch", fault).times(3);
        town.fleet.cloud.faults().add(rule);
        town.settle().await;
        assert_eq!(
            town.webhook(&event).await.status,
            200,
            "and the event again"
        );
        town.advance(Duration::minutes(10)).await;
        assert_confirmed_once(&town, &booked);
    }
}

#[tokio::test]
async fn bug_b06_what_failed_before_or_expired_does_not_undo_a_payment() {
    let town = Town::new();
    let booked = town.pending().await;
    let about = |kind: &str, id: &str, payment: &str, status: &str| {
        let object = json!({"id": format!("cs_{payment}"), "metadata": {"booking_id": booked.id},
            "payment_intent": payment, "payment_status": status, "amount_total": 2000});
        session_event(&town, kind, id, &object)
    };
    let paid = about("checkout.session.completed", "evt_1", "pi_2", "paid");
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    let before = (town.row(&booked), town.rows("bdc-slots"));
    for (index, (kind, payment, status)) in [
        ("checkout.session.expired", "pi_1", "unpaid"),
        ("checkout.session.async_payment_failed", "pi_1", "unpaid"),
        ("checkout.session.async_payment_failed", "pi_2", "unpaid"),
        ("checkout.session.completed", "pi_1", "unpaid"),
        ("checkout.session.completed", "pi_2", "unpaid"),
        ("payment_intent.payment_failed", "pi_1", "unpaid"),
    ]
    .into_iter()
    .enumerate()
    {
        let event = about(kind, &format!("evt_late_{index}"), payment, status);
        assert_eq!(town.webhook(&event).await.status, 200, "{kind}");
    }
    town.settle().await;
    assert_eq!((town.row(&booked), town.rows("bdc-slots")), before);
    assert_confirmed_once(&town, &booked);
    assert_eq!(times(&town.history(&booked), "event overtaken"), 4);
}
