//! The one clock: everything in the cloud reads it, and only the pump and its owner move it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use aws_smithy_async::time::TimeSource;
use chrono::{DateTime, Utc};

/// A shared virtual clock. It stands still until it is set.
#[derive(Clone, Debug)]
pub struct Clock(Arc<RwLock<DateTime<Utc>>>);

impl Clock {
    /// Starts at `start` and stays there.
    pub fn new(start: DateTime<Utc>) -> Self {
        Self(Arc::new(RwLock::new(start)))
    }

    /// Returns the present instant.
    pub fn now(&self) -> DateTime<Utc> {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves forward to `to`; a clock never goes back.
    pub(crate) fn set(&self, to: DateTime<Utc>) {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *now = to.max(*now);
    }

    fn since_epoch(&self) -> Duration {
        let now = self.now();
        let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
        Duration::new(seconds, now.timestamp_subsec_nanos().min(999_999_999))
    }
}

/// How far the clocks of functions are ahead; `None` is every function that is not named.
#[derive(Debug, Default)]
pub(crate) struct Skews(Mutex<BTreeMap<Option<String>, chrono::Duration>>);

impl Skews {
    pub(crate) fn set(&self, function: Option<&str>, skew: chrono::Duration) {
        self.lock().insert(function.map(str::to_owned), skew);
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn of(&self, function: &str) -> chrono::Duration {
        let skews = self.lock();
        if skews.is_empty() {
            return chrono::Duration::zero();
        }
        let own = skews.get(&Some(function.to_owned()));
        own.or_else(|| skews.get(&None))
            .copied()
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<String>, chrono::Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TimeSource for Clock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.since_epoch()
    }
}

impl dynoxide::storage_backend::Clock for Clock {
    fn now_unix_secs(&self) -> u64 {
        self.since_epoch().as_secs()
    }

    fn now_unix_secs_f64(&self) -> f64 {
        self.since_epoch().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_shared_and_never_goes_back() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let clock = Clock::new(start);
        let other = clock.clone();
        other.set(start + chrono::Duration::hours(1));
        other.set(start);
        assert_eq!(clock.now(), start + chrono::Duration::hours(1));
    }
}
