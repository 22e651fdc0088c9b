//! Delivers what is due: stream records, queue messages, schedules, asynchronous invocations and
//! what neighbours send. Nothing happens by itself: the pump is called, and moves the clock.

mod afterwards;
mod events;
mod queues;
mod schedules;
mod streams;
mod ttl;

use std::sync::{Arc, PoisonError};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::cloud::Cloud;
use crate::store::MadeSchedule;
use crate::template::{QueueMapping, ScheduleTarget, StreamMapping, function_in};

pub(crate) use events::deliver_neighbour;
pub(crate) use schedules::{fire, schedule_of};
pub(crate) use streams::Writes;
pub(crate) use ttl::Expiries;

/// A settlement that takes more rounds than this goes in circles.
const ROUNDS_MAX: usize = 10_000;

/// What a settlement or an advance did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Settled {
    /// Events delivered to functions.
    pub deliveries: usize,
    /// How many of them failed, in whole or in part.
    pub failures: usize,
    /// Whether nothing more was due at the end. `false`: the limit of rounds was hit.
    pub quiet: bool,
}

impl Settled {
    pub(crate) const NOTHING: Self = Self {
        deliveries: 0,
        failures: 0,
        quiet: true,
    };

    pub(crate) fn count(&mut self, failed: bool) {
        self.deliveries = self.deliveries.saturating_add(1);
        self.failures = self.failures.saturating_add(usize::from(failed));
    }

    fn add(&mut self, other: Self) {
        self.deliveries = self.deliveries.saturating_add(other.deliveries);
        self.failures = self.failures.saturating_add(other.failures);
        self.quiet &= other.quiet;
    }
}

/// Delivers until nothing is due now.
pub(crate) async fn settle(cloud: &Arc<Cloud>) -> Settled {
    let mut settled = Settled::NOTHING;
    for _ in 0..ROUNDS_MAX {
        let before = settled.deliveries;
        round(cloud, &mut settled).await;
        if settled.deliveries == before {
            return settled;
        }
    }
    Settled {
        quiet: false,
        ..settled
    }
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Stream(&'a StreamMapping),
    Queue(&'a QueueMapping),
    Events,
    Neighbours,
}

/// Gives every source one turn.
async fn round(cloud: &Arc<Cloud>, settled: &mut Settled) {
    afterwards::go_on(cloud, settled).await;
    let streams = cloud.stack.stream_mappings.iter().map(Source::Stream);
    let queues = cloud.stack.queue_mappings.iter().map(Source::Queue);
    let mut sources: Vec<Source<'_>> = streams.chain(queues).collect();
    sources.extend([Source::Events, Source::Neighbours]);
    cloud.dice.shuffle(&mut sources);
    for source in sources {
        match source {
            Source::Stream(mapping) => streams::deliver(cloud, mapping, settled).await,
            Source::Queue(mapping) => queues::deliver(cloud, mapping, settled).await,
            Source::Events => events::deliver(cloud, settled).await,
            Source::Neighbours => events::deliver_neighbours(cloud, settled).await,
        }
    }
}

/// Moves the clock to `to`, stopping at every instant at which something is due.
pub(crate) async fn advance_to(cloud: &Arc<Cloud>, to: DateTime<Utc>) -> Settled {
    let mut settled = settle(cloud).await;
    while settled.quiet
        && let Some(due) = next_after_now(cloud).filter(|due| *due <= to)
    {
        set_clock(cloud, due);
        settled.add(settle(cloud).await);
    }
    if settled.quiet {
        set_clock(cloud, to);
        settled.add(settle(cloud).await);
    }
    settled
}

fn set_clock(cloud: &Cloud, to: DateTime<Utc>) {
    cloud.clock.set(to);
    cloud.store.change(|state| state.now = cloud.clock.now());
    ttl::sweep_if_due(cloud);
}

/// When something will next be due; now, if something is.
pub(crate) fn next_due(cloud: &Cloud) -> Option<DateTime<Utc>> {
    let now = cloud.clock.now();
    due_instants(cloud)
        .into_iter()
        .min()
        .map(|due| due.max(now))
}

/// After a settlement, what is still due now can't be delivered (its function may not): it must
/// not hold up the rest.
fn next_after_now(cloud: &Cloud) -> Option<DateTime<Utc>> {
    let now = cloud.clock.now();
    due_instants(cloud)
        .into_iter()
        .filter(|due| *due > now)
        .min()
}

fn due_instants(cloud: &Cloud) -> Vec<DateTime<Utc>> {
    let installed = |function: &str| cloud.is_installed(function);
    let streams = cloud.stack.stream_mappings.iter();
    let streams = streams.filter(|mapping| installed(&mapping.function));
    let mut instants: Vec<DateTime<Utc>> = streams
        .filter_map(|mapping| streams::due_at(cloud, mapping))
        .collect();
    cloud.store.look(|state| {
        let queues = cloud.stack.queue_mappings.iter();
        let queues = queues.filter(|mapping| installed(&mapping.function));
        let queues = queues.filter_map(|mapping| state.queues.get(&mapping.queue));
        instants.extend(
            queues
                .flat_map(|queue| &queue.messages)
                .map(|message| message.visible_at),
        );
        let firings = state.next_firings.iter();
        let firings = firings.filter(|(name, _)| has_live_target(cloud, name));
        instants.extend(firings.map(|(_, at)| *at));
        let made = state.schedules.values();
        let made = made.filter(|made| can_fire(cloud, made));
        instants.extend(made.filter_map(|made| made.next_at));
        let pending = state.pending.iter();
        let pending = pending.filter(|pending| installed(&pending.function));
        instants.extend(pending.map(|pending| pending.due_at));
    });
    let neighbours = cloud
        .neighbours
        .read()
        .unwrap_or_else(PoisonError::into_inner);
    instants.extend(neighbours.iter().filter_map(|neighbour| neighbour.due_at()));
    instants.extend(cloud.mischief.due_at());
    instants
}

/// What fires at nothing is due as well: its input goes to its dead-letter queue.
fn has_live_target(cloud: &Cloud, schedule: &str) -> bool {
    let schedule = cloud.stack.schedules.get(schedule);
    schedule.is_some_and(|schedule| match &schedule.target {
        ScheduleTarget::Function(function) => cloud.is_installed(function),
        ScheduleTarget::Queue(_) => true,
    })
}

fn can_fire(cloud: &Cloud, made: &MadeSchedule) -> bool {
    let target = made.definition["Target"]["Arn"].as_str();
    let function = function_in(target.unwrap_or_default());
    cloud.is_installed(function) || !cloud.stack.functions.contains_key(function)
}
