//! Currencies: their decimals by ISO 4217, and where the provider counts otherwise.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::MoneyError;

/// A currency that has minor units, by its ISO 4217 code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// The pound sterling.
    pub const GBP: Self = Self(iso_currency::Currency::GBP);

    /// Returns the upper-case code, such as `GBP`.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Returns how many decimals the currency has by ISO 4217.
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }

    /// Returns the sign that people write, which several currencies may share.
    pub(super) fn symbol(self) -> String {
        self.0.symbol().to_string()
    }

    /// How the provider counts, where that isn't ISO's way.
    ///
    /// Sources: <https://docs.stripe.com/currencies> ("Special cases", "Zero-decimal",
    /// "Three-decimal"). HUF and TWD are whole for payouts only, and are charged as usual.
    pub(super) fn provider_rule(self) -> ProviderRule {
        match (self.code(), self.exponent()) {
            // Whole by ISO since, but still sent with two decimals that must be 00.
            ("ISK" | "UGX", _) => ProviderRule::Times100,
            // Two decimals by ISO that nobody uses; sent whole.
            ("MGA", _) => ProviderRule::WholeHundreds,
            (_, 3) => ProviderRule::EndsInZero,
            (_, 0..=2) => ProviderRule::AsIs,
            (_, _) => ProviderRule::Unsupported,
        }
    }
}

/// How the provider counts minor units.
pub(super) enum ProviderRule {
    AsIs,
    Times100,
    WholeHundreds,
    EndsInZero,
    Unsupported,
}

impl FromStr for Currency {
    type Err = MoneyError;

    /// Reads a code in any case.
    fn from_str(code: &str) -> Result<Self, MoneyError> {
        iso_currency::Currency::from_code(&code.to_ascii_uppercase())
            .filter(|currency| currency.exponent().is_some())
            .map(Self)
            .ok_or(MoneyError::UnknownCurrency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        code.parse().map_err(serde::de::Error::custom)
    }
}
