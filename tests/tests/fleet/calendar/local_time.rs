//! The two odd hours of a year, and deadlines in hours and minutes across them.

use chrono::Duration;
use fleet_tests::Town;
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, book, quick_venue, town_with, venue, wish, wish_of,
};

async fn refusal(town: &Town, starts_at: &str) -> Value {
    let answer = town
        .post_booking(&wish(town, &json!({"starts_at": starts_at})), None)
        .await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn bug_c05_a_time_that_the_clocks_skip_is_refused_with_the_first_that_exists() {
    let town = town_with("2026-03-20T12:00:00Z", &venue(|_| ()));
    for starts_at in ["2026-03-29T01:00", "2026-03-29T01:30"] {
        let problem = refusal(&town, starts_at).await;
        assert_eq!(problem["code"], "nonexistent_local_time");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("2026-03-29 02:00"), "{detail}");
    }
    let before = book(&town, &json!({"starts_at": "2026-03-29T00:30"})).await;
    let row = town.row(&before);
    let keys = ["00:30", "02:00", "02:30"].map(|time| format!("table-4#2026-03-29T{time}"));
    assert_eq!(
        row["place"]["slot_keys"],
        json!(keys),
        "ninety minutes over the gap"
    );
    assert_eq!(row["place"]["ends_at"], "2026-03-29T02:00:00Z");
    let taken = wish(&town, &json!({"starts_at": "2026-03-29T02:30"}));
    assert_eq!(town.post_booking(&taken, None).await.code(), "slot_taken");
    book(&town, &json!({"starts_at": "2026-03-29T03:00"})).await;
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn bug_c05_a_time_that_comes_twice_needs_its_offset_and_is_two_slots() {
    let half_hours = venue(|venue| venue["resources"][0]["duration_minutes"] = json!(30));
    let town = town_with("2026-10-20T12:00:00Z", &half_hours);
    let problem = refusal(&town, "2026-10-25T01:30").await;
    assert_eq!(problem["code"], "ambiguous_local_time");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("+01:00") && detail.contains("+00:00"),
        "{detail}"
    );

    let first = book(&town, &json!({"starts_at": "2026-10-25T01:30+01:00"})).await;
    let second = book(&town, &json!({"starts_at": "2026-10-25T01:30+00:00"})).await;
    assert_eq!(first.slot_key(), "table-4#2026-10-25T01:30+01:00");
    assert_eq!(second.slot_key(), "table-4#2026-10-25T01:30+00:00");
    assert_eq!(
        town.row(&first)["place"]["starts_at"],
        "2026-10-25T00:30:00Z"
    );
    assert_eq!(
        town.row(&second)["place"]["starts_at"],
        "2026-10-25T01:30:00Z"
    );
    let third = wish_of(&town, 124, &json!({"starts_at": "2026-10-25T01:30Z"}));
    assert_eq!(town.post_booking(&third, None).await.code(), "slot_taken");
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn bug_c05_ninety_minutes_over_the_repeated_hour_take_both_halves_of_it() {
    let town = town_with("2026-10-20T12:00:00Z", &venue(|_| ()));
    let booked = book(&town, &json!({"starts_at": "2026-10-25T01:30+01:00"})).await;
    let keys = ["01:30+01:00", "01:00+00:00", "01:30+00:00"];
    let keys = keys.map(|time| format!("table-4#2026-10-25T{time}"));
    assert_eq!(town.row(&booked)["place"]["slot_keys"], json!(keys));
    for starts_at in [
        "2026-10-25T01:30+00:00",
        "2026-10-25T01:00+00:00",
        "2026-10-25T00:30",
    ] {
        let taken = wish(&town, &json!({"starts_at": starts_at}));
        let answer = town.post_booking(&taken, None).await;
        assert_eq!(answer.code(), "slot_taken", "{starts_at}");
    }
    book(&town, &json!({"starts_at": "2026-10-25T02:00"})).await;
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn a_start_is_the_same_slot_however_it_is_written() {
    for starts_at in [
        "2026-07-11T20:00",
        "2026-07-11T20:00:00",
        "2026-07-11T20:00+01:00",
        "2026-07-11T19:00Z",
        "2026-07-11T19:00:00Z",
        "2026-07-11T15:00-04:00",
        " 2026-07-12T00:45+05:45 ",
    ] {
        let town = Town::new();
        let booked = book(&town, &json!({"starts_at": starts_at})).await;
        assert_eq!(booked.slot_key(), "table-4#2026-07-11T20:00", "{starts_at}");
    }
}

#[tokio::test]
async fn bug_b26_the_deadline_leaves_time_to_pay_and_never_is_after_the_start() {
    for (starts_at, deadline, remind_at) in [
        (
            "2026-07-20T20:00",
            "2026-07-10T12:00:00Z",
            json!("2026-07-10T08:00:00Z"),
        ),
        (
            "2026-07-10T15:00",
            "2026-07-10T12:00:00Z",
            json!("2026-07-10T08:00:00Z"),
        ),
        (
            "2026-07-10T14:30",
            "2026-07-10T11:30:00Z",
            json!("2026-07-10T07:30:00Z"),
        ),
        (
            "2026-07-09T17:00",
            "2026-07-09T14:00:00Z",
            json!("2026-07-09T13:00:00Z"),
        ),
        ("2026-07-09T15:30", "2026-07-09T12:30:00Z", Value::Null),
        ("2026-07-09T14:00", "2026-07-09T12:30:00Z", Value::Null),
        ("2026-07-09T13:30", "2026-07-09T12:30:00Z", Value::Null),
    ] {
        let town = Town::new();
        let booked = book(&town, &json!({"starts_at": starts_at})).await;
        assert_eq!(booked.answer["deposit_deadline"], deadline, "{starts_at}");
        assert_eq!(town.row(&booked)["remind_at"], remind_at, "{starts_at}");
    }
    let town = town_with("2026-07-09T12:20:00Z", &venue(|_| ()));
    let booked = book(&town, &json!({"starts_at": "2026-07-09T13:30"})).await;
    assert_eq!(
        booked.answer["deposit_deadline"], "2026-07-09T12:30:00Z",
        "the start itself"
    );
}

#[tokio::test]
async fn bug_c05_a_deadline_in_hours_is_so_many_hours_on_a_day_of_23_or_25() {
    for (now, starts_at, deadline) in [
        // A day from Saturday noon, GMT, is Sunday 13:00 on the wall.
        (
            "2026-03-28T12:00:00Z",
            "2026-03-30T20:00",
            "2026-03-29T12:00:00Z",
        ),
        // Two hours before 03:00 BST, which is 02:00 UTC.
        (
            "2026-03-28T13:00:00Z",
            "2026-03-29T03:00",
            "2026-03-29T00:00:00Z",
        ),
        (
            "2026-10-24T12:00:00Z",
            "2026-10-26T20:00",
            "2026-10-25T12:00:00Z",
        ),
        (
            "2026-10-24T12:00:00Z",
            "2026-10-25T02:30",
            "2026-10-25T00:30:00Z",
        ),
        (
            "2026-10-24T12:00:00Z",
            "2026-10-25T01:30+01:00",
            "2026-10-24T22:30:00Z",
        ),
        (
            "2026-10-24T12:00:00Z",
            "2026-10-25T01:30+00:00",
            "2026-10-24T23:30:00Z",
        ),
    ] {
        let town = town_with(now, &venue(|_| ()));
        let booked = book(&town, &json!({"starts_at": starts_at})).await;
        assert_eq!(booked.answer["deposit_deadline"], deadline, "{starts_at}");
    }
}

#[tokio::test]
async fn bug_c05_the_sweep_releases_at_the_instant_whatever_the_wall_shows() {
    // The clocks change at night, when a customer would not be texted.
    let mut restless = quick_venue();
    restless["policy"]["quiet"] = Value::Null;
    for start in ["2026-03-29T00:31:00Z", "2026-10-25T00:31:00Z"] {
        let town = town_with(start, &restless);
        let booked = book(&town, &json!({"starts_at": "2026-12-01T12:00"})).await;
        town.settle().await;
        // The clocks change at 01:00 UTC, between booking and deadline.
        town.advance(Duration::minutes(29)).await;
        assert_eq!(town.state(&booked), "PENDING");
        assert_eq!(town.kinds(), ["deposit_request", "reminder"]);
        town.advance(Duration::minutes(6)).await;
        assert_eq!(town.state(&booked), "RELEASED", "{start}");
    }
}

#[tokio::test]
async fn bug_c05_a_text_about_the_repeated_hour_says_which_of_the_two_it_is() {
    let town = town_with("2026-10-20T12:00:00Z", &venue(|_| ()));
    book(&town, &json!({"starts_at": "2026-10-25T01:30+01:00"})).await;
    town.settle().await;
    let text = town.texts().remove(0).text;
    assert!(text.contains("01:30 BST"), "{text}");
}
