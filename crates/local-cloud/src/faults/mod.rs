//! Faults, by plan, by seed or by script: which call goes wrong, when, and how.
//!
//! Calls of functions are counted from the moment at which chance or a script was last set. What
//! struck is remembered under that number ([`Faults::struck`]), and [`Faults::set_script`] strikes
//! the same calls again in a run that makes the same calls. What a fault rolls beside (how late, which
//! entries) comes from the cloud's seed and that number, so it is the same again too.

mod chance;
mod kind;
mod rule;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use chance::{RandomFaults, Struck};
pub use kind::FaultKind;
pub use rule::FaultRule;

use chance::Course;

/// The plan, and what happens without one. Nothing goes wrong at first.
#[derive(Debug, Default)]
pub struct Faults {
    plan: Mutex<Vec<Planned>>,
    course: Mutex<Course>,
    injected: Mutex<BTreeMap<&'static str, u64>>,
}

#[derive(Debug)]
struct Planned {
    rule: FaultRule,
    seen: u32,
}

/// A fault and the number of the call that it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strike {
    pub(crate) fault: FaultKind,
    pub(crate) ordinal: u64,
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

    /// Lets calls go wrong that no rule is about, and counts calls from now; ends a script. `None`
    /// only ends chance and script.
    pub fn set_random(&self, random: Option<RandomFaults>) {
        let mut course = self.course();
        match random {
            Some(random) => *course = Course::of_chance(random),
            None => course.stop(),
        }
    }

    /// Strikes just these calls, by their ordinal from now; ends chance. A kind that does not fit its
    /// call does not strike.
    pub fn set_script(&self, script: Vec<(u64, FaultKind)>) {
        *self.course() = Course::of_script(script);
    }

    /// While calm, calls are counted, and none goes wrong by chance, by script or in a burst.
    pub fn set_calm(&self, calm: bool) {
        self.course().calm = calm;
    }

    /// Ends all faults. What struck and what was counted is kept.
    pub fn clear(&self) {
        self.plan().clear();
        self.course().stop();
    }

    /// The rules that can still strike.
    pub fn rules(&self) -> Vec<FaultRule> {
        self.plan()
            .iter()
            .map(|planned| planned.rule.clone())
            .collect()
    }

    /// What struck since chance or a script was last set, in order. The calls that
    /// [`FaultKind::ThrottledThrough`] throttles after its first are not listed.
    pub fn struck(&self) -> Vec<Struck> {
        self.course().struck.clone()
    }

    /// How many calls functions made since chance or a script was last set.
    pub fn calls(&self) -> u64 {
        self.course().calls
    }

    /// How often each kind of disturbance was played, by its name: faults of calls and everything
    /// else that the cloud does by chance.
    pub fn injected(&self) -> BTreeMap<&'static str, u64> {
        self.tally().clone()
    }

    /// Counts a disturbance.
    pub(crate) fn count(&self, name: &'static str) {
        let mut injected = self.tally();
        let count = injected.entry(name).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts a call; returns what goes wrong with it. The first rule that strikes comes first.
    pub(crate) fn strike(&self, function: &str, service: &str, operation: &str) -> Option<Strike> {
        let planned = self.planned(function, service, operation);
        let mut course = self.course();
        course.calls = course.calls.saturating_add(1);
        let ordinal = course.calls;
        let calm = course.calm;
        if planned.is_none() && !calm && course.burst(function, service, operation) {
            let fault = FaultKind::ThrottledThrough;
            self.count(fault.name());
            return Some(Strike { fault, ordinal });
        }
        let by_course = |course: &mut Course| course.next(service, operation).filter(|_| !calm);
        let fault = planned.or_else(|| by_course(&mut course))?;
        if fault == FaultKind::ThrottledThrough {
            course.start_burst(function, service, operation);
        }
        course.struck.push(Struck {
            ordinal,
            fault,
            function: function.to_owned(),
            operation: operation.to_owned(),
        });
        self.count(fault.name());
        Some(Strike { fault, ordinal })
    }

    /// Counts a call against every rule; returns the fault of the first rule that strikes.
    fn planned(&self, function: &str, service: &str, operation: &str) -> Option<FaultKind> {
        let mut plan = self.plan();
        let mut fault = None;
        for planned in plan.iter_mut() {
            let rule = &planned.rule;
            if rule.matches(function, service, operation) {
                planned.seen = planned.seen.saturating_add(1);
                if fault.is_none() && (rule.nth..=rule.last()).contains(&planned.seen) {
                    fault = Some(rule.fault);
                }
            }
        }
        plan.retain(|planned| planned.seen < planned.rule.last());
        fault
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(strike: Option<Strike>) -> Option<FaultKind> {
        strike.map(|strike| strike.fault)
    }

    #[test]
    fn the_nth_call_and_the_ones_after_it_go_wrong() {
        let faults = Faults::default();
        faults.add(
            FaultRule::once("f", "PutItem", FaultKind::Throttled)
                .nth(2)
                .times(2),
        );
        let strike = || kind(faults.strike("f", "dynamodb", "PutItem"));
        let struck = [strike(), strike(), strike(), strike()];
        let throttled = Some(FaultKind::Throttled);
        assert_eq!(struck, [None, throttled, throttled, None]);
        assert_eq!(faults.rules(), []);
        assert_eq!(faults.injected(), BTreeMap::from([("throttled", 2)]));
    }

    #[test]
    fn a_rule_is_for_its_function_and_a_service_counts_as_an_operation() {
        let faults = Faults::default();
        faults.add(FaultRule::once("f", "sns", FaultKind::NotSent));
        assert_eq!(faults.strike("g", "sns", "Publish"), None);
        let struck = kind(faults.strike("f", "sns", "Publish"));
        assert_eq!(struck, Some(FaultKind::NotSent));
    }

    fn chance(seed: u64) -> RandomFaults {
        let kinds = vec![
            (FaultKind::NotSent, 1),
            (FaultKind::AnswerLost, 3),
            (FaultKind::Conflict, 100),
            (FaultKind::FailedEntries, 100),
        ];
        RandomFaults {
            seed,
            per_mille: 100,
            kinds,
        }
    }

    #[test]
    fn random_faults_are_as_frequent_and_as_weighted_as_asked_and_the_same_for_a_seed() {
        let struck = || {
            let faults = Faults::default();
            faults.set_random(Some(chance(1)));
            for _ in 0..4_000 {
                faults.strike("f", "sns", "Publish");
            }
            (faults.struck(), faults.injected())
        };
        assert_eq!(struck(), struck());
        let injected = struck().1;
        assert_eq!(
            injected.keys().copied().collect::<Vec<_>>(),
            ["answer_lost", "not_sent"],
            "what does not fit does not happen, and does not become something else"
        );
        let (lost, unsent) = (injected["answer_lost"], injected["not_sent"]);
        assert!((300..500).contains(&(lost + unsent)), "{injected:?}");
        assert!(lost > 2 * unsent, "{injected:?}");
    }

    #[test]
    fn a_script_strikes_the_same_calls_again_and_no_other() {
        let calls = |faults: &Faults| {
            let call = |number: u32| match number % 3 {
                0 => faults.strike("f", "dynamodb", "PutItem"),
                1 => faults.strike("g", "sqs", "SendMessageBatch"),
                _ => faults.strike("f", "sns", "Publish"),
            };
            (0..600).map(call).collect::<Vec<_>>()
        };
        let first = Faults::default();
        first.set_random(Some(chance(2)));
        let struck = calls(&first);
        let script = first.struck().into_iter();
        let again = Faults::default();
        again.strike("f", "sns", "Publish");
        again.set_script(
            script
                .map(|struck| (struck.ordinal, struck.fault))
                .collect(),
        );
        assert_eq!(calls(&again), struck);
        assert_eq!(again.struck(), first.struck());
        assert!(first.struck().len() > 30);
        assert_eq!(again.calls(), 600);
    }

    #[test]
    fn a_script_does_not_strike_a_call_that_its_kind_does_not_fit() {
        let faults = Faults::default();
        faults.set_script(vec![(1, FaultKind::Conflict), (2, FaultKind::Conflict)]);
        assert_eq!(faults.strike("f", "sns", "Publish"), None);
        let conflict = kind(faults.strike("f", "dynamodb", "PutItem"));
        assert_eq!(conflict, Some(FaultKind::Conflict));
    }

    #[test]
    fn a_burst_throttles_five_calls_of_one_function_to_one_operation() {
        let faults = Faults::default();
        faults.set_script(vec![(1, FaultKind::ThrottledThrough)]);
        let own = || faults.strike("f", "sns", "Publish").is_some();
        assert!(own());
        assert_eq!(faults.strike("g", "sns", "Publish"), None);
        assert_eq!(faults.strike("f", "sqs", "SendMessage"), None);
        assert_eq!(
            [own(), own(), own(), own(), own()],
            [true, true, true, true, false]
        );
        assert_eq!(faults.struck().len(), 1);
        assert_eq!(
            faults.injected(),
            BTreeMap::from([("throttled_through", 5)])
        );
    }

    #[test]
    fn while_it_is_calm_calls_are_counted_and_nothing_strikes() {
        let faults = Faults::default();
        faults.set_script(vec![(1, FaultKind::NotSent), (2, FaultKind::NotSent)]);
        faults.set_calm(true);
        assert_eq!(faults.strike("f", "sns", "Publish"), None);
        faults.set_calm(false);
        let ordinal = faults
            .strike("f", "sns", "Publish")
            .map(|strike| strike.ordinal);
        assert_eq!(ordinal, Some(2));
    }
}
