//! Lives as a whole: the same seed is the same life, no life breaks a promise, and a defect shows.

use std::collections::BTreeSet;

use paidonce_core::planted::Defect;
use simulator::{Campaign, Kind, Plan, System, live, shrink};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SILENT: &(dyn Fn(usize, usize) + Sync) = &|_, _| {};

fn campaign(seeds: usize) -> Campaign {
    Campaign {
        from: 1_000_000,
        seeds,
        steps: 6,
        systems: System::ALL.to_vec(),
        kinds: Kind::ALL.to_vec(),
        threads: 2,
        defect: None,
    }
}

/// A seed of a system whose life has many actions and many kinds of faults.
fn stormy(system: System) -> Plan {
    let plans = (0..200).map(|seed| Plan::new(seed, &[system], 10, Kind::ALL));
    plans
        .max_by_key(|plan| plan.weather.kinds.len() + plan.steps.len())
        .expect("there are plans")
}

#[test]
fn the_same_seed_gives_the_same_bytes_a_hundred_times_of_a_hundred() {
    for system in System::ALL {
        let plan = stormy(system);
        let first = live(&plan);
        assert!(
            first.trace.text().lines().count() > 30,
            "{}",
            first.trace.text()
        );
        for _ in 0..50 {
            assert_eq!(live(&plan).trace, first.trace);
        }
    }
}

#[test]
fn the_number_of_threads_decides_nothing() {
    let digests = [1, 2, 5].map(|threads| {
        let campaign = Campaign {
            threads,
            ..campaign(24)
        };
        campaign.run(SILENT).digest
    });
    assert_eq!(BTreeSet::from(digests).len(), 1);
}

#[test]
fn a_kind_that_is_switched_off_does_not_happen() {
    let only = Campaign {
        kinds: vec![Kind::CrashAfter],
        ..campaign(60)
    };
    let faults = only.run(SILENT).faults;
    let kinds: Vec<&Kind> = faults
        .iter()
        .filter(|(_, times)| **times > 0)
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, [&Kind::CrashAfter]);
    let none = Campaign {
        kinds: Vec::new(),
        ..campaign(20)
    };
    assert!(none.run(SILENT).faults.values().all(|times| *times == 0));
}

#[test]
fn a_failing_life_is_made_short_and_stays_failing() {
    let campaign = Campaign {
        defect: Some(Defect::UnmarkedForfeited),
        systems: vec![System::Booking],
        ..campaign(500)
    };
    let tally = campaign.run(SILENT);
    let failed = tally.failed.first().unwrap();
    let (plan, life) = shrink(&campaign, failed);
    let promise = |life: &simulator::Life| life.violation.as_ref().unwrap().promise;
    assert_eq!(promise(&life), promise(failed));
    assert!(plan.steps.len() <= campaign.plan(failed.seed).steps.len());
    assert_eq!(campaign.live(&plan).trace, life.trace);
}
