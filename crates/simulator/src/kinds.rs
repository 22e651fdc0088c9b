//! What may go wrong: each kind has a switch and a count, and a seed decides which are on in its life.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use local_cloud::{Disorder, FaultKind, RandomFaults};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::world::nth_of;

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
    // Calls of functions, of AWS and of the provider.
    NotSent "not-sent" "a request never left; the SDK tries again",
    AnswerLost "answer-lost" "a request was applied, its answer was lost; the SDK tries again",
    Throttled "throttled" "a request was throttled once",
    ThrottledThrough "throttled-through" "a request was throttled more often than the SDK tries",
    Conflict "conflict" "another transaction was in the way",
    InternalError "internal-error" "the service failed",
    Slow "slow" "the answer came after the function's time-out",
    CrashBefore "crash-before" "the function died before a call",
    CrashAfter "crash-after" "the function died after a call",
    Late "late" "a request that nobody waited for any more was applied minutes later",
    FailedEntries "failed-entries" "a 200 in which entries of a batch had failed",
    Paused "paused" "a function stood still before a call and woke up when others had gone on",
    // Deliveries.
    Duplicate "duplicate" "a message, batch of records or invocation came twice at once",
    Reorder "reorder" "a queue gave its messages in another order, in batches of any size",
    Delayed "delayed" "a message, stream or invocation was first delivered late, by up to two days",
    Redelivered "redelivered" "what had been handled well came again, up to three days later",
    VisibilityExpired "visibility-expired" "a message became visible again while it was worked on",
    ScheduleTwice "schedule-twice" "a schedule fired twice",
    ScheduleLate "schedule-late" "a schedule fired up to two hours late",
    ScheduleAfterDelete "schedule-after-delete" "a schedule fired that had been deleted",
    // State that is not what it was.
    IndexBehind "index-behind" "an index was read behind its table, by up to a minute",
    TtlLate "ttl-late" "expired rows stayed readable for up to two days",
    ClockSkew "clock-skew" "a function's clock was wrong by up to five minutes",
    ClockChange "clock-change" "a life around the night in which the clocks change",
    SecretRotation "secret-rotation" "the signing secret was changed, with events on their way",
    BadDeploy "bad-deploy" "a deployed version panicked on one record, until it was healed",
    // The provider.
    EventDoubled "event-doubled" "an event was told twice",
    EventNewId "event-new-id" "an event was told again under another id",
    EventReordered "event-reordered" "the newest event went first",
    EventLost "event-lost" "an event did not arrive for a while",
    EventLate "event-late" "an event came minutes or days late",
    EventFirst "event-first" "an event came before the answer to the call that made it",
    TimeOutDone "time-out-done" "the provider did what it was asked for and its answer never came",
    TimeOutNotDone "time-out-not-done" "the provider did nothing, and no answer came",
    ServerError "server-error" "the provider answered 500 and kept it under the key",
    ServerErrorDone "server-error-done" "the same, although it had been done",
    InFlight "in-flight" "the provider answered 409: the key was in use",
    RateLimit "rate-limit" "the provider answered 429",
    Outage "outage" "the provider was down for up to some hours",
    KeysForgotten "keys-forgotten" "the provider forgot all idempotency keys",
}

/// A clock that is wrong by more than five minutes would refuse genuine events.
pub(crate) const SKEW_SECONDS_MAX: u32 = 290;

/// The names that the local cloud and the sandbox count a kind under.
const COUNTED: &[(&str, Kind)] = &[
    ("not_sent", Kind::NotSent),
    ("answer_lost", Kind::AnswerLost),
    ("throttled", Kind::Throttled),
    ("throttled_through", Kind::ThrottledThrough),
    ("conflict", Kind::Conflict),
    ("internal_error", Kind::InternalError),
    ("slow", Kind::Slow),
    ("crash_before", Kind::CrashBefore),
    ("crash_after", Kind::CrashAfter),
    ("late", Kind::Late),
    ("failed_entries", Kind::FailedEntries),
    ("paused", Kind::Paused),
    ("duplicate_message", Kind::Duplicate),
    ("duplicate_batch", Kind::Duplicate),
    ("duplicate_invocation", Kind::Duplicate),
    ("reordered_queue", Kind::Reorder),
    ("delayed_message", Kind::Delayed),
    ("delayed_stream", Kind::Delayed),
    ("delayed_invocation", Kind::Delayed),
    ("redelivered_late", Kind::Redelivered),
    ("visibility_expired", Kind::VisibilityExpired),
    ("schedule_fired_twice", Kind::ScheduleTwice),
    ("schedule_late", Kind::ScheduleLate),
    ("schedule_fired_after_delete", Kind::ScheduleAfterDelete),
    ("index_behind", Kind::IndexBehind),
    ("skewed_clock", Kind::ClockSkew),
    ("bad_deploy", Kind::BadDeploy),
    ("event_before_answer", Kind::EventFirst),
    ("answer_lost_after_doing", Kind::TimeOutDone),
    ("answer_lost_before", Kind::TimeOutNotDone),
    ("500", Kind::ServerError),
    ("500_after_doing", Kind::ServerErrorDone),
    ("409", Kind::InFlight),
    ("429", Kind::RateLimit),
    ("outage", Kind::Outage),
];

