//! By when a deposit is due, and when a customer is reminded.

use chrono_tz::Europe::London;

use super::*;
use crate::local_time::{slot_stamp, stamp};

#[test]
fn the_earliest_rule_decides_but_leaves_time_to_pay_and_never_passes_the_start() {
    let policy = policy(&json!({"pay_by": {"days_before": 1, "at": "18:00:00"}}));
    for (now, starts_at, deadline) in [
        // A day to pay.
        ("2026-07-01T12:00", "2026-07-11T20:00", "2026-07-02T12:00"),
        // 18:00 on the day before, on the wall.
        ("2026-07-10T12:00", "2026-07-11T20:00", "2026-07-10T18:00"),
        ("2026-07-10T12:00", "2026-07-11T00:30", "2026-07-10T18:00"),
        ("2026-03-28T12:00", "2026-03-29T20:00", "2026-03-28T18:00"),
        // Half an hour to pay.
        ("2026-07-10T17:45", "2026-07-11T20:00", "2026-07-10T18:15"),
        ("2026-07-11T12:00", "2026-07-11T20:00", "2026-07-11T12:30"),
        // The start.
        ("2026-07-11T19:45", "2026-07-11T20:00", "2026-07-11T20:00"),
    ] {
        let found = policy.deposit_deadline(at(now, London), at(starts_at, London), London);
        assert_eq!(slot_stamp(found, London), deadline, "{now} for {starts_at}");
    }
}

#[test]
fn the_same_day_can_be_named_and_the_buffer_still_holds() {
    let policy = policy(&json!({"pay_by": {"days_before": 0, "at": "19:00:00"}}));
    let now = at("2026-07-11T12:00", London);
    for (starts_at, deadline) in [
        ("2026-07-11T22:00", "2026-07-11T19:00"),
        ("2026-07-11T20:00", "2026-07-11T18:00"),
        ("2026-07-11T18:00", "2026-07-11T16:00"),
    ] {
        let found = policy.deposit_deadline(now, at(starts_at, London), London);
        assert_eq!(slot_stamp(found, London), deadline, "{starts_at}");
    }
}

#[test]
fn quiet_hours_are_read_from_the_wall_and_may_span_midnight() {
    let night = policy(&json!({"quiet": {"from": "21:00:00", "to": "08:00:00"}}));
    let noon = policy(&json!({"quiet": {"from": "12:00:00", "to": "14:00:00"}}));
    for (time, at_night, at_noon) in [
        ("2026-07-11T20:59:59", false, false),
        ("2026-07-11T21:00", true, false),
        ("2026-07-12T00:00", true, false),
        ("2026-07-12T07:59:59", true, false),
        ("2026-07-12T08:00", false, false),
        ("2026-07-12T12:00", false, true),
        ("2026-07-12T13:59:59", false, true),
        ("2026-07-12T14:00", false, false),
        // 20:30 in UTC.
        ("2026-07-11T21:30", true, false),
        ("2026-01-11T20:30", false, false),
    ] {
        let moment = at(time, London);
        assert_eq!(night.is_quiet(moment, London), at_night, "{time}");
        assert_eq!(noon.is_quiet(moment, London), at_noon, "{time}");
    }
}

#[test]
fn a_reminder_that_would_ring_at_night_comes_before_the_night() {
    let night = policy(&json!({"quiet": {"from": "21:00:00", "to": "08:00:00"}}));
    for (now, deadline, remind_at) in [
        // By day it stays: four hours ahead.
        ("2026-07-01T12:00", "2026-07-02T12:00", "2026-07-02T08:00"),
        ("2026-07-01T22:00", "2026-07-02T22:00", "2026-07-02T18:00"),
        // At night, before and after midnight.
        ("2026-07-01T12:00", "2026-07-02T11:59", "2026-07-01T20:50"),
        ("2026-07-01T02:00", "2026-07-02T02:00", "2026-07-01T20:50"),
        // Booked so late that there is no time before the night.
        ("2026-07-01T20:45", "2026-07-02T10:00", "2026-07-01T20:50"),
        ("2026-07-01T20:46", "2026-07-02T10:00", "2026-07-02T06:00"),
        ("2026-07-01T23:00", "2026-07-02T10:00", "2026-07-02T06:00"),
    ] {
        let found = night.remind_at(at(now, London), at(deadline, London), London);
        let found = found.map(|at| slot_stamp(at, London));
        assert_eq!(found.as_deref(), Some(remind_at), "{now} to {deadline}");
    }
    let at_once = night.remind_at(
        at("2026-07-01T12:00", London),
        at("2026-07-01T12:30", London),
        London,
    );
    assert_eq!(at_once, None);
}

#[test]
fn without_quiet_hours_a_reminder_is_by_the_hours_alone() {
    let always = policy(&json!({"quiet": null}));
    let (now, deadline) = (
        at("2026-07-01T02:00", London),
        at("2026-07-02T02:00", London),
    );
    let found = always.remind_at(now, deadline, London).map(stamp);
    assert_eq!(found.as_deref(), Some("2026-07-01T21:00:00Z"));
    assert!(!always.is_quiet(now, London));
}
