//! Something that can be booked, on a grid of starts.

use std::collections::BTreeSet;

use chrono::{DateTime, Timelike, Utc};
use chrono_tz::Tz;
use serde::Deserialize;

use super::complaints::Complaints;
use super::deposit::{DepositRule, DepositWhen};
use super::minutes;
use super::opening::Opening;
use crate::money::Currency;

/// The most guests that any booking may be for.
pub(super) const PARTY_MAX: u32 = 1000;
/// The most rows that one booking may hold: a step has at most 100 parts, some for other things.
const SLOT_ROWS_MAX: u32 = 40;

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
    /// What a booking takes that none of `deposit_when` fits.
    pub deposit: DepositRule,
    /// Special cases; the first that fits counts.
    #[serde(default)]
    pub deposit_when: Vec<DepositWhen>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityIs {
    #[default]
    Parties,
    Guests,
}

fn one() -> u32 {
    1
}

impl Resource {
    /// How many of the capacity a party takes.
    pub fn units(&self, party: u32) -> u32 {
        match self.capacity_is {
            CapacityIs::Parties => 1,
            CapacityIs::Guests => party,
        }
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

    /// What is wrong with it, in a zone with these differences from UTC.
    pub(super) fn complaints(&self, zone: (Tz, &BTreeSet<i64>), currency: Currency) -> Complaints {
        let mut complaints = Complaints::default();
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        complaints.require(
            (1..=40).contains(&self.id.len()) && self.id.bytes().all(is_id),
            "id: 1 to 40 letters, digits and hyphens",
        );
        complaints.extend(self.size_complaints());
        complaints.extend(self.grid_complaints(zone));
        for opening in &self.opening {
            complaints.under("opening", opening.complaints());
        }
        complaints.extend(self.deposit_complaints(currency));
        complaints
    }

    fn size_complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require((1..=100).contains(&self.capacity), "capacity: 1 to 100");
        complaints.require(
            (1..=PARTY_MAX).contains(&self.party_max),
            format!("party_max: 1 to {PARTY_MAX}"),
        );
        let units_fit = self.capacity_is == CapacityIs::Parties || self.party_max <= self.capacity;
        complaints.require(units_fit, "party_max: is over the capacity");
        let duration_fits = self.duration_fits();
        complaints.require(
            !self.grid_fits() || duration_fits,
            "duration_minutes: must be a multiple of the grid, at most a day",
        );
        let rows = duration_fits.then(|| {
            (self.duration_minutes / self.grid_minutes).saturating_mul(self.units(self.party_max))
        });
        complaints.require(
            rows.is_none_or(|rows| rows <= SLOT_ROWS_MAX),
            format!("party_max: one booking would hold over {SLOT_ROWS_MAX} rows"),
        );
        complaints
    }

    fn grid_fits(&self) -> bool {
        self.grid_minutes > 0 && 60_u32.is_multiple_of(self.grid_minutes)
    }

    fn duration_fits(&self) -> bool {
        self.grid_fits()
            && (1..=1440).contains(&self.duration_minutes)
            && self.duration_minutes.is_multiple_of(self.grid_minutes)
    }

    /// Two bookings that overlap must have a cell in common. They have if all starts are whole cells
    /// apart, also those before and after a clock change: it must move the wall by whole cells.
    fn grid_complaints(&self, (zone, offsets_s): (Tz, &BTreeSet<i64>)) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.require(self.grid_fits(), "grid_minutes: must divide an hour");
        if !self.grid_fits() {
            return complaints;
        }
        let grid_s = i64::from(self.grid_minutes) * 60;
        let first = offsets_s.first().copied().unwrap_or_default();
        let change = offsets_s
            .iter()
            .map(|offset| offset - first)
            .find(|change| change % grid_s != 0);
        if let Some(change_s) = change {
            let what = format!(
                "grid_minutes: must divide the {} minutes by which the clocks of {zone} change",
                change_s / 60
            );
            complaints.require(false, what);
        }
        complaints
    }
}
