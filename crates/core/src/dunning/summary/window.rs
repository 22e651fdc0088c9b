//! A month of the business's own calendar, as instants.
//!
//! The log is partitioned by months in UTC. A report is read by people, so its month is theirs: its
//! first and last hours may lie in a neighbouring partition, which is read for them.

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime, SecondsFormat, Utc};
use chrono_tz::Tz;

use crate::dunning::{MONTH_SHARDS, month_shard};
use crate::local_time::at_wall;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonthWindow {
    month: String,
    zone: Tz,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

impl MonthWindow {
    /// The month named, such as `2026-11`; nothing if that is no month.
    pub fn named(month: &str, zone: Tz) -> Option<Self> {
        let first = NaiveDate::parse_from_str(&format!("{month}-01"), "%Y-%m-%d").ok()?;
        Self::of(first, zone).filter(|window| window.month == month)
    }

    /// The last whole month before `now`.
    pub fn before(now: DateTime<Utc>, zone: Tz) -> Option<Self> {
        let first = now.with_timezone(&zone).date_naive().with_day(1)?;
        Self::of(first.checked_sub_months(Months::new(1))?, zone)
    }

    fn of(first: NaiveDate, zone: Tz) -> Option<Self> {
        let next = first.checked_add_months(Months::new(1))?;
        let starts = |day: NaiveDate| at_wall(day.and_time(NaiveTime::MIN), zone);
        Some(Self {
            month: first.format("%Y-%m").to_string(),
            zone,
            from: starts(first),
            to: starts(next),
        })
    }

    /// Such as `2026-11`.
    pub fn month(&self) -> &str {
        &self.month
    }

    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// Whether it was over by `now`.
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.to <= now
    }

    /// Whether a row of the log with this `ts` is of this month.
    pub fn has(&self, ts: &str) -> bool {
        let (from, to) = self.bounds();
        ts >= from.as_str() && ts < to.as_str()
    }

    /// The least `ts` of this month, and the least one that is later.
    pub(super) fn bounds(&self) -> (String, String) {
        let stamp = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
        (stamp(self.from), stamp(self.to))
    }

    /// The partitions of the log that have rows of this month.
    pub fn partitions(&self) -> Vec<String> {
        let mut months = vec![self.from, self.to - chrono::TimeDelta::milliseconds(1)];
        // A month in a zone touches its own month in UTC and at most one neighbour.
        months.dedup_by_key(|at| (at.year(), at.month()));
        let shards = |at: DateTime<Utc>| (0..MONTH_SHARDS).map(move |it| month_shard(at, it));
        months.into_iter().flat_map(shards).collect()
    }
}
