//! A venue's policy as data: what can be booked, what deposit it takes, and which deadlines hold.
//!
//! Checked as a whole when a function starts. The part that decides about money is copied onto
//! each booking, so a later edit never changes an older one.

pub(crate) mod complaints;
mod deadlines;
mod deposit;
mod limits;
mod opening;
mod policy;
mod resource;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use chrono_tz::Tz;
use serde::Deserialize;

use self::complaints::Complaints;
pub use self::deadlines::{PayBy, Quiet};
pub use self::deposit::{DepositRule, DepositWhen};
pub use self::limits::{Holds, SmsLimits};
pub use self::opening::{Opening, Stretch};
pub use self::policy::{Overpaid, PartialCancellation, Policy, Unmarked};
pub use self::resource::{CapacityIs, Resource};
pub use crate::language::Language;
use crate::local_time::offsets_s;
use crate::money::Currency;
use crate::phone::{Phone, is_region};

/// The venue that is deployed unless a `VENUE` variable replaces it.
pub const BUILT_IN: &str = include_str!("../../../policy/venue.json");

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Venue {
    pub name: String,
    /// IANA name.
    pub zone: Tz,
    /// What customers are written to in.
    #[serde(default)]
    pub language: Language,
    /// The region that a phone number without a country code belongs to, such as `GB`.
    pub phone_region: String,
    /// The countries (ISO 3166, such as `GB`) whose phones may book; all, if empty.
    #[serde(default)]
    pub phone_countries: Vec<String>,
    pub currency: Currency,
    pub resources: Vec<Resource>,
    pub policy: Policy,
    #[serde(default)]
    pub holds: Holds,
    #[serde(default)]
    pub sms: SmsLimits,
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
        let mut complaints = venue.complaints().into_texts();
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

    /// Whether a phone's country may book.
    pub fn takes_phone(&self, phone: &Phone) -> bool {
        self.phone_countries.is_empty()
            || phone
                .country()
                .is_some_and(|country| self.phone_countries.contains(&country))
    }

    fn complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(
            !self.name.trim().is_empty() && self.name.len() <= 40,
            "name: must have 1 to 40 characters",
        );
        complaints.require(
            is_region(&self.phone_region),
            "phone_region: must be the code of a country, such as GB",
        );
        complaints.require(
            self.phone_countries
                .iter()
                .all(|country| is_region(country)),
            "phone_countries: must be codes of countries, such as GB",
        );
        complaints.require(!self.resources.is_empty(), "resources: must not be empty");
        let mut ids = BTreeSet::new();
        let offsets_s = offsets_s(self.zone);
        for resource in &self.resources {
            let name = format!("resources.{}", resource.id);
            complaints.require(ids.insert(&resource.id), format!("{name}: stands twice"));
            complaints.under(
                &name,
                resource.complaints((self.zone, &offsets_s), self.currency),
            );
        }
        complaints.under("policy", self.policy.complaints());
        complaints.under("holds", self.holds.complaints());
        complaints.under("sms", self.sms.complaints());
        complaints
    }
}

#[cfg(test)]
mod tests;
