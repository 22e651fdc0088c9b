//! Dates and amounts as a customer reads them, in the language of the message.

use chrono::offset::LocalResult;
use chrono::{DateTime, Datelike, TimeZone, Utc};
use chrono_tz::Tz;
use paidonce_core::local_time::human;
use paidonce_core::money::Money;

use crate::Language;

// In letters that GSM-7 has: `aout` is a spelling of the reform of 1990, and each letter beyond
// would make the whole text several times as dear.
const DAYS_DE: [&str; 7] = ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"];
const MONTHS_DE: [&str; 12] = [
    "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
];
const DAYS_FR: [&str; 7] = ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"];
const MONTHS_FR: [&str; 12] = [
    "janv", "févr", "mars", "avr", "mai", "juin", "juil", "aout", "sept", "oct", "nov", "déc",
];

/// Returns a moment such as `Sat 11 Jul 20:00`, `Sa 11. Jul 20:00` or `sam 11 juil 20:00`, with the
/// zone's letters where the wall shows the same time twice.
pub fn when(utc: DateTime<Utc>, zone: Tz, language: Language) -> String {
    match language {
        Language::En => human(utc, zone),
        Language::De => named(utc, zone, &DAYS_DE, &MONTHS_DE, "."),
        Language::Fr => named(utc, zone, &DAYS_FR, &MONTHS_FR, ""),
    }
}

/// Returns an amount such as `£20.00`, or `20,00 £` in German and French.
pub fn amount(money: Money, language: Language) -> String {
    let english = money.display();
    match language {
        Language::En => english,
        Language::De | Language::Fr => {
            let number = money.decimal();
            let sign = english.strip_suffix(&number).unwrap_or_default().trim();
            format!("{} {sign}", number.replace('.', ","))
        }
    }
}

fn named(
    utc: DateTime<Utc>,
    zone: Tz,
    days: &[&str; 7],
    months: &[&str; 12],
    after_day: &str,
) -> String {
    let at = utc.with_timezone(&zone);
    let weekday = days[at.weekday().num_days_from_monday() as usize];
    let month = months[at.month0() as usize];
    let time = match zone.from_local_datetime(&at.naive_local()) {
        LocalResult::Ambiguous(_, _) => at.format("%H:%M %Z"),
        LocalResult::Single(_) | LocalResult::None => at.format("%H:%M"),
    };
    format!("{weekday} {}{after_day} {month} {time}", at.day())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Europe::{Berlin, London};
    use paidonce_core::sms::is_gsm7;

    #[test]
    fn a_date_is_named_in_its_language() {
        let at: DateTime<Utc> = "2026-07-11T19:00:00Z".parse().unwrap();
        let said = Language::ALL.map(|language| when(at, London, language));
        assert_eq!(
            said,
            ["Sat 11 Jul 20:00", "Sa 11. Jul 20:00", "sam 11 juil 20:00"]
        );
    }

    #[test]
    fn an_amount_is_written_as_in_its_language() {
        let said = |minor: i64, code: &str| {
            let money = serde_json::json!({"amount": minor, "currency": code});
            let money: Money = serde_json::from_value(money).unwrap();
            Language::ALL.map(|language| amount(money, language))
        };
        assert_eq!(said(2000, "GBP"), ["£20.00", "20,00 £", "20,00 £"]);
        assert_eq!(said(1250, "EUR"), ["€12.50", "12,50 €", "12,50 €"]);
        assert_eq!(said(500, "JPY"), ["¥500", "500 ¥", "500 ¥"]);
        let francs = ["CHF 20.00", "20,00 CHF", "20,00 CHF"];
        assert_eq!(said(2000, "CHF"), francs);
    }

    #[test]
    fn an_hour_that_comes_twice_names_its_zone() {
        let at: DateTime<Utc> = "2026-10-25T00:30:00Z".parse().unwrap();
        let said = Language::ALL.map(|language| when(at, Berlin, language));
        assert_eq!(
            said,
            [
                "Sun 25 Oct 02:30 CEST",
                "So 25. Okt 02:30 CEST",
                "dim 25 oct 02:30 CEST"
            ]
        );
    }

    #[test]
    fn no_date_makes_a_text_dear() {
        let first: DateTime<Utc> = "2026-01-01T12:00:00Z".parse().unwrap();
        for day in 0..365 {
            for language in Language::ALL {
                let said = when(first + chrono::TimeDelta::days(day), London, language);
                assert!(said.chars().all(is_gsm7), "{said}");
            }
        }
    }
}
