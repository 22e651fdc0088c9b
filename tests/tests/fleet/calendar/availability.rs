//! `GET /slots` lists the starts at which a party can book, all of them and no other.

use chrono::{DateTime, Duration, Timelike, Utc};
use chrono_tz::Tz;
use fleet_tests::Town;
use paidonce_core::local_time::slot_stamp;
use serde_json::json;

use crate::calendar::support::{book, free, town_with, venue, wish, wish_of};

/// Every multiple of `grid` minutes on the wall clock, minute by minute.
fn grid(zone: Tz, from: &str, to: &str, grid: u32) -> Vec<String> {
    let instant = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let (mut at, to) = (instant(from), instant(to));
    let mut starts = Vec::new();
    while at < to {
        let local = at.with_timezone(&zone);
        if (local.hour() * 60 + local.minute()).is_multiple_of(grid) {
            starts.push(slot_stamp(at, zone));
        }
        at += Duration::minutes(1);
    }
    starts
}

#[tokio::test]
async fn a_booking_takes_the_starts_that_it_overlaps_off_the_list_and_gives_them_back() {
    let town = Town::new();
    let evening = || free(&town, "table-4", 2, "2026-07-11T18:00", "2026-07-11T22:30");
    let all = evening().await;
    assert_eq!(all.len(), 9);
    let booked = town.book(&town.wish()).await;
    let others: Vec<String> = all
        .iter()
        .filter(|start| {
            let time = &start[11..];
            !("18:31".."21:30").contains(&time)
        })
        .cloned()
        .collect();
    assert_eq!(
        others,
        ["18:00", "18:30", "21:30", "22:00"].map(|time| format!("2026-07-11T{time}"))
    );
    assert_eq!(evening().await, others);
    assert_eq!(
        free(&town, "table-5", 2, "2026-07-11T18:00", "2026-07-11T22:30").await,
        all
    );
    assert_eq!(town.staff(&booked, "cancel", &json!({})).await.status, 200);
    assert_eq!(evening().await, all);
}

#[tokio::test]
async fn what_is_listed_can_be_booked_and_what_is_not_can_not() {
    let town = Town::new();
    for starts_at in ["2026-07-11T16:00", "2026-07-11T19:30"] {
        book(&town, &json!({"starts_at": starts_at})).await;
    }
    let listed = free(&town, "table-4", 2, "2026-07-11T14:00", "2026-07-11T23:00").await;
    let starts = grid(
        Tz::Europe__London,
        "2026-07-11T13:00:00Z",
        "2026-07-11T22:00:00Z",
        30,
    );
    for starts_at in starts {
        let another = wish_of(&town, 124, &json!({"starts_at": starts_at}));
        let answer = town.post_booking(&another, None).await;
        assert_eq!(
            answer.status == 201,
            listed.contains(&starts_at),
            "{starts_at}"
        );
        if answer.status == 201 {
            let id = answer.json()["booking_id"].as_str().unwrap().to_owned();
            let booked = fleet_tests::Booked {
                id,
                answer: answer.json(),
            };
            assert_eq!(town.staff(&booked, "cancel", &json!({})).await.status, 200);
        }
    }
}

#[tokio::test]
async fn the_list_starts_at_the_next_start_wherever_it_is_asked_from() {
    let town = Town::new();
    for (from, first) in [
        ("2026-07-11T12:00", "12:00"),
        ("2026-07-11T12:01", "12:30"),
        ("2026-07-11T12:05", "12:30"),
        ("2026-07-11T12:15:01", "12:30"),
        ("2026-07-11T12:31", "13:00"),
    ] {
        let listed = free(&town, "table-4", 2, from, "2026-07-11T14:00").await;
        assert_eq!(
            listed.first(),
            Some(&format!("2026-07-11T{first}")),
            "{from}"
        );
        assert_eq!(listed.last().unwrap(), "2026-07-11T13:30");
    }
    for (from, first) in [("2026-07-11T15:20", "16:00"), ("2026-07-11T15:45", "16:00")] {
        let listed = free(&town, "tasting", 2, from, "2026-07-11T18:00").await;
        assert_eq!(
            listed.first(),
            Some(&format!("2026-07-11T{first}")),
            "{from}"
        );
    }
}

#[tokio::test]
async fn a_start_that_has_passed_is_not_listed() {
    let town = Town::new();
    let listed = free(&town, "table-4", 2, "2026-07-09", "2026-07-10").await;
    assert_eq!(
        listed.first().unwrap(),
        "2026-07-09T13:30",
        "now is 13:00 in London"
    );
    assert_eq!(listed.last().unwrap(), "2026-07-09T23:30");
}

#[tokio::test]
async fn only_starts_within_the_opening_times_are_listed() {
    let town = Town::new();
    let week = free(&town, "tasting", 1, "2026-07-10", "2026-07-17").await;
    let mut expected = Vec::new();
    for day in [10, 11, 16] {
        expected.extend((15..=20).map(|hour| format!("2026-07-{day}T{hour}:00")));
    }
    assert_eq!(
        week, expected,
        "Thursday to Saturday, from 15:00, done by 22:00"
    );
}

