//! A life as a plan: all that its seed decides before it begins.

use chrono::{DateTime, TimeDelta, Utc};
use local_cloud::FaultKind;
use serde_json::{Value, json};

use crate::action::{Action, System};
use crate::dice::Dice;
use crate::kinds::{Kind, Weather};
use crate::situations::Situation;

/// Some days are odd: the year ends, banks are closed.
const STARTS: [&str; 4] = [
    "2026-07-09T12:00:00Z",
    "2026-07-11T16:00:00Z",
    "2026-12-23T10:00:00Z",
    "2027-05-28T08:55:00Z",
];
/// The clocks of London change on 25 October 2026 and 28 March 2027, at 01:00 UTC.
const CLOCK_CHANGES: [&str; 4] = [
    "2026-10-23T17:00:00Z",
    "2026-10-24T22:30:00Z",
    "2027-03-26T12:00:00Z",
    "2027-03-27T20:15:00Z",
];

/// Of a thousand lives, so many are devoted to a situation.
const DEVOTED_PER_MILLE: u32 = 500;

/// What happens in one life, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub system: System,
    pub start: DateTime<Utc>,
    /// Whether deadlines are short: a deposit is due in half an hour, a course is over in days.
    pub is_quick: bool,
    /// How many subscriptions dunning may be about, and whether they are one customer's.
    pub subscribers: usize,
    pub shared: bool,
    /// Each with a number that stays when others are left out.
    pub steps: Vec<(usize, Action)>,
    pub weather: Weather,
    /// Faults of calls by their number instead of by chance.
    pub script: Option<Vec<(u64, FaultKind)>>,
}

impl Plan {
    /// The plan of a seed: at most so many actions, unless the life is devoted to a situation, and only
    /// faults of these kinds.
    pub fn new(seed: u64, systems: &[System], steps: usize, kinds: &[Kind]) -> Self {
        let mut dice = Dice::new(seed, "plan");
        // A course of dunning takes many times the calls of a booking.
        let weights = systems.iter().map(|system| match system {
            System::Booking => (11, *system),
            System::Dunning => (1, *system),
        });
        let system = dice.weighted(&weights.collect::<Vec<_>>());
        let situation = dice
            .chance(DEVOTED_PER_MILLE)
            .then(|| Situation::rolled(system, &mut dice));
        let troubles = situation.as_ref().and_then(|it| it.kinds);
        let request = situation.as_ref().and_then(|it| it.request);
        let weather = match troubles {
            Some(troubles) => Weather {
                request,
                ..Weather::of(seed, troubles, kinds)
            },
            None => Weather::new(seed, kinds),
        };
        let (start, changing) = (dice.one(&STARTS), dice.one(&CLOCK_CHANGES));
        let start = if weather.has(Kind::ClockChange) {
            changing
        } else {
            start
        };
        let start = start.parse::<DateTime<Utc>>().unwrap_or_default();
        let start = start + TimeDelta::minutes(i64::from(dice.roll(90)));
        let mut plan = Self {
            seed,
            system,
            start,
            is_quick: dice.chance(850),
            subscribers: dice.one(&[1, 1, 2]),
            shared: dice.chance(500),
            steps: Vec::new(),
            weather,
            script: None,
        };
        let actions = match situation {
            Some(situation) => {
                plan.is_quick = !situation.is_slow;
                if situation.is_shared {
                    (plan.subscribers, plan.shared) = (2, true);
                }
                situation.actions
            }
            None => by_chance(system, steps, &mut dice),
        };
        plan.steps = actions.into_iter().enumerate().collect();
        plan
    }

    /// The policy of dunning of this life, as JSON: a quick course has two dates.
    pub(crate) fn dunning_policy(&self) -> String {
        let built_in = paidonce_core::dunning::policy::BUILT_IN;
        let mut policy: Value = serde_json::from_str(built_in).unwrap_or_default();
        if self.is_quick {
            policy["terms"]["gaps_business_days"] = json!([1]);
        }
        policy.to_string()
    }

    /// The venue of this life, as JSON.
    pub(crate) fn venue(&self) -> String {
        let mut venue: Value =
            serde_json::from_str(paidonce_core::venue::BUILT_IN).unwrap_or_default();
        if self.is_quick {
            let policy = &mut venue["policy"];
            policy["pay_within"] = json!(30);
            policy["pay_time_min"] = json!(5);
            policy["remind_before"] = json!(10);
            policy["start_buffer"] = json!(0);
            policy["settle_after"] = json!(0);
            policy["free_cancellation"] = json!(60);
        }
        venue.to_string()
    }
}

fn by_chance(system: System, steps: usize, dice: &mut Dice) -> Vec<Action> {
    let count = dice.between(
        steps.div_ceil(2).try_into().unwrap_or(1),
        steps.try_into().unwrap_or(u32::MAX),
    );
    // Some lives begin with a crowd, so that more is due at once than a sweep can take for granted.
    let firsts = if dice.chance(150) { 6 } else { 1 };
    let mut actions: Vec<Action> = (0..firsts).map(|_| Action::first(system, dice)).collect();
    actions.extend((1..count).map(|_| Action::rolled(system, dice)));
    actions
}
