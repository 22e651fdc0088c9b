//! What waits to go on: requests that arrive late, invocations that are paused, deliveries that come
//! once more, schedules that fire though they are gone.
//!
//! It is in memory only: a process that ends takes it along, as a network and a machine would.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::bad_deploy::BadDeploys;
use crate::clock::Skews;
use crate::invoke::Work;
use crate::services::index_lag::Indexes;
use crate::template::Schedule;
use crate::trip::LateCall;

/// What waits, of each kind.
#[derive(Default)]
pub(crate) struct Mischief {
    pub(crate) late_calls: Waiting<LateCall>,
    pub(crate) paused: Waiting<Work>,
    pub(crate) redeliveries: Waiting<Redelivery>,
    pub(crate) indexes: Indexes,
    pub(crate) bad_deploys: BadDeploys,
    pub(crate) skews: Skews,
    /// Schedules by their keys.
    pub(crate) firings: Waiting<(String, Schedule)>,
    /// Firings that were put off, by the schedule's key and when they are due now.
    pub(crate) put_off: Mutex<BTreeSet<(String, DateTime<Utc>)>>,
}

/// What was handled well and comes again.
pub(crate) struct Redelivery {
    pub(crate) function: String,
    pub(crate) event: Value,
}

impl Mischief {
    /// How much waits.
    pub(crate) fn len(&self) -> usize {
        self.late_calls.items().len()
            + self.paused.items().len()
            + self.redeliveries.items().len()
            + self.firings.items().len()
    }

    /// When the next of it goes on.
    pub(crate) fn due_at(&self) -> Option<DateTime<Utc>> {
        let instants = [
            self.late_calls.due_at(),
            self.paused.due_at(),
            self.redeliveries.due_at(),
            self.firings.due_at(),
        ];
        instants.into_iter().flatten().min()
    }

    /// Notes that the firing of a schedule is put off until `at`.
    pub(crate) fn put_off(&self, key: &str, at: DateTime<Utc>) {
        self.all_put_off().insert((key.to_owned(), at));
    }

    /// Whether the firing that is due at `at` was put off before.
    pub(crate) fn was_put_off(&self, key: &str, at: DateTime<Utc>) -> bool {
        self.all_put_off().remove(&(key.to_owned(), at))
    }

    fn all_put_off(&self) -> MutexGuard<'_, BTreeSet<(String, DateTime<Utc>)>> {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Things with the instants that they wait for.
pub(crate) struct Waiting<T>(Mutex<Vec<(DateTime<Utc>, T)>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Waiting<T> {
    pub(crate) fn put(&self, due_at: DateTime<Utc>, item: T) {
        self.items().push((due_at, item));
    }

    /// Takes what has waited for the earliest instant up to `now`; of one instant, what came first.
    pub(crate) fn take_due(&self, now: DateTime<Utc>) -> Option<T> {
        let mut items = self.items();
        let due = items.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (index, _) = due.min_by_key(|(index, (at, _))| (*at, *index))?;
        Some(items.remove(index).1)
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        self.items().iter().map(|(at, _)| *at).min()
    }

    fn items(&self) -> MutexGuard<'_, Vec<(DateTime<Utc>, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_taken_first_and_nothing_before_its_time() {
        let at = |seconds: i64| DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap();
        let waiting = Waiting::default();
        for (seconds, name) in [(20, "b"), (10, "a"), (20, "c"), (30, "d")] {
            waiting.put(at(seconds), name);
        }
        assert_eq!(waiting.due_at(), Some(at(10)));
        assert_eq!(waiting.take_due(at(9)), None);
        let taken: Vec<_> = std::iter::from_fn(|| waiting.take_due(at(20))).collect();
        assert_eq!(taken, ["a", "b", "c"]);
    }
}
