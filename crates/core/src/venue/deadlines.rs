//! By when a deposit is due, and when a customer is reminded of it.

use chrono::{DateTime, Utc};

use super::complaints::Complaints;
use super::{Policy, minutes};

impl Policy {
    /// When the deposit of a booking made `now` is due: within `pay_within`, ahead of the start by
    /// `start_buffer`, but never sooner than `pay_time_min` from now, and never after the start.
    pub fn deposit_deadline(&self, now: DateTime<Utc>, starts_at: DateTime<Utc>) -> DateTime<Utc> {
        let wanted = (now + minutes(self.pay_within)).min(starts_at - minutes(self.start_buffer));
        wanted.max(now + minutes(self.pay_time_min)).min(starts_at)
    }

    /// When the one reminder goes out; none if the customer has hardly longer than to pay at once.
    pub fn remind_at(&self, now: DateTime<Utc>, deadline: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let available = deadline - now;
        (available > minutes(self.pay_time_min))
            .then(|| deadline - minutes(self.remind_before).min(available / 2))
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
        complaints
    }
}
