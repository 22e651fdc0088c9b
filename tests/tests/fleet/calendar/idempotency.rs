//! One `Idempotency-Key`, one booking, one answer.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Duration;
use fleet_tests::Town;
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, is_replayed, post, post_as_staff, quick_town, tamper, tokens,
    warm_up, wish, wish_of,
};

#[tokio::test]
async fn bug_i02_the_same_key_and_request_gets_the_same_answer_byte_for_byte() {
    let town = Town::new();
    warm_up(&town).await;
    let first = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!((first.status, is_replayed(&first)), (201, false));
    town.settle().await;
    town.advance(Duration::minutes(3)).await;
    town.forget_calls();
    let again = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!((again.status, is_replayed(&again)), (201, true));
    assert_eq!(again.text, first.text);
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
    town.settle().await;
    let texts = town.kinds();
    assert_eq!(
        texts, ["deposit_request"; 2],
        "one for each of the two bookings"
    );
}

#[tokio::test]
async fn bug_i02_the_same_json_in_another_spelling_is_the_same_request() {
    let town = Town::new();
    let token = town.fleet.tokens().form;
    let bearer = format!("Bearer {token}");
    let headers: [(&str, &[u8]); 2] = [
        ("authorization", bearer.as_bytes()),
        ("idempotency-key", b"k-1"),
    ];
    let tidy = r#"{"resource":"table-4","starts_at":"2026-07-11T20:00","party":2,"name":"Zoë","phone":"07700 900123","source":"form","extra":{"b":1,"a":[1,2]}}"#;
    let odd = "{\n\t\"extra\": {\"a\": [1.0, 2e0], \"b\": 1},  \"source\": \"form\", \"phone\": \"07700 900123\",
        \"name\": \"Zo\\u00eb\", \"party\": 2, \"starts_at\": \"2026-07-11T20:00\", \"resource\": \"table-4\"}\n";
    let first = post(&town, &headers, tidy).await;
    let second = post(&town, &headers, odd).await;
    assert_eq!((first.status, second.status), (201, 201), "{}", second.text);
    assert_eq!(first.text, second.text);
}

#[tokio::test]
async fn bug_i02_another_request_under_the_same_key_is_a_conflict_and_books_nothing() {
    let town = Town::new();
    let first = town.post_booking(&town.wish(), Some("k-1")).await;
    for changes in [
        json!({"party": 3}),
        json!({"starts_at": "2026-07-12T20:00"}),
        json!({"starts_at": "2026-07-11T19:00Z"}),
        json!({"notes": "by the window"}),
        json!({"phone": "+447700900123"}),
    ] {
        let answer = town.post_booking(&wish(&town, &changes), Some("k-1")).await;
        let expected = (409, "idempotency_mismatch".to_owned());
        assert_eq!((answer.status, answer.code()), expected, "{changes}");
        let id = first.json()["booking_id"].as_str().unwrap().to_owned();
        assert!(!answer.text.contains(&id), "it tells nothing of the first");
    }
    let bad = wish(&town, &json!({"party": 0}));
    let answer = town.post_booking(&bad, Some("k-1")).await;
    assert_eq!(
        answer.code(),
        "out_of_range",
        "not the answer to another request"
    );
    assert_eq!(town.rows("bdc-bookings").len(), 1);
    let again = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!(again.text, first.text, "the first request still stands");
}

#[tokio::test]
async fn bug_i01_a_key_belongs_to_its_caller() {
    let town = Town::new();
    let form = town.post_booking(&town.wish(), Some("k-1")).await;
    let same_slot = post_as_staff(&town, &town.wish(), "k-1").await;
    assert_eq!(
        same_slot.code(),
        "slot_taken",
        "it is not shown the form's answer"
    );
    let other = wish(&town, &json!({"starts_at": "2026-07-12T20:00"}));
    let staff = post_as_staff(&town, &other, "k-1").await;
    assert_eq!((form.status, staff.status), (201, 201));
    assert_ne!(form.json()["booking_id"], staff.json()["booking_id"]);
    assert_eq!(post_as_staff(&town, &other, "k-1").await.text, staff.text);
    assert_eq!(town.kept_answers().len(), 2);
}

#[tokio::test]
async fn keys_that_differ_at_all_are_two_keys() {
    let town = Town::new();
    let mut ids = std::collections::BTreeSet::new();
    for (hour, key) in ["k-1", "K-1", "k-1 ", "k-1#2", "POST /bookings#k-1"]
        .into_iter()
        .enumerate()
    {
        let starts_at = format!("2026-07-1{}T20:00", hour + 1);
        let wish = wish(&town, &json!({"starts_at": starts_at}));
        let answer = town.post_booking(&wish, Some(key)).await;
        assert_eq!(answer.status, 201, "{key}: {}", answer.text);
        ids.insert(answer.json()["booking_id"].to_string());
    }
    assert_eq!(ids.len(), 5);
}

