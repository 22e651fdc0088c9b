//! Payments that take days: the session is complete, and the money comes later or does not.

use chrono::Duration;
use fleet_tests::Town;
use serde_json::json;

use crate::money::{about, assert_one_case, completed, gbp, take};
use crate::support::{assert_confirmed_once, confirmations, hasty_town, patient_venue};

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

#[tokio::test]
async fn bug_b07_a_delayed_payment_that_comes_after_the_release_is_a_case() {
    let town = Town::with_venue(&patient_venue(40));
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
    town.advance(Duration::minutes(45)).await;
    assert_eq!(
        town.state(&booked),
        "RELEASED",
        "funds have their own deadline"
    );
    let kind = "checkout.session.async_payment_succeeded";
    take(&town, &about(&town, &booked, kind, "evt_2", &json!({}))).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("RELEASED", 0)
    );
    let facts = json!({"payment_ref": "pi_1", "paid": gbp(2000), "state": "RELEASED"});
    assert_one_case(
        &town,
        "late_payment",
        &booked.id,
        &facts,
        &["pi_1", "GBP 2000 "],
    );
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
