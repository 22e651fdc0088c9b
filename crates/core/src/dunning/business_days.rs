//! Business days of a region: no weekend, no bank holiday.
//!
//! Bank holidays are data (`holidays.json`) that ends. A day of a year without data is an error,
//! not a guess: a charge on a bank holiday is declined more often, and costs an attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate, Weekday};
use serde::{Deserialize, Serialize};

/// Where bank holidays differ within the United Kingdom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    EnglandAndWales,
    Scotland,
    NorthernIreland,
}

impl Region {
    pub const ALL: [Self; 3] = [Self::EnglandAndWales, Self::Scotland, Self::NorthernIreland];

    /// As it is written in a policy: `england-and-wales`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EnglandAndWales => "england-and-wales",
            Self::Scotland => "scotland",
            Self::NorthernIreland => "northern-ireland",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The bank holidays of a year aren't known: a newer edition is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bank holidays of {year} are not known for {region}")]
pub struct NoHolidayData {
    pub year: i32,
    pub region: Region,
}

/// How a business counts its days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusinessDays {
    /// Whose bank holidays are kept.
    pub region: Region,
    /// The weekdays that are never business days, such as `["Sat", "Sun"]` or `["Fri", "Sat"]`.
    pub weekend: Vec<Weekday>,
}

impl BusinessDays {
    /// Whether a day is neither on the weekend nor a bank holiday.
    ///
    /// # Errors
    /// [`NoHolidayData`], for a weekend day too: what holds for a year holds for all its days.
    pub fn is_business_day(&self, day: NaiveDate) -> Result<bool, NoHolidayData> {
        let unknown = NoHolidayData {
            year: day.year(),
            region: self.region,
        };
        let holidays = HOLIDAYS
            .days_off
            .get(&self.region)
            .and_then(|years| years.get(&day.year()))
            .ok_or(unknown)?;
        Ok(!self.weekend.contains(&day.weekday()) && !holidays.contains(&day))
    }

    /// The `n`-th business day after a day, whatever that day itself is; the day itself if `n` is 0.
    ///
    /// # Errors
    /// [`NoHolidayData`] if a day up to it is of a year without data.
    pub fn after(&self, day: NaiveDate, n: u32) -> Result<NaiveDate, NoHolidayData> {
        (0..n).try_fold(day, |day, _| self.on_or_after(self.next(day)?))
    }

    /// The day itself, if it is a business day, or the next one.
    ///
    /// # Errors
    /// As [`Self::after`].
    pub fn on_or_after(&self, mut day: NaiveDate) -> Result<NaiveDate, NoHolidayData> {
        // Ends with the data at the latest.
        while !self.is_business_day(day)? {
            day = self.next(day)?;
        }
        Ok(day)
    }

    /// The next day of the calendar.
    pub(super) fn next(&self, day: NaiveDate) -> Result<NaiveDate, NoHolidayData> {
        day.succ_opt().ok_or(NoHolidayData {
            year: day.year(),
            region: self.region,
        })
    }
}

/// The last day that can be judged; long before it somebody must be told.
pub fn covered_until(region: Region) -> NaiveDate {
    HOLIDAYS
        .days_off
        .get(&region)
        .and_then(|years| years.keys().next_back())
        .and_then(|year| NaiveDate::from_ymd_opt(*year, 12, 31))
        .unwrap_or(NaiveDate::MIN)
}

/// Which edition of the bank holidays this is.
pub fn edition() -> &'static str {
    &HOLIDAYS.edition
}

/// The bank holidays by region and year; a year that is here is known whole.
#[derive(Default)]
struct Holidays {
    edition: String,
    days_off: BTreeMap<Region, BTreeMap<i32, BTreeSet<NaiveDate>>>,
}

/// `holidays.json`: the days of each year as `MM-DD`.
#[derive(Default, Deserialize)]
struct Table {
    edition: String,
    days_off: BTreeMap<Region, BTreeMap<i32, Vec<String>>>,
}

static HOLIDAYS: LazyLock<Holidays> = LazyLock::new(|| {
    // Data that can't be read is no data, and then each question is an error.
    let table: Table = serde_json::from_str(include_str!("holidays.json")).unwrap_or_default();
    let days_off = table
        .days_off
        .iter()
        .map(|(region, years)| (*region, known_years(years)))
        .collect();
    Holidays {
        edition: table.edition,
        days_off,
    }
});

/// The years of which every day can be read.
fn known_years(years: &BTreeMap<i32, Vec<String>>) -> BTreeMap<i32, BTreeSet<NaiveDate>> {
    let read = |year: i32, days: &[String]| -> Option<BTreeSet<NaiveDate>> {
        let day = |text: &String| format!("{year}-{text}").parse().ok();
        days.iter().map(day).collect()
    };
    years
        .iter()
        .filter_map(|(year, days)| Some((*year, read(*year, days)?)))
        .collect()
}

#[cfg(test)]
mod tests;
