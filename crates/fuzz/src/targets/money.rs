//! Amounts as text and as JSON, and what is reckoned with them: a currency, a line, a text.

use paidonce_core::money::{Currency, Money, MoneyError, Rounding};

use crate::input::line_and_text;

pub(crate) fn run(input: &[u8]) {
    let Some((code, text)) = line_and_text(input) else {
        return;
    };
    let Ok(currency) = code.parse::<Currency>() else {
        return;
    };
    assert!(currency.code().eq_ignore_ascii_case(code));
    if let Ok(money) = serde_json::from_str::<Money>(text) {
        check(money);
    }
    match Money::parse(text, currency) {
        Ok(money) => {
            assert_eq!(money.currency(), currency);
            check(money);
            // More decimals than were written come back, and nothing else.
            let written = money.decimal();
            assert!(
                written.starts_with(text)
                    && written[text.len()..]
                        .bytes()
                        .all(|byte| b".0".contains(&byte)),
                "{text} is read as {written}"
            );
        }
        Err(MoneyError::ExtraDecimals { exponent, .. }) => {
            let decimals = text
                .rsplit_once('.')
                .map_or(0, |(_, decimals)| decimals.len());
            assert!(u32::try_from(decimals).is_ok_and(|count| count > exponent));
        }
        Err(MoneyError::TooLarge) => assert!(text.len() >= 15, "{text} is not that large"),
        Err(_) => {}
    }
    if let Some((amount, code)) = text.split_once(' ')
        && let Ok(amount) = amount.parse()
        && let Ok(money) = Money::from_stripe(amount, code)
    {
        check(money);
        // It reports parts that it would not charge: a fee of 5.005 in a currency of thousandths.
        let is_charged = money.to_stripe().is_ok_and(|charged| charged == amount);
        assert!(
            is_charged || amount % 10 != 0,
            "the provider's {amount} {code}"
        );
    }
    if let Some((amount, points)) = text.split_once('%')
        && let Ok(money) = Money::parse(amount, currency)
        && let Ok(points) = points.parse::<u32>()
    {
        check_share(money, points);
    }
}

fn check(money: Money) {
    let currency = money.currency();
    assert!(money.minor() >= 0);
    assert_eq!(Money::parse(&money.decimal(), currency), Ok(money));
    let json = serde_json::to_string(&money).expect("an amount is JSON");
    assert_eq!(serde_json::from_str::<Money>(&json).ok(), Some(money));
    if let Ok(amount) = money.to_stripe() {
        assert_eq!(Money::from_stripe(amount, currency.code()), Ok(money));
    }
    assert!(money.display().ends_with(&money.decimal()));
    assert_eq!(money.checked_sub(money), Ok(Money::zero(currency)));
}

/// What one side gets and what is left for the other are the whole.
fn check_share(money: Money, points: u32) {
    let modes = [
        Rounding::Down,
        Rounding::HalfEven,
        Rounding::HalfUp,
        Rounding::Up,
    ];
    let shares = modes.map(|rounding| money.percent(points, rounding));
    let exact = i128::from(money.minor()) * i128::from(points);
    for share in shares.into_iter().flatten() {
        let apart = exact - i128::from(share.minor()) * 10_000;
        assert!(apart.abs() < 10_000, "{money:?} at {points} is {share:?}");
        if points <= 10_000 {
            let rest = money
                .checked_sub(share)
                .expect("a part is not above the whole");
            assert_eq!(rest.checked_add(share), Ok(money));
        }
    }
    if let [Ok(down), Ok(even), Ok(half), Ok(up)] = shares.map(|share| share.map(Money::minor)) {
        assert!(down <= even && even <= half && half <= up && up - down <= 1);
        if points <= 10_000 {
            let other = money
                .percent(10_000 - points, Rounding::Up)
                .map(Money::minor);
            assert_eq!(other, Ok(money.minor() - down), "both sides are the whole");
        }
    }
}
