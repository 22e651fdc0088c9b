//! How much may be held and texted, before somebody looks: limits against abuse and cost.

use serde::Deserialize;

use super::complaints::Complaints;
use crate::money::{Currency, Money};

/// How many unpaid bookings may hold slots at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Holds {
    /// For one phone.
    pub per_phone: u32,
    /// Over one source, such as a web form.
    pub per_source: u32,
}

impl Default for Holds {
    fn default() -> Self {
        Self {
            per_phone: 3,
            per_source: 200,
        }
    }
}

impl Holds {
    pub(super) fn complaints(self) -> Complaints {
        let mut complaints = Complaints::default();
        let allowed = 1..=1000;
        complaints.require(allowed.contains(&self.per_phone), "per_phone: 1 to 1000");
        complaints.require(allowed.contains(&self.per_source), "per_source: 1 to 1000");
        complaints
    }
}

/// What texting may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmsLimits {
    /// How many parts may go out on one day; a long text has several.
    pub parts_per_day_max: u32,
    /// What one part costs, for the sums that people are shown.
    pub part_price: Money,
}

impl Default for SmsLimits {
    fn default() -> Self {
        let (pence, none) = (Money::new(4, Currency::GBP), Money::zero(Currency::GBP));
        Self {
            parts_per_day_max: 1000,
            part_price: pence.unwrap_or(none),
        }
    }
}

impl SmsLimits {
    pub(super) fn complaints(self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            (1..=1_000_000).contains(&self.parts_per_day_max),
            "parts_per_day_max: 1 to 1000000",
        );
        complaints.require(
            (1..=1_000_000).contains(&self.part_price.minor()),
            "part_price: 1 to 1000000 minor units",
        );
        complaints
    }
}
