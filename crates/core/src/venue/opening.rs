//! When a resource can be booked.
//!
//! Opening times are wall times, bookings are moments. Each stretch begins and ends when the wall
//! at the venue shows its times, so the night of a clock change is an hour longer or shorter.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;
use serde::Deserialize;

use super::Resource;
use super::complaints::{Complaints, is_whole_minute};
use crate::local_time::at_wall;

/// One stretch of opening time, in local time, on some weekdays.
///
/// If `to` is not after `from` it is on the next day: 18:00 to 02:00 on Fridays is Friday night,
/// and 00:00 to 00:00 a whole day.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub days: Vec<Weekday>,
    pub from: NaiveTime,
    pub to: NaiveTime,
}

/// From a moment up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

impl Stretch {
    /// Whether all of another stretch is in it.
    pub fn covers(self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

impl Opening {
    pub(super) fn complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            !self.days.is_empty(),
            "days: must name a weekday, such as Fri",
        );
        complaints.require(
            is_whole_minute(self.from) && is_whole_minute(self.to),
            "from and to: whole minutes",
        );
        complaints.require(
            self.from != self.to || self.from == NaiveTime::MIN,
            "from and to: must differ, but for a whole day from 00:00:00 to 00:00:00",
        );
        complaints
    }

    /// The stretch that begins on a day; none on other weekdays, or if the clocks skip all of it.
    fn on(&self, day: NaiveDate, zone: Tz) -> Option<Stretch> {
        if !self.days.contains(&day.weekday()) {
            return None;
        }
        let last_day = match self.to > self.from {
            true => day,
            false => day.checked_add_days(Days::new(1))?,
        };
        let from = at_wall(day.and_time(self.from), zone);
        let to = at_wall(last_day.and_time(self.to), zone);
        (from < to).then_some(Stretch { from, to })
    }
}

impl Resource {
    /// Whether it is open for the whole of a booking that starts then.
    pub fn is_open(&self, starts_at: DateTime<Utc>, zone: Tz) -> bool {
        let booking = Stretch {
            from: starts_at,
            to: self.ends_at(starts_at),
        };
        let mut open = self.open_during(booking, zone).into_iter();
        open.any(|stretch| stretch.covers(booking))
    }

    /// The stretches of opening time that have something of `asked`, in order, and those that touch
    /// as one.
    pub fn open_during(&self, asked: Stretch, zone: Tz) -> Vec<Stretch> {
        if self.opening.is_empty() {
            return vec![asked];
        }
        let day_of = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
        let first_day = day_of(asked.from);
        // Last night may still be going on.
        let first_day = first_day.pred_opt().unwrap_or(first_day);
        let last_day = day_of(asked.to);
        let days = first_day.iter_days().take_while(|day| *day <= last_day);
        let mut stretches: Vec<Stretch> = days
            .flat_map(|day| {
                self.opening
                    .iter()
                    .filter_map(move |opening| opening.on(day, zone))
            })
            .collect();
        stretches.sort_unstable();
        let mut merged: Vec<Stretch> = Vec::new();
        for stretch in stretches {
            match merged.last_mut() {
                Some(last) if stretch.from <= last.to => last.to = last.to.max(stretch.to),
                Some(_) | None => merged.push(stretch),
            }
        }
        merged.retain(|stretch| stretch.from < asked.to && asked.from < stretch.to);
        merged
    }
}
