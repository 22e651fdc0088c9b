//! Slots: no start that there is not, no two with one key, and no overlap without a common one.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use paidonce_core::local_time::{LocalTimeError, at_wall, resolve, slot_stamp};
use paidonce_core::slots::{cells, slot_key};
use paidonce_core::venue::{Resource, Stretch, minutes};
use serde_json::json;

use crate::zones::{Change, ZONES, all};
use crate::{moments, venue};

fn written(wall: NaiveDateTime) -> String {
    wall.format("%Y-%m-%dT%H:%M").to_string()
}

#[test]
fn a_start_that_the_clocks_skip_is_never_accepted() {
    let mut skipped = 0;
    for (zone, change) in all() {
        for wall in change.skipped() {
            let resumes_at = change.walls().1;
            let refused = LocalTimeError::Nonexistent {
                local: wall,
                resumes_at,
            };
            assert_eq!(resolve(&written(wall), zone), Err(refused), "{zone}");
            assert_eq!(at_wall(wall, zone), change.at, "{wall} in {zone}");
            skipped += 1;
        }
    }
    assert!(skipped > 1000, "{skipped}");
}

#[test]
fn a_repeated_hour_gives_two_slots_and_only_an_offset_tells_which() {
    let mut repeated = 0;
    for (zone, change) in all() {
        for wall in change.repeated() {
            let text = written(wall);
            let Err(LocalTimeError::Ambiguous {
                first_offset,
                second_offset,
                ..
            }) = resolve(&text, zone)
            else {
                panic!("{wall} in {zone} comes twice");
            };
            let at = |offset| resolve(&format!("{text}{offset}"), zone).unwrap().utc;
            let (first, second) = (at(first_offset), at(second_offset));
            assert!(first < change.at && change.at <= second, "{wall} in {zone}");
            assert_eq!(at_wall(wall, zone), first, "{wall} in {zone}");
            let keys = [first, second].map(|start| slot_key("table", start, 1, zone));
            assert_ne!(keys[0], keys[1], "{zone}");
            repeated += 1;
        }
    }
    assert!(repeated > 1000, "{repeated}");
}

/// All starts around a change, whether a step of the grid leads to them or not.
fn starts(resource: &Resource, change: Change, zone: Tz) -> Vec<DateTime<Utc>> {
    let (from, to) = (
        change.at - TimeDelta::hours(3),
        change.at + TimeDelta::hours(3),
    );
    moments(from, to, 5)
        .filter(|start| resource.is_on_grid(*start, zone))
        .collect()
}

fn check_starts(resource: &Resource, change: Change, zone: Tz) {
    let starts = starts(resource, change, zone);
    let taken = |start: DateTime<Utc>| {
        cells(
            start,
            resource.ends_at(start),
            minutes(resource.grid_minutes),
        )
    };
    let all: BTreeSet<_> = starts.iter().flat_map(|start| taken(*start)).collect();
    let keys: BTreeMap<_, _> = all
        .iter()
        .map(|cell| (*cell, slot_key(&resource.id, *cell, 1, zone)))
        .collect();
    let distinct: BTreeSet<_> = keys.values().collect();
    assert_eq!(distinct.len(), keys.len(), "{zone} at {}", change.at);
    let keys_of = |start| {
        taken(start)
            .iter()
            .map(|cell| &keys[cell])
            .collect::<BTreeSet<_>>()
    };
    let held: Vec<BTreeSet<_>> = starts.iter().map(|start| keys_of(*start)).collect();
    for (first, start) in starts.iter().enumerate() {
        let stamp = slot_stamp(*start, zone);
        assert_eq!(resolve(&stamp, zone).map(|at| at.utc), Ok(*start), "{zone}");
        for (second, later) in starts.iter().enumerate().skip(first + 1) {
            let overlap = *later < resource.ends_at(*start);
            let common = !held[first].is_disjoint(&held[second]);
            assert_eq!(common, overlap, "{start} and {later} in {zone}");
        }
    }
}

#[test]
fn distinct_cells_have_distinct_keys_and_overlapping_bookings_a_common_one() {
    let mut refused = BTreeSet::new();
    for (zone, changes) in ZONES.iter() {
        for grid in [20, 30, 60] {
            let table = json!({"grid_minutes": grid, "duration_minutes": 120});
            let Ok(venue) = venue(*zone, &table) else {
                refused.insert((zone.name(), grid));
                continue;
            };
            for change in changes {
                check_starts(&venue.resources[0], *change, *zone);
            }
        }
    }
    let lord_howe = [20, 60].map(|grid| ("Australia/LHI", grid));
    assert!(refused.iter().eq(&lord_howe), "{refused:?}");
}

#[test]
fn an_opening_begins_and_ends_when_the_wall_shows_its_times() {
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    for (zone, changes) in ZONES.iter() {
        for (from, to) in [("18:00:00", "02:30:00"), ("01:30:00", "05:00:00")] {
            let opening = json!([{"days": days, "from": from, "to": to}]);
            let venue = venue(*zone, &json!({"opening": opening})).unwrap();
            for change in changes {
                let asked = Stretch {
                    from: change.at - TimeDelta::hours(1),
                    to: change.at + TimeDelta::hours(1),
                };
                for open in venue.resources[0].open_during(asked, *zone) {
                    let shows = |at: DateTime<Utc>, time: &str| {
                        let wall = at.with_timezone(zone).time().to_string();
                        wall == time || at == change.at
                    };
                    assert!(shows(open.from, from), "{open:?} in {zone}");
                    assert!(shows(open.to, to), "{open:?} in {zone}");
                    assert!(open.from < open.to);
                }
            }
        }
    }
}
