use super::*;
use proptest::prelude::*;

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

fn money(minor: i64, code: &str) -> Money {
    Money::new(minor, currency(code)).unwrap()
}

#[test]
fn every_price_from_a_penny_to_a_hundred_pounds_is_exact() {
    for pence in 1..=10_000_i64 {
        let text = format!("{}.{:02}", pence.div_euclid(100), pence.rem_euclid(100));
        let price = Money::parse(&text, Currency::GBP).unwrap();
        assert_eq!(price.minor(), pence);
        assert_eq!(price.decimal(), text);
        assert_eq!(price.to_stripe(), Ok(pence));
    }
}

#[test]
fn each_currency_has_its_own_decimals_and_the_provider_its_own_rule() {
    // code, text, minor units, what the provider wants, what a customer reads
    let table = [
        ("GBP", "20.00", 2000, Some(2000), "£20.00"),
        ("GBP", "0.5", 50, Some(50), "£0.50"),
        ("EUR", "20", 2000, Some(2000), "€20.00"),
        ("USD", "0.05", 5, Some(5), "$0.05"),
        ("JPY", "500", 500, Some(500), "¥500"),
        ("KWD", "5.000", 5000, Some(5000), "KWD 5.000"),
        ("KWD", "5.005", 5005, None, "KWD 5.005"),
        ("BHD", "0.010", 10, Some(10), "BHD 0.010"),
        ("UGX", "10", 10, Some(1000), "UGX 10"),
        ("ISK", "10", 10, Some(1000), "ISK 10"),
        ("HUF", "19.99", 1999, Some(1999), "HUF 19.99"),
        ("TWD", "19.99", 1999, Some(1999), "TWD 19.99"),
        ("MGA", "20.00", 2000, Some(20), "MGA 20.00"),
        ("MGA", "20.50", 2050, None, "MGA 20.50"),
        ("CLF", "1.2345", 12345, None, "CLF 1.2345"),
        ("INR", "20.00", 2000, Some(2000), "INR 20.00"),
    ];
    for (code, text, minor, provider, shown) in table {
        let read = Money::parse(text, currency(code)).unwrap();
        assert_eq!(read, money(minor, code), "{code} {text}");
        assert_eq!(read.to_stripe().ok(), provider, "{code} {text}");
        if let Some(amount) = provider {
            assert_eq!(Money::from_stripe(amount, &code.to_lowercase()), Ok(read));
        }
        assert_eq!(read.display(), shown);
    }
    assert!(Money::from_stripe(1050, "isk").is_err());
    assert_eq!(format!("{:?}", currency("KWD")), "KWD");
}

#[test]
fn iso_exponents_are_as_published() {
    let whole = [
        "JPY", "KRW", "VND", "CLP", "ISK", "UGX", "RWF", "BIF", "DJF", "GNF", "KMF", "PYG", "VUV",
        "XAF", "XOF", "XPF",
    ];
    let thousandths = ["KWD", "BHD", "TND", "JOD", "OMR", "IQD", "LYD"];
    for code in whole {
        assert_eq!(currency(code).exponent(), 0, "{code}");
    }
    for code in thousandths {
        assert_eq!(currency(code).exponent(), 3, "{code}");
    }
    for code in ["CLF", "UYW"] {
        assert_eq!(currency(code).exponent(), 4, "{code}");
    }
}

#[test]
fn what_is_not_an_amount_is_refused() {
    for text in [
        "", " ", "020", "00", " 20", "20 ", "20,00", "NaN", "-1", "+1", "1e2", "0x10", ".5", "5.",
        "1.2.3", "1_000", "£20", "٢٠", "1.-1", "inf",
    ] {
        assert_eq!(
            Money::parse(text, Currency::GBP),
            Err(MoneyError::Unreadable),
            "{text}"
        );
    }
    for (text, code) in [
        ("500.5", "JPY"),
        ("1.2345", "GBP"),
        ("19.990", "GBP"),
        ("1.0", "UGX"),
    ] {
        let answer = Money::parse(text, currency(code));
        assert!(
            matches!(answer, Err(MoneyError::ExtraDecimals { .. })),
            "{text}"
        );
    }
    for text in [
        "9223372036854775808",
        "92233720368547758.08",
        "99999999999999999999999",
    ] {
        assert_eq!(
            Money::parse(text, Currency::GBP),
            Err(MoneyError::TooLarge),
            "{text}"
        );
    }
    assert_eq!(Money::new(-1, Currency::GBP), Err(MoneyError::Negative));
    for code in ["", "GB", "XXQ", "XAU", "GBP ", "£"] {
        assert_eq!(
            code.parse::<Currency>(),
            Err(MoneyError::UnknownCurrency),
            "{code}"
        );
    }
}

