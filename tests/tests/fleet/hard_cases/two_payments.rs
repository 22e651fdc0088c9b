//! B4: a deposit that is paid twice.

use fleet_tests::{Booked, CARD, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    AFTERNOON, CASHIER, assert_no_cases, assert_refunded_once, assert_stands, minutes, take, times,
};

/// A booking that was paid on its own page and on another one, of which no event has come.
/// Returns the two payments in order.
async fn paid_on_two_pages(town: &Town) -> (Booked, [String; 2]) {
    let booked = town.pending().await;
    town.withhold_events(true);
    let first = town.pay(&booked, CARD).await;
    let page = town.page_by_hand(&booked, 2000, "gbp");
    let second = town.pay_page(&page, CARD);
    town.withhold_events(false);
    (booked, [first, second])
}

fn completed(town: &Town, payment_ref: &str) -> Value {
    let told = town.told_by_provider().into_iter();
    let mut own = told.filter(|event| {
        event["type"] == "checkout.session.completed"
            && event["data"]["object"]["payment_intent"] == payment_ref
    });
    own.next().unwrap()
}

#[tokio::test]
async fn b04_paid_twice_the_first_that_is_heard_of_confirms_and_the_other_goes_back_once() {
    for heard_first in [0, 1] {
        let town = Town::new();
        let (booked, payments) = paid_on_two_pages(&town).await;
        let (kept, back) = (&payments[heard_first], &payments[1 - heard_first]);
        for payment in [kept, back, back, kept] {
            take(&town, &completed(&town, payment)).await;
        }
        assert_stands(&town, &booked);
        assert_eq!(town.row(&booked)["payment_ref"], kept.as_str());
        assert_refunded_once(&town, back, 2000);
        let key = format!("refund:dup:{back}");
        assert_eq!(town.refunds()[0]["metadata"]["refund_key"], key.as_str());
        assert_eq!(times(&town.kinds(), "second_refund"), 1);
        assert_no_cases(&town);
        assert_eq!(town.payment(kept)["amount"], town.payment(back)["amount"]);
        assert_eq!(town.captured() - town.refunded(), 2000);
        // The cashier was told to close the second page, heard that it was paid, and looks again.
        minutes(&town, 7).await;
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn bug_d09_the_refund_of_the_second_payment_does_not_unconfirm_the_booking() {
    let town = Town::at(AFTERNOON);
    let (booked, [first, second]) = paid_on_two_pages(&town).await;
    for payment in [&first, &second] {
        take(&town, &completed(&town, payment)).await;
    }
    // The provider tells of the refund in its own events, again and in any order.
    let mut told = town.told_by_provider();
    told.retain(|event| event["type"].as_str().unwrap().contains("refund"));
    assert!(told.len() >= 2, "{told:?}");
    for event in told.iter().rev().chain(&told) {
        take(&town, event).await;
    }
    assert_stands(&town, &booked);
    assert_no_cases(&town);
    assert_refunded_once(&town, &second, 2000);
    // And it is settled like any other.
    town.advance_to("2026-07-11T19:30:00Z").await;
    let mark = town
        .staff(&booked, "attendance", &json!({"attended": true}))
        .await;
    assert_eq!(mark.status, 200);
    town.advance_to("2026-07-12T00:00:00Z").await;
    assert_eq!(town.state(&booked), "APPLIED");
}

#[tokio::test]
async fn b04_two_tabs_lead_to_one_page_that_takes_the_money_once() {
    let town = Town::new();
    let booked = town.pending().await;
    let tabs = [
        town.press_pay(booked.pay_url()).await,
        town.press_pay(booked.pay_url()).await,
    ];
    let paid = tabs.map(|tab| town.pay_session(&tab, CARD).0);
    assert_eq!(paid, [200, 400]);
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!((town.captured(), town.refunded()), (2000, 0));
}

#[tokio::test]
async fn b04_the_page_that_is_still_open_is_closed_when_another_was_paid() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    let page = town.page_by_hand(&booked, 2000, "gbp");
    town.pay_page(&page, CARD);
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!(town.pay_session(&led, CARD).0, 400, "closed in time");
    assert_eq!(town.captured(), 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b04_both_payments_heard_of_at_once_confirm_once_and_give_one_back() {
    for calls in 0..3 {
        let town = Town::new();
        let (booked, payments) = paid_on_two_pages(&town).await;
        let [first, second] = payments.each_ref().map(|it| completed(&town, it));
        let mut slow = Box::pin(town.webhook(&first));
        for _ in 0..calls * 40 {
            if futures::poll!(&mut slow).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(town.webhook(&second).await.status, 200);
        drop(slow);
        for event in [&first, &second] {
            take(&town, event).await;
        }
        assert_stands(&town, &booked);
        assert_eq!((town.refunds().len(), town.refunded()), (1, 2000));
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b04_a_second_page_is_made_only_after_the_first_is_closed_at_the_provider() {
    let town = Town::new();
    let booked = town.pending().await;
    let first = town.press_pay(booked.pay_url()).await;
    // Somebody pays a part by hand: the page that asks for all of it must go.
    let page = town.page_by_hand(&booked, 1500, "gbp");
    town.pay_page(&page, CARD);
    town.settle().await;
    let silent = FaultRule::once(CASHIER, "POST /v1/checkout/sessions/*", FaultKind::NotSent);
    town.fleet.cloud.faults().add(silent.times(12));
    let busy = town.press_pay(booked.pay_url()).await;
    assert_eq!(busy.status, 503, "not while the first may take money");
    town.fleet.cloud.faults().clear();
    let second = town.press_pay(booked.pay_url()).await;
    assert_eq!(second.status, 303);
    assert_eq!(town.pay_session(&first, CARD).0, 400);
    let (status, session) = town.pay_session(&second, CARD);
    assert_eq!((status, &session["amount_total"]), (200, &json!(500)));
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!((town.captured(), town.refunded()), (2000, 0));
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_d11_another_amount_is_asked_for_under_another_key_and_old_keys_are_not_used_again() {
    let town = Town::new();
    let booked = town.pending().await;
    let first = town.press_pay(booked.pay_url()).await;
    assert_eq!(town.pay_session(&first, "4000000000000002").0, 402);
    // A part comes by hand: the page that asks for all of it makes way for one that asks for the rest.
    let by_hand = town.page_by_hand(&booked, 1500, "gbp");
    town.pay_page(&by_hand, CARD);
    town.settle().await;
    let url = booked.pay_url();
    let (one, two) = futures::future::join(town.press_pay(url), town.press_pay(url)).await;
    let led: Vec<_> = [one, two]
        .into_iter()
        .filter(|it| it.status == 303)
        .collect();
    let page = |answer: &fleet_tests::Answer| answer.headers["location"].clone();
    assert!(!led.is_empty());
    assert!(
        led.iter().all(|it| page(it) == page(&led[0])),
        "one new page"
    );
    assert_ne!(page(&led[0]), page(&first));
    assert_eq!(town.pay_session(&led[0], CARD).0, 200);
    assert_eq!(
        town.pay_session(&first, CARD).0,
        400,
        "the old page is closed"
    );
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!((town.captured(), town.refunded()), (2000, 0));
    town.assert_money_is_accounted_for();
}
