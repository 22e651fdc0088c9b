//! One-off schedules that start the retrier.

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::operation::delete_schedule::DeleteScheduleError;
use aws_sdk_scheduler::operation::get_schedule::{GetScheduleError, GetScheduleOutput};
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, Target,
};
use chrono::{DateTime, NaiveDateTime, SubsecRound, TimeDelta, Utc};
use lambda_kit::{Failure, Function, Setup, count};
use paidonce_core::dunning::{Plan, schedule_name};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::Scheduler;

/// A schedule can't be made for the past, and making it takes a moment.
const SOONEST: TimeDelta = TimeDelta::seconds(60);
/// How long, and how often, the scheduler tries to start the retrier. Its own default is 185 times
/// over a day: a charge on the wrong day. What is given up goes to the dead-letter queue.
const STARTED_WITHIN_S: i32 = 3600;
const RETRIES_MAX: i32 = 3;
const EXPRESSION: &str = "at(%Y-%m-%dT%H:%M:%S)";

pub(crate) struct Schedules {
    client: Client,
    group: String,
    retrier_arn: String,
    role_arn: String,
    dead_letters_arn: String,
}

/// A schedule as a plan wants it.
pub(crate) struct Wanted {
    name: String,
    /// When the plan is for.
    planned: DateTime<Utc>,
    /// When it can start: later, if the plan's time has passed.
    at: DateTime<Utc>,
    /// What the retrier is given.
    input: String,
}

impl Schedules {
    pub(crate) fn new(setup: &Setup) -> Self {
        let environment = &setup.environment;
        Self {
            client: lambda_kit::client!(aws_sdk_scheduler, &setup.aws),
            group: environment.text("SCHEDULE_GROUP"),
            retrier_arn: environment.text("RETRIER_ARN"),
            role_arn: environment.text("SCHEDULES_ROLE_ARN"),
            dead_letters_arn: environment.text("SCHEDULES_DLQ_ARN"),
        }
    }

    pub(crate) fn wanted(&self, subscription_id: &str, plan: &Plan, now: DateTime<Utc>) -> Wanted {
        let planned = whole_second(plan.at);
        Wanted {
            name: schedule_name(subscription_id, plan.n),
            planned,
            at: planned.max(whole_second(now + SOONEST)),
            input: json!({"subscription_id": subscription_id, "n": plan.n}).to_string(),
        }
    }

    /// Makes a schedule unless it is there. False if another one bears its name.
    pub(crate) async fn has_or_makes(&self, wanted: &Wanted) -> Result<bool, Failure> {
        if self.make(wanted, "").await? {
            return Ok(true);
        }
        match self.found(&wanted.name).await? {
            Some(found) => Ok(wanted.is_met_by(&found, &self.retrier_arn)),
            // It has just started what it is for, and is gone.
            None => Ok(true),
        }
    }

    /// Puts a schedule in the place of another one of the same name.
    pub(crate) async fn replace(&self, wanted: &Wanted) -> Result<(), Failure> {
        let name = &wanted.name;
        count(Scheduler::NAME, "schedule_mismatch", 1);
        tracing::error!(schedule.name = %name, "Schedule `{name}` was not what its plan wants, and is made anew");
        self.delete(name).await?;
        match self.make(wanted, "again").await? {
            true => Ok(()),
            false => Err("another schedule was made at once".into()),
        }
    }

    /// Deletes a schedule. One that is gone already is as good.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Failure> {
        let deleted = self
            .client
            .delete_schedule()
            .group_name(&self.group)
            .name(name)
            .send()
            .await;
        match deleted {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(DeleteScheduleError::is_resource_not_found_exception) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a schedule. False if there is one of its name.
    async fn make(&self, wanted: &Wanted, token_salt: &str) -> Result<bool, Failure> {
        let made = self
            .client
            .create_schedule()
            .group_name(&self.group)
            .name(&wanted.name)
            .client_token(wanted.token(token_salt))
            .schedule_expression(wanted.expression())
            .schedule_expression_timezone("UTC")
            .flexible_time_window(
                FlexibleTimeWindow::builder()
                    .mode(FlexibleTimeWindowMode::Off)
                    .build()?,
            )
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(self.target(wanted)?)
            .send()
            .await;
        match made {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_conflict_exception()) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn target(&self, wanted: &Wanted) -> Result<Target, Failure> {
        let retries = RetryPolicy::builder()
            .maximum_event_age_in_seconds(STARTED_WITHIN_S)
            .maximum_retry_attempts(RETRIES_MAX)
            .build();
        let dead_letters = DeadLetterConfig::builder()
            .arn(&self.dead_letters_arn)
            .build();
        Ok(Target::builder()
            .arn(&self.retrier_arn)
            .role_arn(&self.role_arn)
            .input(&wanted.input)
            .retry_policy(retries)
            .dead_letter_config(dead_letters)
            .build()?)
    }

    async fn found(&self, name: &str) -> Result<Option<GetScheduleOutput>, Failure> {
        let found = self
            .client
            .get_schedule()
            .group_name(&self.group)
            .name(name)
            .send()
            .await;
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(GetScheduleError::is_resource_not_found_exception) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Wanted {
    fn expression(&self) -> String {
        self.at.format(EXPRESSION).to_string()
    }

    /// The same for the same schedule, however often it is asked for.
    fn token(&self, salt: &str) -> String {
        let facts = format!("{}|{}|{salt}", self.name, self.expression());
        hex::encode(Sha256::digest(facts))
    }

    /// Whether a schedule starts the same at the plan's time, or was made when that had passed.
    fn is_met_by(&self, found: &GetScheduleOutput, retrier_arn: &str) -> bool {
        let target = found.target();
        let starts_same = target.is_some_and(|target| {
            target.arn() == retrier_arn && target.input() == Some(self.input.as_str())
        });
        let expression = found.schedule_expression().unwrap_or_default();
        let at = NaiveDateTime::parse_from_str(expression, EXPRESSION);
        let is_in_time = at.is_ok_and(|at| {
            let at = at.and_utc();
            self.planned <= at && at <= self.at
        });
        starts_same && is_in_time && found.schedule_expression_timezone() == Some("UTC")
    }
}

/// The next whole second: a schedule has no parts of it, and must not start before its plan.
fn whole_second(at: DateTime<Utc>) -> DateTime<Utc> {
    let floor = at.trunc_subsecs(0);
    if floor < at {
        floor + TimeDelta::seconds(1)
    } else {
        floor
    }
}