async fn age(town: &Town, seconds_past: i64) {
    let row = town.kept_answers().remove(0);
    let key = row["scope_key"].as_str().unwrap().to_owned();
    let expires_at = (town.now().timestamp() - seconds_past).to_string();
    tamper(
        town,
        "bdc-idempotency",
        ("scope_key", &key),
        "expires_at",
        AttributeValue::N(expires_at),
    )
    .await;
}

#[tokio::test]
async fn bug_g09_a_key_past_its_time_counts_no_more_though_its_row_is_still_there() {
    let town = Town::new();
    let first = town.post_booking(&town.wish(), Some("k-1")).await;
    let kept: i64 = town.kept_answers()[0]["expires_at"].as_i64().unwrap();
    assert_eq!(kept, (town.now() + Duration::hours(48)).timestamp());
    age(&town, 1).await;
    let taken = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!(taken.code(), "slot_taken", "no answer from an expired row");
    let other = wish(&town, &json!({"starts_at": "2026-07-12T20:00"}));
    let second = town.post_booking(&other, Some("k-1")).await;
    assert_eq!(second.status, 201, "{}", second.text);
    assert_ne!(second.json()["booking_id"], first.json()["booking_id"]);
    let rows = town.kept_answers();
    assert_eq!(rows.len(), 1, "the old row is replaced");
    assert_eq!(rows[0]["expires_at"].as_i64().unwrap(), kept);
    assert_eq!(
        town.post_booking(&other, Some("k-1")).await.text,
        second.text
    );
}

#[tokio::test]
async fn bug_g09_an_expired_row_answers_no_request_that_can_not_be_taken_any_more() {
    let town = quick_town();
    let soon = wish(&town, &json!({"starts_at": "2026-07-11T18:30"}));
    let first = town.post_booking(&soon, Some("k-1")).await;
    assert_eq!(first.status, 201, "{}", first.text);
    town.advance(Duration::minutes(31)).await;
    let late = town.post_booking(&soon, Some("k-1")).await;
    assert_eq!(
        late.text, first.text,
        "a retry after the start gets its answer"
    );
    age(&town, 1).await;
    assert_eq!(town.post_booking(&soon, Some("k-1")).await.code(), "past");
    let other = town.post_booking(&soon, Some("k-2")).await;
    assert_eq!(other.code(), "past", "another key has no answer");
}

#[tokio::test]
async fn bug_g01_a_crash_leaves_no_key_in_progress() {
    for fault in [
        FaultKind::CrashBefore,
        FaultKind::CrashAfter,
        FaultKind::Slow,
    ] {
        let town = Town::new();
        let faults = town.fleet.cloud.faults();
        faults.add(FaultRule::once("bdc-intake", "TransactWriteItems", fault));
        let crashed = town.post_booking(&town.wish(), Some("k-1")).await;
        assert_eq!(crashed.status, 502);
        town.advance(Duration::seconds(1)).await;
        let retried = town.post_booking(&town.wish(), Some("k-1")).await;
        assert_eq!(retried.status, 201, "{fault:?}: {}", retried.text);
        assert_eq!(is_replayed(&retried), fault != FaultKind::CrashBefore);
        assert_eq!(town.rows("bdc-bookings").len(), 1);
        assert_calendar_is_sound(&town);
    }
}

#[tokio::test]
async fn without_a_key_the_same_form_twice_is_one_booking_and_for_others_a_taken_slot() {
    let town = Town::new();
    let first = town.post_booking(&town.wish(), None).await;
    let id = first.json()["booking_id"].as_str().unwrap().to_owned();
    let second = town.post_booking(&town.wish(), None).await;
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!((is_replayed(&first), is_replayed(&second)), (false, true));
    assert_eq!(second.text, first.text);

    let neighbour = town
        .post_booking(&wish_of(&town, 124, &json!({})), None)
        .await;
    let larger = town
        .post_booking(&wish(&town, &json!({"party": 3})), None)
        .await;
    let staff = post_as_staff(&town, &town.wish(), "k-1").await;
    for other in [neighbour, larger, staff] {
        assert_eq!(
            (other.status, other.code().as_str(), &other.json()["field"]),
            (409, "slot_taken", &json!("starts_at"))
        );
        assert!(!other.text.contains(&id), "it tells nothing of the first");
    }
    assert_eq!(town.kept_answers(), Vec::<Value>::new());
    assert_eq!(
        tokens(&town),
        [id.as_str(); 2],
        "of the phone and of the form"
    );
    for table in ["bdc-bookings", "bdc-outbox", "bdc-audit"] {
        assert_eq!(town.rows(table).len(), 1, "{table}");
    }
    assert_calendar_is_sound(&town);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}
