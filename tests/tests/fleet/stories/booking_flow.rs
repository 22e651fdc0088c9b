//! A deposit from the form to the day itself.

use chrono::Duration;
use fleet_tests::{PHONE_E164, Town};
use serde_json::json;

#[tokio::test]
async fn a_customer_books_pays_and_comes() {
    let town = Town::new();
    let booked = town.pending().await;
    assert_eq!(booked.slot_key(), "table-4#2026-07-11T20:00");
    assert_eq!(
        booked.answer["deposit"],
        json!({"amount": 2000, "currency": "GBP"})
    );
    assert_eq!(booked.answer["deposit_deadline"], "2026-07-10T12:00:00Z");
    let texts = town.texts();
    assert_eq!(
        (texts[0].to.as_str(), texts[0].kind.as_str()),
        (PHONE_E164, "deposit_request")
    );
    assert!(texts[0].text.contains(booked.pay_url()));

    let page = town.cashier("GET", booked.pay_url()).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("£20.00"));
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.captured(), 2000);

    town.advance_to("2026-07-11T19:30:00Z").await;
    assert_eq!(
        town.staff(&booked, "attendance", &json!({"attended": true}))
            .await
            .status,
        200
    );
    town.advance(Duration::hours(6)).await;
    assert_eq!(town.state(&booked), "APPLIED");
    assert_eq!(town.kinds(), ["deposit_request", "confirmation"]);
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(
        town.history(&booked),
        [
            "slot held",
            "payment page intended",
            "payment page opened",
            "deposit paid",
            "attendance marked",
            "deposit applied"
        ]
    );
}

#[tokio::test]
async fn a_customer_who_does_not_come_forfeits_the_deposit() {
    let town = Town::new();
    let booked = town.confirmed().await;
    town.advance_to("2026-07-11T21:00:00Z").await;
    assert_eq!(
        town.staff(&booked, "attendance", &json!({"attended": false}))
            .await
            .status,
        200
    );
    town.advance(Duration::hours(6)).await;
    assert_eq!(town.state(&booked), "FORFEITED");
}

#[tokio::test]
async fn an_unpaid_booking_is_reminded_once_and_its_slot_goes_back_on_sale() {
    let town = Town::new();
    let booked = town.pending().await;
    town.advance(Duration::hours(23)).await;
    assert_eq!(town.kinds(), ["deposit_request", "reminder"]);
    assert_eq!(town.state(&booked), "PENDING");
    town.advance(Duration::hours(2)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request", "reminder", "released"]);
    assert_eq!(town.rows("bdc-slots"), Vec::<serde_json::Value>::new());
    let next = town.book(&town.wish()).await;
    assert_eq!(town.holder(next.slot_key()), Some(next.id));
}

#[tokio::test]
async fn where_nobody_marked_the_attendance_the_team_is_asked_and_nothing_is_forfeited() {
    let town = Town::new();
    let booked = town.confirmed().await;
    town.advance_to("2026-07-12T00:00:00Z").await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.cases(), ["attendance_unmarked"]);
    let kinds: Vec<String> = town.mails().into_iter().map(|mail| mail.kind).collect();
    assert_eq!(kinds, ["case"]);
    assert_eq!(
        town.staff(&booked, "attendance", &json!({"attended": true}))
            .await
            .status,
        200
    );
    town.advance(Duration::hours(2)).await;
    assert_eq!(town.state(&booked), "APPLIED");
}

#[tokio::test]
async fn a_function_calls_nobody_when_it_starts() {
    let town = Town::new();
    assert_eq!(town.fleet.cloud.functions().len(), 19);
    assert_eq!(town.fleet.cloud.calls(), []);
}

#[tokio::test]
async fn an_unpaid_booking_that_is_paid_after_the_reminder_is_confirmed() {
    let town = Town::new();
    let booked = town.pending().await;
    town.advance(Duration::hours(21)).await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    town.advance(Duration::hours(4)).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(
        town.kinds(),
        ["deposit_request", "reminder", "confirmation"]
    );
    assert_eq!(town.holder(booked.slot_key()), Some(booked.id.clone()));
}
