//! The audit rows of a booking tell its whole life: its row can be rebuilt from them.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town, deposit_paid, session_event};
use paidonce_core::audit::{AuditRow, rebuild};
use paidonce_core::booking::Booking;
use paidonce_core::step::Row;
use serde_json::{Value, json};

use crate::calendar::support::{quick_town, quick_venue, town_with};

fn audit(town: &Town, booked: &Booked) -> Vec<AuditRow> {
    town.rows("bdc-audit")
        .into_iter()
        .filter(|row| row["booking_id"] == booked.id.as_str())
        .map(|row| serde_json::from_value(row).unwrap())
        .collect()
}

fn assert_rebuilt(town: &Town, booked: &Booked, state: &str, steps: usize) {
    let mut row = town.row(booked);
    assert_eq!(row["state"], state);
    row.as_object_mut()
        .unwrap()
        .retain(|name, _| !Booking::PERSONAL.contains(&name.as_str()));
    let mut rows = audit(town, booked);
    assert_eq!(rebuild(&rows), row);
    rows.reverse();
    assert_eq!(rebuild(&rows), row, "in whichever order they were read");

    let mut changes: Vec<&AuditRow> = rows.iter().filter(|row| !row.set.is_empty()).collect();
    changes.sort_by_key(|row| row.set["version"].as_u64());
    assert_eq!(changes.len(), steps, "{:?}", town.history(booked));
    assert_eq!(changes[0].before, None);
    for pair in changes.windows(2) {
        assert_eq!(pair[0].after, pair[1].before, "no step is missing");
        assert!(pair[0].ts < pair[1].ts);
    }
    let versions: Vec<u64> = changes
        .iter()
        .filter_map(|row| row.set["version"].as_u64())
        .collect();
    assert_eq!(versions, (1..=versions.len() as u64).collect::<Vec<_>>());
    assert!(
        changes
            .iter()
            .all(|row| !row.who.is_empty() && !row.causation_id.is_empty())
    );
}

async fn order(town: &Town, booked: &Booked, order: &str, body: &Value) {
    let answer = town.staff(booked, order, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    town.settle().await;
}

#[tokio::test]
async fn of_a_life_from_the_page_to_the_settlement() {
    let town = quick_town();
    let booked = town.pending().await;
    assert_rebuilt(&town, &booked, "PENDING", 1);
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    assert_rebuilt(&town, &booked, "PENDING", 3);
    town.pay(&booked, CARD).await;
    town.settle().await;
    assert_rebuilt(&town, &booked, "CONFIRMED", 4);
    order(
        &town,
        &booked,
        "reschedule",
        &json!({"starts_at": "2026-07-11T20:30"}),
    )
    .await;
    town.advance_to("2026-07-11T19:40:00Z").await;
    order(&town, &booked, "attendance", &json!({"attended": true})).await;
    order(&town, &booked, "attendance", &json!({"attended": false})).await;
    assert_rebuilt(&town, &booked, "CONFIRMED", 7);
    town.advance_to("2026-07-11T22:00:00Z").await;
    assert_rebuilt(&town, &booked, "FORFEITED", 8);
}

#[tokio::test]
async fn of_a_life_that_ends_unpaid() {
    let town = quick_town();
    let booked = town.pending().await;
    order(
        &town,
        &booked,
        "reschedule",
        &json!({"starts_at": "2026-07-12T20:00", "resource": "table-5"}),
    )
    .await;
    town.advance(Duration::minutes(35)).await;
    assert_rebuilt(&town, &booked, "RELEASED", 4);
    town.advance(Duration::hours(1)).await;
    let payment = town.pay_quietly(&booked, 2000);
    let late = deposit_paid(&town, &booked, "evt_late", &payment);
    assert_eq!(town.webhook(&late).await.status, 200);
    town.settle().await;
    assert_rebuilt(&town, &booked, "RELEASED", 6);
    assert_eq!(
        town.history(&booked)[6..],
        ["late payment", "money reported"]
    );
    assert_eq!(town.refunded(), 2000);
}

#[tokio::test]
async fn of_a_life_that_is_given_up_and_taken_up_again() {
    let town = quick_town();
    let booked = town.pending().await;
    town.advance(Duration::minutes(35)).await;
    assert_rebuilt(&town, &booked, "RELEASED", 3);
    let payment = town.pay_quietly(&booked, 2000);
    let late = deposit_paid(&town, &booked, "evt_late", &payment);
    assert_eq!(town.webhook(&late).await.status, 200);
    assert_rebuilt(&town, &booked, "CONFIRMED", 4);
    assert_eq!(town.history(&booked).last().unwrap(), "late confirm");
}

#[tokio::test]
async fn of_a_life_that_is_called_off() {
    let town = quick_town();
    let booked = town.paid().await;
    let body = json!({"by": "customer", "reason": "Philippa has the flu"});
    order(&town, &booked, "cancel", &body).await;
    assert_rebuilt(&town, &booked, "CANCELLED", 6);
    let life = [
        "slot held",
        "payment page intended",
        "payment page opened",
        "deposit paid",
        "cancelled",
        "money reported",
    ];
    assert_eq!(town.history(&booked), life);
    assert_eq!(town.refunded(), 2000);
    let told = json!(town.rows("bdc-audit")).to_string();
    assert!(!told.contains("flu"), "a reason is about a person");
}

#[tokio::test]
async fn of_a_life_with_money_that_takes_days_and_then_does_not_come() {
    let town = quick_town();
    let booked = town.pending().await;
    let session = |kind: &str, id: &str, status: &str| {
        session_event(
            &town,
            kind,
            id,
            &json!({"client_reference_id": booked.id, "metadata": {"booking_id": booked.id},
                "payment_intent": "pi_debit", "payment_status": status}),
        )
    };
    let slow = session("checkout.session.completed", "evt_1", "unpaid");
    assert_eq!(town.webhook(&slow).await.status, 200);
    assert_rebuilt(&town, &booked, "PENDING", 2);
    let failed = session("checkout.session.async_payment_failed", "evt_2", "unpaid");
    assert_eq!(town.webhook(&failed).await.status, 200);
    assert_rebuilt(&town, &booked, "PENDING", 3);
    town.advance(Duration::minutes(6)).await;
    assert_rebuilt(&town, &booked, "RELEASED", 4);
}

#[tokio::test]
async fn of_a_life_that_nobody_marked() {
    let mut venue = quick_venue();
    venue["policy"]["settle_after"] = json!(30);
    let town = town_with(crate::calendar::support::EVENING, &venue);
    let booked = town.confirmed().await;
    town.advance_to("2026-07-11T22:00:00Z").await;
    assert_rebuilt(&town, &booked, "CONFIRMED", 3);
    assert_eq!(
        town.history(&booked).last().unwrap(),
        "attendance asked for"
    );
    order(&town, &booked, "attendance", &json!({"attended": true})).await;
    assert_rebuilt(&town, &booked, "CONFIRMED", 4);
    town.advance(Duration::hours(1)).await;
    assert_rebuilt(&town, &booked, "APPLIED", 5);
}

#[tokio::test]
async fn a_refused_order_leaves_no_trace_in_it() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let before = audit(&town, &booked).len();
    for (order, body) in [
        ("attendance", json!({"attended": true})),
        ("reschedule", json!({"starts_at": "2026-07-11T20:00"})),
        ("cancel", json!({"by": "weather"})),
    ] {
        town.staff(&booked, order, &body).await;
    }
    assert_eq!(audit(&town, &booked).len(), before);
    assert_rebuilt(&town, &booked, "CONFIRMED", 2);
}
