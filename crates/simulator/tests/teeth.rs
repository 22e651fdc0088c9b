//! Planted defects that the simulator finds: each in the life of a seed that is known to show it, and by
//! the promise that it breaks there. Without the defect the same life keeps every promise.

use paidonce_core::planted::Defect;
use simulator::{Campaign, Kind, System};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Defect, system, seed, promise. `paidonce simulate --plant NAME --system SYSTEM` finds the seed.
const FOUND: &str = include_str!("found.txt");

struct Found {
    defect: Defect,
    system: System,
    seed: u64,
    promise: &'static str,
}

fn found(line: &'static str) -> Found {
    let mut words = line.splitn(4, ' ');
    let mut next = || words.next().expect("four words and more in each line");
    Found {
        defect: Defect::named(next()).expect("a defect's name"),
        system: System::named(next()).expect("a system's name"),
        seed: next().parse().expect("a seed"),
        promise: next(),
    }
}

fn broken_in(found: &Found, defect: Option<Defect>) -> Option<&'static str> {
    let campaign = Campaign {
        from: found.seed,
        seeds: 1,
        steps: 6,
        systems: vec![found.system],
        kinds: Kind::ALL.to_vec(),
        threads: 1,
        defect,
    };
    let tally = campaign.run(&|_, _| {});
    let life = tally.failed.first()?;
    life.violation.as_ref().map(|violation| violation.promise)
}

#[test]
fn a_planted_defect_breaks_its_promise_and_without_it_none_is_broken() {
    let known: Vec<Found> = FOUND.lines().map(found).collect();
    assert!(known.len() >= 10);
    for it in &known {
        let name = it.defect.name();
        assert_eq!(broken_in(it, Some(it.defect)), Some(it.promise), "{name}");
        assert_eq!(broken_in(it, None), None, "{name}, not planted");
    }
}
