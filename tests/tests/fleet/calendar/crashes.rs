//! Every fault at every call: the customer tries again with the same key, the sweep comes again.

use chrono::Duration;
use fleet_tests::{Answer, Booked, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, assert_nothing_is_under_way, book, kinds_of, overdue_town,
    quick_town, quick_venue, sweep, tokens, town_with,
};

/// How often a customer tries before they would telephone.
const TRIES_MAX: usize = 20;

fn at_call(function: &str, nth: usize, fault: FaultKind, times: u32) -> FaultRule {
    FaultRule {
        function: Some(function.to_owned()),
        operation: None,
        nth: u32::try_from(nth).unwrap(),
        times,
        fault,
    }
}

async fn until_answered(town: &Town, key: Option<&str>) -> Answer {
    for _ in 0..TRIES_MAX {
        let answer = town.post_booking(&town.wish(), key).await;
        if answer.status < 500 {
            return answer;
        }
    }
    panic!("no answer after {TRIES_MAX} tries");
}

fn assert_one_booking(town: &Town, id: &Value, key: Option<&str>, context: &str) {
    let rows = town.rows("bdc-bookings");
    assert_eq!(rows.len(), 1, "{context}");
    assert_eq!(&rows[0]["booking_id"], id, "{context}");
    assert_eq!(rows[0]["state"], "PENDING", "{context}");
    assert_eq!(town.rows("bdc-slots").len(), 3, "{context}");
    let answers = usize::from(key.is_some());
    assert_eq!(town.kept_answers().len(), answers, "{context}");
    let own = id.as_str().unwrap();
    assert_eq!(
        tokens(town),
        [own; 2],
        "of the phone and the form, {context}"
    );
    assert_eq!(town.kinds(), ["deposit_request"], "{context}");
    assert_eq!(town.rows("bdc-outbox").len(), 1, "{context}");
    assert_eq!(town.cases(), Vec::<String>::new(), "{context}");
    assert_calendar_is_sound(town);
    assert_nothing_is_under_way(town);
}

#[tokio::test]
async fn bug_g02_a_booking_survives_every_fault_at_every_call() {
    let town = Town::new();
    town.book(&town.wish()).await;
    let calls = town.calls("bdc-intake");
    assert_eq!(calls.last().unwrap(), "TransactWriteItems");
    for nth in 1..=calls.len() {
        for fault in FaultKind::ALL {
            for times in [1, 13] {
                for key in [Some("k-1"), None] {
                    let call = &calls[nth - 1];
                    let context = format!("{fault:?} {times} times at {call} {nth} under {key:?}");
                    let town = Town::new();
                    let faults = town.fleet.cloud.faults();
                    faults.add(at_call("bdc-intake", nth, fault, times));
                    let answer = until_answered(&town, key).await;
                    assert_eq!(answer.status, 201, "{context}: {}", answer.text);
                    assert!(faults.rules().is_empty(), "{context}: it did strike");
                    town.settle().await;
                    assert_one_booking(&town, &answer.json()["booking_id"], key, &context);
                }
            }
        }
    }
}

#[tokio::test]
async fn bug_c03_a_customer_who_gives_up_after_a_crash_leaves_no_slot_that_stays_held() {
    for fault in FaultKind::ALL {
        let town = quick_town();
        let faults = town.fleet.cloud.faults();
        faults.add(FaultRule::once("bdc-intake", "TransactWriteItems", fault).times(13));
        town.post_booking(&town.wish(), Some("k-1")).await;
        faults.clear();
        assert_calendar_is_sound(&town);
        for row in town.rows("bdc-bookings") {
            assert_eq!(row["state_shard"].as_str().unwrap()[..8], *"PENDING#");
            assert!(row["due_at"].is_string(), "the sweep will find it");
        }
        town.advance(Duration::minutes(35)).await;
        assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new(), "{fault:?}");
        let sold = town.post_booking(&town.wish(), Some("k-2")).await;
        assert_eq!(sold.status, 201, "{fault:?}: the slot is on sale");
    }
}

/// The calls of a sweep that has one due booking.
async fn calls_of_a_sweep() -> Vec<String> {
    let (town, _) = overdue_town(1).await;
    town.forget_calls();
    sweep(&town, "bdc-release-sweep").await;
    let calls = town.calls("bdc-release-sweep");
    assert_eq!(calls.len(), 6, "{calls:?}");
    calls
}

fn assert_released_once(town: &Town, booked: &Booked, context: &str) {
    assert_eq!(town.state(booked), "RELEASED", "{context}");
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new(), "{context}");
    let kinds = kinds_of(town, booked);
    let told = kinds == ["deposit_request", "reminder", "released"]
        || kinds == ["deposit_request", "released"];
    assert!(told, "{context}: {kinds:?}");
    let history = town.history(booked);
    let releases = history.iter().filter(|what| *what == "released").count();
    assert_eq!(releases, 1, "{context}: {history:?}");
    assert_eq!(town.cases(), Vec::<String>::new(), "{context}");
    assert_nothing_is_under_way(town);
}

