//! B35: the same form sent twice without an `Idempotency-Key` makes one booking and one text.

use std::sync::Arc;

use fleet_tests::Town;
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::guests::support::{INTAKE, everything, pay_by_event, wish};

#[tokio::test]
async fn b35_a_form_sent_twice_makes_one_booking_and_one_text() {
    let town = Town::new();
    let first = town.post_booking(&town.wish(), None).await;
    assert_eq!(first.status, 201);
    town.settle().await;
    let before = everything(&town);
    // A retyped name or note is the same form; the phone is, in whichever spelling.
    for changes in [
        json!({}),
        json!({"name": "P. Quillfeather", "notes": "window"}),
        json!({"phone": "+447700900123"}),
    ] {
        let again = town.post_booking(&wish(&town, &changes), None).await;
        assert_eq!((again.status, again.json()), (201, first.json()));
        assert_eq!(again.headers["idempotent-replayed"], "true");
    }
    town.settle().await;
    assert_eq!(everything(&town), before);
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn b35_units_that_are_free_make_no_second_booking_of_the_same_form() {
    let town = Town::new();
    let tasting = json!({"resource": "tasting", "starts_at": "2026-07-11T16:00"});
    let wish = wish(&town, &tasting);
    let first = town.post_booking(&wish, None).await;
    let again = town.post_booking(&wish, None).await;
    assert_eq!(again.json(), first.json());
    assert_eq!(town.rows("bdc-bookings").len(), 1);
}

#[tokio::test]
async fn b35_a_repeat_learns_nothing_that_the_first_answer_did_not_tell() {
    let town = Town::new();
    let booked = town.pending().await;
    pay_by_event(&town, &booked, "deposit").await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    let again = town.post_booking(&town.wish(), None).await;
    assert_eq!(
        again.json(),
        booked.answer,
        "not even that it is paid by now"
    );
}

#[tokio::test]
async fn b35_another_party_phone_time_or_caller_is_another_form() {
    let town = Town::new();
    let tasting = json!({"resource": "tasting", "starts_at": "2026-07-11T16:00"});
    for changes in [
        json!({}),
        json!({"party": 3}),
        json!({"phone": "07700 900124"}),
        json!({"starts_at": "2026-07-11T18:00"}),
    ] {
        let mut wish = wish(&town, &tasting);
        for (field, value) in changes.as_object().unwrap() {
            wish[field] = value.clone();
        }
        let answer = town.post_booking(&wish, None).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(!answer.headers.contains_key("idempotent-replayed"));
    }
    assert_eq!(town.rows("bdc-bookings").len(), 4);
}

async fn first_and_second(
    end: impl AsyncFnOnce(&Town, &fleet_tests::Booked),
) -> (Town, [Value; 2]) {
    let town = Town::new();
    let booked = town.pending().await;
    end(&town, &booked).await;
    town.settle().await;
    let wish = town.wish();
    let second = town.post_booking(&wish, None).await;
    assert_eq!(second.status, 201, "{}", second.text);
    assert!(!second.headers.contains_key("idempotent-replayed"));
    let third = town.post_booking(&wish, None).await;
    assert_eq!(third.json(), second.json(), "the key is the new booking's");
    (town, [booked.answer, second.json()])
}

#[tokio::test]
async fn b35_after_a_release_or_a_cancellation_the_same_form_books_anew() {
    let (town, [first, second]) = first_and_second(async |town, booked| {
        assert_eq!(town.staff(booked, "cancel", &json!({})).await.status, 200);
    })
    .await;
    assert_ne!(first["booking_id"], second["booking_id"]);
    assert_eq!(town.rows("bdc-bookings").len(), 2);
    let (town, [first, second]) = first_and_second(async |town, _| {
        town.advance_to("2026-07-10T12:10:00Z").await;
    })
    .await;
    assert_ne!(first["booking_id"], second["booking_id"]);
    assert_eq!(town.kinds().last().unwrap(), "released");
}

#[tokio::test]
async fn b35_after_a_move_the_old_time_is_another_booking() {
    let (_, [first, second]) = first_and_second(async |town, booked| {
        let to = json!({"starts_at": "2026-07-12T20:00"});
        assert_eq!(town.staff(booked, "reschedule", &to).await.status, 200);
    })
    .await;
    assert_ne!(first["booking_id"], second["booking_id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b35_fifty_clicks_at_once_are_one_booking() {
    let town = Arc::new(Town::new());
    let mut clicks = JoinSet::new();
    for _ in 0..50 {
        let town = Arc::clone(&town);
        clicks.spawn(async move {
            let wish = town.wish();
            let mut answer = town.post_booking(&wish, None).await;
            while answer.status == 503 {
                answer = town.post_booking(&wish, None).await;
            }
            (answer.status, answer.json()["booking_id"].clone())
        });
    }
    let mut answers = clicks.join_all().await;
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(town.rows("bdc-bookings").len(), 1);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn b35_a_form_whose_answer_was_lost_gets_it_when_it_is_sent_again() {
    let town = Town::new();
    let faults = town.fleet.cloud.faults();
    for kind in [FaultKind::AnswerLost, FaultKind::CrashAfter] {
        let lost = FaultRule::once(INTAKE, "TransactWriteItems", kind);
        faults.add(lost.times(20));
        let starts_at = format!("2026-08-0{}T20:00", 1 + town.rows("bdc-bookings").len());
        let wish = wish(&town, &json!({"starts_at": starts_at}));
        let first = town.post_booking(&wish, None).await;
        assert!(first.status >= 500, "{kind:?}: {}", first.text);
        faults.clear();
        let again = town.post_booking(&wish, None).await;
        assert_eq!(again.status, 201, "{kind:?}: {}", again.text);
        assert_eq!(again.headers["idempotent-replayed"], "true");
    }
    town.settle().await;
    assert_eq!(town.rows("bdc-bookings").len(), 2);
    assert_eq!(town.kinds(), ["deposit_request"; 2]);
}
