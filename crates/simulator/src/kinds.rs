//! What may go wrong: each kind has a switch and a count, and a seed decides which are on in its life.

use std::collections::BTreeSet;

use local_cloud::{Disorder, FaultKind, RandomFaults};

use crate::dice::Dice;

macro_rules! kinds {
    ($($kind:ident $name:literal $what:literal),* $(,)?) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $($kind),* }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Its name on the command line and in a report.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// What happens, in a few words.
            pub fn what(self) -> &'static str {
                match self { $(Self::$kind => $what),* }
            }
        }
    };
}

kinds! {
    NotSent "not-sent" "a request never left",
    AnswerLost "answer-lost" "a request was applied, its answer was lost; the SDK tries again",
    Throttled "throttled" "a request was throttled once",
    Conflict "conflict" "another transaction was in the way",
    InternalError "internal-error" "the service failed",
    Slow "slow" "the answer came after the function's time-out",
    CrashBefore "crash-before" "the function died before a call",
    CrashAfter "crash-after" "the function died after a call",
    Duplicate "duplicate" "a message, record or invocation came twice at once",
    Reorder "reorder" "queues and sources in any order, in batches of any size",
    EventDoubled "event-doubled" "the provider told an event twice",
    EventNewId "event-new-id" "the provider told it again under another id",
    EventReordered "event-reordered" "the newest event first",
    EventLost "event-lost" "the first attempts of an event never arrived",
    EventLate "event-late" "an event came hours or days late",
    TtlLate "ttl-late" "expired rows stayed readable for up to two days",
}

impl Kind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    pub(crate) fn of_call(fault: FaultKind) -> Self {
        match fault {
            FaultKind::NotSent => Self::NotSent,
            FaultKind::AnswerLost => Self::AnswerLost,
            FaultKind::Throttled => Self::Throttled,
            FaultKind::Conflict => Self::Conflict,
            FaultKind::InternalError => Self::InternalError,
            FaultKind::Slow => Self::Slow,
            FaultKind::CrashBefore => Self::CrashBefore,
            FaultKind::CrashAfter => Self::CrashAfter,
        }
    }
}

/// What goes wrong in one life, and how often.
#[derive(Clone, Debug)]
pub struct Weather {
    pub seed: u64,
    pub kinds: BTreeSet<Kind>,
    /// Of a thousand calls, so many go wrong.
    pub calls_per_mille: u32,
    pub deliveries_per_mille: u32,
}

impl Weather {
    pub(crate) fn new(seed: u64, allowed: &[Kind]) -> Self {
        let mut dice = Dice::new(seed, "weather");
        // Some lives know one kind of fault, most several; every tenth has fair weather.
        let per_kind = dice.one(&[120, 400, 700]);
        let fair = dice.chance(100);
        let kinds = allowed.iter().copied();
        let kinds = kinds.filter(|_| dice.chance(per_kind) && !fair).collect();
        Self {
            seed: dice.seed(),
            kinds,
            calls_per_mille: dice.one(&[15, 40, 120]),
            deliveries_per_mille: dice.one(&[30, 150, 400]),
        }
    }

    fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(crate) fn call_faults(&self) -> Option<RandomFaults> {
        let kinds = FaultKind::ALL.into_iter();
        let kinds: Vec<FaultKind> = kinds.filter(|kind| self.has(Kind::of_call(*kind))).collect();
        (!kinds.is_empty()).then_some(RandomFaults {
            seed: self.seed,
            per_mille: self.calls_per_mille,
            kinds,
        })
    }

    pub(crate) fn disorder(&self) -> Option<Disorder> {
        let duplicates = self.has(Kind::Duplicate);
        let shuffle = self.has(Kind::Reorder);
        (duplicates || shuffle).then_some(Disorder {
            seed: self.seed,
            duplicates_per_mille: if duplicates { self.deliveries_per_mille } else { 0 },
            shuffle,
        })
    }

    /// The provider's rules for its events, as its control takes them.
    pub(crate) fn event_rules(&self) -> serde_json::Value {
        let mut dice = Dice::new(self.seed, "events");
        let lose = if self.has(Kind::EventLost) { dice.between(1, 4) } else { 0 };
        let late = [30, 1_200, 30_000, 200_000];
        let delay_s = if self.has(Kind::EventLate) { dice.one(&late) } else { 0 };
        let all = serde_json::json!({
            "lose": lose,
            "delay_s": delay_s,
            "duplicates": u32::from(self.has(Kind::EventDoubled)),
            "reorder": self.has(Kind::EventReordered),
            "new_id": self.has(Kind::EventNewId),
        });
        serde_json::json!({"rules": [all]})
    }

    pub(crate) fn has_event_rules(&self) -> bool {
        [
            Kind::EventLost,
            Kind::EventLate,
            Kind::EventDoubled,
            Kind::EventReordered,
            Kind::EventNewId,
        ]
        .into_iter()
        .any(|kind| self.has(kind))
    }

    pub(crate) fn ttl_lag_hours(&self) -> i64 {
        let mut dice = Dice::new(self.seed, "ttl");
        if self.has(Kind::TtlLate) { i64::from(dice.between(1, 48)) } else { 0 }
    }
}