/// The same customer, who sends the same form again, gets a booking and not the old answer.
async fn assert_on_sale_again(town: &Town, released: &Booked, context: &str) {
    let starts_at = town.row(released)["place"]["starts_at"].clone();
    let again = book(town, &json!({"starts_at": starts_at})).await;
    assert_ne!(again.id, released.id, "{context}");
    let holder = town.holder(released.slot_key());
    assert_eq!(holder, Some(again.id), "{context}");
    assert_calendar_is_sound(town);
}

#[tokio::test]
async fn bug_g02_a_release_survives_every_fault_at_every_call() {
    let calls = calls_of_a_sweep().await;
    for nth in 1..=calls.len() {
        for fault in FaultKind::ALL {
            let context = format!("{fault:?} at {} {nth}", calls[nth - 1]);
            let (town, bookings) = overdue_town(1).await;
            let faults = town.fleet.cloud.faults();
            faults.add(at_call("bdc-release-sweep", nth, fault, 1));
            town.advance(Duration::minutes(3)).await;
            assert!(faults.rules().is_empty(), "{context}: it did strike");
            town.advance(Duration::minutes(6)).await;
            assert_released_once(&town, &bookings[0], &context);
            assert_eq!(town.kinds(), ["deposit_request", "reminder", "released"]);
            assert_on_sale_again(&town, &bookings[0], &context).await;
        }
    }
}

/// A booking whose deadline was a minute ago, while its page lives for 18 minutes more: no sweep has
/// seen it since.
async fn overdue_with_an_open_page() -> (Town, Booked) {
    let mut venue = quick_venue();
    venue["policy"]["start_buffer"] = json!(30);
    let town = town_with("2026-07-11T17:17:00Z", &venue);
    town.advance(Duration::minutes(1)).await;
    let booked = book(&town, &json!({"starts_at": "2026-07-11T19:00"})).await;
    assert_eq!(booked.answer["deposit_deadline"], "2026-07-11T17:30:00Z");
    town.settle().await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    town.advance(Duration::minutes(13)).await;
    assert_eq!(town.state(&booked), "PENDING");
    town.forget_calls();
    (town, booked)
}

#[tokio::test]
async fn bug_g02_a_release_with_an_open_page_survives_every_fault_at_every_call() {
    let (town, booked) = overdue_with_an_open_page().await;
    town.advance(Duration::minutes(9)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    for function in ["bdc-release-sweep", "bdc-cashier", "bdc-webhook"] {
        let calls = town.calls(function);
        assert!(
            calls.contains(&"TransactWriteItems".to_owned()),
            "{calls:?}"
        );
        for nth in 1..=calls.len() {
            for fault in FaultKind::ALL {
                let context = format!("{fault:?} of {function} at {} {nth}", calls[nth - 1]);
                let (town, booked) = overdue_with_an_open_page().await;
                let faults = town.fleet.cloud.faults();
                faults.add(at_call(function, nth, fault, 1));
                // Whatever goes wrong, it is at most one sweep later.
                town.advance(Duration::minutes(14)).await;
                assert!(faults.rules().is_empty(), "{context}: it did strike");
                assert_released_once(&town, &booked, &context);
                let told = town.told_by_provider();
                assert_eq!(told.len(), 1, "{context}");
                assert_eq!(told[0]["type"], "checkout.session.expired", "{context}");
                assert_on_sale_again(&town, &booked, &context).await;
            }
        }
    }
}

#[tokio::test]
async fn bug_g02_a_reminder_survives_every_fault_at_every_call() {
    let calls = calls_of_a_sweep().await;
    for nth in 1..=calls.len() {
        for fault in FaultKind::ALL {
            let context = format!("{fault:?} at {} {nth}", calls[nth - 1]);
            let town = quick_town();
            town.advance(Duration::minutes(1)).await;
            let booked = town.pending().await;
            town.advance(Duration::minutes(23)).await;
            assert_eq!(town.kinds(), ["deposit_request"], "{context}");
            let faults = town.fleet.cloud.faults();
            faults.add(at_call("bdc-release-sweep", nth, fault, 1));
            town.advance(Duration::minutes(2)).await;
            town.advance(Duration::minutes(15)).await;
            assert!(faults.rules().is_empty(), "{context}: it did strike");
            assert_released_once(&town, &booked, &context);
            let reminders = kinds_of(&town, &booked);
            assert!(reminders.len() <= 3, "{context}: {reminders:?}");
        }
    }
}

#[tokio::test]
async fn a_release_survives_any_outage_of_the_table_that_ends() {
    for fault in FaultKind::ALL {
        let (town, bookings) = overdue_town(2).await;
        let faults = town.fleet.cloud.faults();
        faults.add(FaultRule::once("bdc-release-sweep", "dynamodb", fault).times(60));
        town.advance(Duration::minutes(9)).await;
        faults.clear();
        town.advance(Duration::minutes(10)).await;
        for booked in &bookings {
            assert_released_once(&town, booked, &format!("{fault:?}"));
        }
    }
}
