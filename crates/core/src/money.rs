//! Money: whole minor units of one currency, never a float and never below zero.
//!
//! Exponents come from ISO 4217. The provider counts a few currencies differently; only
//! [`Money::to_stripe`] and [`Money::from_stripe`] know about that.
#![deny(clippy::arithmetic_side_effects)]

mod currency;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sms;
pub use currency::Currency;
use currency::ProviderRule;

/// An amount of money: `{"amount": 2000, "currency": "GBP"}` is twenty pounds.
///
/// On the wire the amount is an integer of minor units as ISO 4217 counts them; the currency
/// is written in upper case and read in any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Money {
    minor: i64,
    currency: Currency,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    amount: i64,
    currency: String,
}

/// Why an amount can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not a code of ISO 4217, or one without minor units (gold, a test code).
    #[error("this is not the code of a currency, such as GBP")]
    UnknownCurrency,
    /// Not digits with at most one point, or with zeros before the first digit.
    #[error("an amount is written in digits such as 20 or 19.99")]
    Unreadable,
    /// More decimals than the currency has. Nothing is ever rounded in silence.
    #[error("{currency} amounts have at most {exponent} decimals")]
    ExtraDecimals {
        /// The currency.
        currency: Currency,
        /// How many it has.
        exponent: u32,
    },
    /// Below zero.
    #[error("an amount is never below zero")]
    Negative,
    /// More than can be counted.
    #[error("the amount is too large")]
    TooLarge,
    /// Two currencies in one sum.
    #[error("{left} and {right} can't be added")]
    CurrencyMismatch {
        /// The currency of the first amount.
        left: Currency,
        /// The currency of the second.
        right: Currency,
    },
    /// The provider can't charge parts this small, or this currency at all.
    #[error("the provider can't charge this amount of {currency}")]
    NotChargeable {
        /// The currency.
        currency: Currency,
    },
}

/// What happens to the part of a minor unit that a percentage leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero: in the customer's favour for a fee.
    Down,
    /// Away from zero.
    Up,
    /// To the nearest; a half goes up.
    HalfUp,
    /// To the nearest; a half goes to the even one.
    HalfEven,
}

impl TryFrom<Wire> for Money {
    type Error = MoneyError;

    fn try_from(wire: Wire) -> Result<Self, MoneyError> {
        Self::new(wire.amount, wire.currency.parse()?)
    }
}

impl From<Money> for Wire {
    fn from(money: Money) -> Self {
        Self {
            amount: money.minor,
            currency: money.currency.code().to_owned(),
        }
    }
}

impl Money {
    /// Takes an amount in minor units.
    ///
    /// # Errors
    /// [`MoneyError::Negative`].
    pub fn new(minor: i64, currency: Currency) -> Result<Self, MoneyError> {
        match minor {
            ..0 => Err(MoneyError::Negative),
            0.. => Ok(Self { minor, currency }),
        }
    }

    /// Returns nothing at all of a currency.
    pub fn zero(currency: Currency) -> Self {
        Self { minor: 0, currency }
    }

    /// Returns the amount in minor units; never below zero.
    pub fn minor(self) -> i64 {
        self.minor
    }

    /// Returns the currency.
    pub fn currency(self) -> Currency {
        self.currency
    }

