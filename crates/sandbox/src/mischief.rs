//! What may go wrong with deliveries, on demand.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// No event is doubled more often than this.
pub(crate) const DUPLICATES_MAX: u32 = 20;

/// A rule for events that are made from now on; the first one for a type counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rule {
    /// The event type it is for; every type if absent.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// How many attempts never arrive.
    pub(crate) lose: u32,
    /// Seconds, from the first attempt on, in which no attempt arrives.
    lose_for_s: u32,
    /// Seconds before the first attempt.
    delay_s: u32,
    /// How many more times the same event is delivered.
    pub(crate) duplicates: u32,
    /// Whether of events that are due together the newest goes first.
    pub(crate) reorder: bool,
    /// Whether a second event, with an id of its own, tells the same.
    pub(crate) new_id: bool,
}

impl Rule {
    pub(crate) fn is_for(&self, kind: &str) -> bool {
        self.kind.as_deref().is_none_or(|only| only == kind)
    }

    pub(crate) fn lost_for(&self) -> TimeDelta {
        TimeDelta::seconds(self.lose_for_s.into())
    }

    pub(crate) fn delay(&self) -> TimeDelta {
        TimeDelta::seconds(self.delay_s.into())
    }
}
