//! When a resource can be booked.

use chrono::{DateTime, Datelike, NaiveTime, Timelike, Utc, Weekday};
use chrono_tz::Tz;
use serde::Deserialize;

use super::Resource;

/// One stretch of opening time, in local time, on some weekdays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub days: Vec<Weekday>,
    pub from: NaiveTime,
    pub to: NaiveTime,
}

impl Resource {
    /// Whether it is open for the whole of a booking that starts then.
    pub fn is_open(&self, starts_at: DateTime<Utc>, zone: Tz) -> bool {
        let local = starts_at.with_timezone(&zone);
        let ends = local.time().num_seconds_from_midnight() / 60 + self.duration_minutes;
        self.opening.is_empty()
            || self.opening.iter().any(|opening| {
                opening.days.contains(&local.weekday())
                    && opening.from <= local.time()
                    && ends <= opening.to.num_seconds_from_midnight() / 60
            })
    }
}