#[tokio::test]
async fn an_evening_past_midnight_is_listed_to_its_end() {
    let late = venue(|venue| {
        venue["resources"][0]["opening"] =
            json!([{"days": ["Sat"], "from": "23:00:00", "to": "02:00:00"}]);
        venue["resources"][0]["duration_minutes"] = json!(60);
    });
    let town = town_with("2026-03-20T12:00:00Z", &late);
    let on = |day: &str, times: &[&str]| -> Vec<String> {
        times.iter().map(|time| format!("{day}T{time}")).collect()
    };
    let night = |from, to| free(&town, "table-4", 2, from, to);
    let mut summer = on("2026-07-11", &["23:00", "23:30"]);
    summer.extend(on("2026-07-12", &["00:00", "00:30", "01:00"]));
    assert_eq!(night("2026-07-10", "2026-07-14").await, summer);
    assert_eq!(night("2026-07-12", "2026-07-14").await, summer[2..]);
    // The clocks skip from 01:00 to 02:00: the last hour is not there.
    let mut spring = on("2026-03-28", &["23:00", "23:30"]);
    spring.extend(on("2026-03-29", &["00:00"]));
    assert_eq!(night("2026-03-27", "2026-03-30").await, spring);
    for start in &summer {
        let table = wish(&town, &json!({"starts_at": start}));
        let status = town.post_booking(&table, None).await.status;
        let fits = ["23:00", "00:00", "01:00"].contains(&&start[11..]);
        assert_eq!(status == 201, fits, "{start}");
    }
}

#[tokio::test]
async fn only_the_hours_at_which_it_is_open_count_towards_the_most_that_is_looked_at() {
    let town = Town::new();
    let month = free(&town, "tasting", 12, "2026-08-01", "2026-09-01").await;
    assert_eq!(
        month.len(),
        13 * 6,
        "thirteen days from Thursday to Saturday"
    );
    let always = venue(|venue| venue["resources"][2]["opening"] = json!([]));
    let town = Town::with_venue(&always);
    let week = "/slots?resource=tasting&from=2026-08-01&to=2026-08-08";
    let answer = town.get(week).await;
    let seen = (answer.status, answer.code(), answer.json()["field"].clone());
    assert_eq!(seen, (422, "bad_range".to_owned(), json!("to")));
    let days = free(&town, "tasting", 12, "2026-08-01", "2026-08-07").await;
    assert_eq!(days.len(), 6 * 24);
}

#[tokio::test]
async fn a_party_sees_the_starts_with_a_seat_for_each_guest() {
    let town = Town::new();
    let at = |time: &str| format!("2026-07-11T{time}");
    book(
        &town,
        &json!({"resource": "tasting", "starts_at": at("17:00"), "party": 7}),
    )
    .await;
    book(
        &town,
        &json!({"resource": "tasting", "starts_at": at("18:00"), "party": 3}),
    )
    .await;
    let evening = |party: u32| {
        free(
            &town,
            "tasting",
            party,
            "2026-07-11T15:00",
            "2026-07-11T21:00",
        )
    };
    let times = |times: &[&str]| times.iter().map(|time| at(time)).collect::<Vec<_>>();
    let all = ["15:00", "16:00", "17:00", "18:00", "19:00", "20:00"];
    assert_eq!(evening(2).await, times(&all));
    assert_eq!(
        evening(3).await,
        times(&["15:00", "16:00", "19:00", "20:00"])
    );
    assert_eq!(
        evening(5).await,
        times(&["15:00", "16:00", "19:00", "20:00"])
    );
    assert_eq!(evening(6).await, times(&["15:00", "19:00", "20:00"]));
    assert_eq!(evening(10).await, times(&["15:00", "20:00"]));
    assert_eq!(evening(12).await, times(&["15:00", "20:00"]));
}

#[tokio::test]
async fn bug_c05_a_day_of_23_and_of_25_hours_lists_each_start_that_there_is_once() {
    let town = town_with("2026-03-20T12:00:00Z", &venue(|_| ()));
    let listed = free(&town, "table-4", 2, "2026-03-29", "2026-03-30").await;
    let expected = grid(
        Tz::Europe__London,
        "2026-03-29T00:00:00Z",
        "2026-03-29T23:00:00Z",
        30,
    );
    assert_eq!((listed.len(), &listed), (46, &expected));
    assert!(
        !listed.iter().any(|start| start.contains("T01:")),
        "the hour is skipped"
    );

    let listed = free(&town, "table-4", 2, "2026-10-25", "2026-10-26").await;
    let expected = grid(
        Tz::Europe__London,
        "2026-10-24T23:00:00Z",
        "2026-10-26T00:00:00Z",
        30,
    );
    assert_eq!((listed.len(), &listed), (50, &expected));
    let twice: Vec<&String> = listed
        .iter()
        .filter(|start| start.contains("T01:30"))
        .collect();
    assert_eq!(twice, ["2026-10-25T01:30+01:00", "2026-10-25T01:30+00:00"]);
}

