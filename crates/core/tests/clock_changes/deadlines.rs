//! Deadlines: hours are counted on moments, hours of the wall are read from it.

use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use paidonce_core::local_time::at_wall;
use paidonce_core::venue::{PayBy, Policy};

use crate::policy;
use crate::zones::{Change, all};

/// The wall times around a change, and those that it skips or repeats.
fn walls(change: Change) -> Vec<NaiveDateTime> {
    let (before, after) = change.walls();
    let (first, last) = (before.min(after), before.max(after));
    let around = [-60, -15].map(|minutes| first + TimeDelta::minutes(minutes));
    let around = around
        .into_iter()
        .chain([last, last + TimeDelta::minutes(45)]);
    around
        .chain(change.skipped())
        .chain(change.repeated())
        .collect()
}

fn evening(wall: NaiveDateTime, days_later: u32, zone: Tz) -> DateTime<Utc> {
    let day = wall.date() + Days::new(u64::from(days_later));
    at_wall(
        day.and_time(NaiveTime::from_hms_opt(20, 0, 0).unwrap()),
        zone,
    )
}

fn with_pay_by(base: &Policy, days_before: u32, at: NaiveTime) -> Policy {
    Policy {
        pay_by: Some(PayBy { days_before, at }),
        start_buffer: 0,
        ..base.clone()
    }
}

#[test]
fn an_hour_of_the_wall_is_when_it_shows_it_or_the_first_moment_after_a_gap() {
    let base = policy();
    for (zone, change) in all() {
        for wall in walls(change) {
            for days_before in [1, 3] {
                let starts_at = evening(wall, days_before, zone);
                let rule = with_pay_by(&base, days_before, wall.time());
                let due_by = rule.deposit_due_by(starts_at, zone);
                assert_eq!(due_by, change.first_at(wall), "{wall} in {zone}");
            }
        }
    }
}

#[test]
fn a_deadline_is_never_in_the_past_and_never_after_the_start() {
    let base = policy();
    for (zone, change) in all() {
        for wall in walls(change) {
            for days_before in [0, 1] {
                let starts_at = evening(wall, days_before, zone);
                let rule = with_pay_by(&base, days_before, wall.time());
                let due_by = rule.deposit_due_by(starts_at, zone);
                for ahead_minutes in [5, 45, 600, 1500, 10_000] {
                    let now = starts_at - TimeDelta::minutes(ahead_minutes);
                    let deadline = rule.deposit_deadline(now, starts_at, zone);
                    assert!(now < deadline && deadline <= starts_at, "{wall} in {zone}");
                    let least = now + TimeDelta::minutes(i64::from(base.pay_time_min));
                    assert!(deadline >= least.min(starts_at), "{wall} in {zone}");
                    assert!(deadline <= due_by.max(least), "{wall} in {zone}");
                }
            }
        }
    }
}

#[test]
fn hours_are_counted_on_moments_whatever_the_wall_shows() {
    let policy = policy();
    for (zone, change) in all() {
        for hours in [-30, -20, -3, 0, 3, 20, 30] {
            let starts_at = change.at + TimeDelta::hours(hours);
            for ahead_hours in [1, 5, 25, 80] {
                let now = starts_at - TimeDelta::hours(ahead_hours);
                let minutes = match ahead_hours {
                    1 => 30,
                    5 => 180,
                    25 => 23 * 60,
                    _ => 24 * 60,
                };
                let deadline = policy.deposit_deadline(now, starts_at, zone);
                assert_eq!(deadline, now + TimeDelta::minutes(minutes), "{zone}");
            }
        }
    }
}
