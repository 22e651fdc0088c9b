//! The rules that are copied onto each case.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::dunning::business_days::{BusinessDays, NoHolidayData, Region};
use crate::dunning::window::{SendingWindow, wall_time};
use crate::venue::complaints::Complaints;

/// When the daily sweep starts, on the wall of the template's `DunningZone`.
const SWEEP_AT: NaiveTime = NaiveTime::from_hms_opt(9, 0, 0).expect("it is a time");

/// No network says longer, and no bank holidays are known that far ahead.
const WAIT_MAX: TimeDelta = TimeDelta::days(3650);

/// The rules that decide about a case.
///
/// They are stored on each case, so they are read from rows that a newer version wrote: a field that
/// this one does not know is left alone there, and is a complaint only where a policy is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Which edition of the business's rules this is.
    pub edition: String,
    /// IANA name: where the business's wall is.
    pub zone: Tz,
    /// Whose bank holidays are kept.
    pub region: Region,
    /// The weekdays that are no business days.
    pub weekend: Vec<Weekday>,
    /// The ladder: how many business days after an attempt the next one is.
    pub gaps_business_days: Vec<u32>,
    /// When the wall shows this, as `HH:MM`.
    #[serde(with = "wall_time")]
    pub retry_at: NaiveTime,
    /// The hours in which cards are charged and customers written to.
    pub window: SendingWindow,
    /// An attempt that comes later than this is put on the next business day instead, in minutes.
    pub late_max_minutes: u32,
    /// How many attempts a case may have beside the ladder, each after a card was updated.
    pub extra_attempts_max: u32,
    /// After how many minutes each the provider is asked again about an attempt without an answer.
    pub look_again_minutes: Vec<u32>,
    /// How long after its first failure a case is left alone, in days.
    pub abandon_after_days: u32,
    /// How often a customer whose access is paused is written to, in days.
    pub reping_every_days: u32,
    pub repings_max: u32,
    /// How long a link in a mail can be used, in days.
    pub link_valid_days: u32,
    /// What becomes of the access when the business gives the invoice up.
    pub uncollectible_access: Access,
    /// What becomes of the access when the invoice is voided.
    pub voided_access: Access,
    /// Who decides about money that comes after the subscription was cancelled.
    pub after_cancellation: AfterCancellation,
    /// What becomes of the open invoice of a subscription that was cancelled.
    pub cancelled_invoice: CancelledInvoice,
    /// Whether a recovered payment is confirmed by mail.
    pub receipts: bool,
    /// Whether a customer gets at most one mail a day, however many invoices are open.
    pub one_mail_per_day: bool,
}

/// What becomes of a paused access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It stays as it is.
    Keep,
    Restore,
}

/// Who decides about money that comes after the subscription was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCancellation {
    Person,
}

/// What becomes of the open invoice of a subscription that was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CancelledInvoice {
    /// It is neither charged nor voided.
    Leave,
}

impl Terms {
    /// How these terms count days.
    pub fn business_days(&self) -> BusinessDays {
        BusinessDays {
            region: self.region,
            weekend: self.weekend.clone(),
        }
    }

    /// When step `step` of the ladder (from 0) is due, after an attempt or a first failure; `None` if
    /// the ladder has no such step.
    ///
    /// The gap is counted in business days from the local day of `after`. If `wait` (how long a
    /// network says to stay away) ends later, it is the first business moment after that: a wait
    /// never makes it earlier.
    ///
    /// # Errors
    /// [`NoHolidayData`] if a day up to it is of a year without data.
    pub fn next_retry(
        &self,
        step: usize,
        after: DateTime<Utc>,
        wait: Option<TimeDelta>,
    ) -> Result<Option<DateTime<Utc>>, NoHolidayData> {
        let Some(gap) = self.gaps_business_days.get(step) else {
            return Ok(None);
        };
        let day = after.with_timezone(&self.zone).date_naive();
        let day = self.business_days().after(day, *gap)?;
        let wait = wait.unwrap_or_default().clamp(TimeDelta::zero(), WAIT_MAX);
        let earliest = after + wait;
        let earliest_day = earliest.with_timezone(&self.zone).date_naive();
        self.slot(day.max(earliest_day), self.retry_at, earliest)
            .map(Some)
    }

