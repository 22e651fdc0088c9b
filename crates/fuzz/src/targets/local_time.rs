//! Wall times in a zone: its IANA name, a time, and another time, each on a line.

use chrono::{NaiveDateTime, NaiveTime};
use chrono_tz::Tz;
use paidonce_core::local_time::{
    Instant, LocalTimeError, at_wall, days_before_at, human, resolve, slot_stamp, stamp,
};

use crate::input::line_and_text;

pub(crate) fn run(input: &[u8]) {
    let Some((zone, text)) = line_and_text(input) else {
        return;
    };
    let Ok(zone) = zone.parse::<Tz>() else {
        return;
    };
    let mut earlier: Option<Instant> = None;
    for text in text.lines().take(4) {
        match resolve(text, zone) {
            Ok(instant) => {
                check(instant, zone);
                let on_the_wall = text.len() < 20 && !text.ends_with('Z');
                if let Some(other) = earlier.filter(|_| on_the_wall) {
                    assert_eq!(
                        other.local.cmp(&instant.local),
                        other.utc.cmp(&instant.utc),
                        "{other:?} and {instant:?} change places in {zone}"
                    );
                }
                earlier = Some(instant).filter(|_| on_the_wall);
            }
            Err(LocalTimeError::Nonexistent { local, resumes_at }) => {
                let resumed = resolve(&written(resumes_at), zone);
                // A whole day of gap leaves nothing to look for.
                assert!(resumes_at > local, "{local} resumes at {resumes_at}");
                // The hour after a gap may be one that comes twice.
                assert!(!matches!(
                    resumed,
                    Err(LocalTimeError::Nonexistent { .. } | LocalTimeError::Unreadable)
                ));
                assert!(at_wall(local, zone) <= at_wall(resumes_at, zone));
            }
            Err(LocalTimeError::Ambiguous {
                local,
                first_offset,
                second_offset,
            }) => {
                let with = |offset| resolve(&format!("{}{offset}", written(local)), zone);
                let (first, second) = (with(first_offset), with(second_offset));
                let (Ok(first), Ok(second)) = (first, second) else {
                    panic!("{local} in {zone} can't be written with its offset");
                };
                assert!(first.utc < second.utc && first.local == second.local);
                assert_eq!(at_wall(local, zone), first.utc, "a rule means the first");
            }
            Err(LocalTimeError::Unreadable) => {}
        }
    }
}

fn written(local: NaiveDateTime) -> String {
    local.format("%Y-%m-%dT%H:%M:%S").to_string()
}

fn check(instant: Instant, zone: Tz) {
    let Instant { utc, local } = instant;
    assert_eq!(utc.with_timezone(&zone).naive_local(), local);
    // A slot has one name, which leads back to it, and no other slot has it.
    let name = slot_stamp(utc, zone);
    assert_eq!(resolve(&name, zone), Ok(instant), "{name} in {zone}");
    // What is stored is as wide as all others, so that it sorts as text.
    assert_eq!(stamp(utc).len(), 20, "{}", stamp(utc));
    assert_eq!(resolve(&stamp(utc), zone), Ok(instant));
    assert!(human(utc, zone).len() <= 40);
    for days in [0, 1, 400] {
        for time in [NaiveTime::MIN, local.time()] {
            let before = days_before_at(utc, zone, days, time);
            let hours = (utc - before).num_hours();
            let about = i64::from(days) * 24;
            assert!(
                (about - 49..=about + 49).contains(&hours),
                "{before} before {utc}"
            );
        }
    }
}
