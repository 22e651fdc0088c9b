//! A venue's policy as data: what can be booked, what deposit it takes, and which deadlines hold.
//!
//! Checked as a whole when a function starts. The part that decides about money is copied onto
//! each booking, so a later edit never changes an older one.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Timelike, Utc, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::money::{Currency, Money};

/// The most rows that one booking may hold: a step has at most 100 parts, some for other things.
const SLOT_ROWS_MAX: u32 = 40;

/// The venue that is deployed unless a `VENUE` variable replaces it.
pub const BUILT_IN: &str = include_str!("../../../policy/venue.json");

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Venue {
    pub name: String,
    /// IANA name.
    pub zone: Tz,
    /// The region that a phone number without a country code belongs to, such as `GB`.
    pub phone_region: String,
    pub currency: Currency,
    pub resources: Vec<Resource>,
    pub policy: Policy,
}

/// Something that can be booked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub id: String,
    /// What a customer calls it, such as `table`.
    pub label: String,
    /// Starts are multiples of this after midnight, local time.
    pub grid_minutes: u32,
    pub duration_minutes: u32,
    #[serde(default = "one")]
    pub capacity: u32,
    /// Whether each guest takes one of the capacity, or the whole party does.
    #[serde(default)]
    pub capacity_is: CapacityIs,
    pub party_max: u32,
    /// When it can be booked; always, if absent.
    #[serde(default)]
    pub opening: Vec<Opening>,
    pub deposit: DepositRule,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityIs {
    #[default]
    Parties,
    Guests,
}

/// One stretch of opening time, in local time, on some weekdays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub days: Vec<Weekday>,
    pub from: NaiveTime,
    pub to: NaiveTime,
}

/// A fixed deposit in minor units, for the booking or for each guest.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DepositRule {
    PerBooking(i64),
    PerGuest(i64),
}

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
    /// A customer always gets this long, or up to the start.
    pub pay_time_min: u32,
    /// How long before the deadline the one reminder goes out.
    pub remind_before: u32,
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
#[serde(deny_unknown_fields)]
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

fn one() -> u32 {
    1
}

fn default_late_grace() -> u32 {
    15
}

fn default_case_within() -> u32 {
    1440
}

/// Turns minutes of a policy into a duration.
pub fn minutes(minutes: u32) -> TimeDelta {
    TimeDelta::minutes(i64::from(minutes))
}

impl Venue {
    /// Reads and checks a venue.
    ///
    /// # Errors
    /// All that is wrong with it, each with the field.
    pub fn from_json(text: &str) -> Result<Self, Vec<String>> {
        let venue: Self = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
        let mut complaints = venue.complaints();
        complaints.extend(venue.policy.unknown_fields(text));
        if complaints.is_empty() {
            Ok(venue)
        } else {
            Err(complaints)
        }
    }

    pub fn resource(&self, id: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.id == id)
    }

    fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut ids = BTreeSet::new();
        if self.name.trim().is_empty() || self.name.len() > 40 {
            complaints.push("name: must have 1 to 40 characters".to_owned());
        }
        if self.resources.is_empty() {
            complaints.push("resources: must not be empty".to_owned());
        }
        for resource in &self.resources {
            if !ids.insert(&resource.id) {
                complaints.push(format!("resources.{}: stands twice", resource.id));
            }
            let found = resource.complaints(self.currency);
            complaints.extend(
                found
                    .iter()
                    .map(|what| format!("resources.{}.{what}", resource.id)),
            );
        }
        complaints.extend(self.policy.complaints());
        complaints
    }
}