impl Kind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The kind that something is counted under.
    pub(crate) fn counted_as(name: &str) -> Option<Self> {
        let mut counted = COUNTED.iter();
        counted
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    fn of_call(fault: FaultKind) -> Option<Self> {
        Self::counted_as(fault.name())
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
    /// The request that the provider gets wrong, where it is always the same one.
    pub(crate) request: Option<&'static str>,
}

impl Weather {
    pub(crate) fn new(seed: u64, allowed: &[Kind]) -> Self {
        let mut dice = Dice::new(seed, "weather");
        // Some lives have fair weather, some know one or two kinds of faults and suffer them often,
        // the others several, now and then.
        let (per_kind, calls, deliveries) = match dice.roll(10) {
            0 => (0, 0, 0),
            1..=4 => (0, dice.one(&[100, 300]), 600),
            _ => (
                dice.one(&[60, 200, 500]),
                dice.one(&[15, 40, 120]),
                dice.one(&[30, 150, 400]),
            ),
        };
        let few = if per_kind == 0 && calls > 0 {
            dice.between(1, 2)
        } else {
            0
        };
        let few = (0..few).filter_map(|_| nth_of(allowed, dice.roll(1_000)).copied());
        let mut kinds: BTreeSet<Kind> = few.collect();
        kinds.extend(allowed.iter().copied().filter(|_| dice.chance(per_kind)));
        Self {
            seed: dice.seed(),
            kinds,
            calls_per_mille: calls,
            deliveries_per_mille: deliveries,
            request: None,
        }
    }

    /// Of these what is allowed, often.
    pub(crate) fn of(seed: u64, kinds: &[Kind], allowed: &[Kind]) -> Self {
        let mut dice = Dice::new(seed, "weather");
        let kinds = kinds.iter().copied().filter(|kind| allowed.contains(kind));
        Self {
            kinds: kinds.collect(),
            calls_per_mille: dice.one(&[100, 300]),
            deliveries_per_mille: dice.one(&[300, 600]),
            seed: dice.seed(),
            request: None,
        }
    }

    /// Nothing goes wrong.
    pub(crate) fn fair() -> Self {
        Self {
            seed: 0,
            kinds: BTreeSet::new(),
            calls_per_mille: 0,
            deliveries_per_mille: 0,
            request: None,
        }
    }

    /// By how much a function's clock may be wrong.
    pub(crate) fn clocks_differ_by(&self) -> TimeDelta {
        match self.has(Kind::ClockSkew) {
            true => TimeDelta::seconds(SKEW_SECONDS_MAX.into()),
            false => TimeDelta::zero(),
        }
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// `value` if a kind is on, nothing of it otherwise.
    fn if_on<T: Default>(&self, kind: Kind, value: T) -> T {
        if self.has(kind) { value } else { T::default() }
    }

    pub(crate) fn call_faults(&self) -> Option<RandomFaults> {
        let all = FaultKind::EVERY.into_iter();
        let on = all.filter(|fault| Kind::of_call(*fault).is_some_and(|kind| self.has(kind)));
        let kinds: Vec<(FaultKind, u32)> = on.map(|fault| (fault, 1)).collect();
        (!kinds.is_empty()).then_some(RandomFaults {
            seed: self.seed,
            per_mille: self.calls_per_mille,
            kinds,
        })
    }

    pub(crate) fn disorder(&self) -> Disorder {
        let often = self.deliveries_per_mille;
        let rarely = often / 4;
        Disorder {
            seed: self.seed,
            duplicates_per_mille: self.if_on(Kind::Duplicate, often),
            shuffle: self.has(Kind::Reorder),
            redeliver_late_per_mille: self.if_on(Kind::Redelivered, rarely),
            delay_per_mille: self.if_on(Kind::Delayed, rarely),
            visibility_expires_per_mille: self.if_on(Kind::VisibilityExpired, often),
            schedule_twice_per_mille: self.if_on(Kind::ScheduleTwice, often),
            schedule_late_per_mille: self.if_on(Kind::ScheduleLate, often),
            schedule_after_delete_per_mille: self.if_on(Kind::ScheduleAfterDelete, often),
        }
    }

    /// The provider's rule for its events, as its control takes it; nothing if they are not upset.
    pub(crate) fn event_rules(&self) -> Option<Value> {
        let kinds = [
            Kind::EventLost,
            Kind::EventLate,
            Kind::EventDoubled,
            Kind::EventReordered,
            Kind::EventNewId,
        ];
        if !kinds.into_iter().any(|kind| self.has(kind)) {
            return None;
        }
        let mut dice = Dice::new(self.seed, "events");
        let (lose, late) = (dice.between(1, 4), dice.one(&[30, 1_200, 30_000, 200_000]));
        Some(json!({"rules": [{
            "lose": self.if_on(Kind::EventLost, lose),
            "delay_s": self.if_on(Kind::EventLate, late),
            "duplicates": u32::from(self.has(Kind::EventDoubled)),
            "reorder": self.has(Kind::EventReordered),
            "new_id": self.has(Kind::EventNewId),
        }]}))
    }

    pub(crate) fn ttl_lag_hours(&self) -> i64 {
        let mut dice = Dice::new(self.seed, "ttl");
        self.if_on(Kind::TtlLate, i64::from(dice.between(1, 48)))
    }
}
