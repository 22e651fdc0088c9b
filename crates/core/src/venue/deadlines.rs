//! By when a deposit is due, and when a customer may be reminded of it.

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::complaints::{Complaints, is_whole_minute};
use super::{Policy, minutes};
use crate::local_time::{at_wall, days_before_at};
use crate::planted::{self, Defect};

/// How long before the quiet hours a reminder is due that would fall into them: the sweep that sends
/// it comes every five minutes, and the text must be written too.
const QUIET_LEAD: TimeDelta = TimeDelta::minutes(10);
/// How soon after the booking a reminder may come.
const REMINDER_AFTER_MIN: TimeDelta = TimeDelta::minutes(5);
const QUIET_MAX: TimeDelta = TimeDelta::hours(14);

/// An hour on the wall at the venue, so many days before the day of the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayBy {
    pub days_before: u32,
    pub at: NaiveTime,
}

/// Hours of every day, on the wall at the venue, up to but not with `to`; they may span midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    pub from: NaiveTime,
    pub to: NaiveTime,
}

impl Quiet {
    fn has(self, time: NaiveTime) -> bool {
        match self.from < self.to {
            true => self.from <= time && time < self.to,
            false => self.from <= time || time < self.to,
        }
    }

    fn length(self) -> TimeDelta {
        match self.to - self.from {
            length if length < TimeDelta::zero() => length + TimeDelta::days(1),
            length => length,
        }
    }

    /// When the quiet hours that `at` is in began; `None` if it is in none.
    fn began_at(self, at: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let local = at.with_timezone(&zone).naive_local();
        if !self.has(local.time()) {
            return None;
        }
        let day = match self.from <= local.time() {
            true => local.date(),
            false => local.date().checked_sub_days(Days::new(1))?,
        };
        Some(at_wall(day.and_time(self.from), zone))
    }
}

impl Policy {
    /// When the deposit of a booking made `now` is due: within `pay_within` and by
    /// [`Policy::deposit_due_by`], but never sooner than `pay_time_min` from now, and never after
    /// the start.
    pub fn deposit_deadline(
        &self,
        now: DateTime<Utc>,
        starts_at: DateTime<Utc>,
        zone: Tz,
    ) -> DateTime<Utc> {
        let within = match planted::is(Defect::HoldByWallClock) {
            true => {
                let wall = now.with_timezone(&zone).naive_local();
                at_wall(wall + minutes(self.pay_within), zone)
            }
            false => now + minutes(self.pay_within),
        };
        let wanted = within.min(self.deposit_due_by(starts_at, zone));
        wanted.max(now + minutes(self.pay_time_min)).min(starts_at)
    }

    /// By when the deposit for a start is wanted, whenever it was booked: ahead of it by
    /// `start_buffer`, and by `pay_by`.
    pub fn deposit_due_by(&self, starts_at: DateTime<Utc>, zone: Tz) -> DateTime<Utc> {
        let by_buffer = starts_at - minutes(self.start_buffer);
        self.pay_by.map_or(by_buffer, |rule| {
            by_buffer.min(days_before_at(starts_at, zone, rule.days_before, rule.at))
        })
    }

    /// When the one reminder goes out; none if the customer has hardly longer than to pay at once.
    ///
    /// One that would fall into quiet hours goes out shortly before they begin. If that is too soon
    /// after the booking it stays where it is, and whoever sends it has to find a quiet way.
    pub fn remind_at(
        &self,
        now: DateTime<Utc>,
        deadline: DateTime<Utc>,
        zone: Tz,
    ) -> Option<DateTime<Utc>> {
        let available = deadline - now;
        if available <= minutes(self.pay_time_min) {
            return None;
        }
        let wanted = deadline - minutes(self.remind_before).min(available / 2);
        let before_quiet = self
            .quiet
            .and_then(|quiet| quiet.began_at(wanted, zone))
            .map(|began_at| began_at - QUIET_LEAD)
            .filter(|at| *at >= now + REMINDER_AFTER_MIN);
        Some(before_quiet.unwrap_or(wanted))
    }

    /// Whether no customer's phone should ring at a moment.
    pub fn is_quiet(&self, at: DateTime<Utc>, zone: Tz) -> bool {
        let time = at.with_timezone(&zone).time();
        self.quiet.is_some_and(|quiet| quiet.has(time))
    }

    pub(super) fn deadline_complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            (30..=43_200).contains(&self.pay_within),
            "pay_within: 30 minutes to 30 days",
        );
        complaints.require(
            (5..=1440).contains(&self.pay_time_min),
            "pay_time_min: 5 minutes to a day",
        );
        complaints.require(self.start_buffer <= 43_200, "start_buffer: at most 30 days");
        complaints.require(
            self.remind_before <= self.pay_within,
            "remind_before: at most pay_within",
        );
        let pay_by = self.pay_by;
        complaints.require(
            pay_by.is_none_or(|rule| rule.days_before <= 30),
            "pay_by.days_before: 0 to 30",
        );
        complaints.require(
            pay_by.is_none_or(|rule| is_whole_minute(rule.at)),
            "pay_by.at: a whole minute, such as 18:00:00",
        );
        let quiet = self.quiet;
        complaints.require(
            quiet.is_none_or(|quiet| quiet.from != quiet.to && quiet.length() <= QUIET_MAX),
            "quiet: from and to must differ, by at most 14 hours",
        );
        complaints.require(
            quiet.is_none_or(|quiet| is_whole_minute(quiet.from) && is_whole_minute(quiet.to)),
            "quiet: from and to must be whole minutes, such as 21:00:00",
        );
        complaints
    }
}