impl Resource {
    fn complaints(&self, currency: Currency) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut require = |holds: bool, what: &str| {
            if !holds {
                complaints.push(what.to_owned());
            }
        };
        let id_fits = self.id.len() <= 40
            && !self.id.is_empty()
            && self
                .id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        require(id_fits, "id: 1 to 40 letters, digits and hyphens");
        // A longer grid would step over the hour that a clock change takes away or repeats.
        let grid_fits = self.grid_minutes > 0 && 60_u32.is_multiple_of(self.grid_minutes);
        require(grid_fits, "grid_minutes: must divide an hour");
        let duration_fits = grid_fits
            && self.duration_minutes > 0
            && self.duration_minutes <= 1440
            && self.duration_minutes.is_multiple_of(self.grid_minutes);
        require(
            duration_fits,
            "duration_minutes: must be a multiple of the grid, at most a day",
        );
        require((1..=100).contains(&self.capacity), "capacity: 1 to 100");
        require((1..=1000).contains(&self.party_max), "party_max: 1 to 1000");
        let units_fit = self.capacity_is == CapacityIs::Parties || self.party_max <= self.capacity;
        require(units_fit, "party_max: is over the capacity");
        let rows = duration_fits.then(|| {
            (self.duration_minutes / self.grid_minutes).saturating_mul(self.units(self.party_max))
        });
        require(
            rows.is_none_or(|rows| rows <= SLOT_ROWS_MAX),
            "party_max: one booking would hold over 40 rows",
        );
        let deposit = self.deposit(self.party_max, currency);
        require(
            deposit.is_some_and(|deposit| deposit.minor() > 0),
            "deposit: must be above zero",
        );
        require(
            self.opening.iter().all(|opening| opening.from < opening.to),
            "opening: from must be before to",
        );
        complaints
    }

    /// How many of the capacity a party takes.
    pub fn units(&self, party: u32) -> u32 {
        match self.capacity_is {
            CapacityIs::Parties => 1,
            CapacityIs::Guests => party,
        }
    }

    /// The deposit for a party; `None` if it is too large to be an amount.
    pub fn deposit(&self, party: u32, currency: Currency) -> Option<Money> {
        let minor = match self.deposit {
            DepositRule::PerBooking(minor) => minor,
            DepositRule::PerGuest(minor) => minor.checked_mul(i64::from(party))?,
        };
        Money::new(minor, currency).ok()
    }

    pub fn ends_at(&self, starts_at: DateTime<Utc>) -> DateTime<Utc> {
        starts_at + minutes(self.duration_minutes)
    }

    /// Whether a booking may start then: on the grid of the local day.
    pub fn is_on_grid(&self, starts_at: DateTime<Utc>, zone: Tz) -> bool {
        let local = starts_at.with_timezone(&zone).time();
        let minute = local.num_seconds_from_midnight() / 60;
        local.second() == 0 && local.nanosecond() == 0 && minute.is_multiple_of(self.grid_minutes)
    }

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

impl Policy {
    fn unknown_fields(&self, venue: &str) -> Vec<String> {
        let given: Value = serde_json::from_str(venue).unwrap_or_default();
        let known = serde_json::to_value(self).unwrap_or_default();
        let given = given["policy"].as_object().cloned().unwrap_or_default();
        let unknown = given
            .keys()
            .filter(|name| known.get(name.as_str()).is_none());
        unknown
            .map(|name| format!("policy.{name}: is not a rule"))
            .collect()
    }

    fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut require = |holds: bool, what: &str| {
            if !holds {
                complaints.push(format!("policy.{what}"));
            }
        };
        require(
            (30..=43_200).contains(&self.pay_within),
            "pay_within: 30 minutes to 30 days",
        );
        require(
            (5..=1440).contains(&self.pay_time_min),
            "pay_time_min: 5 minutes to a day",
        );
        require(self.start_buffer <= 43_200, "start_buffer: at most 30 days");
        require(
            self.remind_before <= self.pay_within,
            "remind_before: at most pay_within",
        );
        require(self.funds_within <= 20_160, "funds_within: at most 14 days");
        require(self.settle_after <= 43_200, "settle_after: at most 30 days");
        require(
            self.free_cancellation <= 525_600,
            "free_cancellation: at most a year",
        );
        let partial = self.partial_cancellation;
        require(
            partial.is_none_or(|partial| partial.until < self.free_cancellation),
            "partial_cancellation.until: must be less than free_cancellation",
        );
        require(
            partial.is_none_or(|partial| (1..100).contains(&partial.percent)),
            "partial_cancellation.percent: 1 to 99",
        );
        require(self.late_grace <= 1440, "late_grace: at most a day");
        require(
            (30..=10_080).contains(&self.case_within),
            "case_within: 30 minutes to 7 days",
        );
        complaints
    }

    /// When the deposit of a booking made `now` is due: within `pay_within`, ahead of the start by
    /// `start_buffer`, but never sooner than `pay_time_min` from now, and never after the start.
    pub fn deposit_deadline(&self, now: DateTime<Utc>, starts_at: DateTime<Utc>) -> DateTime<Utc> {
        let wanted = (now + minutes(self.pay_within)).min(starts_at - minutes(self.start_buffer));
        wanted.max(now + minutes(self.pay_time_min)).min(starts_at)
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

    /// When the one reminder goes out; none if the customer has hardly longer than to pay at once.
    pub fn remind_at(&self, now: DateTime<Utc>, deadline: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let available = deadline - now;
        (available > minutes(self.pay_time_min))
            .then(|| deadline - minutes(self.remind_before).min(available / 2))
    }
}
