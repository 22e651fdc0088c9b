//! What deposit a booking takes.

use serde::Deserialize;

use super::Resource;
use super::complaints::Complaints;
use crate::money::{Currency, Money};

/// A fixed deposit in minor units, for the booking or for each guest.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DepositRule {
    PerBooking(i64),
    PerGuest(i64),
}

impl Resource {
    /// The deposit for a party; `None` if it is too large to be an amount.
    pub fn deposit(&self, party: u32, currency: Currency) -> Option<Money> {
        let minor = match self.deposit {
            DepositRule::PerBooking(minor) => minor,
            DepositRule::PerGuest(minor) => minor.checked_mul(i64::from(party))?,
        };
        Money::new(minor, currency).ok()
    }

    pub(super) fn deposit_complaints(&self, currency: Currency) -> Complaints {
        let mut complaints = Complaints::default();
        let deposit = self.deposit(self.party_max, currency);
        complaints.require(
            deposit.is_some_and(|deposit| deposit.minor() > 0),
            "deposit: must be above zero",
        );
        complaints
    }
}
