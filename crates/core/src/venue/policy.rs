//! The rules that are copied onto each booking.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::complaints::{Complaints, unknown_fields};
use super::deadlines::{PayBy, Quiet};
use super::minutes;

/// The rules that decide about a booking's deadlines and money; durations in minutes.
///
/// It is stored on each booking, so it reads rows that a newer version wrote: a field that it does
/// not know is left alone there, and is a complaint only where a venue is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How long a customer has to pay the deposit.
    pub pay_within: u32,
    /// The deposit is due at least this long before the start.
    pub start_buffer: u32,
    /// And by this hour of a day before it.
    #[serde(default)]
    pub pay_by: Option<PayBy>,
    /// A customer always gets this long, or up to the start.
    pub pay_time_min: u32,
    /// How long before the deadline the one reminder goes out.
    pub remind_before: u32,
    /// When no customer's phone should ring.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    /// How long a payment that is under way may take (a bank debit, a voucher).
    pub funds_within: u32,
    /// How long after the end the deposit is settled.
    pub settle_after: u32,
    pub unmarked: Unmarked,
    /// Up to this long before the start a customer who cancels gets the deposit back.
    pub free_cancellation: u32,
    /// After that, for how long which part of it.
    #[serde(default)]
    pub partial_cancellation: Option<PartialCancellation>,
    /// Money that was paid this long after the deadline still gets a slot that is free.
    #[serde(default = "default_late_grace")]
    pub late_grace: u32,
    /// How long a slot stays held while a person looks into money that does not fit.
    #[serde(default = "default_case_within")]
    pub case_within: u32,
    #[serde(default)]
    pub overpaid: Overpaid,
}

/// A part of the deposit for those who cancel late, but not very late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialCancellation {
    /// Up to this many minutes before the start.
    pub until: u32,
    /// How much of the deposit goes back.
    pub percent: u8,
}

/// What to make of more money than the deposit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Overpaid {
    /// Confirm, and give the difference back.
    #[default]
    RefundDifference,
    /// Ask the team, as for too little.
    Ask,
}

/// What to make of a booking on which nobody marked whether the customer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Unmarked {
    /// Ask the team; the deposit stays where it is until they answer.
    Ask,
    AssumeAttended,
}

fn default_late_grace() -> u32 {
    15
}

fn default_case_within() -> u32 {
    1440
}

impl Policy {
    /// What a venue's text says about the policy that this type does not know.
    pub(super) fn unknown_fields(&self, venue: &str) -> Vec<String> {
        let given: Value = serde_json::from_str(venue).unwrap_or_default();
        let known = serde_json::to_value(self).unwrap_or_default();
        unknown_fields("policy", &given["policy"], &known)
    }

    pub(super) fn complaints(&self) -> Complaints {
        let mut complaints = self.deadline_complaints();
        complaints.require(self.funds_within <= 20_160, "funds_within: at most 14 days");
        complaints.require(self.settle_after <= 43_200, "settle_after: at most 30 days");
        complaints.require(
            self.free_cancellation <= 525_600,
            "free_cancellation: at most a year",
        );
        let partial = self.partial_cancellation;
        complaints.require(
            partial.is_none_or(|partial| partial.until < self.free_cancellation),
            "partial_cancellation.until: must be less than free_cancellation",
        );
        complaints.require(
            partial.is_none_or(|partial| (1..100).contains(&partial.percent)),
            "partial_cancellation.percent: 1 to 99",
        );
        complaints.require(self.late_grace <= 1440, "late_grace: at most a day");
        complaints.require(
            (30..=10_080).contains(&self.case_within),
            "case_within: 30 minutes to 7 days",
        );
        complaints
    }

    /// Which part of the deposit a customer who cancels `now` gets back, in percent.
    pub fn refund_percent(&self, now: DateTime<Utc>, starts_at: DateTime<Utc>) -> u8 {
        if now <= starts_at - minutes(self.free_cancellation) {
            return 100;
        }
        self.partial_cancellation
            .filter(|partial| now <= starts_at - minutes(partial.until))
            .map_or(0, |partial| partial.percent)
    }
}
