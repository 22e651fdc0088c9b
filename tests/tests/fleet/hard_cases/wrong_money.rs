//! B5 to B8: too little, too much, another currency, parts, and money that takes days.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    assert_no_cases, assert_refunded_once, assert_stands, brisk_town, case, gbp, minutes,
    refunds_of, staff, take, times, told, told_after_the_reminder,
};

/// Pays so much on a page that was made by hand, and lets all follow; returns the payment.
async fn pay_by_hand(town: &Town, booked: &Booked, minor: i64, currency: &str) -> String {
    let page = town.page_by_hand(booked, minor, currency);
    let payment = town.pay_page(&page, CARD);
    town.settle().await;
    payment
}

#[tokio::test]
async fn b05_too_little_holds_the_slot_for_the_time_of_the_case_and_tells_both_sides() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 10).await;
    let payment = pay_by_hand(&town, &booked, 1500, "gbp").await;
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(
        town.row(&booked)["deposit_deadline"],
        "2026-07-10T12:10:00Z",
        "a day from the payment"
    );
    let mismatch = case(&town, "amount_mismatch");
    assert_eq!(mismatch["facts"]["payment_ref"], payment.as_str());
    assert_eq!(
        (&mismatch["facts"]["paid"], &mismatch["facts"]["wanted"]),
        (&gbp(1500), &gbp(2000))
    );
    take(&town, &told(&town, "checkout.session.completed")).await;
    assert_eq!(town.kinds(), ["deposit_request", "payment_checked"]);
    minutes(&town, 60).await;
    assert_eq!(town.state(&booked), "PENDING", "past the first deadline");
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b05_the_hold_for_a_case_never_goes_past_the_time_before_the_start() {
    let town = brisk_town();
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-09T20:00");
    let booked = town.book(&wish).await;
    town.settle().await;
    pay_by_hand(&town, &booked, 1500, "gbp").await;
    // 20:00 in London less the two hours of the policy.
    assert_eq!(
        town.row(&booked)["deposit_deadline"],
        "2026-07-09T17:00:00Z"
    );
    town.advance_to("2026-07-09T17:10:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.refunded(), 1500);
}

#[tokio::test]
async fn b05_the_team_waives_the_rest_and_the_booking_stands() {
    let town = brisk_town();
    let booked = town.pending().await;
    pay_by_hand(&town, &booked, 1500, "gbp").await;
    let order = json!({"by": "Sam", "reason": "a regular"});
    staff(&town, &booked, "waive", &order).await;
    assert_stands(&town, &booked);
    assert_eq!(town.refunded(), 0);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b05_too_much_confirms_and_the_difference_goes_back_once() {
    let town = brisk_town();
    let booked = town.pending().await;
    let payment = pay_by_hand(&town, &booked, 2500, "gbp").await;
    for _ in 0..2 {
        take(&town, &told(&town, "checkout.session.completed")).await;
    }
    assert_stands(&town, &booked);
    assert_refunded_once(&town, &payment, 500);
    assert_no_cases(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b06_as_many_of_another_currency_are_not_the_deposit_and_go_back_with_the_hold() {
    for currency in ["jpy", "eur"] {
        let town = brisk_town();
        let booked = town.pending().await;
        let payment = pay_by_hand(&town, &booked, 2000, currency).await;
        assert_eq!(town.state(&booked), "PENDING");
        let facts = &case(&town, "amount_mismatch")["facts"];
        let paid = json!({"amount": 2000, "currency": currency.to_uppercase()});
        assert_eq!((&facts["paid"], &facts["wanted"]), (&paid, &gbp(2000)));
        let page = town.cashier("GET", booked.pay_url()).await;
        assert!(page.text.contains("£20.00"), "all of it is still owed");
        town.advance(Duration::hours(25)).await;
        assert_eq!(town.state(&booked), "RELEASED");
        assert_refunded_once(&town, &payment, 2000);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b06_foreign_money_goes_back_too_when_the_booking_is_called_off() {
    for by in ["customer", "business"] {
        let town = brisk_town();
        let booked = town.pending().await;
        let payment = pay_by_hand(&town, &booked, 2000, "jpy").await;
        if by == "business" {
            town.pay(&booked, CARD).await;
            town.settle().await;
            assert_stands(&town, &booked);
        }
        staff(&town, &booked, "cancel", &json!({"by": by})).await;
        assert_refunded_once(&town, &payment, 2000);
        assert_eq!(town.captured(), town.refunded());
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b07_the_rest_of_a_part_is_paid_by_the_same_link_and_confirms() {
    let town = brisk_town();
    let booked = town.pending().await;
    pay_by_hand(&town, &booked, 1200, "gbp").await;
    let page = town.cashier("GET", booked.pay_url()).await;
    assert!(page.text.contains("£8.00"), "{}", page.text);
    let led = town.press_pay(booked.pay_url()).await;
    let (status, session) = town.pay_session(&led, CARD);
    assert_eq!((status, &session["amount_total"]), (200, &json!(800)));
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!((town.captured(), town.refunded()), (2000, 0));
    town.assert_money_is_accounted_for();
    // Called off in time, both parts go back.
    staff(&town, &booked, "cancel", &json!({"by": "customer"})).await;
    assert_eq!((town.refunds().len(), town.refunded()), (2, 2000));
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b07_parts_whose_rest_does_not_come_go_back_with_the_release() {
    let town = brisk_town();
    let booked = town.pending().await;
    let parts = [
        pay_by_hand(&town, &booked, 500, "gbp").await,
        pay_by_hand(&town, &booked, 700, "gbp").await,
    ];
    town.advance(Duration::hours(25)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.holder(booked.slot_key()), None);
    assert_refunded_once(&town, &parts[0], 500);
    assert_refunded_once(&town, &parts[1], 700);
    let texts = town.texts();
    let released = texts.iter().find(|text| text.kind == "released").unwrap();
    assert!(released.text.contains("£12.00"), "{}", released.text);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b07_the_rest_that_comes_beside_the_release_confirms_or_all_goes_back() {
    for rest_first in [true, false] {
        let town = brisk_town();
        let booked = town.pending().await;
        pay_by_hand(&town, &booked, 1200, "gbp").await;
        town.advance(Duration::hours(23)).await;
        town.withhold_events(true);
        let rest = town.pay(&booked, CARD).await;
        town.withhold_events(false);
        let event = told(&town, "checkout.session.completed");
        if rest_first {
            take(&town, &event).await;
        }
        town.advance(Duration::hours(2)).await;
        if !rest_first {
            assert_eq!(
                town.state(&booked),
                "PENDING",
                "the page told that it is paid"
            );
            take(&town, &event).await;
        }
        assert_stands(&town, &booked);
        assert_eq!(refunds_of(&town, &rest), []);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b07_a_part_that_went_back_by_hand_is_owed_again() {
    let town = brisk_town();
    let booked = town.pending().await;
    let part = pay_by_hand(&town, &booked, 1200, "gbp").await;
    town.refund_by_hand(&part, Some(200));
    town.settle().await;
    let led = town.press_pay(booked.pay_url()).await;
    let (status, session) = town.pay_session(&led, CARD);
    assert_eq!((status, &session["amount_total"]), (200, &json!(1000)));
    town.settle().await;
    assert_stands(&town, &booked);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b08_completed_and_unpaid_holds_confirms_on_success_and_gives_up_on_failure() {
    for succeeded in [true, false] {
        let town = brisk_town();
        let booked = town.pending().await;
        town.pay(&booked, "bank").await;
        town.settle().await;
        let completed = told(&town, "checkout.session.completed");
        assert_eq!(completed["data"]["object"]["payment_status"], "unpaid");
        take(&town, &completed).await;
        assert_eq!(town.row(&booked)["funds"]["awaited"], true);
        minutes(&town, 60).await;
        assert_eq!(town.state(&booked), "PENDING", "past the old deadline");
        let page = completed["data"]["object"]["id"].as_str().unwrap();
        let path = format!("/_sandbox/sessions/{page}/settle");
        let done = town.provider("POST", &path, &json!({"succeeded": succeeded}));
        assert_eq!(done.0, 200);
        minutes(&town, 10).await;
        if succeeded {
            assert_stands(&town, &booked);
        } else {
            assert_eq!(town.state(&booked), "RELEASED");
            assert_eq!(told_after_the_reminder(&town), ["released"]);
        }
        // The first event once more, too late.
        let before: Value = town.row(&booked);
        take(&town, &completed).await;
        assert_eq!(town.row(&booked), before);
        assert_eq!(times(&town.kinds(), "confirmation"), usize::from(succeeded));
        town.assert_money_is_accounted_for();
    }
}
