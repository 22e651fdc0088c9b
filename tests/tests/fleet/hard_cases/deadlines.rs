//! B24 to B27: clock changes, deadlines near the start, and holds shorter or longer than a page
//! may live.

use chrono::{DateTime, Duration, Utc};
use fleet::FleetOptions;
use fleet_tests::{Booked, CARD, Town};
use serde_json::{Value, json};

use crate::hard_cases::support::{assert_stands, minutes, venue_with};

fn town_at(start: &str, rules: &Value) -> Town {
    let mut options = FleetOptions::starting(start.parse().unwrap());
    options.venue = Some(venue_with(rules).to_string());
    Town::with(options)
}

async fn book_at(town: &Town, starts_at: &str) -> Booked {
    let mut wish = town.wish();
    wish["starts_at"] = json!(starts_at);
    town.book(&wish).await
}

fn instant(row: &Value, name: &str) -> DateTime<Utc> {
    row[name].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn b24_a_time_that_the_clocks_skip_is_refused_and_nothing_is_held() {
    let town = town_at("2026-03-27T12:00:00Z", &json!({}));
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-03-29T01:30");
    let answer = town.post_booking(&wish, None).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (422, "nonexistent_local_time")
    );
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
}

#[tokio::test]
async fn b24_a_time_that_comes_twice_is_two_slots_told_apart_by_their_offset() {
    let town = town_at("2026-10-23T12:00:00Z", &json!({}));
    let first = book_at(&town, "2026-10-25T01:30:00+01:00").await;
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-10-25T01:30");
    let unsaid = town.post_booking(&wish, None).await;
    assert_eq!(
        (unsaid.status, unsaid.code().as_str()),
        (422, "ambiguous_local_time")
    );
    // An hour later by the instant: its cells are after those of the first's ninety minutes.
    let later = book_at(&town, "2026-10-25T02:00:00+00:00").await;
    assert_ne!(first.slot_key(), later.slot_key());
    let starts = |booked: &Booked| instant(&town.row(booked)["place"], "starts_at");
    assert_eq!(starts(&later) - starts(&first), Duration::minutes(90));
}

#[tokio::test]
async fn b25_a_deadline_in_hours_is_in_hours_over_a_clock_change_and_the_release_keeps_it() {
    // The clocks go forward on 29 March at 01:00: the night is an hour shorter.
    let town = town_at(
        "2026-03-28T20:00:00Z",
        &json!({"pay_within": 600, "remind_before": 60}),
    );
    let booked = book_at(&town, "2026-03-30T20:00").await;
    town.settle().await;
    let row = town.row(&booked);
    assert_eq!(
        instant(&row, "deposit_deadline") - instant(&row, "created_at"),
        Duration::hours(10)
    );
    town.advance_to("2026-03-29T05:59:00Z").await;
    assert_eq!(town.state(&booked), "PENDING");
    town.advance_to("2026-03-29T06:00:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
}

#[tokio::test]
async fn b25_a_deadline_by_the_clock_on_the_wall_is_that_over_a_clock_change() {
    let rules = json!({"pay_within": 10_080, "remind_before": 240,
        "pay_by": {"days_before": 1, "at": "18:00:00"}});
    let town = town_at("2026-03-27T12:00:00Z", &rules);
    for (starts_at, deadline) in [
        ("2026-03-29T20:00", "2026-03-28T18:00:00Z"),
        ("2026-03-30T20:00", "2026-03-29T17:00:00Z"),
    ] {
        let booked = book_at(&town, starts_at).await;
        assert_eq!(town.row(&booked)["deposit_deadline"], deadline);
    }
}

#[tokio::test]
async fn b26_a_booking_of_the_same_day_is_to_be_paid_at_once_with_no_reminder() {
    // 18:30 for 20:00 in London: the two hours before the start are past.
    let town = town_at("2026-07-11T17:30:00Z", &json!({}));
    let booked = town.pending().await;
    let row = town.row(&booked);
    assert_eq!(row["deposit_deadline"], "2026-07-11T18:00:00Z");
    assert_eq!(row["remind_at"], Value::Null);
    minutes(&town, 29).await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    town.pay(&booked, CARD).await;
    town.settle().await;
    assert_stands(&town, &booked);
}

#[tokio::test]
async fn b26_a_deadline_is_never_after_the_start() {
    let town = town_at("2026-07-11T18:50:00Z", &json!({}));
    let booked = town.pending().await;
    let row = town.row(&booked);
    assert_eq!(row["deposit_deadline"], row["place"]["starts_at"]);
    minutes(&town, 10).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request", "released"]);
}

#[tokio::test]
async fn b27_a_hold_shorter_than_a_page_lives_has_its_page_closed_at_the_release() {
    // Ten minutes to pay, and no page lives for less than thirty.
    let rules = json!({"pay_time_min": 10, "start_buffer": 20_160});
    let town = town_at("2026-07-09T12:01:00Z", &rules);
    let booked = town.pending().await;
    assert_eq!(
        town.row(&booked)["deposit_deadline"],
        "2026-07-09T12:11:00Z"
    );
    let led = town.press_pay(booked.pay_url()).await;
    let page = town.fleet.sandbox.ledger()["sessions"][0].clone();
    let life = page["expires_at"].as_i64().unwrap() - town.now().timestamp();
    assert!((1_800..=1_920).contains(&life), "{life}");
    minutes(&town, 15).await;
    assert_eq!(
        town.pay_session(&led, CARD).0,
        400,
        "closed at the deadline"
    );
    minutes(&town, 5).await;
    assert_eq!(town.state(&booked), "RELEASED");
}

#[tokio::test]
async fn b27_a_hold_longer_than_a_page_lives_gets_another_page_on_the_next_click() {
    let town = town_at("2026-07-01T12:00:00Z", &json!({"pay_within": 4_320}));
    let booked = town.pending().await;
    let first = town.press_pay(booked.pay_url()).await;
    assert_eq!(first.status, 303);
    town.advance(Duration::hours(25)).await;
    assert_eq!(town.state(&booked), "PENDING");
    assert_eq!(
        town.pay_session(&first, CARD).0,
        400,
        "a day is its longest life"
    );
    let second = town.press_pay(booked.pay_url()).await;
    assert_eq!(town.pay_session(&second, CARD).0, 200);
    town.settle().await;
    assert_stands(&town, &booked);
    assert_eq!((town.captured(), town.refunded()), (2000, 0));
}
