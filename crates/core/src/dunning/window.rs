//! The hours of a day in which a card may be charged and a customer written to, on the wall.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::local_time::at_wall;

/// How many days ahead an opening is looked for; no zone skips two days.
const DAYS_AHEAD_MAX: u64 = 3;

/// The hours of every day from `from` up to but not with `to`, both as `HH:MM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendingWindow {
    #[serde(with = "wall_time")]
    pub from: NaiveTime,
    #[serde(with = "wall_time")]
    pub to: NaiveTime,
}

impl SendingWindow {
    /// Whether the wall in `zone` shows a time of the window.
    pub fn has(self, at: DateTime<Utc>, zone: Tz) -> bool {
        self.has_time(at.with_timezone(&zone).time())
    }

    pub(super) fn has_time(self, time: NaiveTime) -> bool {
        self.from <= time && time < self.to
    }

    /// `at` itself, if it is in the window, or the next moment that is.
    ///
    /// The weekday does not matter here; see [`super::policy::Terms::next_open`].
    pub fn next_opening(self, at: DateTime<Utc>, zone: Tz) -> DateTime<Utc> {
        let today = at.with_timezone(&zone).date_naive();
        (0..=DAYS_AHEAD_MAX)
            .filter_map(|days| today.checked_add_days(Days::new(days)))
            .find_map(|day| self.on(day, self.from, at, zone))
            .unwrap_or(at)
    }

    /// The moment of a day at which the wall shows `time`, but not before `earliest`; `None` if that
    /// is not in the window of that day.
    pub(super) fn on(
        self,
        day: NaiveDate,
        time: NaiveTime,
        earliest: DateTime<Utc>,
        zone: Tz,
    ) -> Option<DateTime<Utc>> {
        let at = retry_instant(zone, day, time).max(earliest);
        let local = at.with_timezone(&zone).naive_local();
        (local.date() == day && self.has_time(local.time())).then_some(at)
    }
}

/// The moment when the wall shows `hour` on a day: the first moment after a gap that the clocks
/// skip, the earlier of two.
pub fn retry_instant(zone: Tz, day: NaiveDate, hour: NaiveTime) -> DateTime<Utc> {
    at_wall(day.and_time(hour), zone)
}

/// A time as `HH:MM`: a rule has no seconds.
pub(super) mod wall_time {
    use chrono::NaiveTime;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &NaiveTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&time.format("%H:%M"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<NaiveTime, D::Error> {
        let text = String::deserialize(from)?;
        let time = NaiveTime::parse_from_str(&text, "%H:%M").ok();
        time.filter(|time| time.format("%H:%M").to_string() == text)
            .ok_or_else(|| D::Error::custom(format!("{text:?} is no time such as 09:00")))
    }
}

#[cfg(test)]
mod tests;
