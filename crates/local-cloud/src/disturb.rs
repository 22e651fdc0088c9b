//! The doors by which a test or a simulation disturbs the cloud, beside the plan of faults.

use std::sync::{Arc, PoisonError};

use chrono::{DateTime, Duration, Utc};
use serde_json::Value;

use crate::LocalCloud;
use crate::disorder::Disorder;
use crate::error::CloudError;
use crate::schedule::Timing;
use crate::services::IndexLag;
use crate::template::ScheduleTarget;

impl LocalCloud {
    /// How long past its time a row stays readable; nothing at first.
    pub fn set_ttl_lag(&self, lag: Duration) {
        *self
            .0
            .ttl_lag
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = lag;
    }

    /// Lets global secondary indexes be behind their tables from now on, for functions that query or
    /// scan them; `None` ends it at once.
    ///
    /// # Errors
    /// The second database that this needs can't be made.
    pub fn set_index_lag(&self, lag: Option<IndexLag>) -> Result<(), CloudError> {
        self.0.mischief.indexes.set(&self.0, lag)
    }

    /// Sets the clock of a function, or of every function that is not named, ahead by `skew`: its
    /// handler gets that `now`. A paused handler keeps the `now` that it had. Zero is a right clock.
    pub fn set_clock_skew(&self, function: Option<&str>, skew: Duration) {
        self.0.mischief.skews.set(function, skew);
    }

    /// Sets all clocks right.
    pub fn clear_clock_skews(&self) {
        self.0.mischief.skews.clear();
    }

    /// Deploys a function badly: from now on it panics at events, as JSON, that contain `text`. Where
    /// batches may fail in part, only the records that contain it fail (and in a stream, what is behind
    /// them comes again).
    pub fn break_function(&self, function: &str, text: &str) {
        self.0.mischief.bad_deploys.add(function, text);
    }

    /// Deploys a function well again.
    pub fn heal_function(&self, function: &str) {
        self.0.mischief.bad_deploys.heal(function);
    }

    /// Fires each `rate(…)` of the template once in this time at most, from now on: months of virtual
    /// time are spent on what happens in them, and not on sweeps each minute that find nothing.
    pub fn set_rates_at_most(&self, every: Duration) {
        *self
            .0
            .rates_at_most
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = every;
        let now = self.0.clock.now();
        let schedules = &self.0.stack.schedules;
        self.0.store.change(|state| {
            for (name, next) in &mut state.next_firings {
                let timing = schedules.get(name).map(|schedule| &schedule.timing);
                if let Some(Timing::Every(period)) = timing {
                    *next = (*next).clamp(now + every, now + every.max(*period));
                }
            }
        });
    }

    /// Lets the template's schedules of a function, whatever their timing, not fire before `until`.
    pub fn put_off_schedules(&self, function: &str, until: DateTime<Utc>) {
        let schedules = self.0.stack.schedules.iter();
        let of_function = schedules.filter(|(_, schedule)| {
            matches!(&schedule.target, ScheduleTarget::Function(target) if target == function)
        });
        self.0.store.change(|state| {
            for (name, schedule) in of_function {
                let next = schedule.timing.next(until);
                if let (Some(kept), Some(next)) = (state.next_firings.get_mut(name), next) {
                    *kept = next.max(*kept);
                }
            }
        });
    }

    /// Leaves firings of the template's own schedules out, from now on, where `is_idle` says of a function
    /// and of what the tables have that it would find nothing to do.
    pub fn leave_out_firings(
        &self,
        is_idle: impl Fn(&str, &dyn Fn(&str) -> Arc<Vec<Value>>) -> bool + Send + 'static,
    ) {
        *self
            .0
            .left_out
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Box::new(is_idle));
    }

    /// Delivers out of order, twice, late or as else is asked from now on; `None` ends it, except for
    /// what is under way.
    pub fn set_disorder(&self, disorder: Option<Disorder>) {
        self.0.dice.set(disorder);
    }

    /// How much is under way: late requests, paused invocations, redeliveries of streams, firings of
    /// deleted schedules. Each is due at its instant ([`LocalCloud::next_due`]).
    pub fn unfinished(&self) -> usize {
        self.0.mischief.len()
    }
}
