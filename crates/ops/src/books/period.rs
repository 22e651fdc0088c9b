//! The days that a journal is about, in the zone whose days they are.

use std::ops::Range;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use paidonce_core::local_time::at_wall;

/// The longest period, in days: a leap year.
pub const DAYS_MAX: i64 = 366;

/// Some days, the first and the last included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    from: NaiveDate,
    to: NaiveDate,
    zone: Tz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    #[error("the last day ({to}) is before the first ({from})")]
    Backwards { from: NaiveDate, to: NaiveDate },
    #[error("{from} to {to} are {days} days; at most {DAYS_MAX} go into one journal")]
    TooLong {
        from: NaiveDate,
        to: NaiveDate,
        days: i64,
    },
    #[error("there is no such day")]
    OutOfCalendar,
}

impl Period {
    /// # Errors
    /// See [`PeriodError`].
    pub fn new(from: NaiveDate, to: NaiveDate, zone: Tz) -> Result<Self, PeriodError> {
        if to < from {
            return Err(PeriodError::Backwards { from, to });
        }
        let days = (to - from).num_days() + 1;
        if days > DAYS_MAX {
            return Err(PeriodError::TooLong { from, to, days });
        }
        to.checked_add_days(Days::new(1))
            .ok_or(PeriodError::OutOfCalendar)?;
        Ok(Self { from, to, zone })
    }

    pub fn from(&self) -> NaiveDate {
        self.from
    }

    pub fn to(&self) -> NaiveDate {
        self.to
    }

    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// From the first moment of the first day to the first after the last day.
    pub fn range(&self) -> Range<DateTime<Utc>> {
        let after = self.to.checked_add_days(Days::new(1)).unwrap_or(self.to);
        let start = |day: NaiveDate| at_wall(day.and_time(NaiveTime::MIN), self.zone);
        start(self.from)..start(after)
    }

    /// The day of a moment, by the clock on the wall.
    pub fn day_of(&self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.zone).date_naive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn period(from: &str, to: &str, zone: Tz) -> Result<Period, PeriodError> {
        Period::new(day(from), day(to), zone)
    }

    #[test]
    fn days_are_whole_in_their_zone_also_when_the_clocks_change() {
        let range = |from, to, zone| {
            let range = period(from, to, zone).unwrap().range();
            (range.start.to_rfc3339(), range.end - range.start)
        };
        let london = chrono_tz::Europe::London;
        let hours = chrono::TimeDelta::hours;
        let (start, long) = range("2026-07-01", "2026-07-31", london);
        assert_eq!(
            (start.as_str(), long),
            ("2026-06-30T23:00:00+00:00", hours(744))
        );
        assert_eq!(range("2026-03-29", "2026-03-29", london).1, hours(23));
        assert_eq!(range("2026-10-25", "2026-10-25", london).1, hours(25));
        // This midnight does not exist: the day starts at one.
        let (start, long) = range("2026-04-24", "2026-04-24", chrono_tz::Africa::Cairo);
        assert_eq!(
            (start.as_str(), long),
            ("2026-04-23T22:00:00+00:00", hours(23))
        );
    }

    #[test]
    fn two_periods_that_meet_share_no_moment_and_miss_none() {
        let zone = chrono_tz::Europe::London;
        let march = period("2026-03-01", "2026-03-31", zone).unwrap();
        let april = period("2026-04-01", "2026-04-30", zone).unwrap();
        assert_eq!(march.range().end, april.range().start);
        assert_eq!(april.day_of(april.range().start), day("2026-04-01"));
    }

    #[test]
    fn a_bad_range_is_refused_with_what_is_wrong() {
        let said = |from, to| period(from, to, chrono_tz::UTC).unwrap_err().to_string();
        assert_eq!(
            said("2026-07-02", "2026-07-01"),
            "the last day (2026-07-01) is before the first (2026-07-02)"
        );
        assert_eq!(
            said("2025-01-01", "2026-01-02"),
            "2025-01-01 to 2026-01-02 are 367 days; at most 366 go into one journal"
        );
        assert!(period("2024-01-01", "2024-12-31", chrono_tz::UTC).is_ok());
        let last = NaiveDate::MAX;
        let never = Period::new(last, last, chrono_tz::UTC);
        assert_eq!(never, Err(PeriodError::OutOfCalendar));
    }
}
