//! At which starts a resource could be booked, whatever is taken of it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;

use crate::slots::cells;
use crate::venue::{Resource, Stretch, minutes};

/// How far before and after a start another one is still near it.
const NEAR_BEFORE: TimeDelta = TimeDelta::days(3);
const NEAR_AFTER: TimeDelta = TimeDelta::days(10);
/// And at about the same hour of the day.
const NEAR_HOURS: u32 = 3;

/// The starts of `asked` at which the resource is open for the whole of a booking, in order.
pub fn open_starts(resource: &Resource, asked: Stretch, zone: Tz) -> Vec<DateTime<Utc>> {
    let stretch_of = |starts_at: DateTime<Utc>| Stretch {
        from: starts_at,
        to: resource.ends_at(starts_at),
    };
    let whole = Stretch {
        from: asked.from,
        to: resource.ends_at(asked.to),
    };
    let open = resource.open_during(whole, zone);
    let first = first_on_grid(asked.from, resource, zone);
    cells(first, asked.to, minutes(resource.grid_minutes))
        .into_iter()
        .filter(|start| resource.is_on_grid(*start, zone))
        .filter(|start| open.iter().any(|open| open.covers(stretch_of(*start))))
        .collect()
}

/// The cells that bookings at these starts would take.
pub fn cells_of(resource: &Resource, starts: &[DateTime<Utc>]) -> BTreeSet<DateTime<Utc>> {
    let grid = minutes(resource.grid_minutes);
    starts
        .iter()
        .flat_map(|start| cells(*start, resource.ends_at(*start), grid))
        .collect()
}

/// The starts near `at` and after `now`, the nearest first: on the days around it at about the same
/// hour. So many that to look at them takes at most `rows_max` rows.
pub fn near(
    resource: &Resource,
    at: DateTime<Utc>,
    now: DateTime<Utc>,
    zone: Tz,
    rows_max: usize,
) -> Vec<DateTime<Utc>> {
    let around = Stretch {
        from: at - NEAR_BEFORE - TimeDelta::hours(i64::from(NEAR_HOURS)),
        to: at + NEAR_AFTER + TimeDelta::hours(i64::from(NEAR_HOURS)),
    };
    let mut starts = open_starts(resource, around, zone);
    starts.retain(|start| *start > now && *start != at && is_near_hour(*start, at, zone));
    starts.sort_by_key(|start| (*start - at).abs());
    let capacity = usize::try_from(resource.capacity).unwrap_or(usize::MAX);
    let mut looked_at = BTreeSet::new();
    let fits = |start: &DateTime<Utc>| {
        looked_at.extend(cells_of(resource, &[*start]));
        looked_at.len().saturating_mul(capacity) <= rows_max
    };
    starts.into_iter().take_while(fits).collect()
}

fn is_near_hour(start: DateTime<Utc>, at: DateTime<Utc>, zone: Tz) -> bool {
    let second = |time: DateTime<Utc>| time.with_timezone(&zone).num_seconds_from_midnight();
    let apart = second(start).abs_diff(second(at));
    apart.min(86_400_u32.saturating_sub(apart)) <= NEAR_HOURS * 3600
}

/// The first start on the resource's grid, not before `from`.
fn first_on_grid(from: DateTime<Utc>, resource: &Resource, zone: Tz) -> DateTime<Utc> {
    let late_s = from.timestamp().rem_euclid(60);
    let minute = from + TimeDelta::seconds(if late_s == 0 { 0 } else { 60 - late_s });
    (0..resource.grid_minutes)
        .map(|passed| minute + minutes(passed))
        .find(|at| resource.is_on_grid(*at, zone))
        .unwrap_or(minute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::{BUILT_IN, Venue};

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn near_starts_are_at_about_the_same_hour_and_the_nearest_come_first() {
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let table = venue.resource("table-4").unwrap();
        let evening = at("2026-07-11T19:00:00Z");
        let starts = near(table, evening, at("2026-07-11T12:00:00Z"), venue.zone, 600);
        assert_eq!(
            starts[..2],
            [at("2026-07-11T18:30:00Z"), at("2026-07-11T19:30:00Z")]
        );
        assert!(!starts.contains(&evening));
        assert!(starts.contains(&at("2026-07-21T16:00:00Z")));
        assert!(starts.iter().all(|start| (16..=22).contains(&start.hour())));
    }

    #[test]
    fn the_hour_is_the_walls_on_both_sides_of_a_clock_change() {
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let table = venue.resource("table-4").unwrap();
        let before = at("2026-10-24T19:00:00Z");
        let starts = near(table, before, before, venue.zone, 600);
        assert!(
            starts.contains(&at("2026-10-26T23:00:00Z")),
            "23:00 in London"
        );
        assert!(
            !starts.contains(&at("2026-10-26T16:30:00Z")),
            "16:30 in London"
        );
    }

    #[test]
    fn near_starts_keep_to_the_opening_times_and_to_the_rows_that_may_be_read() {
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let tasting = venue.resource("tasting").unwrap();
        let friday = at("2026-07-10T15:00:00Z");
        let starts = near(tasting, friday, at("2026-07-09T12:00:00Z"), venue.zone, 600);
        let open = |start: &DateTime<Utc>| tasting.is_open(*start, venue.zone);
        assert!(!starts.is_empty() && starts.iter().all(open));
        for rows_max in [0, 24, 48, 100, 600] {
            let starts = near(
                tasting,
                friday,
                at("2026-07-09T12:00:00Z"),
                venue.zone,
                rows_max,
            );
            assert!(cells_of(tasting, &starts).len() * 12 <= rows_max);
        }
    }
}
