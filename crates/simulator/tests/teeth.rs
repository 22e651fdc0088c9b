//! Planted defects that the simulator finds: each in the life of a seed or in a race that is known to show
//! it, and by the promise that it breaks there. Without the defect the same life keeps every promise, and
//! so does every order of every race (`races.rs`).

use std::collections::BTreeSet;

use paidonce_core::planted::Defect;
use simulator::{Campaign, Kind, Search, System};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Defect, what finds it, promise: what `paidonce simulate --plant all` prints.
const FOUND: &str = include_str!("found.txt");

fn known() -> impl Iterator<Item = (Defect, &'static str, &'static str)> {
    FOUND.lines().map(|line| {
        let mut parts = line.split(" | ");
        let mut next = || parts.next().expect("three parts in each line");
        let defect = Defect::named(next()).expect("a defect's name");
        (defect, next(), next())
    })
}

fn search() -> Search {
    Search::new(Campaign {
        from: 0,
        seeds: 1,
        steps: 6,
        systems: System::ALL.to_vec(),
        kinds: Kind::ALL.to_vec(),
        threads: 1,
        defect: None,
    })
}

#[test]
fn of_every_defect_it_is_known_what_finds_it() {
    let known: BTreeSet<Defect> = known().map(|(defect, ..)| defect).collect();
    for defect in Defect::ALL {
        let name = defect.name();
        assert!(known.contains(defect), "no line tells what finds `{name}`");
    }
}

#[test]
fn a_planted_defect_breaks_its_promise_and_without_it_none_is_broken() {
    let search = search();
    for (defect, by, promise) in known() {
        let name = defect.name();
        let (broken, is_well) = search.again(by, defect).expect("a life or a race");
        assert_eq!(broken, Some(promise), "{name} in {by}");
        assert!(is_well, "{by} breaks a promise without {name}");
    }
}
