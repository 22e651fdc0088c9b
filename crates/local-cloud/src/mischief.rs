//! What waits to go on: requests that arrive late, and invocations that are paused.
//!
//! It is in memory only: a process that ends takes it along, as a network and a machine would.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::invoke::Work;
use crate::trip::LateCall;

/// What waits, of both kinds.
#[derive(Default)]
pub(crate) struct Mischief {
    pub(crate) late_calls: Waiting<LateCall>,
    pub(crate) paused: Waiting<Work>,
}

impl Mischief {
    /// How much waits.
    pub(crate) fn len(&self) -> usize {
        self.late_calls.items().len() + self.paused.items().len()
    }

    /// When the next of it goes on.
    pub(crate) fn due_at(&self) -> Option<DateTime<Utc>> {
        let instants = [self.late_calls.due_at(), self.paused.due_at()];
        instants.into_iter().flatten().min()
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
        let at = |seconds| DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap();
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
