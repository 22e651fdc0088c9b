//! What goes on when it is due: requests that arrive late, invocations that wake up, deliveries that
//! come once more, schedules that fire though they are gone.

use std::sync::Arc;

use super::{Settled, schedules};
use crate::cloud::Cloud;

/// Goes through these kinds in turn, each in the order of its instants.
pub(super) async fn go_on(cloud: &Arc<Cloud>, settled: &mut Settled) {
    let now = cloud.clock.now();
    while let Some(call) = cloud.mischief.late_calls.take_due(now) {
        call.arrive(cloud);
        cloud.faults.count("late_arrived");
    }
    while let Some(work) = cloud.mischief.paused.take_due(now) {
        cloud.faults.count("paused_woken");
        cloud.wake(work).await;
    }
    while let Some((key, schedule)) = cloud.mischief.firings.take_due(now) {
        cloud.faults.count("schedule_fired_after_delete");
        schedules::fire(cloud, &key, &schedule, settled);
    }
    while let Some(again) = cloud.mischief.redeliveries.take_due(now) {
        cloud.faults.count("redelivered_late");
        // It was handled and is done with, whatever comes of this.
        let failed = cloud.invoke(&again.function, again.event).await.is_err();
        settled.count(failed);
    }
}
