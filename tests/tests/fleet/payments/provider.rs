//! The whole way through the provider: its page, its declines, its webhooks and their mischief.

use bytes::Bytes;
use chrono::Duration;
use fleet_tests::{Answer, Booked, Town};
use http::{Request, Response};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::payments::support::{
    CARD, CASHIER, WEBHOOK, assert_confirmed_once, hasty_town, ledger, location, patient_venue,
    sessions, times,
};

/// The hosted page, as a browser asks for it.
fn browse(town: &Town, led: &Answer, method: &str, form: &str) -> Response<Bytes> {
    let request = Request::builder().method(method).uri(location(led));
    let request = request.body(Bytes::from(form.to_owned())).unwrap();
    town.fleet.sandbox.page(request, town.now())
}

fn mischief(town: &Town, rule: &Value) {
    let (status, answer) = town.provider("POST", "/_sandbox/webhooks", &json!({"rules": [rule]}));
    assert_eq!(status, 200, "{answer}");
}

async fn pay(town: &Town, booked: &Booked) {
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    assert_eq!(town.pay_session(&led, CARD).0, 200);
}

fn captured_once(town: &Town) {
    assert_eq!((town.captured(), sessions(town).len()), (2000, 1));
}

#[tokio::test]
async fn a_customer_pays_on_the_providers_page_and_is_led_back_to_ours() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    let page = browse(&town, &led, "GET", "");
    let text = String::from_utf8(page.body().to_vec()).unwrap();
    assert!(
        text.contains("£20.00") && text.contains("The Anchor"),
        "{text}"
    );

    let form = "card=4242+4242+4242+4242&expiry=12%2F40&cvc=123";
    let done = browse(&town, &led, "POST", form);
    assert_eq!(done.status(), 303);
    let home = done.headers()["location"].to_str().unwrap();
    let thanks = town.cashier("GET", home).await;
    assert!(thanks.status == 200 && thanks.text.contains("Thank you"));
    assert_eq!(town.state(&booked), "PENDING", "coming back proves nothing");

    town.settle().await;
    assert_confirmed_once(&town, &booked);
    captured_once(&town);
    let session = &sessions(&town)[0];
    assert_eq!(town.row(&booked)["payment_ref"], session["payment_intent"]);
}

#[tokio::test]
async fn a_declined_card_changes_nothing_and_the_page_still_takes_another() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    let before = town.row(&booked);
    for card in [
        "4000000000000002",
        "4000000000009995",
        "4000000000009987",
        "4000000000000069",
        "4000000000000127",
        "4000002500003155",
    ] {
        assert_eq!(town.pay_session(&led, card).0, 402, "{card}");
        town.settle().await;
        assert_eq!(town.row(&booked), before);
        let again = town.press_pay(booked.pay_url()).await;
        assert_eq!(location(&again), location(&led), "the same page");
    }
    assert_eq!((town.captured(), town.cases().len()), (0, 0));
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(town.pay_session(&led, CARD).0, 200);
    town.settle().await;
    assert_confirmed_once(&town, &booked);
    captured_once(&town);
}

#[tokio::test]
async fn two_tabs_pay_once() {
    let town = Town::new();
    let booked = town.pending().await;
    let tabs = [
        town.press_pay(booked.pay_url()).await,
        town.press_pay(booked.pay_url()).await,
    ];
    let paid = tabs.map(|tab| town.pay_session(&tab, CARD).0);
    assert_eq!(paid, [200, 400]);
    town.settle().await;
    assert_confirmed_once(&town, &booked);
    captured_once(&town);
    let page = town.press_pay(booked.pay_url()).await;
    assert!(page.status == 200 && page.text.contains("All paid"));
}

#[tokio::test]
async fn lost_webhooks_come_again() {
    let town = Town::new();
    mischief(&town, &json!({"lose": 2}));
    let booked = town.pending().await;
    pay(&town, &booked).await;
    town.settle().await;
    assert_eq!(town.state(&booked), "PENDING");
    town.advance(Duration::minutes(6)).await;
    assert_confirmed_once(&town, &booked);
    captured_once(&town);
}

#[tokio::test]
async fn doubled_reordered_and_repeated_facts_confirm_once() {
    for rule in [
        json!({"duplicates": 5}),
        json!({"new_id": true}),
        json!({"reorder": true}),
        json!({"duplicates": 3, "new_id": true, "reorder": true, "delay_s": 30}),
        json!({"lose": 1, "duplicates": 2, "new_id": true}),
    ] {
        let town = Town::new();
        mischief(&town, &rule);
        let booked = town.pending().await;
        pay(&town, &booked).await;
        town.advance(Duration::minutes(2)).await;
        assert_confirmed_once(&town, &booked);
        captured_once(&town);
        let counts = town.fleet.sandbox.webhook_counts();
        assert_eq!(
            counts.failed, counts.lost,
            "{rule}: we took all that arrived"
        );
    }
}

