//! Our bank holidays against `govuk-bank-holidays`, which takes them from the government's own list,
//! and against the package `holidays`, which works them out by rule.
//!
//! The interpreter is `PAIDONCE_PYTHON` or the one of `.venv`, which `.ci/run` makes. Without the
//! packages there is nothing to compare with, and that is said aloud.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{Datelike as _, NaiveDate, Weekday};
use paidonce_core::dunning::business_days::{BusinessDays, Region, covered_until};
use serde::Deserialize;

/// What the script leaves with if a package is missing.
const PACKAGES_MISSING: i32 = 3;

/// What others say about a region.
#[derive(Deserialize)]
struct Others {
    holidays: BTreeSet<NaiveDate>,
    wider: BTreeSet<NaiveDate>,
    /// By weekend and day: the business days after it, `None` beyond the last year.
    after: BTreeMap<String, BTreeMap<NaiveDate, Vec<Option<NaiveDate>>>>,
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// The interpreter, and whether somebody asked for it.
#[expect(
    clippy::disallowed_methods,
    reason = "where the oracle lives is the machine's matter"
)]
fn python() -> (PathBuf, bool) {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    std::env::var_os("PAIDONCE_PYTHON").map_or((ours, false), |path| (PathBuf::from(path), true))
}

/// What the others say; nothing, said aloud, if they aren't installed.
fn others(first: NaiveDate, last: NaiveDate) -> Option<BTreeMap<Region, Others>> {
    let (python, asked_for) = python();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/days/bank_holidays.py");
    let ran = Command::new(&python)
        .arg(script)
        .args([first.to_string(), last.to_string()])
        .output();
    let why = match ran {
        Ok(ran) if ran.status.success() => {
            return Some(serde_json::from_slice(&ran.stdout).unwrap());
        }
        Ok(ran) => {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(PACKAGES_MISSING), "{said}");
            said
        }
        Err(error) => error.to_string(),
    };
    assert!(!asked_for, "{}: {why}", python.display());
    let skipped = format!(
        "SKIPPED: bank holidays were compared with nothing ({why}); install scripts/requirements.txt\n"
    );
    // Past the harness, which keeps back what a passing test prints.
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    None
}

fn weekend(names: &str) -> Vec<Weekday> {
    names.split(' ').map(|name| name.parse().unwrap()).collect()
}

#[test]
fn our_days_off_and_our_business_days_are_those_of_others() {
    let (first, last) = (day("2024-01-01"), day("2028-12-31"));
    let Some(others) = others(first, last) else {
        return;
    };
    assert_eq!(others.len(), Region::ALL.len());
    for (region, others) in others {
        assert_eq!(covered_until(region), last, "{region}");
        let ours = days_off(region, last);
        assert_eq!(ours, others.holidays, "{region}");
        let unheard_of: Vec<_> = ours.difference(&others.wider).collect();
        assert_eq!(unheard_of, Vec::<&NaiveDate>::new(), "{region}");
        assert_eq!(others.after.len(), 2, "two weekends");
        for (names, rows) in others.after {
            let days = BusinessDays {
                region,
                weekend: weekend(&names),
            };
            assert_eq!(rows.len(), 1827, "the days of five years");
            for (start, after) in rows {
                let ours: Vec<_> = (1..=5).map(|n| days.after(start, n).ok()).collect();
                assert_eq!(ours, after, "{region}, weekend {names}, after {start}");
            }
        }
    }
}

/// All days from 2012 on that are no business days although no weekday is.
fn days_off(region: Region, last: NaiveDate) -> BTreeSet<NaiveDate> {
    let days = BusinessDays {
        region,
        weekend: Vec::new(),
    };
    day("2012-01-01")
        .iter_days()
        .take_while(|day| day.year() <= last.year())
        .filter(|day| !days.is_business_day(*day).unwrap())
        .collect()
}
