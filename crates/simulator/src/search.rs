//! What finds a planted defect: a life, or an order of two parties' calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use paidonce_core::planted::{self, Defect, Reached};

use crate::action::System;
use crate::campaign::Campaign;
use crate::life::{Life, live};
use crate::plan::Plan;
use crate::races::{Effort, Explored, Race, races};

/// So many lives of each system come before the races, which take about as long.
const FIRST_LIVES: usize = 300;

/// A search for planted defects, one after the other.
pub struct Search {
    campaign: Campaign,
    /// Which places lives without a defect came to, and whether they kept every promise, where that is known.
    known: BTreeMap<(System, u64), Option<Reached>>,
    /// Of each race, which places some order comes to.
    of_races: BTreeMap<&'static str, Reached>,
}

/// What finds a defect.
pub enum Found {
    Life {
        plan: Box<Plan>,
        life: Box<Life>,
    },
    Race {
        name: &'static str,
        is_dying: bool,
        promise: &'static str,
        what: String,
        order: String,
    },
}

impl Found {
    /// The promise that is broken.
    pub fn promise(&self) -> &'static str {
        match self {
            Self::Race { promise, .. } => promise,
            Self::Life { life, .. } => {
                let violation = life.violation.as_ref();
                violation.map_or("", |violation| violation.promise)
            }
        }
    }

    /// What finds it, in the words that [`Search::again`] understands.
    pub fn by(&self) -> String {
        match self {
            Self::Life { plan, .. } => format!("{} {}", plan.system.name(), plan.seed),
            Self::Race { name, is_dying, .. } => {
                let dying = if *is_dying { "dying " } else { "" };
                format!("{dying}race {name}")
            }
        }
    }
}

impl Search {
    /// A search among the lives of a campaign and the races.
    pub fn new(campaign: Campaign) -> Self {
        Self {
            campaign,
            known: BTreeMap::new(),
            of_races: BTreeMap::new(),
        }
    }

    /// Lives so many seeds of each system without a defect, so that a search for a defect leaves out those
    /// that do not come to its place: they would be the same lives. Pays where more than a few are searched for.
    pub fn study(&mut self, seeds: usize) {
        for system in self.campaign.systems.clone() {
            let known = Mutex::new(BTreeMap::new());
            let _ = self.first(0, seeds, &|seed| {
                let (life, reached) = live_with(None, &self.plan(system, seed));
                let reached = life.violation.is_none().then_some(reached);
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert((system, seed), reached);
                None::<()>
            });
            let known = known.into_inner();
            self.known
                .extend(known.unwrap_or_else(PoisonError::into_inner));
        }
        self.study_races();
    }

    /// Walks each race without a defect. Its first order is not enough: who comes first leaves the other
    /// nothing to do.
    fn study_races(&mut self) {
        let all: Vec<&Race> = races().collect();
        let known = Mutex::new(BTreeMap::new());
        let _ = self.first(0, all.len(), &|at| {
            let race = all.get(usize::try_from(at).ok()?)?;
            planted::take_reached();
            let alive = race.explore(Effort::WHOLE);
            race.explore_dying(Effort::WHOLE, &alive.changes);
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(race.name, planted::take_reached());
            None::<()>
        });
        self.of_races = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    }

    /// In how many of the lives that were studied the place of a defect was come to.
    pub fn reached(&self, defect: Defect) -> usize {
        let known = self.known.values().flatten();
        known.filter(|reached| reached.has(defect)).count()
    }

    /// What finds a defect: of the lives the first, of the races the first order of the first.
    pub fn find(&self, defect: Defect) -> Option<Found> {
        let seeds = self.campaign.seeds;
        let mut reaching = Vec::new();
        for system in &self.campaign.systems {
            let (found, is_reached) = self.in_lives(defect, *system, (0, seeds.min(FIRST_LIVES)));
            if found.is_some() {
                return found;
            }
            reaching.extend(is_reached.then_some(*system));
        }
        // A system whose first lives never come to the place is not the defect's.
        let in_later = |system: &System| self.in_lives(defect, *system, (FIRST_LIVES, seeds)).0;
        self.in_races(defect)
            .or_else(|| reaching.iter().find_map(in_later))
    }