    /// `at` itself, if it is in the window of a business day, or the next moment that is.
    ///
    /// # Errors
    /// As [`Self::next_retry`].
    pub fn next_open(&self, at: DateTime<Utc>) -> Result<DateTime<Utc>, NoHolidayData> {
        let day = at.with_timezone(&self.zone).date_naive();
        self.slot(day, self.window.from, at)
    }

    /// The first moment of a business day, from `day` on, at which the wall shows `time` or that
    /// is `earliest`, whichever is later.
    fn slot(
        &self,
        mut day: chrono::NaiveDate,
        time: NaiveTime,
        earliest: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, NoHolidayData> {
        let days = self.business_days();
        // Ends with the bank holidays at the latest.
        loop {
            day = days.on_or_after(day)?;
            if let Some(at) = self.window.on(day, time, earliest, self.zone) {
                return Ok(at);
            }
            day = days.next(day)?;
        }
    }

    pub(super) fn complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            (1..=40).contains(&self.edition.trim().len()),
            "edition: must have 1 to 40 characters",
        );
        let weekend: BTreeSet<u32> = self
            .weekend
            .iter()
            .map(Weekday::num_days_from_monday)
            .collect();
        complaints.require(
            weekend.len() == self.weekend.len() && weekend.len() <= 4,
            "weekend: at most 4 weekdays, each once",
        );
        complaints.extend(self.ladder_complaints());
        complaints.extend(self.limit_complaints());
        complaints
    }

    fn ladder_complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        let gaps = &self.gaps_business_days;
        complaints.require(
            (1..=8).contains(&gaps.len()) && gaps.iter().all(|gap| (1..=15).contains(gap)),
            "gaps_business_days: 1 to 8 gaps of 1 to 15 days",
        );
        complaints.require(
            self.window.from < self.window.to,
            "window: from must be before to",
        );
        complaints.require(
            self.window.has_time(SWEEP_AT),
            "window: must have 09:00, when the daily sweep sends the mails that waited",
        );
        complaints.require(
            self.window.has_time(self.retry_at),
            "retry_at: must be in the window",
        );
        let looks = &self.look_again_minutes;
        complaints.require(
            (1..=6).contains(&looks.len())
                && looks.iter().all(|minutes| (1..=1440).contains(minutes))
                && looks.is_sorted(),
            "look_again_minutes: 1 to 6 waits of 1 to 1440 minutes, none shorter than the one before",
        );
        complaints.require(
            (7..=365).contains(&self.abandon_after_days) && self.outlives_the_ladder(),
            "abandon_after_days: 7 to 365, and longer than the ladder",
        );
        complaints
    }

    /// Whether the last retry comes before the case is left alone, bank holidays aside.
    fn outlives_the_ladder(&self) -> bool {
        let business_days = self
            .gaps_business_days
            .iter()
            .fold(0_u32, |sum, gap| sum.saturating_add(*gap));
        let per_week = 7 - self.weekend.len().min(6);
        let weeks =
            usize::try_from(business_days).map_or(usize::MAX, |days| days.div_ceil(per_week));
        let days = u32::try_from(weeks.saturating_mul(7)).unwrap_or(u32::MAX);
        days <= self.abandon_after_days
    }

    fn limit_complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        for (name, value, allowed) in [
            ("late_max_minutes", self.late_max_minutes, 15..=1440),
            ("extra_attempts_max", self.extra_attempts_max, 0..=20),
            ("reping_every_days", self.reping_every_days, 1..=60),
            ("repings_max", self.repings_max, 0..=12),
            ("link_valid_days", self.link_valid_days, 1..=30),
        ] {
            let (from, to) = (allowed.start(), allowed.end());
            complaints.require(allowed.contains(&value), format!("{name}: {from} to {to}"));
        }
        complaints
    }
}
