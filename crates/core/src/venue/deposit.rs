//! What deposit a booking takes: by resource, party, weekday, hour and date.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;
use serde::Deserialize;

use super::complaints::{Complaints, is_whole_minute};
use super::resource::{PARTY_MAX, Resource};
use crate::money::{Currency, Money, Rounding};

/// The most special cases that one resource may have.
const WHEN_MAX: usize = 50;

/// How a deposit is reckoned, in minor units of the venue's currency.
///
/// One of `{"per_booking": 2000}`, `{"per_guest": 1000}`, `{"percent": 20, "of_per_booking": 9000}`
/// and `{"percent": 20, "of_per_guest": 6500}`; a `"minimum"` beside it is the least that a booking
/// takes. The percentage is of the sum for all guests, and rounded once: to the nearest minor unit,
/// a half upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Given")]
pub struct DepositRule {
    price: Price,
    /// 100 for a deposit that is given as an amount.
    percent: u32,
    minimum: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    PerBooking(i64),
    PerGuest(i64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    per_booking: Option<i64>,
    per_guest: Option<i64>,
    percent: Option<u32>,
    of_per_booking: Option<i64>,
    of_per_guest: Option<i64>,
    minimum: Option<i64>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "deposit: give per_booking, or per_guest, or percent (1 to 100) with of_per_booking or of_per_guest"
)]
struct UnclearRule;

#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error(transparent)]
    Unclear(#[from] UnclearRule),
    #[error("deposit.minimum: must be above zero")]
    Minimum,
}

impl TryFrom<Given> for DepositRule {
    type Error = RuleError;

    fn try_from(given: Given) -> Result<Self, RuleError> {
        let Given {
            per_booking,
            per_guest,
            percent,
            of_per_booking,
            of_per_guest,
            minimum,
        } = given;
        let (price, percent) = match (
            per_booking,
            per_guest,
            percent,
            of_per_booking,
            of_per_guest,
        ) {
            (Some(minor), None, None, None, None) => (Price::PerBooking(minor), 100),
            (None, Some(minor), None, None, None) => (Price::PerGuest(minor), 100),
            (None, None, Some(percent @ 1..=100), Some(minor), None) => {
                (Price::PerBooking(minor), percent)
            }
            (None, None, Some(percent @ 1..=100), None, Some(minor)) => {
                (Price::PerGuest(minor), percent)
            }
            _ => return Err(UnclearRule.into()),
        };
        let minimum = match minimum {
            None => 0,
            Some(minimum @ 1..) => minimum,
            Some(..1) => return Err(RuleError::Minimum),
        };
        Ok(Self {
            price,
            percent,
            minimum,
        })
    }
}

impl DepositRule {
    /// `None` if it is too large to be an amount.
    fn amount(self, party: u32, currency: Currency) -> Option<Money> {
        let price = match self.price {
            Price::PerBooking(minor) => minor,
            Price::PerGuest(minor) => minor.checked_mul(i64::from(party))?,
        };
        let price = Money::new(price, currency).ok()?;
        let share = price.percent(self.percent * 100, Rounding::HalfUp).ok()?;
        Money::new(share.minor().max(self.minimum), currency).ok()
    }

    /// A percentage grows in steps, so every party is tried.
    fn complaints(self, parties: RangeInclusive<u32>, currency: Currency) -> Complaints {
        let mut complaints = Complaints::default();
        let (Price::PerBooking(price) | Price::PerGuest(price)) = self.price;
        let amounts = parties.map(|party| (party, self.amount(party, currency)));
        let zero = amounts
            .clone()
            .find(|(_, amount)| amount.is_none_or(|amount| amount.minor() == 0));
        complaints.require(
            price > 0 && zero.is_none(),
            "deposit: must be above zero, and an amount, for every party",
        );
        let odd = amounts
            .filter_map(|(party, amount)| Some((party, amount?)))
            .find(|(_, amount)| amount.to_stripe().is_err());
        if let Some((party, amount)) = odd {
            let what =
                format!("deposit: the provider can't charge {amount}, the deposit for {party}");
            complaints.require(false, what);
        }
        complaints
    }
}

