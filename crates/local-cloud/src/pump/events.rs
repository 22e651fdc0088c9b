//! What starts a function without a queue of ours: schedules, asynchronous invocations and
//! neighbours.

use std::sync::{Arc, PoisonError};

use chrono::Duration;

use super::{Settled, schedules};
use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::messages::Happening;
use crate::neighbour::Neighbour;
use crate::store::PendingInvocation;

/// Fires the schedules that are due, and makes the asynchronous invocations that are.
pub(super) async fn deliver(cloud: &Arc<Cloud>, settled: &mut Settled) {
    schedules::fire_due(cloud, settled);
    for pending in due_pending(cloud) {
        invoke_pending(cloud, pending, settled).await;
    }
}

/// Takes what neighbours send by now to the functions' URLs.
pub(super) async fn deliver_neighbours(cloud: &Arc<Cloud>, settled: &mut Settled) {
    let neighbours = cloud
        .neighbours
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for neighbour in neighbours {
        deliver_neighbour(cloud, neighbour.as_ref(), settled).await;
    }
}

fn due_pending(cloud: &Cloud) -> Vec<PendingInvocation> {
    let now = cloud.clock.now();
    let due = |pending: &PendingInvocation| {
        pending.due_at <= now && cloud.is_installed(&pending.function)
    };
    let mut found: Vec<PendingInvocation> = cloud.store.look(|state| {
        state
            .pending
            .iter()
            .filter(|pending| due(pending))
            .cloned()
            .collect()
    });
    found.sort_by_key(|pending| pending.due_at);
    found
}

/// Lambda tries an asynchronous invocation again after one minute, then after two.
async fn invoke_pending(cloud: &Arc<Cloud>, mut pending: PendingInvocation, settled: &mut Settled) {
    let failed = cloud
        .invoke(&pending.function, pending.event.clone())
        .await
        .is_err();
    settled.count(failed);
    pending.failures = pending.failures.saturating_add(u32::from(failed));
    let Some(spec) = cloud.stack.functions.get(&pending.function) else {
        return;
    };
    let next_at = cloud.clock.now() + Duration::minutes(i64::from(pending.failures));
    let too_old = next_at - pending.queued_at > Duration::seconds(spec.async_age_max_seconds);
    let again = failed && pending.failures <= spec.async_retries && !too_old;
    if !failed && cloud.dice.duplicate() {
        cloud.faults.count("duplicate_invocation");
        // It stays, and comes again.
        return;
    }
    let age_left =
        pending.queued_at + Duration::seconds(spec.async_age_max_seconds) - cloud.clock.now();
    let rate = |disorder: &Disorder| disorder.redeliver_late_per_mille;
    let late = cloud.dice.delay(rate, age_left).filter(|_| !failed);
    if late.is_some() {
        cloud.faults.count("redelivered_late");
    }
    cloud.store.change(|state| {
        match state
            .pending
            .iter_mut()
            .find(|other| other.id == pending.id)
        {
            Some(kept) if late.is_some() => {
                kept.due_at = cloud.clock.now() + late.unwrap_or_default();
            }
            Some(kept) if again => {
                kept.failures = pending.failures;
                kept.due_at = next_at;
            }
            Some(_) | None => state.pending.retain(|other| other.id != pending.id),
        }
    });
    if failed && !again {
        let from = format!("invocation of {}", pending.function);
        let function = Some(pending.function.as_str());
        let condition = if too_old {
            "EventAgeExceeded"
        } else {
            "RetriesExhausted"
        };
        match &spec.async_failure_queue {
            Some(queue) => cloud.give_up(
                function,
                &from,
                Some(queue),
                &cloud.failure_record(&pending, condition),
            ),
            None => cloud.give_up(
                function,
                &from,
                spec.async_dead_letter_queue.as_deref(),
                &pending.event,
            ),
        }
    }
}

/// Takes what one neighbour sends by now to the functions' URLs.
pub(crate) async fn deliver_neighbour(
    cloud: &Arc<Cloud>,
    neighbour: &dyn Neighbour,
    settled: &mut Settled,
) {
    let now = cloud.clock.now();
    if neighbour.due_at().is_none_or(|due| due > now) {
        return;
    }
    for delivery in neighbour.take_due(now) {
        let response = crate::call_url(cloud, &delivery.function, delivery.request).await;
        let status = response.status();
        neighbour.delivered(&delivery.id, status.as_u16(), now);
        settled.count(!status.is_success());
        cloud.tell(Happening::Delivered {
            at: now,
            function: delivery.function,
            id: delivery.id,
            status: status.as_u16(),
        });
    }
}