#[tokio::test]
async fn a_slot_is_held_for_a_page_that_is_paid_until_the_webhook_comes() {
    let town = hasty_town().await;
    mischief(&town, &json!({"delay_s": 3_600}));
    let booked = town.pending().await;
    pay(&town, &booked).await;
    town.advance(Duration::minutes(59)).await;
    // The deadline was after ten minutes: closing the page told that it is paid.
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(town.kinds(), ["deposit_request"]);
    town.advance(Duration::minutes(2)).await;
    assert_confirmed_once(&town, &booked);
    captured_once(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn the_provider_sends_again_after_our_failure() {
    for fault in FaultKind::ALL {
        let town = Town::new();
        let booked = town.pending().await;
        pay(&town, &booked).await;
        let rule = FaultRule::once(WEBHOOK, "TransactWriteItems", fault).times(12);
        town.fleet.cloud.faults().add(rule);
        town.settle().await;
        town.fleet.cloud.faults().clear();
        town.advance(Duration::minutes(2)).await;
        assert_confirmed_once(&town, &booked);
        captured_once(&town);
        assert_eq!(ledger(&town).len(), 1, "{fault:?}");
        town.assert_money_is_accounted_for();
        assert!(town.fleet.sandbox.webhook_counts().failed >= 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_bank_debit_is_under_way_until_the_bank_has_spoken() {
    for succeeded in [true, false] {
        let town = Town::with_venue(&patient_venue(4_320));
        let booked = town.pending().await;
        let led = town.press_pay(booked.pay_url()).await;
        assert_eq!(town.pay_session(&led, "bank").0, 200);
        town.settle().await;
        assert_eq!(
            (town.state(&booked).as_str(), town.captured()),
            ("PENDING", 0)
        );
        town.advance(Duration::minutes(45)).await;
        assert_eq!(
            town.state(&booked),
            "PENDING",
            "held while the money is on its way"
        );
        for method in ["GET", "POST"] {
            let page = town.cashier(method, booked.pay_url()).await;
            assert!(
                page.status == 200 && page.text.contains("Payment under way"),
                "{method}: {}",
                page.text
            );
        }
        let session = sessions(&town)[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/_sandbox/sessions/{session}/settle");
        assert_eq!(
            town.provider("POST", &path, &json!({"succeeded": succeeded}))
                .0,
            200
        );
        town.advance(Duration::minutes(6)).await;
        if succeeded {
            assert_confirmed_once(&town, &booked);
            captured_once(&town);
        } else {
            assert_eq!(
                (town.state(&booked).as_str(), town.captured()),
                ("RELEASED", 0)
            );
            assert_eq!(times(&town.kinds(), "released"), 1);
            assert_eq!(town.holder(booked.slot_key()), None);
        }
    }
}

#[tokio::test]
async fn a_page_that_is_open_at_the_deadline_is_closed_before_the_slot_is_given_up() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    // The sweep at the fifteenth minute has it closed, and the one after that releases.
    town.advance(Duration::minutes(14)).await;
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(sessions(&town)[0]["status"], "expired");
    assert_eq!(town.pay_session(&led, CARD).0, 400);
    town.advance(Duration::minutes(5)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!((town.captured(), town.cases().len()), (0, 0));
    assert_eq!(town.kinds(), ["deposit_request", "released"]);
    let outcomes: Vec<String> = ledger(&town).into_iter().map(|(_, it)| it).collect();
    assert_eq!(
        outcomes,
        ["already"],
        "the provider tells what we had it do"
    );
}

#[tokio::test]
async fn a_page_that_the_provider_does_not_close_is_waited_for_to_its_end_and_its_last_money_counts()
 {
    for pays in [true, false] {
        let town = hasty_town().await;
        let booked = town.pending().await;
        town.advance(Duration::minutes(9)).await;
        let led = town.press_pay(booked.pay_url()).await;
        assert_eq!(led.status, 303, "a minute before the deadline");
        let unanswered =
            FaultRule::once(CASHIER, "POST /v1/checkout/sessions/*", FaultKind::NotSent);
        town.fleet.cloud.faults().add(unanswered.times(10_000));
        town.advance(Duration::minutes(30)).await;
        assert_eq!(town.state(&booked), "PENDING");
        if pays {
            assert_eq!(town.pay_session(&led, CARD).0, 200, "long after it");
        }
        town.advance(Duration::minutes(11)).await;
        town.fleet.cloud.faults().clear();
        if pays {
            assert_confirmed_once(&town, &booked);
        } else {
            assert_eq!(town.state(&booked), "RELEASED");
            assert_eq!(town.holder(booked.slot_key()), None);
        }
    }
}