/// A deposit of its own for some bookings. Every condition that is given must hold.
///
/// All of them look at the start, on the wall at the venue. If `to` is not after `from` the hours
/// go on past midnight, and a start in the small hours belongs to the day before: 22:00 to 02:00 on
/// Fridays has Saturday 01:00.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositWhen {
    pub days: Option<Vec<Weekday>>,
    pub dates: Option<Vec<NaiveDate>>,
    /// Midnight, if absent.
    pub from: Option<NaiveTime>,
    /// Not that time itself; midnight, if absent.
    pub to: Option<NaiveTime>,
    /// The smallest party.
    pub party_from: Option<u32>,
    pub deposit: DepositRule,
}

impl DepositWhen {
    fn fits(&self, party: u32, starts_at: DateTime<Utc>, zone: Tz) -> bool {
        let local = starts_at.with_timezone(&zone).naive_local();
        let (today, time) = (local.date(), local.time());
        let (from, to) = self.hours();
        let goes_on = to <= from && to > NaiveTime::MIN;
        let (day, in_hours) = match goes_on && time < to {
            true => (today.pred_opt().unwrap_or(today), true),
            false => (today, time >= from && (to <= from || time < to)),
        };
        in_hours
            && self.party_from.is_none_or(|least| party >= least)
            && self
                .days
                .as_ref()
                .is_none_or(|days| days.contains(&day.weekday()))
            && self.dates.as_ref().is_none_or(|dates| dates.contains(&day))
    }

    fn hours(&self) -> (NaiveTime, NaiveTime) {
        (self.from.unwrap_or_default(), self.to.unwrap_or_default())
    }

    fn complaints(&self, party_max: u32, currency: Currency) -> Complaints {
        let mut complaints = Complaints::default();
        let (from, to) = self.hours();
        let has_hours = self.from.is_some() || self.to.is_some();
        complaints.require(
            has_hours || self.days.is_some() || self.dates.is_some() || self.party_from.is_some(),
            "deposit: needs a condition: days, dates, from, to or party_from",
        );
        complaints.require(
            self.days.as_ref().is_none_or(|days| !days.is_empty()),
            "days: must name a weekday, such as Fri",
        );
        complaints.require(
            self.dates.as_ref().is_none_or(|dates| !dates.is_empty()),
            "dates: must name a day, such as 2026-12-24",
        );
        complaints.require(!has_hours || from != to, "from and to: must differ");
        complaints.require(
            is_whole_minute(from) && is_whole_minute(to),
            "from and to: whole minutes",
        );
        let least = self.party_from.unwrap_or(1);
        complaints.require(
            (1..=party_max).contains(&least),
            format!("party_from: 1 to party_max, which is {party_max}"),
        );
        let amounts = self.deposit.complaints(least.max(1)..=party_max, currency);
        complaints.extend(amounts);
        complaints
    }
}

impl Resource {
    /// The deposit for a party at a start: by the first special case that fits, or else the plain
    /// rule. `None` if it is too large to be an amount, which no venue that was read has.
    pub fn deposit(
        &self,
        party: u32,
        starts_at: DateTime<Utc>,
        zone: Tz,
        currency: Currency,
    ) -> Option<Money> {
        let special = self
            .deposit_when
            .iter()
            .find(|when| when.fits(party, starts_at, zone));
        let rule = special.map_or(self.deposit, |when| when.deposit);
        rule.amount(party, currency)
    }

    pub(super) fn deposit_complaints(&self, currency: Currency) -> Complaints {
        let party_max = self.party_max.min(PARTY_MAX);
        let mut complaints = self.deposit.complaints(1..=party_max, currency);
        complaints.require(
            self.deposit_when.len() <= WHEN_MAX,
            format!("deposit_when: at most {WHEN_MAX}"),
        );
        for (index, when) in self.deposit_when.iter().take(WHEN_MAX).enumerate() {
            let found = when.complaints(party_max, currency);
            complaints.under(&format!("deposit_when.{index}"), found);
        }
        complaints
    }
}
