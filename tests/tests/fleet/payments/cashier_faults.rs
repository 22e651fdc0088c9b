//! Every call of the pay button goes wrong in every way, and the customer presses again.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::Duration;
use fleet_tests::{Answer, Booked, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::payments::support::{
    ALL_TRIES, CARD, CASHIER, Recorder, assert_confirmed_once, hasty_venue, location, numbered,
    runs_of, sessions, times, until_calls,
};

const CREATE: &str = "POST /v1/checkout/sessions";

fn strike(town: &Town, operation: &str, nth: u32, fault: FaultKind, times: u32) {
    let rule = FaultRule::once(CASHIER, operation, fault)
        .nth(nth)
        .times(times);
    town.fleet.cloud.faults().set(vec![rule]);
}

/// The calls of a cold cashier's button in a run without faults.
async fn plan() -> Vec<(String, u32)> {
    let (town, _) = Recorder::town(None);
    let booked = town.pending().await;
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 303);
    let calls = numbered(&town.calls(CASHIER));
    let operations: Vec<&str> = calls
        .iter()
        .map(|(operation, _)| operation.as_str())
        .collect();
    let (secret, write) = ("GetSecretValue", "TransactWriteItems");
    let expected = [
        secret, secret, "GetItem", write, secret, secret, CREATE, write,
    ];
    assert_eq!(operations, expected);
    calls
}

/// Presses until the provider's page is reached.
async fn press_until_led(town: &Town, booked: &Booked, what: &str) -> Answer {
    for _ in 0..16 {
        let answer = town.press_pay(booked.pay_url()).await;
        match answer.status {
            303 => return answer,
            502 | 503 => {}
            other => panic!("{what}: {other} {}", answer.text),
        }
    }
    panic!("{what}: never led to the provider");
}

