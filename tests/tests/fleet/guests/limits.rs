//! B33: how much one phone, one source and one address may hold without paying, and that nobody is
//! texted for what is over it.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_tests::{Answer, Booked, Town};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::guests::support::{everything, pay_by_event, venue, wish};

/// A town in which one phone and one form may hold so much.
fn town(per_phone: u32, per_source: u32) -> Town {
    Town::with_venue(&venue(|venue| {
        venue["holds"] = json!({"per_phone": per_phone, "per_source": per_source});
    }))
}

async fn book(town: &Town, day: u32, changes: &Value) -> Answer {
    let mut wish = wish(town, changes);
    wish["starts_at"] = json!(format!("2026-08-{day:02}T20:00"));
    town.post_booking(&wish, None).await
}

fn booked(answer: &Answer) -> Booked {
    assert_eq!(answer.status, 201, "{}", answer.text);
    Booked {
        id: answer.json()["booking_id"].as_str().unwrap().to_owned(),
        answer: answer.json(),
    }
}

#[track_caller]
fn assert_refused(answer: &Answer) {
    let found = (answer.status, answer.code());
    assert_eq!(found, (429, "too_many_holds".to_owned()), "{}", answer.text);
    assert!(
        answer.text.contains("pay or cancel one of them"),
        "{}",
        answer.text
    );
}

/// A phone of its own for each customer, out of those that nobody is reached by.
fn phone(number: u32) -> Value {
    json!({"phone": format!("07700 900{number:03}")})
}

#[tokio::test]
async fn b33_a_phone_with_three_unpaid_bookings_makes_no_fourth_and_gets_no_text() {
    let town = town(3, 200);
    for day in 1..=3 {
        booked(&book(&town, day, &json!({})).await);
    }
    town.settle().await;
    let before = everything(&town);
    for spelling in ["07700 900123", "+44 (0)7700 900123", "00447700900123"] {
        assert_refused(&book(&town, 4, &json!({"phone": spelling})).await);
    }
    town.settle().await;
    assert_eq!(everything(&town), before, "nothing is written");
    assert_eq!(town.kinds(), ["deposit_request"; 3]);
    booked(&book(&town, 4, &phone(124)).await);
}

#[tokio::test]
async fn b33_a_booking_that_is_paid_released_or_cancelled_makes_room() {
    let town = town(3, 200);
    let mut held = Vec::new();
    for day in 1..=3 {
        held.push(booked(&book(&town, day, &json!({})).await));
    }
    town.settle().await;
    assert_refused(&book(&town, 4, &json!({})).await);
    pay_by_event(&town, &held[0], "first").await;
    booked(&book(&town, 4, &json!({})).await);
    assert_refused(&book(&town, 5, &json!({})).await);
    assert_eq!(town.staff(&held[1], "cancel", &json!({})).await.status, 200);
    booked(&book(&town, 5, &json!({})).await);
    assert_refused(&book(&town, 6, &json!({})).await);
    town.advance_to("2026-07-10T12:10:00Z").await;
    for day in 6..=8 {
        booked(&book(&town, day, &json!({})).await);
    }
    assert_refused(&book(&town, 9, &json!({})).await);
}

#[tokio::test]
async fn b33_a_source_and_an_address_have_limits_of_their_own() {
    let town = town(1000, 12);
    let from = |address: &str| json!({"client_ip": address});
    for day in 1..=10 {
        booked(&book(&town, day, &from("2001:db8::1")).await);
    }
    assert_refused(&book(&town, 11, &from("2001:db8::2")).await);
    for (day, address) in [(11, "203.0.113.7"), (12, "203.0.113.8")] {
        booked(&book(&town, day, &from(address)).await);
    }
    assert_refused(&book(&town, 13, &from("203.0.113.9")).await);
    assert_refused(&book(&town, 13, &json!({})).await);
    booked(&book(&town, 13, &json!({"source": "phone"})).await);
    let rows = format!("{:?}", everything(&town));
    assert!(!rows.contains("203.0.113"), "an address is kept nowhere");
}

#[tokio::test]
async fn b33_no_token_shows_a_phone() {
    let town = town(3, 200);
    booked(&book(&town, 1, &json!({})).await);
    for row in town.rows("bdc-idempotency") {
        assert!(!row.to_string().contains("7700"), "{row}");
    }
}

