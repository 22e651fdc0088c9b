//! The schedules from outside: what is planned, and what may go wrong with it.

use chrono::{DateTime, Duration, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::LocalCloud;
use crate::pump::{Settled, fire, schedule_of};
use crate::store::{MadeSchedule, State};
use crate::template::Schedule;

/// A schedule and its next firing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub group: String,
    pub name: String,
    /// `at(2027-03-04T09:00:00)`, `rate(5 minutes)`, `cron(0 9 ? * 2#1 *)`
    pub expression: String,
    /// The IANA zone of the expression.
    pub zone: String,
    /// The ARN of the target.
    pub target: String,
    /// What the target gets.
    pub input: Value,
    /// Absent when it does not fire again.
    pub next_at: Option<DateTime<Utc>>,
    /// Whether the template made it, not a call.
    pub of_template: bool,
}

impl Planned {
    fn new(name: &str, schedule: &Schedule, next_at: Option<DateTime<Utc>>) -> Self {
        let definition = &schedule.definition;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            group: schedule.group.clone(),
            name: name.to_owned(),
            expression: text(&definition["ScheduleExpression"]).unwrap_or_default(),
            zone: text(&definition["ScheduleExpressionTimezone"])
                .unwrap_or_else(|| "UTC".to_owned()),
            target: text(&definition["Target"]["Arn"]).unwrap_or_default(),
            input: schedule.input.clone(),
            next_at,
            of_template: false,
        }
    }
}

/// Schedules are named by their name alone or as `group/name`; of two groups' schedules of one
/// name, the first group's is meant.
impl LocalCloud {
    /// All schedules: those of the template first, then those that calls made, each sorted by group
    /// and name.
    pub fn schedules(&self) -> Vec<Planned> {
        self.0.store.look(|state| {
            let of_template = self.0.stack.schedules.iter().map(|(key, schedule)| {
                let name = key.rsplit('/').next().unwrap_or(key);
                let next_at = state.next_firings.get(key).copied();
                Planned {
                    of_template: true,
                    ..Planned::new(name, schedule, next_at)
                }
            });
            let made = state.schedules.values().filter_map(|made| {
                let schedule = schedule_of(made)?;
                Some(Planned::new(&made.name, &schedule, made.next_at))
            });
            of_template.chain(made).collect()
        })
    }

    /// Fires a schedule once more, whenever it is due and even if it has fired and was deleted, as
    /// Scheduler may: it delivers at least once. The target runs at the next settlement.
    ///
    /// Returns `false` when there never was such a schedule.
    #[must_use]
    pub fn fire_schedule(&self, name: &str) -> bool {
        let Some((key, schedule)) = self.schedule_named(name) else {
            return false;
        };
        let mut settled = Settled::NOTHING;
        fire(&self.0, &key, &schedule, &mut settled);
        true
    }

    /// Lets the next firing of a schedule that a call made be late by `by`.
    ///
    /// Returns `false` when no such schedule waits to fire.
    #[must_use]
    pub fn delay_schedule(&self, name: &str, by: Duration) -> bool {
        self.0.store.change(|state| {
            let key = key_of(state, name);
            let made = key.and_then(|key| state.schedules.get_mut(&key));
            let Some(next_at) = made.and_then(|made| made.next_at.as_mut()) else {
                return false;
            };
            *next_at += by;
            true
        })
    }

    /// Loses a schedule that a call made: it is gone, and nobody is told.
    ///
    /// Returns `false` when there is no such schedule.
    #[must_use]
    pub fn drop_schedule(&self, name: &str) -> bool {
        self.0.store.change(|state| {
            let key = key_of(state, name);
            key.is_some_and(|key| state.forget_schedule(&key))
        })
    }

    fn schedule_named(&self, name: &str) -> Option<(String, Schedule)> {
        let schedules = self.0.stack.schedules.iter();
        let mut of_template = schedules.filter(|(key, schedule)| {
            let bare = key.rsplit('/').next().unwrap_or(key);
            bare == name || format!("{}/{bare}", schedule.group) == name
        });
        if let Some((key, schedule)) = of_template.next() {
            return Some((key.clone(), schedule.clone()));
        }
        let made = self.0.store.look(|state| {
            let present = state.schedules.values();
            let mut known = present.chain(state.past_schedules.iter().rev());
            known.find(|made| is_named(made, name)).cloned()
        })?;
        Some((format!("{}/{}", made.group, made.name), schedule_of(&made)?))
    }
}

fn is_named(made: &MadeSchedule, name: &str) -> bool {
    made.name == name || format!("{}/{}", made.group, made.name) == name
}

fn key_of(state: &State, name: &str) -> Option<String> {
    let mut made = state.schedules.iter();
    made.find(|(_, made)| is_named(made, name))
        .map(|(key, _)| key.clone())
}