    fn in_lives(
        &self,
        defect: Defect,
        system: System,
        (from, to): (usize, usize),
    ) -> (Option<Found>, bool) {
        let is_reached = AtomicBool::new(false);
        let found = self.first(from, to, &|seed| {
            let known = self.known.get(&(system, seed));
            if known.is_some_and(|known| !known.is_some_and(|reached| reached.has(defect))) {
                return None;
            }
            let plan = self.plan(system, seed);
            let (life, reached) = live_with(Some(defect), &plan);
            is_reached.fetch_or(reached.has(defect), Ordering::Relaxed);
            life.violation.as_ref()?;
            // A life that breaks a promise by itself shows nothing.
            let is_known = known.is_some();
            let is_well = is_known || live_with(None, &plan).0.violation.is_none();
            is_well.then(|| Found::Life {
                plan: Box::new(plan),
                life: Box::new(life),
            })
        });
        (found, is_reached.into_inner())
    }

    fn in_races(&self, defect: Defect) -> Option<Found> {
        let leads_there = |race: &&Race| {
            let known = self.of_races.get(race.name);
            known.is_none_or(|reached| reached.has(defect))
        };
        let all: Vec<&Race> = races()
            .filter(|race| self.campaign.systems.contains(&race.system()))
            .filter(leads_there)
            .collect();
        self.first(0, all.len(), &|at| {
            let race = all.get(usize::try_from(at).ok()?)?;
            explored(race, defect)
        })
    }

    fn plan(&self, system: System, seed: u64) -> Plan {
        let seed = self.campaign.from.saturating_add(seed);
        Plan::new(seed, &[system], self.campaign.steps, &self.campaign.kinds)
    }

    /// The first of the numbers from `from` to `to` to which `of` has an answer, whichever thread is faster.
    fn first<T: Send>(
        &self,
        from: usize,
        to: usize,
        of: &(dyn Fn(u64) -> Option<T> + Sync),
    ) -> Option<T> {
        let next = AtomicUsize::new(from);
        let enough = AtomicBool::new(false);
        let best = Mutex::new(None::<(usize, T)>);
        let work = || {
            while !enough.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= to {
                    return;
                }
                let Some(answer) = of(at.try_into().unwrap_or(u64::MAX)) else {
                    continue;
                };
                enough.store(true, Ordering::Relaxed);
                let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
                if best.as_ref().is_none_or(|(other, _)| at < *other) {
                    *best = Some((at, answer));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.campaign.threads.max(1) {
                scope.spawn(work);
            }
        });
        let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        best.map(|(_, answer)| answer)
    }

    /// The promise that a defect breaks in what is known to find it, and whether every promise is kept
    /// there without it. `by` is as [`Found::by`] has it; nothing if it names nothing.
    pub fn again(&self, by: &str, defect: Defect) -> Option<(Option<&'static str>, bool)> {
        let (kind, name) = by.split_once(' ')?;
        let broken = |life: Life| life.violation.map(|violation| violation.promise);
        let both = |plan: &Plan| {
            let with = broken(live_with(Some(defect), plan).0);
            (with, live_with(None, plan).0.violation.is_none())
        };
        match System::named(kind) {
            Some(system) => Some(both(&self.plan(system, name.parse().ok()?))),
            // Every order of every race is walked without a defect elsewhere.
            None => {
                let name = by.strip_prefix("dying ").unwrap_or(by);
                let name = name.strip_prefix("race ")?;
                let race = races().find(|race| race.name == name)?;
                Some((explored(race, defect).map(|found| found.promise()), true))
            }
        }
    }
}

fn live_with(defect: Option<Defect>, plan: &Plan) -> (Life, Reached) {
    planted::take_reached();
    planted::plant(defect);
    let life = live(plan);
    planted::plant(None);
    (life, planted::take_reached())
}

/// Walks a race with a defect, and again with the first party dying, until a promise is broken.
fn explored(race: &Race, defect: Defect) -> Option<Found> {
    planted::plant(Some(defect));
    let alive = race.explore(Effort::WHOLE);
    let dying = alive.broken.is_none();
    let dying = dying.then(|| race.explore_dying(Effort::WHOLE, &alive.changes));
    planted::plant(None);
    let is_dying = alive.broken.is_none();
    let broken = |explored: Explored| explored.broken;
    let (promise, what, order) = broken(alive).or_else(|| dying.and_then(broken))?;
    (promise != "the race can be run").then_some(Found::Race {
        name: race.name,
        is_dying,
        promise,
        what,
        order,
    })
}
