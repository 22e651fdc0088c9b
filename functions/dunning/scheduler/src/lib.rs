//! `dunr-scheduler`: decides what is next for a subscription, and makes the one-off schedule of it.
//!
//! Triggered by the queue `dunr-events`. Touches the subscriptions, their log, the outbox and the
//! schedules of the group; it charges nothing and sends nothing. A plan has a number of its own,
//! which names its schedule: if an order comes twice, or two run at once, one plan is written and
//! one schedule made, and the others find both there. A schedule of a plan that was dropped in
//! between is harmless: what it starts finds that it is stale.

mod schedule;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, each_record};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::{
    Carried, Command, Dunning, DunningOrder, DunningTables, PlanJob, Rejection, SchedulerJob,
    TidyJob, schedule_name,
};
use paidonce_core::outbox::Envelope;
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::read;
use serde_json::Value;

use crate::schedule::Schedules;

pub struct Scheduler {
    dynamodb: Client,
    tables: DunningTables,
    schedules: Schedules,
    entropy: Entropy,
}

impl Function for Scheduler {
    const NAME: &'static str = "dunr-scheduler";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            schedules: Schedules::new(setup),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        each_record(event, |body| async move {
            let (event_id, job) = Envelope::read::<SchedulerJob>(body)?;
            match job {
                SchedulerJob::Plan(job) => self.plan(&event_id, &job, now).await,
                SchedulerJob::Tidy(job) => self.tidy(&job).await,
            }
        })
        .await
    }
}

impl Scheduler {
    async fn plan(&self, event_id: &str, job: &PlanJob, now: DateTime<Utc>) -> Result<(), Failure> {
        let order = DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command: Command::Plan,
            command_id: format!("plan:{}", self.entropy.ulid(now)),
            origin: Origin {
                who: Self::NAME,
                correlation_id: event_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        let id = &job.subscription_id;
        match order.carry_out(id).await? {
            Carried::Moved(transition) => self.schedule(&transition.after, now).await,
            // Another delivery planned it, and may not have come to make the schedule.
            Carried::Rejected(Rejection::Already, row) => self.schedule(&row, now).await,
            Carried::Rejected(
                Rejection::Nothing
                | Rejection::Stale
                | Rejection::TooEarly(_)
                | Rejection::InFlight(_),
                _,
            ) => Ok(()),
            Carried::Missing => {
                tracing::warn!(subscription.id = %id, "Subscription `{id}` is not there to be planned");
                Ok(())
            }
            Carried::Guarded(_) => Err("a step without guards was stopped by one".into()),
            Carried::Contended => Err("others kept writing".into()),
        }
    }

    /// Makes the schedule of the row's plan, if it has one.
    async fn schedule(&self, row: &Dunning, now: DateTime<Utc>) -> Result<(), Failure> {
        let Some(plan) = &row.plan else {
            return Ok(());
        };
        let id = &row.subscription_id;
        let wanted = self.schedules.wanted(id, plan, now);
        if self.schedules.has_or_makes(&wanted).await? {
            return Ok(());
        }
        // Something else bears its name. It goes, unless the plan was dropped in the meantime.
        let row = read::<Dunning>(&self.dynamodb, &self.tables.dunning, id).await?;
        let current = row.and_then(|row| row.plan);
        if current.is_none_or(|current| current.n != plan.n) {
            return Ok(());
        }
        self.schedules.replace(&wanted).await
    }

    /// Deletes schedules that are no longer wanted.
    async fn tidy(&self, job: &TidyJob) -> Result<(), Failure> {
        if planted::is(Defect::ScheduleLeft) {
            return Ok(());
        }
        let id = &job.subscription_id;
        let row = read::<Dunning>(&self.dynamodb, &self.tables.dunning, id).await?;
        let current = row.and_then(|row| row.plan);
        let current = current.map(|plan| schedule_name(id, plan.n));
        for name in &job.schedule_names {
            if current.as_ref() != Some(name) {
                self.schedules.delete(name).await?;
            }
        }
        Ok(())
    }
}
