//! When a resource is open.

use chrono_tz::Europe::London;

use super::*;

/// The half hours from `first` to `last` on the wall at which an hour can be booked.
fn open_starts(opening: &Value, first: &str, last: &str) -> Vec<String> {
    let table = json!({"opening": opening, "duration_minutes": 60});
    let venue = with_table("Europe/London", &table).unwrap();
    let resource = &venue.resources[0];
    let (mut start, last) = (at(first, London), at(last, London));
    let mut starts = Vec::new();
    while start <= last {
        if resource.is_open(start, London) {
            starts.push(crate::local_time::slot_stamp(start, London));
        }
        start += minutes(30);
    }
    starts
}

fn nights(days: &[&str], from: &str, to: &str) -> Value {
    json!([{"days": days, "from": from, "to": to}])
}

#[test]
fn a_stretch_may_end_at_midnight_or_on_the_next_day() {
    let friday = nights(&["Fri"], "22:00:00", "00:00:00");
    assert_eq!(
        open_starts(&friday, "2026-07-09T00:00", "2026-07-12T00:00"),
        ["2026-07-10T22:00", "2026-07-10T22:30", "2026-07-10T23:00"]
    );
    let friday = nights(&["Fri"], "23:00:00", "02:00:00");
    assert_eq!(
        open_starts(&friday, "2026-07-09T00:00", "2026-07-12T04:00"),
        [
            "2026-07-10T23:00",
            "2026-07-10T23:30",
            "2026-07-11T00:00",
            "2026-07-11T00:30",
            "2026-07-11T01:00"
        ]
    );
}

#[test]
fn stretches_that_touch_are_one() {
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let always = nights(&days, "00:00:00", "00:00:00");
    let starts = open_starts(&always, "2026-07-09T00:00", "2026-07-11T00:00");
    assert_eq!(starts.len(), 2 * 48 + 1);
    let lunch_and_dinner = json!([
        {"days": ["Fri"], "from": "14:30:00", "to": "15:30:00"},
        {"days": ["Fri"], "from": "13:00:00", "to": "14:30:00"},
        {"days": ["Fri"], "from": "16:00:00", "to": "17:00:00"},
    ]);
    assert_eq!(
        open_starts(&lunch_and_dinner, "2026-07-10T00:00", "2026-07-10T23:00"),
        ["13:00", "13:30", "14:00", "14:30", "16:00"].map(|time| format!("2026-07-10T{time}"))
    );
}

#[test]
fn the_night_of_a_clock_change_is_an_hour_shorter_or_longer() {
    let saturday = nights(&["Sat"], "23:00:00", "03:00:00");
    // Forward: 01:00 to 02:00 is skipped.
    assert_eq!(
        open_starts(&saturday, "2026-03-28T20:00", "2026-03-29T05:00"),
        [
            "2026-03-28T23:00",
            "2026-03-28T23:30",
            "2026-03-29T00:00",
            "2026-03-29T00:30",
            "2026-03-29T02:00"
        ]
    );
    // Back: 01:00 to 02:00 comes twice.
    assert_eq!(
        open_starts(&saturday, "2026-10-24T20:00", "2026-10-25T05:00"),
        [
            "2026-10-24T23:00",
            "2026-10-24T23:30",
            "2026-10-25T00:00",
            "2026-10-25T00:30",
            "2026-10-25T01:00+01:00",
            "2026-10-25T01:30+01:00",
            "2026-10-25T01:00+00:00",
            "2026-10-25T01:30+00:00",
            "2026-10-25T02:00"
        ]
    );
}

#[test]
fn a_time_that_is_skipped_is_when_the_clocks_go_on_and_of_two_the_first_counts() {
    let sunday = nights(&["Sun"], "01:30:00", "03:30:00");
    assert_eq!(
        open_starts(&sunday, "2026-03-29T00:00", "2026-03-29T05:00"),
        ["2026-03-29T02:00", "2026-03-29T02:30"]
    );
    let sunday = nights(&["Sun"], "00:00:00", "01:30:00");
    assert_eq!(
        open_starts(&sunday, "2026-10-25T00:00", "2026-10-25T05:00"),
        ["2026-10-25T00:00", "2026-10-25T00:30"]
    );
    // It would be open only while the clocks skip.
    let sunday = nights(&["Sun"], "01:00:00", "02:00:00");
    assert_eq!(
        open_starts(&sunday, "2026-03-29T00:00", "2026-03-29T05:00"),
        Vec::<String>::new()
    );
}

#[test]
fn a_complaint_about_opening_times_says_what_they_may_be() {
    let differ = "from and to: must differ, but for a whole day from 00:00:00 to 00:00:00";
    for (days, from, to, complaint) in [
        (
            json!([]),
            "18:00:00",
            "22:00:00",
            "days: must name a weekday, such as Fri",
        ),
        (json!(["Fri"]), "18:00:00", "18:00:00", differ),
        (
            json!(["Fri"]),
            "18:00:30",
            "22:00:00",
            "from and to: whole minutes",
        ),
    ] {
        let opening = json!([{"days": days, "from": from, "to": to}]);
        let complaint = format!("resources.table-4.opening.{complaint}");
        assert_eq!(complaints("resources.0.opening", opening), [complaint]);
    }
}
