//! One invoice that failed: what is open of it, what stands in the way of charging it, how it ended.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::declines::{Class, Wording};
use crate::money::Money;

/// One invoice of a subscription, from its first failure on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debt {
    /// What is open, as the provider last said.
    pub amount: Money,
    /// As of when, to the second: an event that was made before is no news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<DateTime<Utc>>,
    /// When the provider made the invoice.
    pub created: DateTime<Utc>,
    /// When the first charge failed.
    pub failed_at: DateTime<Utc>,
    /// Where the customer can pay it by hand, or approve it.
    pub hosted_url: Option<String>,
    /// Whether the live invoice and the reason of its failure were read.
    #[serde(default)]
    pub known: bool,
    /// How many dates of the calendar are used up.
    #[serde(default)]
    pub steps_used: u32,
    /// When the last of them was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped_at: Option<DateTime<Utc>>,
    /// The date of the calendar, counted from 0, that the customer was written to about last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailed_step: Option<u32>,
    /// No date follows: access is paused for it.
    #[serde(default)]
    pub exhausted: bool,
    /// What stands in the way of charging it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// The payment method of the last charge that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_with: Option<String>,
    /// Not charged before this, by an advice or a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<DateTime<Utc>>,
    /// How often a charge was claimed that the provider then never made.
    #[serde(default)]
    pub not_made: u32,
    /// By which rule the last decline was judged, with its edition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The failed charge that was judged last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_charge: Option<String>,
    /// When the provider means to charge it by itself: its own retries are on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_retries_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// Why a payment method is not charged again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub class: Class,
    pub wording: Wording,
    /// The payment method that it is about.
    pub payment_method: Option<String>,
}

/// How an invoice came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub how: Ending,
    pub at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Our own charge took it.
    PaidByUs,
    /// The customer paid by hand.
    PaidByCustomer,
    /// The provider's own retry took it.
    PaidByProvider,
    /// It is paid, and a charge of ours that is not answered yet may have done it.
    Paid,
    OutOfBand,
    Voided,
    Uncollectible,
    /// Nothing is left to pay: a credit note or the balance covers it.
    Covered,
    /// It is less than the provider takes.
    TooSmall,
}

/// How far from the announced time the provider's own retry may be.
const ANNOUNCED_WITHIN: TimeDelta = TimeDelta::hours(2);

impl Ending {
    /// Who paid an invoice that we did not: the provider, if it was paid about when it had announced
    /// to try, or else the customer.
    pub fn payer(announced: Option<DateTime<Utc>>, paid_at: Option<DateTime<Utc>>) -> Self {
        match announced.zip(paid_at) {
            Some((announced, paid)) if (paid - announced).abs() <= ANNOUNCED_WITHIN => {
                Self::PaidByProvider
            }
            Some(_) | None => Self::PaidByCustomer,
        }
    }

    /// Whether money came in through the provider.
    pub fn is_paid(self) -> bool {
        match self {
            Self::PaidByUs | Self::PaidByCustomer | Self::PaidByProvider | Self::Paid => true,
            Self::OutOfBand
            | Self::Voided
            | Self::Uncollectible
            | Self::Covered
            | Self::TooSmall => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PaidByUs => "paid_by_us",
            Self::PaidByCustomer => "paid_by_customer",
            Self::PaidByProvider => "paid_by_provider",
            Self::Paid => "paid",
            Self::OutOfBand => "out_of_band",
            Self::Voided => "voided",
            Self::Uncollectible => "uncollectible",
            Self::Covered => "covered",
            Self::TooSmall => "too_small",
        }
    }
}

impl Debt {
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    #[test]
    fn the_provider_paid_what_was_paid_about_when_it_had_announced_to_try() {
        let announced = Utc.with_ymd_and_hms(2026, 11, 4, 12, 0, 0).unwrap();
        let payer = |minutes| {
            Ending::payer(
                Some(announced),
                Some(announced + TimeDelta::minutes(minutes)),
            )
        };
        for (minutes, who) in [
            (-121, Ending::PaidByCustomer),
            (-120, Ending::PaidByProvider),
            (0, Ending::PaidByProvider),
            (120, Ending::PaidByProvider),
            (121, Ending::PaidByCustomer),
        ] {
            assert_eq!(payer(minutes), who, "{minutes}");
        }
        for (announced, paid_at) in [(None, Some(announced)), (Some(announced), None)] {
            assert_eq!(Ending::payer(announced, paid_at), Ending::PaidByCustomer);
        }
    }

    #[test]
    fn money_came_in_where_somebody_paid_through_the_provider() {
        use Ending::*;
        let all = [
            (PaidByUs, true, "paid_by_us"),
            (PaidByCustomer, true, "paid_by_customer"),
            (PaidByProvider, true, "paid_by_provider"),
            (Paid, true, "paid"),
            (OutOfBand, false, "out_of_band"),
            (Voided, false, "voided"),
            (Uncollectible, false, "uncollectible"),
            (Covered, false, "covered"),
            (TooSmall, false, "too_small"),
        ];
        for (ending, is_paid, name) in all {
            assert_eq!((ending.is_paid(), ending.as_str()), (is_paid, name));
        }
    }
}