#[tokio::test]
async fn b33_an_answer_that_was_given_is_given_again_however_much_is_held() {
    let town = town(1, 200);
    let wish = town.wish();
    let first = town.post_booking(&wish, Some("k-1")).await;
    booked(&first);
    assert_refused(&book(&town, 2, &json!({})).await);
    let again = town.post_booking(&wish, Some("k-1")).await;
    assert_eq!((again.status, again.json()), (201, first.json()));
    assert_eq!(town.kept_answers().len(), 1);
}

#[tokio::test]
async fn b33_the_phones_of_other_countries_are_named_and_refused() {
    let town = Town::with_venue(&venue(|venue| {
        venue["phone_countries"] = json!(["GB", "IE"]);
    }));
    let before = everything(&town);
    let answer = book(&town, 1, &json!({"phone": "+33 6 12 34 56 78"})).await;
    let found = (answer.status, answer.code(), answer.json()["field"].clone());
    assert_eq!(found, (422, "phone_country".to_owned(), json!("phone")));
    assert_eq!(everything(&town), before);
    booked(&book(&town, 1, &json!({"phone": "+353 85 123 4567"})).await);
}

#[tokio::test]
async fn a_booking_is_one_call_and_a_phone_with_old_bookings_a_few_more() {
    let town = town(3, 200);
    assert_eq!(town.get("/bookings/none").await.status, 404);
    booked(&book(&town, 1, &phone(500)).await);
    town.settle().await;
    town.forget_calls();
    booked(&book(&town, 2, &phone(501)).await);
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
    let mut held = Vec::new();
    for day in 3..=5 {
        held.push(booked(&book(&town, day, &json!({})).await));
    }
    for (number, booked) in held.iter().enumerate() {
        pay_by_event(&town, booked, &number.to_string()).await;
    }
    town.forget_calls();
    booked(&book(&town, 6, &json!({})).await);
    let calls = [
        "TransactWriteItems",
        "BatchGetItem",
        "BatchGetItem",
        "TransactWriteItems",
    ];
    assert_eq!(
        town.calls("bdc-intake"),
        calls,
        "the tokens, and the bookings behind them"
    );
}

/// Sends every request at once; a customer who is told that we are busy tries again.
async fn race(town: &Arc<Town>, wishes: Vec<Value>) -> BTreeMap<(u16, String), usize> {
    let mut racers = JoinSet::new();
    for wish in wishes {
        let town = Arc::clone(town);
        racers.spawn(async move {
            let mut answer = town.post_booking(&wish, None).await;
            for _ in 0..100 {
                if answer.status != 503 {
                    break;
                }
                answer = town.post_booking(&wish, None).await;
            }
            answer
        });
    }
    let mut counts = BTreeMap::new();
    for answer in racers.join_all().await {
        *counts.entry((answer.status, answer.code())).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b33_of_64_bookings_of_one_phone_at_once_three_hold() {
    let town = Arc::new(town(3, 200));
    let wishes = (0..64).map(|number| {
        let (day, hour) = (1 + number % 16, 10 + 3 * (number / 16));
        wish(
            &town,
            &json!({"starts_at": format!("2026-08-{day:02}T{hour}:00")}),
        )
    });
    let answers = race(&town, wishes.collect()).await;
    let expected = [
        ((201, String::new()), 3),
        ((429, "too_many_holds".to_owned()), 61),
    ];
    assert_eq!(answers, expected.into_iter().collect());
    assert_eq!(town.rows("bdc-bookings").len(), 3);
    assert_eq!(town.rows("bdc-slots").len(), 9);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"; 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b33_tokens_of_old_bookings_are_taken_over_once_each() {
    let town = Arc::new(town(3, 200));
    let mut old = Vec::new();
    for day in 20..=22 {
        old.push(booked(&book(&town, day, &json!({})).await));
    }
    for booked in &old {
        assert_eq!(town.staff(booked, "cancel", &json!({})).await.status, 200);
    }
    let wishes = (1..=16).map(|day| {
        wish(
            &town,
            &json!({"starts_at": format!("2026-08-{day:02}T20:00")}),
        )
    });
    let answers = race(&town, wishes.collect()).await;
    assert_eq!(answers[&(201, String::new())], 3, "{answers:?}");
    assert_eq!(
        answers[&(429, "too_many_holds".to_owned())],
        13,
        "{answers:?}"
    );
}
