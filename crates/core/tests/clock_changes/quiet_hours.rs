//! Quiet hours: by the wall, and no reminder in them that could have come before.

use chrono::{DateTime, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use paidonce_core::venue::{Policy, Quiet};

use crate::zones::{Change, all};
use crate::{moments, policy};

/// Ordinary nights, and hours that begin or end where the clocks are changed.
fn policies(base: &Policy, change: Change) -> [Policy; 4] {
    let (before, after) = change.walls();
    let middle = before + (after - before) / 2;
    let hours = |wall: NaiveDateTime, hours: i64| (wall + TimeDelta::hours(hours)).time();
    let night = |from, to| {
        let time = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
        Quiet {
            from: time(from),
            to: time(to),
        }
    };
    let quiets = [
        night(21, 8),
        night(0, 6),
        Quiet {
            from: middle.time(),
            to: hours(middle, 9),
        },
        Quiet {
            from: hours(middle, -14),
            to: middle.time(),
        },
    ];
    quiets.map(|quiet| Policy {
        quiet: Some(quiet),
        ..base.clone()
    })
}

/// By minutes since midnight, round the clock.
fn wall_is_quiet(quiet: Quiet, at: DateTime<Utc>, zone: Tz) -> bool {
    let minute = |time: NaiveTime| i64::from(time.num_seconds_from_midnight() / 60);
    let now = at.with_timezone(&zone).time();
    let since = (minute(now) - minute(quiet.from)).rem_euclid(1440);
    since < (minute(quiet.to) - minute(quiet.from)).rem_euclid(1440)
}

#[test]
fn it_is_quiet_when_the_wall_says_so() {
    let base = policy();
    for (zone, change) in all() {
        for policy in policies(&base, change) {
            let (from, to) = (
                change.at - TimeDelta::hours(4),
                change.at + TimeDelta::hours(4),
            );
            for at in moments(from, to, 15) {
                let quiet = wall_is_quiet(policy.quiet.unwrap(), at, zone);
                assert_eq!(policy.is_quiet(at, zone), quiet, "{at} in {zone}");
            }
        }
    }
}

#[test]
fn a_reminder_that_is_moved_is_not_in_quiet_hours_and_before_the_deadline() {
    let base = policy();
    let (mut moved, mut stayed) = (0, 0);
    for (zone, change) in all() {
        for policy in policies(&base, change) {
            let by_hours = Policy {
                quiet: None,
                ..policy.clone()
            };
            let (from, to) = (
                change.at - TimeDelta::hours(5),
                change.at + TimeDelta::hours(20),
            );
            for deadline in moments(from, to, 105) {
                for ahead_hours in [3, 26] {
                    let now = deadline - TimeDelta::hours(ahead_hours);
                    let wanted = by_hours.remind_at(now, deadline, zone).unwrap();
                    let remind_at = policy.remind_at(now, deadline, zone).unwrap();
                    assert!(now < remind_at && remind_at < deadline);
                    if remind_at == wanted {
                        // 22 hours are enough to find a time before any quiet hours.
                        let quiet = policy.is_quiet(wanted, zone);
                        assert!(!quiet || ahead_hours == 3, "{wanted} in {zone}");
                        stayed += usize::from(quiet);
                    } else {
                        assert!(policy.is_quiet(wanted, zone), "{wanted} in {zone}");
                        assert!(!policy.is_quiet(remind_at, zone), "{remind_at} in {zone}");
                        assert!(remind_at < wanted && wanted - remind_at < TimeDelta::hours(18));
                        moved += 1;
                    }
                }
            }
        }
    }
    assert!(moved > 1000 && stayed > 1000, "{moved} and {stayed}");
}