/// One body for each key, and the keys' attempts.
fn attempts(recorder: &Recorder) -> Vec<String> {
    let asked: BTreeSet<(String, String)> = recorder.asked().into_iter().collect();
    let keys: BTreeSet<&String> = asked.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), asked.len(), "one key, one body: {asked:?}");
    keys.iter()
        .map(|key| key.rsplit(':').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn bug_d13_a_fault_at_any_call_opens_one_session_once_the_customer_presses_again() {
    for (operation, nth) in plan().await {
        for fault in FaultKind::ALL {
            for &tries in runs_of(fault) {
                let what = format!("{operation} {nth} {fault:?} x{tries}");
                let (town, recorder) = Recorder::town(None);
                let booked = town.pending().await;
                strike(&town, &operation, nth, fault, tries);
                let led = press_until_led(&town, &booked, &what).await;
                town.fleet.cloud.faults().clear();
                assert_eq!(sessions(&town).len(), 1, "{what}");
                // Only an attempt that the provider answered with a 5xx is given up.
                let is_spent =
                    operation == CREATE && fault == FaultKind::InternalError && tries > 3;
                let attempts = attempts(&recorder);
                assert_eq!(attempts.len(), 1, "{what}: {attempts:?}");
                assert_eq!(attempts[0] == "1", !is_spent, "{what}: {attempts:?}");
                let again = town.press_pay(booked.pay_url()).await;
                assert_eq!(location(&again), location(&led), "{what}");
                assert_eq!(town.pay_session(&led, CARD).0, 200, "{what}");
                town.settle().await;
                assert_confirmed_once(&town, &booked);
                assert_eq!(town.captured(), 2000, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn bug_d13_every_try_of_one_attempt_has_the_same_key_and_the_same_bytes() {
    let (town, recorder) = Recorder::town(None);
    let booked = town.pending().await;
    for press in 0..5 {
        strike(&town, CREATE, 1, FaultKind::AnswerLost, ALL_TRIES);
        if press == 2 {
            // A worker that dies takes nothing along that the next one would need.
            strike(&town, CREATE, 1, FaultKind::CrashAfter, 1);
        }
        let answer = town.press_pay(booked.pay_url()).await;
        assert!(
            answer.status == 503 || answer.status == 502,
            "{}",
            answer.status
        );
        town.fleet.cloud.faults().clear();
        town.advance(Duration::seconds(61)).await;
    }
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    let asked = recorder.asked();
    assert!(asked.len() >= 10, "{}", asked.len());
    assert!(asked.iter().all(|one| *one == asked[0]));
    assert_eq!(asked[0].0, format!("deposit:{}:1", booked.id));
    assert_eq!(sessions(&town).len(), 1);
}

#[tokio::test]
async fn bug_d14_no_answer_is_not_a_refusal_and_the_next_press_finds_out() {
    for (fault, made) in [(FaultKind::NotSent, 0), (FaultKind::AnswerLost, 1)] {
        let (town, recorder) = Recorder::town(None);
        let booked = town.pending().await;
        strike(&town, CREATE, 1, fault, ALL_TRIES);
        let page = town.press_pay(booked.pay_url()).await;
        assert_eq!(
            (page.status, page.headers["retry-after"].as_str()),
            (503, "5"),
            "{fault:?}"
        );
        assert!(
            page.text.contains("Nothing was charged"),
            "no page, so no payment"
        );
        town.fleet.cloud.faults().clear();
        assert_eq!(sessions(&town).len(), made);
        let session = &town.row(&booked)["session"];
        assert_eq!(
            (&session["attempt"], &session["opened"]),
            (&json!(1), &json!(null))
        );
        assert_eq!(town.state(&booked), "PENDING");
        let led = town.press_pay(booked.pay_url()).await;
        assert_eq!((led.status, sessions(&town).len()), (303, 1));
        assert_eq!(attempts(&recorder), ["1"]);
    }
}

#[tokio::test]
async fn bug_d12_a_key_that_the_provider_may_have_forgotten_is_not_sent_again() {
    let (town, recorder) = Recorder::town(None);
    let booked = town.pending().await;
    strike(&town, CREATE, 1, FaultKind::AnswerLost, ALL_TRIES);
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 503);
    town.fleet.cloud.faults().clear();
    let lost = sessions(&town)[0]["id"].clone();
    town.advance(Duration::hours(23)).await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    assert_eq!(attempts(&recorder), ["1", "2"]);
    // The page that nobody was told of has run out: there is one to pay on.
    let open: Vec<_> = sessions(&town)
        .into_iter()
        .filter(|it| it["status"] == "open")
        .collect();
    assert_eq!(open.len(), 1);
    assert_ne!(open[0]["id"], lost);
    assert_eq!(town.pay_session(&led, CARD).0, 200);
    town.settle().await;
    assert_confirmed_once(&town, &booked);
    assert_eq!(town.captured(), 2000);
}

#[tokio::test]
async fn an_attempt_that_is_too_near_its_end_makes_way_and_its_page_stays_unknown() {
    let (town, recorder) = Recorder::town(Some(hasty_venue()));
    let booked = town.pending().await;
    strike(&town, CREATE, 1, FaultKind::AnswerLost, ALL_TRIES);
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 503);
    town.fleet.cloud.faults().clear();
    town.advance(Duration::minutes(2)).await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!((led.status, attempts(&recorder).len()), (303, 2));
    let untold = sessions(&town)[0]["url"].as_str().unwrap().to_owned();
    assert_ne!(location(&led), untold);
    let told = town.texts().iter().any(|text| text.text.contains(&untold));
    assert!(!told && !town.row(&booked).to_string().contains(&untold));
    assert_eq!(town.pay_session(&led, CARD).0, 200);
    town.settle().await;
    assert_confirmed_once(&town, &booked);
}

#[tokio::test]
async fn a_booking_that_moved_while_its_page_was_not_answered_gets_another_page() {
    let (town, recorder) = Recorder::town(None);
    let booked = town.pending().await;
    strike(&town, CREATE, 1, FaultKind::AnswerLost, ALL_TRIES);
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 503);
    town.fleet.cloud.faults().clear();
    let moved = town
        .staff(
            &booked,
            "reschedule",
            &json!({"starts_at": "2026-07-12T20:00"}),
        )
        .await;
    assert_eq!(moved.status, 200, "{}", moved.text);
    // The words of the page changed, so the provider refuses the old key once.
    let led = press_until_led(&town, &booked, "moved").await;
    assert!(recorder.asked().iter().any(|(key, _)| key.ends_with(":2")));
    assert!(recorder.asked().last().unwrap().1.contains("12+Jul"));
    assert_eq!(town.pay_session(&led, CARD).0, 200);
    town.settle().await;
    assert_eq!(
        (town.state(&booked).as_str(), town.captured()),
        ("CONFIRMED", 2000)
    );
}

#[tokio::test]
async fn bug_g02_writes_of_the_cashier_whose_answers_were_lost_are_known_as_our_own() {
    for nth in [1, 2] {
        let (town, recorder) = Recorder::town(None);
        let booked = town.pending().await;
        strike(&town, "TransactWriteItems", nth, FaultKind::AnswerLost, 1);
        assert_eq!(
            town.press_pay(booked.pay_url()).await.status,
            303,
            "write {nth}"
        );
        let history = town.history(&booked);
        assert_eq!(times(&history, "payment page intended"), 1);
        assert_eq!(times(&history, "payment page opened"), 1);
        assert_eq!(attempts(&recorder), ["1"]);
    }
}

#[tokio::test]
async fn a_press_that_another_one_overtook_is_sent_back_and_not_told_that_the_hold_has_ended() {
    let (town, _) = Recorder::town(None);
    let booked = town.pending().await;
    // Warm: one instance serves both.
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    strike(&town, CREATE, 1, FaultKind::NotSent, 3);
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 503);
    town.fleet.cloud.faults().clear();
    town.forget_calls();
    // The first press has its session, and stops short of writing it down.
    let mut slow = Box::pin(town.press_pay(booked.pay_url()));
    assert!(until_calls(&town, CASHIER, 2, &mut slow).await.is_none());
    assert_eq!(town.calls(CASHIER), ["GetItem", CREATE]);
    // The second meets an error that the provider keeps, and the third takes another attempt.
    strike(&town, CREATE, 1, FaultKind::InternalError, 3);
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 503);
    town.fleet.cloud.faults().clear();
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    let overtaken = slow.await;
    assert_eq!(overtaken.status, 503, "{}", overtaken.text);
    let again = town.press_pay(booked.pay_url()).await;
    assert_eq!(location(&again), location(&led));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_press_beside_the_release_never_leads_to_a_page_for_a_slot_that_is_gone() {
    for round in 0..12_usize {
        let town = Town::with_venue(&hasty_venue());
        town.advance(Duration::seconds(299)).await;
        let booked = town.pending().await;
        // A second before the deadline, and two before the sweep.
        town.advance(Duration::seconds(599)).await;
        let town = Arc::new(town);
        let pressing = {
            let (town, url) = (Arc::clone(&town), booked.pay_url().to_owned());
            tokio::spawn(async move {
                for _ in 0..round * 4 {
                    tokio::task::yield_now().await;
                }
                town.press_pay(&url).await
            })
        };
        let passing = {
            let town = Arc::clone(&town);
            tokio::spawn(async move { town.advance(Duration::seconds(2)).await })
        };
        let led = pressing.await.unwrap();
        passing.await.unwrap();
        let state = town.state(&booked);
        match led.status {
            303 => assert_eq!(state, "PENDING", "held while the page is open"),
            410 => assert_eq!(state, "RELEASED"),
            503 => {}
            other => panic!("{other}"),
        }
        if led.status == 303 && town.pay_session(&led, CARD).0 == 200 {
            town.settle().await;
            assert_confirmed_once(&town, &booked);
        }
    }
}
