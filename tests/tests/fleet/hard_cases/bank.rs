//! Faults that others shipped, where they touch a deposit's money: each under its number.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    CASHIER, assert_no_cases, assert_refunded_once, cashier_jobs, refunds_of, staff, take,
    try_to_deliver,
};

const CREATE: &str = "POST /v1/refunds";

async fn paid() -> (Town, Booked, String) {
    let town = Town::new();
    let booked = town.paid().await;
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    (town, booked, payment)
}

fn part(minor: i64) -> Value {
    json!({"amount": {"amount": minor, "currency": "GBP"}, "by": "Sam", "reason": "spilt"})
}

/// Orders a refund, again while others keep writing.
async fn ask(town: &Town, booked: &Booked, order: &Value) -> u16 {
    for _ in 0..8 {
        let status = town.staff(booked, "refund", order).await.status;
        if status != 503 {
            return status;
        }
    }
    503
}

#[tokio::test]
async fn bug_d03_refunds_at_once_never_give_back_more_than_came() {
    for fault in [None, Some(FaultKind::AnswerLost), Some(FaultKind::NotSent)] {
        let (town, booked, payment) = paid().await;
        if let Some(fault) = fault {
            let rule = FaultRule::once(CASHIER, CREATE, fault).times(24);
            town.fleet.cloud.faults().add(rule);
        }
        let orders = [600, 601, 602, 603, 604].map(part);
        let asked = orders.each_ref().map(|order| ask(&town, &booked, order));
        let statuses = futures::future::join_all(asked).await;
        let taken = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(taken, 3, "a fourth does not fit: {statuses:?}");
        town.settle().await;
        town.fleet.cloud.faults().clear();
        town.advance(Duration::minutes(40)).await;
        let back: i64 = refunds_of(&town, &payment).iter().map(|it| it.0).sum();
        assert_eq!(town.refunds().len(), 3, "{fault:?}");
        assert!((1_803..=1_809).contains(&back), "{back}");
        let kept = town.row(&booked)["payments"][0]["returned"]["amount"].clone();
        assert_eq!(kept, back);
        assert_no_cases(&town);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn bug_d03_amounts_that_make_no_sense_are_refused() {
    let (town, booked, _) = paid().await;
    for minor in [-1, 0, 2001, i64::MAX] {
        let answer = town.staff(&booked, "refund", &part(minor)).await;
        assert!(
            [409, 422].contains(&answer.status),
            "{minor}: {}",
            answer.text
        );
    }
    town.settle().await;
    assert_eq!(town.refunds(), Vec::<Value>::new());
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_d05_a_refund_whose_webhook_overtakes_its_answer_is_one_refund() {
    for answer_is_lost in [true, false] {
        let (town, booked, payment) = paid().await;
        if answer_is_lost {
            let lost = FaultRule::once(CASHIER, CREATE, FaultKind::AnswerLost).times(12);
            town.fleet.cloud.faults().add(lost);
        }
        // The provider's events arrive while the cashier waits, or after it gave up.
        staff(&town, &booked, "refund", &part(500)).await;
        town.fleet.cloud.faults().clear();
        let told = town.told_by_provider();
        let told = told.iter().filter(|event| {
            let kind = event["type"].as_str().unwrap();
            kind == "refund.created" || kind == "charge.refunded"
        });
        for event in told.clone().chain(told) {
            let mut again = event.clone();
            again["id"] = json!(format!("{}_again", event["id"].as_str().unwrap()));
            take(&town, &again).await;
        }
        for job in cashier_jobs(&town) {
            assert_eq!(try_to_deliver(&town, &job).await, Some(true));
        }
        town.advance(Duration::minutes(31)).await;
        assert_refunded_once(&town, &payment, 500);
        let row = town.payment(&payment);
        assert_eq!(row["refunds"].as_object().unwrap().len(), 1);
        assert_eq!(town.row(&booked)["payments"][0]["returned"]["amount"], 500);
        assert_no_cases(&town);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn bug_d14_a_refund_that_was_not_answered_is_neither_failed_nor_left_open() {
    // Never got it; made it and the answer was lost. No webhook comes.
    for fault in [FaultKind::NotSent, FaultKind::AnswerLost] {
        let (town, booked, payment) = paid().await;
        town.withhold_events(true);
        let rule = FaultRule::once(CASHIER, CREATE, fault).times(12);
        town.fleet.cloud.faults().add(rule);
        staff(&town, &booked, "refund", &part(500)).await;
        town.fleet.cloud.faults().clear();
        let asked = |town: &Town| {
            let row = town.payment(&payment);
            let refunds = row["refunds"].as_object().unwrap();
            refunds.values().next().unwrap()["progress"].clone()
        };
        assert_eq!(asked(&town), "asked", "{fault:?}");
        let returned = &town.row(&booked)["payments"][0]["returned"];
        assert_eq!(returned["amount"], 500, "its money is not counted on");
        town.advance(Duration::minutes(31)).await;
        assert_eq!(asked(&town), "succeeded", "{fault:?}");
        assert_refunded_once(&town, &payment, 500);
        assert_no_cases(&town);
        town.withhold_events(false);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn bug_d16_a_full_refund_is_what_is_left_beside_a_refund_by_hand() {
    let (town, booked, payment) = paid().await;
    town.refund_by_hand(&payment, Some(700));
    town.settle().await;
    let all = json!({"by": "Sam", "reason": "closed"});
    staff(&town, &booked, "refund", &all).await;
    let back: Vec<i64> = refunds_of(&town, &payment).iter().map(|it| it.0).collect();
    assert_eq!(back, [700, 1300]);
    assert_eq!(town.row(&booked)["payments"][0]["returned"]["amount"], 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_b10_a_page_of_another_product_is_left_alone_through_its_whole_life() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = town.row(&booked);
    let other = Booked {
        id: "1".to_owned(),
        answer: Value::Null,
    };
    let page = town.page_by_hand(&other, 2000, "gbp");
    let payment = town.pay_page(&page, CARD);
    town.page_by_hand(&other, 2000, "gbp");
    town.settle().await;
    town.refund_by_hand(&payment, None);
    town.advance(Duration::hours(3)).await;
    assert_eq!(town.row(&booked), before);
    assert_no_cases(&town);
    let counts = town.fleet.sandbox.webhook_counts();
    assert_eq!((counts.failed, counts.given_up), (0, 0));
}
