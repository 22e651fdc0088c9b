//! The journal of real bookings says what the provider's ledger says.

use std::collections::BTreeMap;

use chrono::Duration;
use fleet_tests::Town;
use ops::books::{Balances, csv, json};
use paidonce_core::booking::{Command, StaffOrder};
use paidonce_core::books::What;
use serde_json::{Value, json};

use crate::books::support::*;

fn by_staff() -> StaffOrder {
    StaffOrder {
        by: "front-of-house".to_owned(),
        reason: "they called".to_owned(),
    }
}

async fn assert_agrees(town: &Town) -> ops::books::Books {
    let books = books(town).await;
    assert_eq!(books.tied.as_ref().unwrap().breaks, []);
    assert!(books.are_in_order());
    let clearing = closing(&books).remove("provider_clearing");
    assert_eq!(clearing.unwrap_or_default(), at_the_provider(town));
    books
}

#[tokio::test]
async fn a_deposit_is_followed_from_the_card_to_the_bill() {
    let town = Town::new();
    let (booked, _) = confirmed(&town, "2026-07-09T20:00").await;
    let books = assert_agrees(&town).await;
    let owed = [("deposit_liability", -2000), ("provider_clearing", 2000)];
    assert_eq!(closing(&books), owed.into());
    settled(&town, &booked, true).await;
    let books = assert_agrees(&town).await;
    let earned = [("provider_clearing", 2000), ("revenue_applied", -2000)];
    assert_eq!(closing(&books), earned.into());
}

#[tokio::test]
async fn a_forfeit_that_was_taken_back_goes_back_and_a_credit_is_owed() {
    for (refund, end) in [
        (true, BTreeMap::new()),
        (
            false,
            [("customer_credits", -2000), ("provider_clearing", 2000)].into(),
        ),
    ] {
        let town = Town::new();
        let (booked, _) = confirmed(&town, "2026-07-09T20:00").await;
        settled(&town, &booked, false).await;
        let order_of = by_staff();
        order(
            &town,
            &booked,
            Command::ReverseForfeit {
                refund,
                order: order_of,
            },
        )
        .await;
        assert_eq!(closing(&assert_agrees(&town).await), end);
    }
}

#[tokio::test]
async fn a_late_cancellation_is_earned_and_one_by_the_business_goes_back() {
    let town = Town::new();
    let (kept, _) = confirmed(&town, "2026-07-09T20:00").await;
    let (back, _) = confirmed(&town, "2026-07-12T20:00").await;
    staff(
        &town,
        &kept,
        "cancel",
        json!({"by": "customer", "reason": "ill"}),
    )
    .await;
    staff(
        &town,
        &back,
        "cancel",
        json!({"by": "business", "reason": "storm"}),
    )
    .await;
    let books = assert_agrees(&town).await;
    let earned = [("cancellation_revenue", -2000), ("provider_clearing", 2000)];
    assert_eq!(closing(&books), earned.into());
}

#[tokio::test]
async fn late_money_stands_apart_until_it_is_back_and_a_refund_that_fails_is_owed_again() {
    let town = Town::new();
    let late = booked(&town, "2026-07-09T20:00").await;
    let rule = json!({"rules": [{"type": "checkout.session.completed", "delay_s": 600}]});
    happens(&town, "webhooks", rule).await;
    pay(&town, &late).await;
    staff(
        &town,
        &late,
        "cancel",
        json!({"by": "customer", "reason": ""}),
    )
    .await;
    town.advance(Duration::minutes(20)).await;
    assert_eq!(closing(&assert_agrees(&town).await), BTreeMap::new());
    let refund = town.fleet.sandbox.ledger()["refunds"][0]["id"].clone();
    let path = format!("refunds/{}/move", refund.as_str().unwrap());
    happens(&town, &path, json!({"status": "failed"})).await;
    let books = assert_agrees(&town).await;
    let owed = [("provider_clearing", 2000), ("unallocated_payments", -2000)];
    assert_eq!(closing(&books), owed.into());
    let told: Vec<What> = books.entries.iter().map(|entry| entry.what).collect();
    assert_eq!(
        told,
        [What::PaymentReceived, What::RefundMade, What::RefundFailed]
    );
}

#[tokio::test]
async fn refunds_by_hand_and_by_the_staff_come_out_of_the_deposit() {
    let town = Town::new();
    let (booked, payment_ref) = confirmed(&town, "2026-07-09T20:00").await;
    happens(
        &town,
        &format!("payments/{payment_ref}/refund"),
        json!({"amount": 300}),
    )
    .await;
    let some = Command::Refund {
        payment_ref: None,
        amount: serde_json::from_value(json!({"amount": 500, "currency": "GBP"})).ok(),
        order: by_staff(),
    };
    order(&town, &booked, some).await;
    let books = assert_agrees(&town).await;
    let left = [("deposit_liability", -1200), ("provider_clearing", 1200)];
    assert_eq!(closing(&books), left.into());
    settled(&town, &booked, false).await;
    let books = assert_agrees(&town).await;
    let earned = [("provider_clearing", 1200), ("revenue_forfeited", -1200)];
    assert_eq!(closing(&books), earned.into());
}

