//! Currencies that can be charged here: how they are written, and the least that is accepted.

/// One currency as the provider takes it. Amounts are in the unit that the API uses.
#[derive(Debug)]
pub(crate) struct Currency {
    pub(crate) code: &'static str,
    /// Digits after the decimal point of an amount of 1, as the API counts them.
    pub(crate) decimals: u32,
    /// The smallest charge.
    pub(crate) minimum: i64,
    /// Amounts must be a multiple of this: three-decimal currencies end in 0, and ISK and UGX
    /// are sent with two decimals although they have none.
    pub(crate) step: i64,
}

/// The largest charge: eight digits.
pub(crate) const AMOUNT_MAX: i64 = 99_999_999;

const fn currency(code: &'static str, decimals: u32, minimum: i64, step: i64) -> Currency {
    Currency {
        code,
        decimals,
        minimum,
        step,
    }
}

/// Minimums as published by the provider; 1 where it publishes none.
const CURRENCIES: &[Currency] = &[
    currency("aed", 2, 200, 1),
    currency("aud", 2, 50, 1),
    currency("bhd", 3, 10, 10),
    currency("brl", 2, 50, 1),
    currency("cad", 2, 50, 1),
    currency("chf", 2, 50, 1),
    currency("clp", 0, 1, 1),
    currency("czk", 2, 1500, 1),
    currency("dkk", 2, 250, 1),
    currency("eur", 2, 50, 1),
    currency("gbp", 2, 30, 1),
    currency("hkd", 2, 400, 1),
    currency("huf", 2, 17_500, 1),
    currency("inr", 2, 50, 1),
    currency("isk", 2, 100, 100),
    currency("jod", 3, 10, 10),
    currency("jpy", 0, 50, 1),
    currency("krw", 0, 1, 1),
    currency("kwd", 3, 10, 10),
    currency("mxn", 2, 1000, 1),
    currency("myr", 2, 200, 1),
    currency("nok", 2, 300, 1),
    currency("nzd", 2, 50, 1),
    currency("omr", 3, 10, 10),
    currency("pln", 2, 200, 1),
    currency("ron", 2, 200, 1),
    currency("sek", 2, 300, 1),
    currency("sgd", 2, 50, 1),
    currency("thb", 2, 1000, 1),
    currency("tnd", 3, 10, 10),
    currency("ugx", 2, 100, 100),
    currency("usd", 2, 50, 1),
    currency("vnd", 0, 1, 1),
    currency("zar", 2, 1, 1),
];

/// Finds a currency by its lower-case code.
pub(crate) fn find(code: &str) -> Option<&'static Currency> {
    CURRENCIES.iter().find(|currency| currency.code == code)
}

/// Lists the codes, for the message about one that isn't there.
pub(crate) fn codes() -> String {
    let codes: Vec<&str> = CURRENCIES.iter().map(|currency| currency.code).collect();
    codes.join(", ")
}

/// Writes an amount for people: `£20.00`, `1500 JPY`.
pub(crate) fn written(amount: i64, code: &str) -> String {
    let decimals = find(code).map_or(2, |currency| currency.decimals);
    let unit = 10_i64.pow(decimals);
    let mut number = (amount / unit).to_string();
    if decimals > 0 {
        let width = usize::try_from(decimals).unwrap_or_default();
        number = format!("{number}.{:0width$}", amount % unit);
    }
    match code {
        "gbp" => format!("£{number}"),
        "eur" => format!("€{number}"),
        "usd" => format!("${number}"),
        _ => format!("{number} {}", code.to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_the_currencys_own_decimals() {
        assert_eq!(written(2005, "gbp"), "£20.05");
        assert_eq!(written(1500, "jpy"), "1500 JPY");
        assert_eq!(written(12_340, "kwd"), "12.340 KWD");
    }

    #[test]
    fn the_table_is_sorted_and_its_minimums_are_multiples_of_the_step() {
        assert!(CURRENCIES.is_sorted_by_key(|currency| currency.code));
        for currency in CURRENCIES {
            assert_eq!(currency.minimum % currency.step, 0, "{}", currency.code);
        }
    }
}
