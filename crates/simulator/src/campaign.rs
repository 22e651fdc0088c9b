//! Many lives on several threads, each life wholly on one of them. What is reported does not depend
//! on which thread lived which.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use chrono::TimeDelta;
use paidonce_core::planted::{self, Defect};
use sha2::{Digest, Sha256};

use crate::action::System;
use crate::kinds::Kind;
use crate::life::{Life, live};
use crate::plan::Plan;

/// What a campaign tries.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first seed, and how many.
    pub from: u64,
    pub seeds: usize,
    /// At most so many actions in a life.
    pub steps: usize,
    pub systems: Vec<System>,
    pub kinds: Vec<Kind>,
    pub threads: usize,
    /// A defect that all lives have.
    pub defect: Option<Defect>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Tally {
    pub lives: BTreeMap<System, u64>,
    pub lasted: TimeDelta,
    pub actions: u64,
    pub calls: u64,
    pub messages: u64,
    pub checks: u64,
    pub faults: BTreeMap<Kind, u64>,
    /// The failing lives with the lowest seeds, in order.
    pub failed: Vec<Life>,
    /// One digest of all traces, as hex.
    pub digest: String,
    digests: BTreeMap<u64, String>,
}

/// A campaign ends with the first seeds that fail, since each tells the same more often than not.
const FAILED_MAX: usize = 8;

impl Campaign {
    /// The plan of one seed.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::new(seed, &self.systems, self.steps, &self.kinds)
    }

    /// Lives one plan with the campaign's defect.
    pub fn live(&self, plan: &Plan) -> Life {
        planted::plant(self.defect);
        let life = live(plan);
        planted::plant(None);
        life
    }

    /// Lives all seeds. `progress` is told of how many lives how many are done.
    pub fn run(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Tally {
        // One is enough to find a defect that was put in on purpose.
        let enough_failures = if self.defect.is_some() { 1 } else { FAILED_MAX };
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let enough = AtomicBool::new(false);
        let tally = Mutex::new(Tally::default());
        let work = || {
            while !enough.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.seeds {
                    return;
                }
                let plan = self.plan(
                    self.from
                        .saturating_add(index.try_into().unwrap_or(u64::MAX)),
                );
                let life = self.live(&plan);
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.add(plan.system, life);
                if tally.failed.len() >= enough_failures {
                    enough.store(true, Ordering::Relaxed);
                }
                drop(tally);
                progress(
                    done.fetch_add(1, Ordering::Relaxed).saturating_add(1),
                    self.seeds,
                );
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(work);
            }
        });
        let tally = tally.into_inner();
        tally.unwrap_or_else(PoisonError::into_inner).finished()
    }
}

impl Tally {
    fn add(&mut self, system: System, life: Life) {
        *self.lives.entry(system).or_default() += 1;
        self.lasted += life.lasted;
        self.actions += life.actions;
        self.calls += life.calls;
        self.messages += life.messages;
        self.checks += life.checks;
        for (kind, count) in &life.faults {
            *self.faults.entry(*kind).or_default() += count;
        }
        self.digests.insert(life.seed, life.trace.digest());
        if life.violation.is_some() {
            self.failed.push(life);
        }
    }

    fn finished(mut self) -> Self {
        let mut all = Sha256::new();
        for (seed, digest) in &self.digests {
            all.update(format!("{seed} {digest}\n"));
        }
        self.digest = hex::encode(all.finalize());
        self.failed.sort_by_key(|life| life.seed);
        self
    }

    /// How many lives there were.
    pub fn total(&self) -> u64 {
        self.lives.values().sum()
    }
}
