//! One life from its first action to its rest, on this thread and its virtual clock.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use chrono::TimeDelta;
use futures::FutureExt;

use crate::kinds::Kind;
use crate::matrix::Point;
use crate::plan::Plan;
use crate::promises::{self, Broken, Memory, Violation};
use crate::trace::Trace;
use crate::world::World;

/// How a life went.
#[derive(Clone, Debug)]
pub struct Life {
    pub seed: u64,
    pub trace: Trace,
    pub violation: Option<Violation>,
    /// Virtual time.
    pub lasted: TimeDelta,
    pub actions: u64,
    pub calls: u64,
    pub messages: u64,
    pub checks: u64,
    /// What was injected.
    pub faults: BTreeMap<Kind, u64>,
    /// The calls that functions made before everything was mended, in order.
    pub(crate) points: Vec<Point>,
}

/// Lives a plan.
///
/// It runs alone on this thread, whose runtime it makes: nothing else may decide who is next.
pub fn live(plan: &Plan) -> Life {
    promises::listen();
    promises::forget_lines();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let Ok(runtime) = runtime else {
        return Life::nothing(plan, "the runtime could not be made");
    };
    let lived = runtime.block_on(AssertUnwindSafe(attempt(plan)).catch_unwind());
    lived.unwrap_or_else(|_| Life::nothing(plan, "a panic outside of the functions"))
}

async fn attempt(plan: &Plan) -> Life {
    let mut world = match World::new(plan).await {
        Ok(world) => world,
        Err(error) => return Life::nothing(plan, &error.to_string()),
    };
    let mut memory = Memory::default();
    let mut violation = None;
    world.worsen(plan.script.as_deref());
    for (step, action) in &plan.steps {
        world.perform(*step, *action).await;
        if let Err(broken) = memory.after_action(&world) {
            violation = Some((*step, broken));
            break;
        }
    }
    let last = plan.steps.last().map_or(0, |(step, _)| *step + 1);
    let faults = world.injected();
    if violation.is_none() {
        violation = the_end(&mut world, &mut memory, last)
            .await
            .err()
            .map(|broken| (last, broken));
    }
    let violation = violation.map(|(step, (promise, what))| Violation {
        promise,
        what,
        step,
        at: world.now(),
    });
    Life {
        seed: plan.seed,
        violation,
        lasted: world.now() - plan.start,
        actions: u64::try_from(plan.steps.len()).unwrap_or_default(),
        calls: world.calls,
        messages: u64::try_from(world.fleet.cloud.messages().len()).unwrap_or_default(),
        checks: memory.checks,
        faults,
        points: world.points.drain(..world.mended_at).collect(),
        trace: world.trace,
    }
}

/// Everything works again: what is under way ends, some of it within a bound.
async fn the_end(world: &mut World, memory: &mut Memory, step: usize) -> Result<(), Broken> {
    world.mend(step).await;
    memory.mended(world);
    world.come_round().await;
    memory.came_round(world)?;
    world.come_to_rest().await;
    memory.at_rest(world).await
}

impl Life {
    fn nothing(plan: &Plan, problem: &str) -> Self {
        Self {
            seed: plan.seed,
            trace: Trace::default(),
            violation: Some(Violation {
                promise: "the world can be simulated",
                what: problem.to_owned(),
                step: 0,
                at: plan.start,
            }),
            lasted: TimeDelta::zero(),
            actions: 0,
            calls: 0,
            messages: 0,
            checks: 0,
            faults: BTreeMap::new(),
            points: Vec::new(),
        }
    }
}
