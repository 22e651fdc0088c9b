//! Schedules to their targets, those of the template and those that calls made.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use chrono::{DateTime, Duration, Utc};

use super::Settled;
use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::iam::Access;
use crate::meter::Denied;
use crate::open;
use crate::schedule::Timing;
use crate::services::sqs;
use crate::store::MadeSchedule;
use crate::template::{Schedule, ScheduleTarget, read_schedule};

/// How late a firing is that is late.
const LATE_MAX: Duration = Duration::hours(2);

/// Fires what is due.
pub(super) fn fire_due(cloud: &Cloud, settled: &mut Settled) {
    fire_of_template(cloud, settled);
    fire_made(cloud, settled);
}

fn fire_of_template(cloud: &Cloud, settled: &mut Settled) {
    let now = cloud.clock.now();
    for (name, schedule) in &cloud.stack.schedules {
        let due = cloud
            .store
            .look(|state| state.next_firings.get(name).copied())
            .filter(|due| *due <= now);
        let Some(due) = due else { continue };
        if let Some(later) = late_at(cloud, name, due) {
            cloud
                .store
                .change(|state| state.next_firings.insert(name.clone(), later));
            continue;
        }
        let next = next_firing(cloud, schedule, due);
        cloud.store.change(|state| match next {
            Some(next) => state.next_firings.insert(name.clone(), next),
            None => state.next_firings.remove(name),
        });
        // Known in the template, but not part of this fleet: it is passed over.
        if has_live_target(cloud, &schedule.target) && !is_left_out(cloud, &schedule.target) {
            fire_perhaps_twice(cloud, name, schedule, settled);
        }
    }
}

fn is_left_out(cloud: &Cloud, target: &ScheduleTarget) -> bool {
    let left_out = cloud.left_out.lock();
    let left_out = left_out.unwrap_or_else(PoisonError::into_inner);
    let rows = |table: &str| open::rows(cloud, table).unwrap_or_default();
    match (target, left_out.as_ref()) {
        (ScheduleTarget::Function(function), Some(is_idle)) => is_idle(function, &rows),
        (ScheduleTarget::Function(_), None) | (ScheduleTarget::Queue(_), _) => false,
    }
}

fn fire_perhaps_twice(cloud: &Cloud, name: &str, schedule: &Schedule, settled: &mut Settled) {
    fire(cloud, name, schedule, settled);
    if cloud
        .dice
        .happens(|disorder| disorder.schedule_twice_per_mille)
    {
        cloud.faults.count("schedule_fired_twice");
        fire(cloud, name, schedule, settled);
    }
}

/// Until when a firing that is due is put off, if it is late. That happens to it once.
fn late_at(cloud: &Cloud, key: &str, due: DateTime<Utc>) -> Option<DateTime<Utc>> {
    if cloud.mischief.was_put_off(key, due) {
        return None;
    }
    let rate = |disorder: &Disorder| disorder.schedule_late_per_mille;
    let at = cloud.clock.now() + cloud.dice.delay(rate, LATE_MAX)?;
    cloud.faults.count("schedule_late");
    cloud.mischief.put_off(key, at);
    Some(at)
}

/// After a long stop the firings that were missed are not made up for.
fn next_firing(cloud: &Cloud, schedule: &Schedule, due: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let now = cloud.clock.now();
    let timing = &schedule.timing;
    let next = timing
        .next(due)
        .filter(|next| *next > now)
        .or_else(|| timing.next(now));
    let at_most = *cloud
        .rates_at_most
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    match timing {
        Timing::Every(_) => next.map(|next| next.max(now + at_most)),
        Timing::Once(_) | Timing::Cron(..) => next,
    }
}

fn fire_made(cloud: &Cloud, settled: &mut Settled) {
    let now = cloud.clock.now();
    let is_due = |made: &&MadeSchedule| made.next_at.is_some_and(|next| next <= now);
    let due: Vec<MadeSchedule> = cloud
        .store
        .look(|state| state.schedules.values().filter(is_due).cloned().collect());
    for made in due {
        let Some(schedule) = schedule_of(&made) else {
            continue;
        };
        // It waits until its target is installed.
        if !has_live_target(cloud, &schedule.target) {
            continue;
        }
        let key = format!("{}/{}", made.group, made.name);
        if let Some(later) = made.next_at.and_then(|due| late_at(cloud, &key, due)) {
            cloud.store.change(|state| {
                if let Some(kept) = state.schedules.get_mut(&key) {
                    kept.next_at = Some(later);
                }
            });
            continue;
        }
        let next = schedule.timing.next(now);
        let deletes = made.definition["ActionAfterCompletion"] == "DELETE";
        cloud.store.change(|state| {
            if next.is_none() && deletes {
                state.forget_schedule(&key);
            } else if let Some(kept) = state.schedules.get_mut(&key) {
                kept.next_at = next;
            }
        });
        fire_perhaps_twice(cloud, &key, &schedule, settled);
    }
}

/// What a made schedule says. It was checked when it was made.
pub(crate) fn schedule_of(made: &MadeSchedule) -> Option<Schedule> {
    let name = &made.name;
    read_schedule(&made.definition, None)
        .inspect_err(|problem| {
            tracing::error!(schedule = %name, error = %problem, "Schedule `{name}` can't be read");
        })
        .ok()
}

/// A function of the template must be installed; one that is not there at all, and a queue, are
/// found out by firing.
pub(super) fn has_live_target(cloud: &Cloud, target: &ScheduleTarget) -> bool {
    match target {
        ScheduleTarget::Function(function) => {
            cloud.is_installed(function) || !cloud.stack.functions.contains_key(function)
        }
        ScheduleTarget::Queue(_) => true,
    }
}

/// Does what a schedule is for, as its role: or puts its input into its dead-letter queue.
pub(crate) fn fire(cloud: &Cloud, name: &str, schedule: &Schedule, settled: &mut Settled) {
    let target_arn = schedule.definition["Target"]["Arn"].as_str();
    let may = |action: &str| may(cloud, schedule, action, target_arn.unwrap_or_default());
    match &schedule.target {
        ScheduleTarget::Function(function)
            if cloud.stack.functions.contains_key(function) && may("lambda:InvokeFunction") =>
        {
            cloud.invoke_later(function, schedule.input.clone());
        }
        ScheduleTarget::Queue(queue)
            if cloud.stack.queues.contains_key(queue) && may("sqs:SendMessage") =>
        {
            let body = schedule.input.to_string();
            sqs::put(cloud, queue, name, &body, BTreeMap::new(), Duration::zero());
            settled.count(false);
        }
        ScheduleTarget::Function(_) | ScheduleTarget::Queue(_) => {
            let queue = schedule.dead_letter_queue.as_deref();
            let queue = queue.filter(|queue| {
                let arn = sqs::queue_arn(queue);
                self::may(cloud, schedule, "sqs:SendMessage", &arn)
            });
            cloud.give_up(None, name, queue, &schedule.input);
            settled.count(true);
        }
    }
}

/// Whether the schedule's role allows something. A role that SAM makes allows what it needs.
fn may(cloud: &Cloud, schedule: &Schedule, action: &str, resource: &str) -> bool {
    let Some(name) = &schedule.role else {
        return true;
    };
    let role = cloud.stack.roles.get(name).cloned().unwrap_or_default();
    let denied = role.check(&Access::new(action, resource)).err();
    let allowed = denied.is_none();
    if let Some(reason) = denied {
        cloud.meter.deny(Denied {
            function: name.clone(),
            action: action.to_owned(),
            resource: resource.to_owned(),
            reason,
        });
    }
    allowed
}