#[tokio::test]
async fn disputes_move_money_out_and_in_and_their_fees_are_booked() {
    // The sandbox takes a fee of 20.00, and gives it back only where nothing came of the dispute.
    let won = [("deposit_liability", -2000), ("provider_fees", 2000)];
    let lost = [("provider_clearing", -2000), ("provider_fees", 2000)];
    let prevented = [("deposit_liability", -2000), ("provider_clearing", 2000)];
    for (ends, expected) in [("won", won), ("lost", lost), ("prevented", prevented)] {
        let town = Town::new();
        let (_, payment_ref) = confirmed(&town, "2026-07-09T20:00").await;
        let path = format!("payments/{payment_ref}/dispute");
        let dispute = happens(&town, &path, json!({})).await;
        let open = [
            ("deposit_liability", -2000),
            ("disputed_funds", 2000),
            ("provider_clearing", -2000),
            ("provider_fees", 2000),
        ];
        assert_eq!(closing(&assert_agrees(&town).await), open.into());
        town.advance(Duration::hours(1)).await;
        let path = format!("disputes/{}/move", dispute["id"].as_str().unwrap());
        happens(&town, &path, json!({"status": ends})).await;
        assert_eq!(
            closing(&assert_agrees(&town).await),
            expected.into(),
            "{ends}"
        );
    }
}

#[tokio::test]
async fn two_periods_that_meet_are_the_whole() {
    let town = Town::new();
    let (booked, _) = confirmed(&town, "2026-07-09T20:00").await;
    settled(&town, &booked, false).await;
    let all = books(&town).await;
    let first = books_of(&town, period("2026-07-01", "2026-07-09")).await;
    let second = books_of(&town, period("2026-07-10", "2026-07-31")).await;
    assert_eq!(first.opening, Balances::new());
    assert_eq!(first.closing, second.opening);
    assert_eq!(second.closing, all.closing);
    let parts = [first.entries.clone(), second.entries.clone()].concat();
    assert_eq!(parts, all.entries);
    assert_eq!((first.entries.len(), second.entries.len()), (2, 1));
    for half in [&first, &second] {
        assert!(half.are_in_order());
    }
}

#[tokio::test]
async fn the_files_say_the_same_and_name_nobody() {
    let town = Town::new();
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-09T20:00");
    wish["notes"] = json!("=HYPERLINK(\"http://elsewhere.example\")");
    wish["email"] = json!("philippa@example.com");
    let booked = town.book(&wish).await;
    town.settle().await;
    pay(&town, &booked).await;
    town.settle().await;
    settled(&town, &booked, true).await;
    let books = books(&town).await;
    let (csv, json) = (csv(&books).unwrap(), json(&books, town.now()));
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 14, "{line}");
        let sum = sums.entry(cells[0].to_owned()).or_default();
        sum.0 += cells[10].parse::<i64>().unwrap();
        sum.1 += cells[11].parse::<i64>().unwrap();
    }
    assert_eq!(sums.len(), 3);
    assert!(
        sums.values()
            .all(|(debit, credit)| debit == credit && *debit == 2000)
    );
    assert_eq!(json["entries"].as_array().unwrap().len(), 3);
    assert_eq!(json["in_order"], true);
    assert_eq!(json["entries"][2]["what"], "deposit_applied");
    // By the clock on the wall it is past midnight.
    let (at, date) = (&json["entries"][2]["at"], &json["entries"][2]["date"]);
    assert!(at.as_str().unwrap().starts_with("2026-07-09T23:"), "{at}");
    assert_eq!(date, "2026-07-10");
    let text = format!("{csv}{json}");
    for word in [
        "Philippa",
        "Quillfeather",
        "900123",
        "HYPERLINK",
        "@example",
    ] {
        assert!(!text.contains(word), "{word}");
    }
    let accounts = json["balances"].as_array().unwrap().iter();
    let total: i64 = accounts
        .filter_map(|it: &Value| it["closing_minor"].as_i64())
        .sum();
    assert_eq!(total, 0);
}

#[tokio::test]
async fn an_operator_needs_every_permission_of_their_policy_and_no_other() {
    let town = Town::new();
    says(&town, "STOP").await;
    let (booked, _) = confirmed(&town, "2026-07-09T20:00").await;
    settled(&town, &booked, true).await;
    assert!(books(&town).await.are_in_order());
    let _ = forget(&town).await;
    assert_eq!(town.fleet.cloud.unused_of(POLICY), Vec::<String>::new());
}
