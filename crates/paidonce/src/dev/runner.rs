//! Lets time pass: moves the virtual clock, delivers what is due, saves the provider's state.

use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::{MissedTickBehavior, interval};

use super::{Dev, Shared};

/// How often we look whether something is due, in real time.
const TICK: Duration = Duration::from_millis(200);
/// How far the virtual clock may stay behind while nothing is due: to move it is to save it.
const LAG_MAX: TimeDelta = TimeDelta::seconds(1);

/// Runs for ever: on each tick, and as soon as something came in from outside.
pub(crate) async fn keep_going(dev: Shared) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_called = tokio::select! {
            _ = ticks.tick() => false,
            () = dev.activity.notified() => true,
        };
        let cloud = &dev.fleet.cloud;
        let to = dev.wall.due();
        let is_due = cloud.next_due().is_some_and(|due| due <= to);
        if is_called || is_due || to - cloud.clock().now() >= LAG_MAX {
            cloud.advance_to(to).await;
            save_provider(&dev);
        }
    }
}

/// Saves the provider's state if it changed and there is a folder for it.
pub(crate) fn save_provider(dev: &Dev) {
    let Some(path) = dev.fleet.sandbox_file() else {
        return;
    };
    let snapshot = dev.fleet.sandbox.snapshot();
    let Ok(bytes) = snapshot.and_then(|snapshot| serde_json::to_vec(&snapshot)) else {
        return;
    };
    let mut saved = dev.saved.lock().unwrap_or_else(PoisonError::into_inner);
    if *saved == bytes {
        return;
    }
    match write(path, &bytes) {
        Ok(()) => *saved = bytes,
        Err(error) => tracing::error!(%error, "The provider's state could not be saved: {error}"),
    }
}

/// Whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("json.new");
    std::fs::write(&temporary, bytes)?;
    std::fs::rename(&temporary, path)
}
