//! What goes on when it is due: requests that arrive late, and invocations that wake up.

use std::sync::Arc;

use crate::cloud::Cloud;

/// Applies late requests, then lets paused invocations go on, each in the order of their instants.
pub(super) async fn go_on(cloud: &Arc<Cloud>) {
    let now = cloud.clock.now();
    while let Some(call) = cloud.mischief.late_calls.take_due(now) {
        call.arrive(cloud);
        cloud.faults.count("late_arrived");
    }
    while let Some(work) = cloud.mischief.paused.take_due(now) {
        cloud.faults.count("paused_woken");
        cloud.wake(work).await;
    }
}
