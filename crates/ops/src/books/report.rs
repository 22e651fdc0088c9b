//! The journal as CSV and as JSON. Amounts are in minor units and as decimals.

use chrono::{DateTime, SecondsFormat, Utc};
use paidonce_core::books::{Account, Entry};
use paidonce_core::money::{Currency, Money};
use serde_json::{Value, json};

use super::{Balances, Books};

const COLUMNS: [&str; 14] = [
    "entry",
    "at",
    "date",
    "what",
    "booking_id",
    "payment_ref",
    "about",
    "account",
    "account_kind",
    "currency",
    "debit_minor",
    "credit_minor",
    "debit",
    "credit",
];

/// What the journal can't know, for whoever reads it without the runbook.
const NOTES: [&str; 3] = [
    "The provider's fees for charges are not known here: book them from its own report, against \
     provider_clearing. Fees for disputes are in provider_fees.",
    "A refund is dated by the provider. One that failed afterwards is reversed when we heard of it.",
    "Payouts are not known here: book them against provider_clearing.",
];

/// Writes a line for each line of each entry.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn csv(books: &Books) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for (number, entry) in (1_u64..).zip(&books.entries) {
        for line in &entry.lines {
            writer.write_record([
                number.to_string(),
                instant(entry.at),
                books.period.day_of(entry.at).to_string(),
                entry.what.as_str().to_owned(),
                cell(&entry.booking_id),
                cell(&entry.payment_ref),
                cell(entry.about.as_deref().unwrap_or_default()),
                line.account.as_str().to_owned(),
                line.account.kind().as_str().to_owned(),
                entry.currency.code().to_owned(),
                line.debit.to_string(),
                line.credit.to_string(),
                decimal(line.debit, entry.currency),
                decimal(line.credit, entry.currency),
            ])?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ids come from outside: one that a spreadsheet would take for a formula is marked as text.
fn cell(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let text = text.replace(|letter: char| letter.is_control(), " ");
    match starts_formula {
        true => format!("'{text}"),
        false => text,
    }
}

/// Writes everything: entries, balances, what was left out, and the tie-out.
pub fn json(books: &Books, made_at: DateTime<Utc>) -> Value {
    let period = &books.period;
    let range = period.range();
    let accounts = Account::ALL
        .map(|account| json!({"account": account.as_str(), "kind": account.kind().as_str()}));
    let entries = (1_u64..).zip(&books.entries);
    json!({
        "format": 1,
        "made_at": instant(made_at),
        "period": {
            "from": period.from(),
            "to": period.to(),
            "zone": period.zone().name(),
            "starts_at": instant(range.start),
            "ends_before": instant(range.end),
        },
        "in_order": books.are_in_order(),
        "notes": NOTES,
        "accounts": accounts,
        "balances": balances(books),
        "entries": entries.map(|(number, it)| entry(number, it, books)).collect::<Vec<_>>(),
        "left_out": books.left_out,
        "tie_out": books.tied,
    })
}

fn entry(number: u64, entry: &Entry, books: &Books) -> Value {
    let lines = entry.lines.iter().map(|line| {
        json!({
            "account": line.account.as_str(),
            "debit_minor": line.debit,
            "credit_minor": line.credit,
            "debit": decimal(line.debit, entry.currency),
            "credit": decimal(line.credit, entry.currency),
        })
    });
    json!({
        "entry": number,
        "at": instant(entry.at),
        "date": books.period.day_of(entry.at),
        "what": entry.what.as_str(),
        "booking_id": entry.booking_id,
        "payment_ref": entry.payment_ref,
        "about": entry.about,
        "currency": entry.currency.code(),
        "lines": lines.collect::<Vec<_>>(),
    })
}

/// Every account that has or had anything, with debits above zero.
fn balances(books: &Books) -> Vec<Value> {
    let of = |balances: &Balances, key| balances.get(key).copied().unwrap_or_default();
    let keys = books.closing.keys();
    keys.map(|key| {
        let (currency, account) = *key;
        let (opening, closing) = (of(&books.opening, key), of(&books.closing, key));
        let decimal = |minor: i64| {
            let currency: Option<Currency> = currency.parse().ok();
            currency.map(|currency| decimal(minor, currency))
        };
        json!({
            "currency": currency,
            "account": account.as_str(),
            "opening_minor": opening,
            "movement_minor": closing - opening,
            "closing_minor": closing,
            "opening": decimal(opening),
            "movement": decimal(closing - opening),
            "closing": decimal(closing),
        })
    })
    .collect()
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn decimal(minor: i64, currency: Currency) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    // The absolute amount is never below zero.
    let amount = Money::new(minor.saturating_abs(), currency);
    amount.map_or_else(
        |_| minor.to_string(),
        |it| format!("{sign}{}", it.decimal()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        assert_eq!(cell("pi_1"), "pi_1");
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(cell("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(cell("-2\n=3"), "'-2 =3");
        assert_eq!(cell("\t=1"), "' =1");
    }

    #[test]
    fn decimals_are_those_of_the_currency() {
        let yen = "JPY".parse().unwrap();
        assert_eq!(decimal(-2050, Currency::GBP), "-20.50");
        assert_eq!(decimal(500, yen), "500");
        assert_eq!(decimal(0, Currency::GBP), "0.00");
    }
}
