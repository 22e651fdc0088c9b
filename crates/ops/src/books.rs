//! The journal of a period, the balances around it, and whether the provider says the same.
//!
//! The payments table is read from one end to the other, since a payment of last year may be
//! disputed today; kept in memory are the entries of the period and the sums before it.

mod files;
mod period;
mod report;
mod tie_out;

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use paidonce_core::booking::Booking;
use paidonce_core::books::{Account, Entry, entries};
use paidonce_core::money::Currency;
use paidonce_core::refund::PaymentRow;
use paidonce_core::step::{Item, Row, RowError, from_item};
use serde::Serialize;

pub use files::{FileError, Files};
pub use period::{DAYS_MAX, Period, PeriodError};
pub use report::{csv, json};
pub use tie_out::{Break, BreakKind, Compared, Listed, Provided, TieOut, Tied};

use crate::OpsError;
use crate::tables::{Progress, Scan, Tables, bookings};

/// What each account stands at, by currency code, in minor units: debits are above zero.
pub type Balances = BTreeMap<(&'static str, Account), i64>;

/// The books of a period.
#[derive(Debug)]
pub struct Books {
    pub period: Period,
    /// In order.
    pub entries: Vec<Entry>,
    pub opening: Balances,
    pub closing: Balances,
    /// What is in no entry, and why.
    pub left_out: Vec<LeftOut>,
    pub rows: u64,
    /// Absent if the provider was not asked.
    pub tied: Option<Tied>,
}

/// A payment that the journal has nothing of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub key: String,
    pub why: &'static str,
}

impl Books {
    /// Whether every entry balances, all accounts together do, nothing was left out, and the
    /// provider, if it was asked, has nothing else.
    pub fn are_in_order(&self) -> bool {
        let balanced = self.entries.iter().all(Entry::is_balanced);
        let tied = self.tied.as_ref().is_none_or(|tied| tied.breaks.is_empty());
        balanced
            && is_zero(&self.opening)
            && is_zero(&self.closing)
            && tied
            && self.left_out.is_empty()
    }
}

/// Whether the accounts of each currency add up to nothing.
fn is_zero(balances: &Balances) -> bool {
    let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
    for ((currency, _), sum) in balances {
        *sums.entry(currency).or_default() += i128::from(*sum);
    }
    sums.values().all(|sum| *sum == 0)
}

/// Reads the books of a period, against what the provider listed if it was asked.
///
/// # Errors
/// If a table did not answer.
pub async fn read(
    client: &Client,
    tables: &Tables,
    period: Period,
    mut tie_out: Option<TieOut>,
    progress: Progress<'_>,
) -> Result<Books, OpsError> {
    let mut books = Books {
        period,
        entries: Vec::new(),
        opening: Balances::new(),
        closing: Balances::new(),
        left_out: Vec::new(),
        rows: 0,
        tied: None,
    };
    let filter = "begins_with(event_id, :wanted)";
    let mut scan = Scan::of(client, &tables.payments, filter, "payment#".to_owned());
    while let Some(items) = scan.page(progress).await? {
        let rows = books.rows_of(items);
        let ids: Vec<String> = {
            let ids = rows.iter().filter_map(|row| row.booking_id.clone());
            let ids: std::collections::BTreeSet<String> = ids.collect();
            ids.into_iter().collect()
        };
        let found = bookings(client, &tables.bookings, &ids).await?;
        for row in &rows {
            let booking = row.booking_id.as_ref().and_then(|id| found.get(id));
            books.take_in(row, booking);
            if let Some(tie_out) = &mut tie_out {
                tie_out.look_at(row);
            }
        }
    }
    books.rows = scan.looked_at();
    books
        .entries
        .sort_by(|one, two| order_of(one).cmp(&order_of(two)));
    books.tied = tie_out.map(TieOut::finish);
    Ok(books)
}

fn order_of(entry: &Entry) -> impl Ord + '_ {
    (entry.at, &entry.payment_ref, entry.what, &entry.about)
}

impl Books {
    /// A row that does not fit is left out by its key; those behind it are read.
    fn rows_of(&mut self, items: Vec<Item>) -> Vec<PaymentRow> {
        let mut rows = Vec::new();
        for item in items {
            let key = item.get(PaymentRow::KEY).and_then(|key| key.as_s().ok());
            let key = key.cloned().unwrap_or_default();
            match from_item(item) {
                Ok(row) => rows.push(row),
                Err(_) => self.leave_out(key, "its row can't be read"),
            }
        }
        rows
    }

    fn take_in(&mut self, row: &PaymentRow, booking: Option<&Result<Booking, RowError>>) {
        let booking = match booking {
            Some(Ok(booking)) => Some(booking),
            Some(Err(_)) => {
                return self.leave_out(row.event_id.clone(), "its booking can't be read");
            }
            None => None,
        };
        let range = self.period.range();
        let is_of_then = row.paid_at.is_some_and(|at| range.contains(&at));
        if row.booking_id.is_some() && row.amount.is_none() && is_of_then {
            self.leave_out(row.event_id.clone(), "it is not known what came");
        }
        for entry in entries(row, booking) {
            if entry.at >= range.end {
                continue;
            }
            add(&mut self.closing, &entry);
            if entry.at < range.start {
                add(&mut self.opening, &entry);
            } else {
                self.entries.push(entry);
            }
        }
    }

    fn leave_out(&mut self, key: String, why: &'static str) {
        self.left_out.push(LeftOut { key, why });
    }
}

fn add(balances: &mut Balances, entry: &Entry) {
    for line in &entry.lines {
        let key = (Currency::code(entry.currency), line.account);
        *balances.entry(key).or_default() += line.signed();
    }
}
