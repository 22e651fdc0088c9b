//! What goes wrong in a world, from its first action to its rest.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use local_cloud::IndexLag;
use sandbox::{NextCall, Outage, Outcome};
use serde_json::json;

use super::{World, nth_of};
use crate::dice::Dice;
use crate::kinds::{Kind, SKEW_SECONDS_MAX, Weather};

/// An index is behind by no more than this.
const INDEX_LAG: TimeDelta = TimeDelta::seconds(60);

/// The requests that the provider may be asked for, and get wrong.
const REQUESTS: [&str; 4] = [
    "POST /v1/checkout/sessions",
    "POST /v1/checkout/sessions/*/expire",
    "POST /v1/refunds",
    "POST /v1/invoices/*/pay",
];

const OUTCOMES: [(Kind, Outcome); 7] = [
    (Kind::TimeOutDone, Outcome::AnswerLostAfterDoing),
    (Kind::TimeOutNotDone, Outcome::AnswerLostBefore),
    (Kind::ServerError, Outcome::ServerError),
    (Kind::ServerErrorDone, Outcome::ServerErrorAfterDoing),
    (Kind::InFlight, Outcome::InFlight),
    (Kind::RateLimit, Outcome::RateLimit),
    (Kind::EventFirst, Outcome::EventBeforeAnswer),
];

pub(super) fn begin(world: &World, weather: &Weather) {
    let cloud = &world.fleet.cloud;
    cloud.faults().set_random(weather.call_faults());
    cloud.set_disorder(Some(weather.disorder()));
    cloud.set_ttl_lag(TimeDelta::hours(weather.ttl_lag_hours()));
    if weather.has(Kind::IndexBehind) {
        let lag = IndexLag {
            seed: weather.seed,
            max: INDEX_LAG,
        };
        // The tables are there, so there is nothing to fail.
        let _ = cloud.set_index_lag(Some(lag));
    }
    if let Some(rules) = weather.event_rules() {
        world.control("webhooks", &rules);
    }
    if weather.has(Kind::ClockSkew) {
        let mut dice = Dice::new(weather.seed, "skew");
        let by = i64::from(dice.between(1, SKEW_SECONDS_MAX)) * dice.one(&[-1, 1]);
        // One function, or all of them.
        let functions = cloud.functions();
        let one = nth_of(&functions, dice.roll(32)).map(String::as_str);
        let who = if dice.chance(500) { one } else { None };
        cloud.set_clock_skew(who, TimeDelta::seconds(by));
    }
}

/// A version is deployed that panics on what has to do with one thing, or the good one again, or none.
pub(super) fn deploy(world: &World, weather: &Weather, dice: &mut Dice) {
    let cloud = &world.fleet.cloud;
    let (bad, good) = (dice.chance(250), dice.chance(300));
    let (which, what) = (dice.roll(32), dice.roll(8));
    if !weather.has(Kind::BadDeploy) {
        return;
    }
    let functions = cloud.functions();
    let Some(function) = nth_of(&functions, which) else {
        return;
    };
    let known = world.names();
    match nth_of(&known, what).filter(|_| bad) {
        Some(name) => cloud.break_function(function, name),
        None if good => heal(world),
        None => {}
    }
}

/// What may happen at the provider before the next action.
pub(super) fn upset_provider(world: &World, weather: &Weather, dice: &mut Dice) -> Option<Kind> {
    let sandbox = &world.fleet.sandbox;
    for (kind, outcome) in OUTCOMES {
        let often = dice.chance(400);
        let rolled = dice.one(&REQUESTS);
        if weather.has(kind) && often {
            let rule = NextCall {
                call: weather.request.unwrap_or(rolled).to_owned(),
                outcome,
                // More often than it is asked in one go, or not.
                times: dice.between(1, 4),
            };
            let _ = sandbox.add_next_call(rule);
        }
    }
    let (down, minutes) = (dice.chance(150), dice.one(&[2, 20, 300]));
    if weather.has(Kind::Outage) && down {
        let now = world.now();
        sandbox.set_outages(vec![Outage {
            from: now,
            to: now + TimeDelta::minutes(minutes),
            status: dice.one(&[503, 504]),
        }]);
    }
    let forget = dice.chance(100);
    if weather.has(Kind::KeysForgotten) && forget && sandbox.forget_keys() > 0 {
        return Some(Kind::KeysForgotten);
    }
    None
}

fn heal(world: &World) {
    let cloud = &world.fleet.cloud;
    let functions = cloud.functions();
    functions.iter().for_each(|it| cloud.heal_function(it));
}

pub(super) fn end(world: &World) {
    let cloud = &world.fleet.cloud;
    cloud.faults().clear();
    cloud.set_disorder(None);
    cloud.set_ttl_lag(TimeDelta::zero());
    let _ = cloud.set_index_lag(None);
    cloud.clear_clock_skews();
    heal(world);
    world.control("webhooks", &json!({"rules": []}));
    world.control("next-pay", &json!({"outcome": null}));
    world.fleet.sandbox.clear_next_calls();
    world.fleet.sandbox.set_outages(Vec::new());
}

/// What the cloud and the provider have counted.
pub(super) fn counted(world: &World) -> BTreeMap<Kind, u64> {
    let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
    let cloud = world.fleet.cloud.faults().injected();
    let cloud = cloud
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count));
    for (name, count) in cloud.chain(world.fleet.sandbox.troubles()) {
        if let Some(kind) = Kind::counted_as(&name) {
            *counts.entry(kind).or_default() += count;
        }
    }
    let told = world.fleet.sandbox.webhook_counts();
    let of_events = [
        (Kind::EventLost, told.lost),
        (Kind::EventDoubled, told.delivered),
        (Kind::EventNewId, told.delivered),
        (Kind::EventReordered, told.delivered),
        (Kind::EventLate, told.delivered),
        (Kind::TtlLate, 1),
    ];
    for (kind, count) in of_events {
        if world.weather.has(kind) && count > 0 {
            *counts.entry(kind).or_default() += count;
        }
    }
    counts
}
