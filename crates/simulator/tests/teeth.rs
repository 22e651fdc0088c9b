//! Each planted defect is found, and by what it breaks.

use std::collections::BTreeMap;

use expect_test::expect_file;
use paidonce_core::planted::Defect;
use simulator::{Campaign, Kind, System};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEEDS: usize = 10_000;

/// The table beside this file says which seed found a defect when it was last updated
/// (`UPDATE_EXPECT=1`): it is tried first, and the others only if it finds it no more.
const FOUND: &str = include_str!("found.txt");

fn known() -> BTreeMap<&'static str, u64> {
    let lines = FOUND.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?.parse().ok()?))
    });
    lines.collect()
}

fn campaign(defect: Defect, from: u64, seeds: usize) -> Campaign {
    Campaign {
        from,
        seeds,
        steps: 6,
        systems: System::ALL.to_vec(),
        kinds: Kind::ALL.to_vec(),
        threads: 2,
        defect: Some(defect),
    }
}

/// The lowest seed that finds a defect, and the promise that it breaks.
fn find(defect: Defect) -> Option<(u64, &'static str)> {
    let known = known()
        .get(defect.name())
        .map(|seed| campaign(defect, *seed, 1));
    let tries = known.into_iter().chain([campaign(defect, 0, SEEDS)]);
    tries.into_iter().find_map(|campaign| {
        let tally = campaign.run(&|_, _| {});
        let life = tally.failed.first()?;
        Some((life.seed, life.violation.as_ref()?.promise))
    })
}

#[test]
fn every_planted_defect_is_found_within_ten_thousand_lives() {
    let mut lines = Vec::new();
    let mut missed = Vec::new();
    for defect in Defect::ALL {
        match find(*defect) {
            Some((seed, promise)) => {
                lines.push(format!("{:<30} {seed:>5}  {promise}", defect.name()))
            }
            None => missed.push(defect.name()),
        }
    }
    assert_eq!(missed, Vec::<&str>::new(), "not found");
    expect_file!["found.txt"].assert_eq(&(lines.join("\n") + "\n"));
}
