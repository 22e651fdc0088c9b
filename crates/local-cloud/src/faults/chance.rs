//! What strikes without a rule: by chance, or by the script of an earlier run.

use std::collections::BTreeMap;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use super::FaultKind;
use super::kind::THROTTLED_CALLS;

/// Faults without a plan: any call may go wrong, as the seed decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomFaults {
    pub seed: u64,
    /// Of a thousand calls, so many go wrong.
    pub per_mille: u32,
    /// What may happen to them, each with its weight. Of these, a call suffers one that fits it; if
    /// none does, nothing goes wrong.
    pub kinds: Vec<(FaultKind, u32)>,
}

/// A fault that struck.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Struck {
    /// Which call of all functions it was, from 1, since chance or a script was last set.
    pub ordinal: u64,
    pub fault: FaultKind,
    pub function: String,
    pub operation: String,
}

/// Chance or a script, and the count of calls that both go by.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) calls: u64,
    pub(super) calm: bool,
    random: Option<(RandomFaults, ChaCha12Rng)>,
    script: BTreeMap<u64, FaultKind>,
    bursts: Vec<Burst>,
    pub(super) struck: Vec<Struck>,
}

/// What is left of a [`FaultKind::ThrottledThrough`].
#[derive(Debug)]
struct Burst {
    function: String,
    service: String,
    operation: String,
    calls_left: u32,
}

impl Course {
    pub(super) fn of_chance(random: RandomFaults) -> Self {
        let rng = ChaCha12Rng::seed_from_u64(random.seed);
        Self {
            random: Some((random, rng)),
            ..Self::default()
        }
    }

    pub(super) fn of_script(script: Vec<(u64, FaultKind)>) -> Self {
        Self {
            script: script.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Ends what strikes, and keeps what is known of what struck.
    pub(super) fn stop(&mut self) {
        self.random = None;
        self.script.clear();
        self.bursts.clear();
    }

    /// What a burst that has begun does to this call.
    pub(super) fn burst(&mut self, function: &str, service: &str, operation: &str) -> bool {
        let mut bursts = self.bursts.iter_mut();
        let own = bursts.find(|burst| {
            burst.function == function && burst.service == service && burst.operation == operation
        });
        let Some(own) = own else { return false };
        own.calls_left = own.calls_left.saturating_sub(1);
        self.bursts.retain(|burst| burst.calls_left > 0);
        true
    }

    pub(super) fn start_burst(&mut self, function: &str, service: &str, operation: &str) {
        self.bursts.push(Burst {
            function: function.to_owned(),
            service: service.to_owned(),
            operation: operation.to_owned(),
            calls_left: THROTTLED_CALLS - 1,
        });
    }

    /// What the script or the dice have for the present call.
    pub(super) fn next(&mut self, service: &str, operation: &str) -> Option<FaultKind> {
        let fits = |kind: &FaultKind| kind.fits(service, operation);
        if let Some(kind) = self.script.get(&self.calls) {
            return Some(*kind).filter(fits);
        }
        let (random, rng) = self.random.as_mut()?;
        if rng.random_range(0..1_000) >= random.per_mille {
            return None;
        }
        let kinds = random.kinds.iter().filter(|(kind, _)| fits(kind));
        let kinds: Vec<(FaultKind, u32)> = kinds.copied().collect();
        let chosen = kinds.choose_weighted(rng, |(_, weight)| *weight).ok()?;
        Some(chosen.0)
    }
}
