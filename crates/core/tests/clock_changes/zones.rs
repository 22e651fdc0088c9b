//! All clock changes, each once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};

/// A moment at which a zone's clocks are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// The first moment with the new offset.
    pub(crate) at: DateTime<Utc>,
    before: TimeDelta,
    after: TimeDelta,
}

impl Change {
    /// What the wall shows when the clocks are changed, and then.
    pub(crate) fn walls(self) -> (NaiveDateTime, NaiveDateTime) {
        let utc = self.at.naive_utc();
        (utc + self.before, utc + self.after)
    }

    /// The wall times that are skipped, a quarter of an hour apart.
    pub(crate) fn skipped(self) -> Vec<NaiveDateTime> {
        let (from, to) = self.walls();
        quarters(from, to)
    }

    /// The wall times that come twice, a quarter of an hour apart.
    pub(crate) fn repeated(self) -> Vec<NaiveDateTime> {
        let (to, from) = self.walls();
        quarters(from, to)
    }

    /// The moment at which the wall shows a time for the first time: by the old offset, if it comes
    /// before the change, or else by the new one.
    pub(crate) fn first_at(self, wall: NaiveDateTime) -> DateTime<Utc> {
        let by_old = (wall - self.before).and_utc();
        match by_old < self.at {
            true => by_old,
            false => (wall - self.after).and_utc().max(self.at),
        }
    }
}

fn quarters(from: NaiveDateTime, to: NaiveDateTime) -> Vec<NaiveDateTime> {
    let each = |at: &NaiveDateTime| Some(*at + TimeDelta::minutes(15));
    std::iter::successors(Some(from), each)
        .take_while(|at| *at < to)
        .collect()
}

/// The zones that have clock changes, with these; of those that are alike, one.
pub(crate) static ZONES: LazyLock<Vec<(Tz, Vec<Change>)>> = LazyLock::new(|| {
    let mut zones = BTreeMap::new();
    for zone in TZ_VARIANTS {
        zones.entry(changes(zone)).or_insert(zone);
    }
    zones.retain(|changes, _| !changes.is_empty());
    zones
        .into_iter()
        .map(|(changes, zone)| (zone, changes))
        .collect()
});

/// Every change of every zone.
pub(crate) fn all() -> impl Iterator<Item = (Tz, Change)> {
    ZONES
        .iter()
        .flat_map(|(zone, changes)| changes.iter().map(|change| (*zone, *change)))
}

fn changes(zone: Tz) -> Vec<Change> {
    let (start, end) = ("2024-01-01T00:00:00Z", "2038-01-01T00:00:00Z");
    let (start, end): (DateTime<Utc>, DateTime<Utc>) =
        (start.parse().unwrap(), end.parse().unwrap());
    let mut found = Vec::new();
    for day in crate::moments(start, end, 1440) {
        let (mut same, mut changed) = (day, day + TimeDelta::days(1));
        let (before, after) = (offset(zone, same), offset(zone, changed));
        if before == after {
            continue;
        }
        while changed - same > TimeDelta::minutes(1) {
            let half = TimeDelta::minutes((changed - same).num_minutes() / 2);
            match offset(zone, same + half) == before {
                true => same += half,
                false => changed = same + half,
            }
        }
        found.push(Change {
            at: changed,
            before,
            after,
        });
    }
    found
}

fn offset(zone: Tz, at: DateTime<Utc>) -> TimeDelta {
    let offset = zone.offset_from_utc_datetime(&at.naive_utc()).fix();
    TimeDelta::seconds(i64::from(offset.local_minus_utc()))
}

#[test]
fn the_changes_are_those_that_are_known() {
    let of = |zone: Tz| changes(zone);
    let london = of(Tz::Europe__London);
    assert_eq!(london.len(), 2 * 14);
    assert_eq!(london[0].at.to_rfc3339(), "2024-03-31T01:00:00+00:00");
    assert_eq!(london[0].skipped().len(), 4);
    assert_eq!(london[1].repeated().len(), 4);
    assert_eq!(of(Tz::Australia__Lord_Howe)[0].repeated().len(), 2);
    assert_eq!(of(Tz::Asia__Tokyo), []);
    // The month of fasting moves through the year.
    assert!(of(Tz::Africa__Casablanca).len() > 20);
    assert!(ZONES.len() > 30, "{}", ZONES.len());
}