#[test]
fn on_the_wire_an_amount_is_an_integer() {
    let read = |text: &str| serde_json::from_str::<Money>(text);
    let text = r#"{"amount":2000,"currency":"GBP"}"#;
    assert_eq!(read(text).unwrap(), money(2000, "GBP"));
    assert_eq!(serde_json::to_string(&money(2000, "GBP")).unwrap(), text);
    assert_eq!(
        read(r#"{"currency":"gbp","amount":2000}"#).unwrap(),
        money(2000, "GBP")
    );
    for text in [
        r#"{"amount":19.99,"currency":"GBP"}"#,
        r#"{"amount":1e2,"currency":"GBP"}"#,
        r#"{"amount":2000.0,"currency":"GBP"}"#,
        r#"{"amount":"2000","currency":"GBP"}"#,
        r#"{"amount":020,"currency":"GBP"}"#,
        r#"{"amount":-1,"currency":"GBP"}"#,
        r#"{"amount":9223372036854775808,"currency":"GBP"}"#,
        r#"{"amount":2000,"currency":"XXQ"}"#,
        r#"{"amount":2000}"#,
        r#"{"amount":2000,"currency":"GBP","exponent":2}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn sums_stay_in_one_currency_and_above_zero() {
    let (ten, three) = (money(1000, "GBP"), money(300, "GBP"));
    assert_eq!(ten.checked_add(three), Ok(money(1300, "GBP")));
    assert_eq!(ten.checked_sub(three), Ok(money(700, "GBP")));
    assert_eq!(ten.checked_sub(ten), Ok(Money::zero(Currency::GBP)));
    assert_eq!(three.checked_sub(ten), Err(MoneyError::Negative));
    assert_eq!(
        money(i64::MAX, "GBP").checked_add(three),
        Err(MoneyError::TooLarge)
    );
    let mixed = ten.checked_add(money(300, "EUR"));
    assert!(matches!(mixed, Err(MoneyError::CurrencyMismatch { .. })));
}

#[test]
fn a_percentage_rounds_as_it_is_told() {
    use Rounding::{Down, HalfEven, HalfUp, Up};
    for (minor, basis_points, rounding, share) in [
        (1999, 5000, Down, 999),
        (1999, 5000, Up, 1000),
        (1999, 5000, HalfUp, 1000),
        (1999, 5000, HalfEven, 1000),
        (1997, 5000, HalfEven, 998),
        (1001, 1250, HalfUp, 125),
        (1, 1, Up, 1),
        (2000, 10_000, Up, 2000),
        (2000, 0, Up, 0),
    ] {
        let answer = money(minor, "GBP").percent(basis_points, rounding);
        assert_eq!(
            answer,
            Ok(money(share, "GBP")),
            "{minor} {basis_points} {rounding:?}"
        );
    }
    assert_eq!(
        money(i64::MAX, "GBP").percent(20_000, Down),
        Err(MoneyError::TooLarge)
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        minor in 0..=i64::MAX,
        code in prop::sample::select(vec!["GBP", "JPY", "KWD", "UGX", "CLF"]),
    ) {
        let money = money(minor, code);
        prop_assert_eq!(Money::parse(&money.decimal(), money.currency()), Ok(money));
        if let Ok(amount) = money.to_stripe() {
            prop_assert_eq!(Money::from_stripe(amount, code), Ok(money));
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}") {
        let _ = Money::parse(&text, Currency::GBP);
    }
}