    /// Reads an amount such as `20`, `19.99` or `0.5`, exactly.
    ///
    /// # Errors
    /// Anything but digits and one point, zeros in front, and decimals that the currency
    /// hasn't are refused; so is what doesn't fit.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, MoneyError> {
        let (whole, decimals) = match text.split_once('.') {
            Some((_, "")) => return Err(MoneyError::Unreadable),
            Some((whole, decimals)) => (whole, decimals),
            None => (text, ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let padded = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || padded || !digits(whole) || !digits(decimals) {
            return Err(MoneyError::Unreadable);
        }
        let exponent = currency.exponent();
        let missing = u32::try_from(decimals.len())
            .ok()
            .and_then(|count| exponent.checked_sub(count))
            .ok_or(MoneyError::ExtraDecimals { currency, exponent })?;
        let minor = format!("{whole}{decimals}")
            .parse::<i64>()
            .ok()
            .zip(10_i64.checked_pow(missing))
            .and_then(|(number, scale)| number.checked_mul(scale))
            .ok_or(MoneyError::TooLarge)?;
        Self::new(minor, currency)
    }

    /// Returns the amount as a customer reads it: `£20.00`, `¥500`, `CHF 20.00`.
    ///
    /// The symbol is used where it is one sign that an SMS can carry without turning the whole
    /// text into UCS-2; otherwise the code is.
    pub fn display(self) -> String {
        let symbol = self.currency.symbol();
        let mut letters = symbol.chars();
        match (letters.next(), letters.next()) {
            (Some(sign), None) if !sign.is_alphanumeric() && sms::is_gsm7(sign) && sign != '¤' => {
                format!("{sign}{}", self.decimal())
            }
            (_, _) => format!("{} {}", self.currency, self.decimal()),
        }
    }

    /// Returns the bare number with all of the currency's decimals: `20.00`, `500`.
    pub fn decimal(self) -> String {
        let exponent = usize::try_from(self.currency.exponent()).unwrap_or(0);
        let width = exponent.saturating_add(1);
        let digits = format!("{:0width$}", self.minor);
        match digits.split_at(digits.len().saturating_sub(exponent)) {
            (whole, "") => whole.to_owned(),
            (whole, decimals) => format!("{whole}.{decimals}"),
        }
    }

    /// Returns the integer that the provider wants as `amount`.
    ///
    /// # Errors
    /// [`MoneyError::NotChargeable`] if the provider would refuse or misread it;
    /// [`MoneyError::TooLarge`].
    pub fn to_stripe(self) -> Result<i64, MoneyError> {
        let currency = self.currency;
        let divisible = |by: i64| self.minor.checked_rem(by) == Some(0);
        match currency.provider_rule() {
            ProviderRule::AsIs => Ok(self.minor),
            ProviderRule::Times100 => self.minor.checked_mul(100).ok_or(MoneyError::TooLarge),
            ProviderRule::WholeHundreds if divisible(100) => Ok(self.minor.saturating_div(100)),
            ProviderRule::EndsInZero if divisible(10) => Ok(self.minor),
            ProviderRule::WholeHundreds | ProviderRule::EndsInZero | ProviderRule::Unsupported => {
                Err(MoneyError::NotChargeable { currency })
            }
        }
    }

    /// Reads an `amount` and a `currency` that the provider reported.
    ///
    /// # Errors
    /// [`MoneyError::NotChargeable`] if the provider's own rule says that it can't be.
    pub fn from_stripe(amount: i64, code: &str) -> Result<Self, MoneyError> {
        let currency: Currency = code.parse()?;
        let minor = match currency.provider_rule() {
            ProviderRule::AsIs | ProviderRule::EndsInZero => Some(amount),
            ProviderRule::Times100 if amount.checked_rem(100) == Some(0) => amount.checked_div(100),
            ProviderRule::WholeHundreds => amount.checked_mul(100),
            ProviderRule::Times100 | ProviderRule::Unsupported => None,
        };
        Self::new(
            minor.ok_or(MoneyError::NotChargeable { currency })?,
            currency,
        )
    }

    /// Adds an amount of the same currency.
    ///
    /// # Errors
    /// [`MoneyError::CurrencyMismatch`] or [`MoneyError::TooLarge`].
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let minor = self.minor.checked_add(other.minor);
        Self::new(minor.ok_or(MoneyError::TooLarge)?, self.currency)
    }

    /// Takes an amount of the same currency away.
    ///
    /// # Errors
    /// [`MoneyError::CurrencyMismatch`], or [`MoneyError::Negative`] if there isn't as much.
    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let minor = self.minor.checked_sub(other.minor);
        Self::new(minor.ok_or(MoneyError::Negative)?, self.currency)
    }

    /// Returns a share in hundredths of a percent: 1,250 is 12.5 %.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`].
    pub fn percent(self, basis_points: u32, rounding: Rounding) -> Result<Self, MoneyError> {
        const WHOLE: i128 = 10_000;
        let product = i128::from(self.minor).saturating_mul(i128::from(basis_points));
        let (floor, rest) = (product.div_euclid(WHOLE), product.rem_euclid(WHOLE));
        let half = rest.saturating_mul(2).cmp(&WHOLE);
        let up = match rounding {
            Rounding::Down => false,
            Rounding::Up => rest > 0,
            Rounding::HalfUp => half.is_ge(),
            Rounding::HalfEven => half.is_gt() || (half.is_eq() && floor.rem_euclid(2) == 1),
        };
        let minor = i64::try_from(floor.saturating_add(i128::from(up)));
        Self::new(minor.map_err(|_| MoneyError::TooLarge)?, self.currency)
    }

    fn same_currency(self, other: Self) -> Result<(), MoneyError> {
        match self.currency == other.currency {
            true => Ok(()),
            false => Err(MoneyError::CurrencyMismatch {
                left: self.currency,
                right: other.currency,
            }),
        }
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.currency, self.decimal())
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display())
    }
}

#[cfg(test)]
mod tests;