#[tokio::test]
async fn bug_c05_every_listed_start_of_an_odd_day_can_be_booked_under_its_own_key() {
    let half_hours = venue(|venue| venue["resources"][0]["duration_minutes"] = json!(30));
    let town = town_with("2026-03-20T12:00:00Z", &half_hours);
    for (from, to) in [
        ("2026-03-29", "2026-03-29T04:00"),
        ("2026-10-25", "2026-10-25T04:00"),
    ] {
        let listed = free(&town, "table-4", 2, from, to).await;
        for starts_at in &listed {
            let booked = book(&town, &json!({"starts_at": starts_at})).await;
            assert_eq!(booked.slot_key(), format!("table-4#{starts_at}"));
        }
        assert_eq!(
            free(&town, "table-4", 2, from, to).await,
            Vec::<String>::new()
        );
    }
}

#[tokio::test]
async fn zones_with_odd_offsets_and_midnights_are_listed_on_their_own_wall_clock() {
    for (zone, day, next, first_utc, end_utc) in [
        (
            "Asia/Kathmandu",
            "2026-07-20",
            "2026-07-21",
            "2026-07-19T18:15:00Z",
            "2026-07-20T18:15:00Z",
        ),
        (
            "Asia/Kolkata",
            "2026-07-20",
            "2026-07-21",
            "2026-07-19T18:30:00Z",
            "2026-07-20T18:30:00Z",
        ),
        (
            "America/New_York",
            "2026-11-01",
            "2026-11-02",
            "2026-11-01T04:00:00Z",
            "2026-11-02T05:00:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "2026-10-04",
            "2026-10-05",
            "2026-10-03T13:30:00Z",
            "2026-10-04T13:00:00Z",
        ),
    ] {
        let town = Town::with_venue(&venue(|venue| {
            venue["zone"] = json!(zone);
            // Lord Howe's clocks change by half an hour: no resource there may have an hour's grid.
            venue["resources"].as_array_mut().unwrap().truncate(2);
        }));
        let listed = free(&town, "table-4", 2, day, next).await;
        assert_eq!(
            listed,
            grid(zone.parse().unwrap(), first_utc, end_utc, 30),
            "{zone}"
        );
    }
}

#[tokio::test]
async fn a_bad_question_is_refused_by_its_field() {
    let town = Town::new();
    for (query, code, field) in [
        ("", "unknown_resource", "resource"),
        (
            "resource=table-9&from=2026-07-11&to=2026-07-12",
            "unknown_resource",
            "resource",
        ),
        ("resource=table-4", "unreadable_time", "from"),
        ("resource=table-4&from=2026-07-11", "unreadable_time", "to"),
        (
            "resource=table-4&from=today&to=2026-07-12",
            "unreadable_time",
            "from",
        ),
        (
            "resource=table-4&from=2026-03-29T01:30&to=2026-07-12",
            "unreadable_time",
            "from",
        ),
        (
            "resource=table-4&from=2026-07-12&to=2026-07-12",
            "bad_range",
            "to",
        ),
        (
            "resource=table-4&from=2026-07-12&to=2026-07-11",
            "bad_range",
            "to",
        ),
        (
            "resource=table-4&from=2026-07-01&to=2026-08-02",
            "bad_range",
            "to",
        ),
        (
            "resource=table-4&party=0&from=2026-07-11&to=2026-07-12",
            "out_of_range",
            "party",
        ),
        (
            "resource=table-4&party=7&from=2026-07-11&to=2026-07-12",
            "out_of_range",
            "party",
        ),
        (
            "resource=table-4&party=two&from=2026-07-11&to=2026-07-12",
            "out_of_range",
            "party",
        ),
        (
            "resource=table-4&party=-1&from=2026-07-11&to=2026-07-12",
            "out_of_range",
            "party",
        ),
    ] {
        let answer = town.get(&format!("/slots?{query}")).await;
        let seen = (answer.status, answer.code(), answer.json()["field"].clone());
        assert_eq!(seen, (422, code.to_owned(), json!(field)), "{query}");
    }
    let month = free(&town, "table-4", 2, "2026-08-01", "2026-09-01").await;
    assert_eq!(month.len(), 31 * 48);
}

#[tokio::test]
async fn an_offset_in_the_question_may_be_written_with_a_plus_or_its_escape() {
    let town = Town::new();
    for from in [
        "2026-07-11T20:00+01:00",
        "2026-07-11T20:00%2B01:00",
        "2026-07-11T19:00Z",
    ] {
        let listed = free(&town, "table-4", 2, from, "2026-07-11T20:30").await;
        assert_eq!(listed, ["2026-07-11T20:00"], "{from}");
    }
}
