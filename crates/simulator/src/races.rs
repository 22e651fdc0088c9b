//! Races: two things happen to one booking or one subscription at once, and every order of their calls
//! is tried.
//!
//! A [`Race`] prepares a fresh world up to the moment before, and says what the two parties do. They
//! run by hand: each call of a function yields first, so a party that is polled until its next call was
//! made has taken one turn, and who takes the next one is a choice. All choices are walked depth first;
//! orders that nobody can tell apart are tried once (`orders`). Calls that a function makes at once,
//! as two reads beside each other, are one turn. When both are done, what follows runs as always, and
//! the world is judged by what every life must keep and by what the race itself promises.

mod booking;
mod dunning;
mod errand;
mod money;
mod orders;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::LocalBoxFuture;

use crate::action::System;
use crate::kinds::Weather;
use crate::plan::Plan;
use crate::promises::{self, Broken, Memory};
use crate::world::{Answer, World, text};

use errand::{Came, Errand, Racer, Stage};
use orders::{Orders, Side};

/// Two parties at one moment.
pub struct Race {
    pub name: &'static str,
    system: System,
    prepare: Prepare,
    /// What it promises beside what every life does, once what follows at once has run.
    promise: fn(&World, &Raced) -> Result<(), Broken>,
}

type Prepare = for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, Option<Contest>>;

/// What the two parties do, each one thing after the other.
struct Contest {
    first: Vec<Errand>,
    second: Vec<Errand>,
}

/// How the two were answered.
struct Raced {
    first: Vec<Answer>,
    second: Vec<Answer>,
    /// The first one died under way and came again.
    has_died: bool,
    /// Who made each call, and what it was, in order.
    calls: Vec<(Side, local_cloud::Call)>,
}

/// What is tried of a race.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// At most so many orders.
    pub orders_max: usize,
    /// Of orders that nobody can tell apart, one is tried.
    pub is_reduced: bool,
}

impl Effort {
    pub const WHOLE: Self = Self {
        orders_max: 5_000,
        is_reduced: true,
    };
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Explored {
    /// How many orders ran to their end, and how many were given up as nothing new could follow.
    pub orders: usize,
    pub given_up: usize,
    /// The most turns that each party took.
    pub turns: [usize; 2],
    /// The turns of the first one that changed something in some order.
    pub changes: BTreeSet<usize>,
    /// How the two were answered and what came of it, and in how many orders.
    pub endings: BTreeMap<String, usize>,
    /// The first order that broke a promise: the promise, what was wrong, and the order.
    pub broken: Option<(&'static str, String, String)>,
    /// Whether no order is left out.
    pub is_whole: bool,
}

/// All races.
pub fn races() -> impl Iterator<Item = &'static Race> {
    let all = [booking::RACES, money::RACES, texts::RACES, dunning::RACES];
    all.into_iter().flatten()
}

const START: &str = "2026-07-09T12:00:00Z";
/// So long after its death a party's event comes again.
const COMES_AGAIN_AFTER: TimeDelta = TimeDelta::minutes(2);

impl Race {
    pub(crate) fn system(&self) -> System {
        self.system
    }

    /// Tries the orders on this thread.
    pub fn explore(&self, effort: Effort) -> Explored {
        promises::listen();
        let mut explored = Explored::default();
        explored.is_whole = self.explore_with(effort, None, &mut explored);
        explored
    }

    /// Tries the orders with the first one dying after one of these turns of its own, and coming again
    /// when the second is done. To die after a turn that changed nothing is to die after the one before.
    pub fn explore_dying(&self, effort: Effort, after: &BTreeSet<usize>) -> Explored {
        promises::listen();
        let mut explored = Explored::default();
        let mut turns = after.iter();
        explored.is_whole =
            turns.all(|turns| self.explore_with(effort, Some(*turns), &mut explored));
        explored
    }

    /// Returns whether all orders were tried.
    fn explore_with(
        &self,
        effort: Effort,
        dies_after: Option<usize>,
        explored: &mut Explored,
    ) -> bool {
        let mut orders = Orders::new(effort.is_reduced);
        loop {
            if let Err((promise, what)) = self.run(&mut orders, dies_after, explored) {
                explored
                    .broken
                    .get_or_insert((promise, what, orders.described()));
            }
            if orders.has_strayed {
                explored.broken =
                    Some(("a race can be repeated", String::new(), orders.described()));
            }
            if explored.broken.is_some() || explored.orders >= effort.orders_max {
                return false;
            }
            if !orders.go_back() {
                return true;
            }
        }
    }

    fn run(
        &self,
        orders: &mut Orders,
        dies_after: Option<usize>,
        explored: &mut Explored,
    ) -> Result<(), Broken> {
        promises::forget_lines();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| impossible(&error.to_string()))?;
        runtime.block_on(self.run_once(orders, dies_after, explored))
    }

