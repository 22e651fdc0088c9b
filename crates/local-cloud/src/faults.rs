//! Faults, by plan or by seed: which call goes wrong, when, and how.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use crate::iam::matches;

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The request never left.
    NotSent,
    /// The request was applied, its answer was lost.
    AnswerLost,
    /// The service's throttling error; nothing was applied.
    Throttled,
    /// Another transaction was in the way; nothing was applied.
    Conflict,
    /// An internal error of the service; nothing was applied.
    InternalError,
    /// The request was applied, but the answer came after the invocation's time-out.
    Slow,
    /// The process died before the request left.
    CrashBefore,
    /// The process died after the request was applied.
    CrashAfter,
}

impl FaultKind {
    /// Every kind, for tests that try them all.
    pub const ALL: [Self; 8] = [
        Self::NotSent,
        Self::AnswerLost,
        Self::Throttled,
        Self::Conflict,
        Self::InternalError,
        Self::Slow,
        Self::CrashBefore,
        Self::CrashAfter,
    ];
}

/// A rule of the plan: the `nth` call that matches, and the `times - 1` after it, go wrong.
///
/// Each attempt that the SDK makes is a call of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// The calling function; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// An operation (`TransactWriteItems`), a service (`sns`), or a neighbour's
    /// `POST /v1/checkout/sessions`, where `*` stands for anything; any call when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Counts from 1.
    #[serde(default = "one")]
    pub nth: u32,
    #[serde(default = "one")]
    pub times: u32,
    pub fault: FaultKind,
}

fn one() -> u32 {
    1
}

impl FaultRule {
    /// The first matching call of `function` to `operation` goes wrong, once.
    pub fn once(function: &str, operation: &str, fault: FaultKind) -> Self {
        Self {
            function: Some(function.to_owned()),
            operation: Some(operation.to_owned()),
            nth: 1,
            times: 1,
            fault,
        }
    }

    #[must_use]
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    fn matches(&self, function: &str, service: &str, operation: &str) -> bool {
        let function_fits = self
            .function
            .as_deref()
            .is_none_or(|wanted| wanted == function);
        let operation_fits = |wanted: &str| matches(wanted, operation) || wanted == service;
        function_fits && self.operation.as_deref().is_none_or(operation_fits)
    }
}

/// Faults without a plan: any call may go wrong, as the seed decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomFaults {
    pub seed: u64,
    /// Of a thousand calls, so many go wrong.
    pub per_mille: u32,
    /// What may happen to them; each kind is as likely as the others.
    pub kinds: Vec<FaultKind>,
}

/// The plan, and what happens without one. Nothing goes wrong at first.
#[derive(Debug, Default)]
pub struct Faults {
    plan: Mutex<Vec<Planned>>,
    random: Mutex<Option<(RandomFaults, ChaCha12Rng)>>,
}

#[derive(Debug)]
struct Planned {
    rule: FaultRule,
    seen: u32,
}

impl Faults {
    /// Adds a rule, which counts from now.
    pub fn add(&self, rule: FaultRule) {
        self.plan().push(Planned { rule, seen: 0 });
    }

    /// Replaces the plan.
    pub fn set(&self, rules: Vec<FaultRule>) {
        let planned = rules.into_iter().map(|rule| Planned { rule, seen: 0 });
        *self.plan() = planned.collect();
    }

    /// Lets calls go wrong that no rule is about; `None` ends it.
    pub fn set_random(&self, random: Option<RandomFaults>) {
        let seeded = |random: RandomFaults| {
            let rng = ChaCha12Rng::seed_from_u64(random.seed);
            (random, rng)
        };
        *self.dice() = random.map(seeded);
    }

    /// Ends all faults.
    pub fn clear(&self) {
        self.plan().clear();
        *self.dice() = None;
    }

    /// The rules that can still strike.
    pub fn rules(&self) -> Vec<FaultRule> {
        self.plan()
            .iter()
            .map(|planned| planned.rule.clone())
            .collect()
    }

    /// Counts a call against every rule; returns the fault of the first rule that strikes.
    pub(crate) fn strike(
        &self,
        function: &str,
        service: &str,
        operation: &str,
    ) -> Option<FaultKind> {
        let mut plan = self.plan();
        let mut fault = None;
        for planned in plan.iter_mut() {
            if planned.rule.matches(function, service, operation) {
                planned.seen = planned.seen.saturating_add(1);
                let rule = &planned.rule;
                let last = rule.nth.saturating_add(rule.times).saturating_sub(1);
                if fault.is_none() && (rule.nth..=last).contains(&planned.seen) {
                    fault = Some(rule.fault);
                }
            }
        }
        plan.retain(|planned| {
            let last = planned
                .rule
                .nth
                .saturating_add(planned.rule.times)
                .saturating_sub(1);
            planned.seen < last
        });
        fault.or_else(|| self.roll())
    }

    fn roll(&self) -> Option<FaultKind> {
        let mut dice = self.dice();
        let (random, rng) = dice.as_mut()?;
        let struck = rng.random_range(0..1_000) < random.per_mille;
        struck.then(|| random.kinds.choose(rng).copied()).flatten()
    }

    fn dice(&self) -> MutexGuard<'_, Option<(RandomFaults, ChaCha12Rng)>> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_and_the_ones_after_it_go_wrong() {
        let faults = Faults::default();
        faults.add(
            FaultRule::once("f", "PutItem", FaultKind::Throttled)
                .nth(2)
                .times(2),
        );
        let strike = || faults.strike("f", "dynamodb", "PutItem");
        let struck = [strike(), strike(), strike(), strike()];
        let throttled = Some(FaultKind::Throttled);
        assert_eq!(struck, [None, throttled, throttled, None]);
        assert_eq!(faults.rules(), []);
    }

    #[test]
    fn a_rule_is_for_its_function_and_a_service_counts_as_an_operation() {
        let faults = Faults::default();
        faults.add(FaultRule::once("f", "sns", FaultKind::NotSent));
        assert_eq!(faults.strike("g", "sns", "Publish"), None);
        assert_eq!(
            faults.strike("f", "sns", "Publish"),
            Some(FaultKind::NotSent)
        );
    }

    #[test]
    fn a_rule_reads_from_json_with_its_defaults() {
        let rule: FaultRule =
            serde_json::from_str(r#"{"operation": "Publish", "fault": "answer_lost"}"#).unwrap();
        assert_eq!(
            (rule.nth, rule.times, rule.fault),
            (1, 1, FaultKind::AnswerLost)
        );
    }

    #[test]
    fn random_faults_are_as_frequent_as_asked_and_the_same_for_a_seed() {
        let struck = || {
            let faults = Faults::default();
            let kinds = vec![FaultKind::NotSent, FaultKind::AnswerLost];
            faults.set_random(Some(RandomFaults {
                seed: 1,
                per_mille: 100,
                kinds,
            }));
            let strike = |_| faults.strike("f", "sns", "Publish");
            (0..1_000).map(strike).collect::<Vec<_>>()
        };
        assert_eq!(struck(), struck());
        let count = struck().iter().flatten().count();
        assert!((60..140).contains(&count), "{count}");
    }
}
