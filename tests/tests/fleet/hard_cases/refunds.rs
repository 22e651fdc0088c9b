//! B12 to B14: refunds by hand, refunds of ours beside their webhooks, and refunds that fail later.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    AFTERNOON, CASHIER, SETTLE, assert_no_cases, assert_refunded_once, assert_stands, case,
    cashier_job, deliver, minutes, move_refund, next_refund, refunds_of, staff, sweep, take, times,
    told,
};

/// Its refund fails a day after it succeeded.
const REFUND_FAILS: &str = "4000000000005126";
/// Its refund takes a day.
const REFUND_TAKES_A_DAY: &str = "4000000000007726";

/// A booking that was paid with a card, and its payment.
async fn paid_with(town: &Town, card: &str) -> (Booked, String) {
    let booked = town.pending().await;
    let payment = town.pay(&booked, card).await;
    town.settle().await;
    assert_stands(town, &booked);
    (booked, payment)
}

async fn attended(town: &Town, booked: &Booked) {
    town.advance_to("2026-07-11T19:30:00Z").await;
    let mark = json!({"attended": true, "by": "Sam"});
    staff(town, booked, "attendance", &mark).await;
    town.advance_to("2026-07-12T00:00:00Z").await;
}

#[tokio::test]
async fn b12_a_whole_refund_by_hand_is_a_case_and_the_deposit_is_not_settled() {
    let town = Town::at(AFTERNOON);
    let (booked, payment) = paid_with(&town, CARD).await;
    town.refund_by_hand(&payment, None);
    town.settle().await;
    for kind in ["charge.refunded", "refund.created"] {
        take(&town, &told(&town, kind)).await;
    }
    assert_stands(&town, &booked);
    assert_eq!(
        case(&town, "refunded_elsewhere")["facts"]["payment_ref"],
        payment.as_str()
    );
    let refunds = town.payment(&payment)["refunds"].clone();
    assert_eq!(refunds.as_object().unwrap().len(), 1, "known once");
    town.advance_to("2026-07-12T00:00:00Z").await;
    sweep(&town, SETTLE).await;
    assert_eq!(town.state(&booked), "CONFIRMED", "a person decides");
    assert_eq!(town.cases(), ["refunded_elsewhere"]);
    // Calling it off moves no money a second time.
    assert_eq!(town.refunded(), 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b12_a_part_refunded_by_hand_stays_a_part_and_the_rest_is_settled() {
    let town = Town::at(AFTERNOON);
    let (booked, payment) = paid_with(&town, CARD).await;
    for _ in 0..2 {
        town.refund_by_hand(&payment, Some(300));
    }
    town.settle().await;
    assert_no_cases(&town);
    assert_eq!(town.row(&booked)["payments"][0]["returned"]["amount"], 600);
    attended(&town, &booked).await;
    assert_eq!(town.state(&booked), "APPLIED");
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b12_a_refund_by_hand_that_is_told_only_as_a_sum_is_looked_up() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, CARD).await;
    town.withhold_events(true);
    let refund = town.refund_by_hand(&payment, Some(300));
    town.withhold_events(false);
    take(&town, &told(&town, "charge.refunded")).await;
    let known = &town.payment(&payment)["refunds"];
    assert!(known[refund["id"].as_str().unwrap()].is_object(), "{known}");
    assert_eq!(town.row(&booked)["payments"][0]["returned"]["amount"], 300);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b12_a_refund_by_hand_and_then_a_cancellation_give_back_no_more_than_came() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, CARD).await;
    town.refund_by_hand(&payment, Some(300));
    town.settle().await;
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    let back: Vec<i64> = refunds_of(&town, &payment).iter().map(|it| it.0).collect();
    assert_eq!(back, [300, 1700]);
    assert_no_cases(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_d03_a_cancellation_beside_a_refund_by_hand_never_gives_back_too_much() {
    // The refund by hand is made, and not heard of, when the cancellation orders all of it.
    for by_hand in [300, 2000] {
        let town = Town::new();
        let (booked, payment) = paid_with(&town, CARD).await;
        town.withhold_events(true);
        town.refund_by_hand(&payment, Some(by_hand));
        town.withhold_events(false);
        staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
        assert_eq!(town.refunded(), by_hand);
        case(&town, "refund_failed");
        for kind in ["charge.refunded", "refund.created"] {
            take(&town, &told(&town, kind)).await;
        }
        assert_eq!(town.refunded(), by_hand);
        assert_eq!(town.cases(), ["refund_failed"]);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b13_a_refund_whose_webhook_comes_first_between_or_after_is_known_once() {
    for when in ["before", "after", "both"] {
        let town = Town::new();
        let (booked, payment) = paid_with(&town, CARD).await;
        town.withhold_events(true);
        staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
        town.withhold_events(false);
        let job = cashier_job(&town, "refund");
        let told: Vec<Value> = town
            .told_by_provider()
            .into_iter()
            .filter(|event| event["type"].as_str().unwrap().contains("refund"))
            .collect();
        if when != "after" {
            for event in &told {
                take(&town, event).await;
            }
        }
        deliver(&town, &job).await;
        if when != "before" {
            for event in told.iter().rev() {
                take(&town, event).await;
            }
        }
        assert_refunded_once(&town, &payment, 2000);
        let refunds = town.payment(&payment)["refunds"].clone();
        let keys: Vec<&String> = refunds.as_object().unwrap().keys().collect();
        let key = format!("refund:cancel:{}:{payment}", booked.id);
        assert_eq!(keys, [&key], "{when}");
        assert_eq!(refunds[&key]["progress"], "succeeded");
        assert_no_cases(&town);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b13_a_refund_that_takes_a_day_is_under_way_and_then_made() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, REFUND_TAKES_A_DAY).await;
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    assert_eq!(refunds_of(&town, &payment), [(2000, "pending".to_owned())]);
    town.advance(Duration::hours(25)).await;
    assert_refunded_once(&town, &payment, 2000);
    let row = town.payment(&payment);
    let refund = row["refunds"].as_object().unwrap().values().next().unwrap();
    assert_eq!(refund["progress"], "succeeded");
    assert_eq!(row["due_at"], Value::Null);
    assert_no_cases(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b13_a_refund_whose_later_webhooks_are_lost_is_looked_up_by_the_sweep() {
    for (end, cases) in [("succeeded", vec![]), ("failed", vec!["refund_failed"])] {
        let town = Town::new();
        let (booked, payment) = paid_with(&town, CARD).await;
        next_refund(&town, "pending");
        staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
        town.withhold_events(true);
        let refund = town.refunds()[0]["id"].as_str().unwrap().to_owned();
        move_refund(&town, &refund, end);
        town.withhold_events(false);
        town.advance(Duration::hours(23)).await;
        sweep(&town, CASHIER).await;
        let progress = |town: &Town| {
            let row = town.payment(&payment);
            let refunds = row["refunds"].as_object().unwrap();
            refunds.values().next().unwrap()["progress"].clone()
        };
        assert_eq!(progress(&town), "pending", "not looked at every 15 minutes");
        town.advance(Duration::hours(2)).await;
        assert_eq!(progress(&town), end);
        assert_eq!(town.cases(), cases);
        // Sweeps that come again find nothing to do.
        for _ in 0..2 {
            assert_eq!(sweep(&town, CASHIER).await["looked_at"], 0);
        }
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b14_a_refund_that_fails_later_is_a_case_and_the_booking_stays_called_off() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, REFUND_FAILS).await;
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    assert_refunded_once(&town, &payment, 2000);
    assert_no_cases(&town);
    town.advance(Duration::hours(25)).await;
    assert_eq!(refunds_of(&town, &payment), [(2000, "failed".to_owned())]);
    assert_eq!(town.state(&booked), "CANCELLED");
    assert_eq!(town.holder(booked.slot_key()), None);
    let facts = case(&town, "refund_failed")["facts"].clone();
    assert_eq!(facts["payment_ref"], payment.as_str());
    let failed = facts["refunds"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap();
    assert_eq!(failed["failure"], "expired_or_canceled_card");
    for kind in [
        "refund.failed",
        "refund.updated",
        "refund.created",
        "charge.refunded",
    ] {
        take(&town, &told(&town, kind)).await;
    }
    town.advance(Duration::hours(13)).await;
    assert_eq!(town.mails().len(), 1, "told once");
    assert_eq!(town.refunds().len(), 1, "and not tried again");
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b14_a_refund_that_fails_at_once_is_a_case_too() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, CARD).await;
    next_refund(&town, "failed");
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    assert_eq!(refunds_of(&town, &payment), [(2000, "failed".to_owned())]);
    case(&town, "refund_failed");
    assert_eq!(times(&town.kinds(), "cancelled"), 1);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b14_a_refund_by_hand_that_fails_later_is_still_owed_and_a_persons_business() {
    let town = Town::at(AFTERNOON);
    let (booked, _) = paid_with(&town, CARD).await;
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let refund = town.refund_by_hand(&payment, None);
    town.settle().await;
    assert_eq!(town.cases(), ["refunded_elsewhere"]);
    move_refund(&town, refund["id"].as_str().unwrap(), "failed");
    town.settle().await;
    assert_eq!(town.cases(), ["refund_failed", "refunded_elsewhere"]);
    attended(&town, &booked).await;
    assert_eq!(
        town.state(&booked),
        "CONFIRMED",
        "what is owed is not earned"
    );
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_d04_a_refund_ordered_twice_by_the_staff_is_made_once() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, CARD).await;
    let order =
        json!({"amount": {"amount": 500, "currency": "GBP"}, "by": "Sam", "reason": "spilt"});
    let both = futures::future::join(
        town.staff(&booked, "refund", &order),
        town.staff(&booked, "refund", &order),
    )
    .await;
    assert_eq!((both.0.status, both.1.status), (200, 200));
    town.settle().await;
    staff(&town, &booked, "refund", &order).await;
    assert_refunded_once(&town, &payment, 500);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn a_refund_job_that_comes_a_day_late_is_carried_out_once() {
    let town = Town::new();
    let (booked, payment) = paid_with(&town, CARD).await;
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    let job = cashier_job(&town, "refund");
    for wait in [0, 30 * 60] {
        minutes(&town, wait).await;
        let before = town.payment(&payment);
        deliver(&town, &job).await;
        assert_eq!(town.payment(&payment), before);
    }
    assert_refunded_once(&town, &payment, 2000);
    assert_eq!(town.state(&booked), "CANCELLED");
}