    async fn run_once(
        &self,
        orders: &mut Orders,
        dies_after: Option<usize>,
        explored: &mut Explored,
    ) -> Result<(), Broken> {
        let mut world = World::new(&self.plan())
            .await
            .map_err(|error| impossible(&error.to_string()))?;
        world.deeds.are_in_a_race = true;
        let contest = (self.prepare)(&mut world).await;
        let contest = contest.ok_or_else(|| impossible("nothing was there to race for"))?;
        let mut memory = Memory::default();
        memory.after_action(&world)?;
        world.fleet.cloud.clear_calls();
        let stage = Stage::new(&world.fleet);
        let mut racers = [
            Racer::new(&stage, &contest.first, dies_after),
            Racer::new(&stage, &contest.second, None),
        ];
        let calls = run_in_order(&mut racers, orders, &world).await?;
        let is_given_up = racers.iter().any(Racer::can_go);
        let [first, second] = racers;
        if is_given_up || first.is_dead != dies_after.is_some() {
            explored.given_up += 1;
            return Ok(());
        }
        if !second.is_over() && !first.is_dead {
            return Err(impossible("the event that one of them is about never came"));
        }
        explored.orders += 1;
        for (most, racer) in explored.turns.iter_mut().zip([&first, &second]) {
            *most = racer.turns.max(*most);
        }
        explored.changes.extend(&first.changes);
        let mut raced = Raced {
            first: first.answers.unwrap_or_default(),
            second: second.answers.unwrap_or_default(),
            has_died: first.is_dead,
            calls,
        };
        if raced.has_died {
            world.fleet.cloud.advance(COMES_AGAIN_AFTER).await;
            raced.first = stage.run_all(contest.first).await;
        }
        self.judge(&mut world, &mut memory, &stage, &raced).await?;
        let ending = format!("{} -> {}", raced.described(), came_of_it(&world));
        *explored.endings.entry(ending).or_default() += 1;
        Ok(())
    }

    async fn judge(
        &self,
        world: &mut World,
        memory: &mut Memory,
        stage: &Stage,
        raced: &Raced,
    ) -> Result<(), Broken> {
        stage.deliver_the_rest().await;
        world.fleet.cloud.settle().await;
        world.note_calls();
        memory.after_action(world)?;
        raced.both_are_answered()?;
        (self.promise)(world, raced)?;
        memory.mended(world);
        world.come_round().await;
        memory.came_round(world)?;
        world.come_to_rest().await;
        memory.at_rest(world).await
    }

    fn plan(&self) -> Plan {
        Plan {
            seed: 0,
            system: self.system,
            start: START.parse::<DateTime<Utc>>().unwrap_or_default(),
            subscribers: 2,
            shared: false,
            is_quick: true,
            steps: Vec::new(),
            weather: Weather::fair(),
            script: None,
        }
    }
}

impl Raced {
    /// The weather is fair: nobody is sent away to come again, except by another who is at it.
    fn both_are_answered(&self) -> Result<(), Broken> {
        let bad = self
            .first
            .iter()
            .chain(&self.second)
            .find(|it| it.status == 0 || it.status >= 500);
        match bad {
            Some(bad) => Err(("everybody is answered", format!("{bad:?}"))),
            None => Ok(()),
        }
    }

    fn described(&self) -> String {
        let texts = |answers: &[Answer]| {
            let each = answers.iter().map(|answer| {
                let code = answer.body["code"]
                    .as_str()
                    .or_else(|| answer.body["did"].as_str());
                let failed = answer.body["batchItemFailures"].as_array();
                let failed = failed
                    .filter(|failed| !failed.is_empty())
                    .map(|_| "comes again");
                format!("{} {}", answer.status, code.or(failed).unwrap_or_default())
            });
            each.map(|text| text.trim_end().to_owned())
                .collect::<Vec<_>>()
                .join(", ")
        };
        format!("{} | {}", texts(&self.first), texts(&self.second))
    }
}

/// How bookings or subscriptions stand in the end, and how many messages of each kind people got.
fn came_of_it(world: &World) -> String {
    let (table, field) = match world.system {
        System::Booking => ("bdc-bookings", "state"),
        System::Dunning => ("dunr-dunning", "status"),
    };
    let mut parts: Vec<String> = world
        .rows(table)
        .iter()
        .map(|row| text(row, field).to_owned())
        .collect();
    parts.sort();
    let mut sent = BTreeMap::<String, usize>::new();
    for message in world.fleet.cloud.messages() {
        *sent.entry(message.kind).or_default() += 1;
    }
    parts.extend(sent.iter().map(|(kind, count)| format!("{kind} {count}")));
    parts.join(", ")
}

/// Lets the two take their turns until neither can go on, or all that can follow was tried. Returns who
/// made each call.
async fn run_in_order(
    racers: &mut [Racer; 2],
    orders: &mut Orders,
    world: &World,
) -> Result<Vec<(Side, local_cloud::Call)>, Broken> {
    let mut calls = Vec::new();
    while let Some(side) = orders.next([racers[0].can_go(), racers[1].can_go()]) {
        let footprint = loop {
            match racers[side.index()].take_turn().await {
                Came::Further(footprint) => break footprint,
                Came::Nowhere if racers[side.other().index()].make_way().await => {}
                Came::Nowhere => return Err(impossible("a function neither calls nor answers")),
            }
        };
        let before = calls.len();
        let new = world.fleet.cloud.calls().into_iter().skip(before);
        calls.extend(new.map(|call| (side, call)));
        orders.taken(footprint);
    }
    Ok(calls)
}

fn impossible(problem: &str) -> Broken {
    ("the race can be run", problem.to_owned())
}
