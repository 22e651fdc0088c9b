//! Payments that take days: the session is complete, and the money comes later or does not.

use chrono::Duration;
use fleet_tests::{Booked, Town};
use serde_json::json;

use crate::payments::money::{about, completed, gbp, take};
use crate::payments::support::{
    assert_confirmed_once, assert_refunded_once, case, confirmations, hasty_town, patient_venue,
    sessions, times,
};

#[tokio::test]
async fn bug_b07_a_completed_session_that_is_unpaid_holds_the_slot_and_confirms_when_the_money_comes()
 {
    let town = Town::with_venue(&patient_venue(4_320));
    let booked = town.pending().await;
    let unpaid = completed(
        &town,
        &booked,
        "evt_1",
        &json!({"payment_status": "unpaid"}),
    );
    take(&town, &unpaid).await;
    take(&town, &unpaid).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("PENDING", 0)
    );
    // The old deadline passes: no reminder, no release.
    town.advance(Duration::minutes(45)).await;
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(town.kinds(), ["deposit_request"]);
    let page = town.cashier("GET", booked.pay_url()).await;
    assert!(page.status == 200 && page.text.contains("Payment under way"));

    let kind = "checkout.session.async_payment_succeeded";
    for id in ["evt_2", "evt_2", "evt_3"] {
        take(&town, &about(&town, &booked, kind, id, &json!({}))).await;
    }
    assert_confirmed_once(&town, &booked);
    // Out of order: the first event once more, under another id.
    take(
        &town,
        &completed(
            &town,
            &booked,
            "evt_4",
            &json!({"payment_status": "unpaid"}),
        ),
    )
    .await;
    assert_confirmed_once(&town, &booked);
}

#[tokio::test]
async fn bug_b07_a_delayed_payment_that_fails_gives_the_slot_back_once() {
    let town = Town::new();
    let booked = town.pending().await;
    take(
        &town,
        &completed(
            &town,
            &booked,
            "evt_1",
            &json!({"payment_status": "unpaid"}),
        ),
    )
    .await;
    let kind = "checkout.session.async_payment_failed";
    for id in ["evt_2", "evt_2", "evt_3"] {
        take(
            &town,
            &about(
                &town,
                &booked,
                kind,
                id,
                &json!({"payment_status": "unpaid"}),
            ),
        )
        .await;
    }
    assert_eq!(
        town.state(&booked),
        "PENDING",
        "the sweep frees slots, the webhook can't"
    );
    town.advance(Duration::minutes(5)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request", "released"]);
    assert_eq!(
        (town.holder(booked.slot_key()), town.cases().len()),
        (None, 0)
    );
}

/// A booking that waited in vain for a bank debit; returns the id of the page and of the payment.
async fn released_before_the_bank_spoke(town: &Town) -> (Booked, String, String) {
    let booked = town.pending().await;
    let payment = town.pay(&booked, "bank").await;
    let page = sessions(town)[0]["id"].as_str().unwrap().to_owned();
    town.settle().await;
    town.advance(Duration::minutes(45)).await;
    assert_eq!(
        town.state(&booked),
        "RELEASED",
        "funds have their own deadline"
    );
    (booked, page, payment)
}

async fn let_the_bank_pay(town: &Town, page: &str) {
    let path = format!("/_sandbox/sessions/{page}/settle");
    let paid = town.provider("POST", &path, &json!({"succeeded": true}));
    assert_eq!(paid.0, 200);
    town.settle().await;
}

#[tokio::test]
async fn bug_b07_a_delayed_payment_that_comes_soon_after_the_release_gets_the_slot_again() {
    let town = Town::with_venue(&patient_venue(40));
    let (booked, page, payment) = released_before_the_bank_spoke(&town).await;
    let_the_bank_pay(&town, &page).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("CONFIRMED", 1)
    );
    assert_eq!(town.holder(booked.slot_key()), Some(booked.id.clone()));
    assert_eq!(town.row(&booked)["payment_ref"], payment.as_str());
    assert_eq!(
        town.cases(),
        ["funds_unseen"],
        "it was let go with money on its way"
    );
    town.advance_to("2026-07-10T07:05:00Z").await;
    assert_eq!(
        town.cases(),
        Vec::<String>::new(),
        "and has been heard of since"
    );
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_b07_a_delayed_payment_that_comes_long_after_the_release_goes_back() {
    let town = Town::with_venue(&patient_venue(40));
    let (booked, page, payment) = released_before_the_bank_spoke(&town).await;
    town.advance(Duration::minutes(15)).await;
    let_the_bank_pay(&town, &page).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("RELEASED", 0)
    );
    assert_eq!(town.cases(), ["funds_unseen", "late_payment"]);
    let late = case(&town, "late_payment");
    let facts = &late["entries"][0]["facts"];
    assert_eq!(facts["payment_ref"], payment.as_str());
    assert_eq!(
        (&facts["paid"], &facts["state"]),
        (&gbp(2000), &json!("RELEASED"))
    );
    assert_refunded_once(&town, &payment, 2000);
    assert_eq!(times(&town.kinds(), "late_refund"), 1);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_b07_a_failure_that_overtakes_its_unpaid_event_leaves_the_time_to_pay_otherwise() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    let failed = "checkout.session.async_payment_failed";
    take(
        &town,
        &about(
            &town,
            &booked,
            failed,
            "evt_2",
            &json!({"payment_status": "unpaid"}),
        ),
    )
    .await;
    take(
        &town,
        &completed(
            &town,
            &booked,
            "evt_1",
            &json!({"payment_status": "unpaid"}),
        ),
    )
    .await;
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(
        town.row(&booked)["deposit_deadline"],
        booked.answer["deposit_deadline"]
    );
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.advance(Duration::minutes(15)).await;
    assert_eq!(
        town.state(&booked),
        "RELEASED",
        "and the slot is not held for it"
    );
}

#[tokio::test]
async fn bug_b06_the_failure_of_another_payment_leaves_the_awaited_one_alone() {
    let town = Town::new();
    let booked = town.pending().await;
    take(
        &town,
        &completed(
            &town,
            &booked,
            "evt_1",
            &json!({"payment_status": "unpaid"}),
        ),
    )
    .await;
    let before = town.row(&booked);
    let failed = "checkout.session.async_payment_failed";
    let other = json!({"payment_intent": "pi_0", "payment_status": "unpaid"});
    take(&town, &about(&town, &booked, failed, "evt_2", &other)).await;
    assert_eq!(town.row(&booked), before);
    town.advance(Duration::minutes(10)).await;
    let succeeded = "checkout.session.async_payment_succeeded";
    take(
        &town,
        &about(&town, &booked, succeeded, "evt_3", &json!({})),
    )
    .await;
    assert_confirmed_once(&town, &booked);
}
