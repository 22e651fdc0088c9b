//! `dunr-retrier`: charges one attempt of one invoice, and records what the provider said.
//!
//! Started by a one-off schedule with a subscription and the number of a plan. Touches the
//! subscription's row, its log and the outbox, and is the only one that may charge; it can neither
//! cancel nor void nor refund. It reads the live invoice, claims the charge on the row with a key of
//! its own, asks the provider, and writes the outcome. If it runs twice, or late, or beside itself,
//! the row says so before anything is charged: one run holds the claim, and whoever finds a claim
//! that is still open asks again under its key, which the provider answers with its first result. An
//! answer that did not come leaves the claim open; a plan to look again follows from that.

mod charge;
pub mod live;
mod lookup;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, SecretCache, Setup, count};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::{
    Act, Carried, Command, Dunning, DunningOrder, DunningTables, Errand, ErrandKind, Rejection,
    errand, idle_firing_step,
};
use paidonce_core::step::{Step, Written, read, write};
use provider::Provider;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lookup::Seen;

pub struct Retrier {
    dynamodb: Client,
    tables: DunningTables,
    provider: Provider,
    provider_key: SecretCache,
    entropy: Entropy,
}

/// What a schedule says: plan `n` of a subscription is due.
#[derive(Debug, Deserialize)]
struct Job {
    subscription_id: String,
    n: u32,
}

impl Function for Retrier {
    const NAME: &'static str = "dunr-retrier";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let url = environment.text("PROVIDER_URL");
        let api_version = environment.text("PROVIDER_API_VERSION");
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            provider: Provider::new(&setup.aws, &url, &api_version),
            provider_key: SecretCache::new(&setup.aws, environment.text("PROVIDER_SECRET")),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let done = match serde_json::from_value::<Job>(event) {
            Ok(job) => self.fire(&job, now).await,
            Err(error) => Err(error.into()),
        };
        if done.is_err() {
            count(Self::NAME, "retrier_failures", 1);
        }
        Ok(json!({ "did": done? }))
    }
}

impl Retrier {
    /// Does what the plan says, and returns what that was.
    async fn fire(&self, job: &Job, now: DateTime<Utc>) -> Result<&'static str, Failure> {
        let Job { subscription_id, n } = job;
        let row = read::<Dunning>(&self.dynamodb, &self.tables.dunning, subscription_id).await?;
        let Some(row) = row else {
            tracing::warn!(subscription.id = %subscription_id, n, "Plan {n} is of `{subscription_id}`, which is not known");
            return Ok("unknown");
        };
        let errand = match errand(&row, *n, now) {
            Ok(errand) => errand,
            Err(why) => return self.nothing_done(&row, job, why, now).await,
        };
        match errand.kind {
            ErrandKind::TooLate => {
                self.carry_out(row, job, Command::FiredLate { n: *n }, now)
                    .await
            }
            ErrandKind::Look | ErrandKind::Charge => {
                self.look_and_fire(row, job, &errand, now).await
            }
            ErrandKind::Resume => self.resume(row, job, &errand, now).await,
        }
    }

    /// Nothing is claimed yet: what could not be looked up makes the invocation fail, and Lambda
    /// tries it again.
    async fn look_and_fire(
        &self,
        row: Dunning,
        job: &Job,
        errand: &Errand,
        now: DateTime<Utc>,
    ) -> Result<&'static str, Failure> {
        let seen = match errand.kind {
            ErrandKind::Charge => self.all_of(&row, errand, now).await?,
            ErrandKind::Look | ErrandKind::Resume | ErrandKind::TooLate => {
                Seen::Invoice(self.invoice_of(&row, errand, now).await?)
            }
        };
        let command = match seen {
            Seen::Invoice(sight) => Command::Fire { n: job.n, sight },
            Seen::Cancelled => Command::ReportCancelled,
        };
        self.carry_out(row, job, command, now).await
    }

    /// A charge is open: where nobody says how the invoice stands, it stays open.
    async fn resume(
        &self,
        row: Dunning,
        job: &Job,
        errand: &Errand,
        now: DateTime<Utc>,
    ) -> Result<&'static str, Failure> {
        let command = match self.invoice_and_subscription(&row, errand, now).await {
            Ok(sight) => Command::Fire { n: job.n, sight },
            Err(error) => {
                let Some(attempt) = &row.attempt else {
                    return Err(error);
                };
                let n = attempt.n;
                tracing::warn!(subscription.id = %row.subscription_id, attempt = n, %error, "Charge {n} of `{}` could not be looked up", row.subscription_id);
                count(Self::NAME, "charge_unanswered", 1);
                Command::LookFailed { n: job.n }
            }
        };
        self.carry_out(row, job, command, now).await
    }

    /// Writes a command, and charges if that is what follows from it.
    async fn carry_out(
        &self,
        row: Dunning,
        job: &Job,
        command: Command,
        now: DateTime<Utc>,
    ) -> Result<&'static str, Failure> {
        match self.order(row, command, now).await? {
            Carried::Moved(transition) => match transition.act {
                Act::Nothing => Ok(transition.event.as_str()),
                Act::Pay(attempt) => self.charge(transition.after, &attempt, now).await,
            },
            Carried::Rejected(why, row) => self.nothing_done(&row, job, why, now).await,
            Carried::Missing => Err("the subscription is gone".into()),
            Carried::Guarded(_) => Err("a step without guards was stopped by one".into()),
            Carried::Contended => Err("others kept writing".into()),
        }
    }

    pub(crate) async fn order(
        &self,
        row: Dunning,
        command: Command,
        now: DateTime<Utc>,
    ) -> Result<Carried, Failure> {
        let subscription_id = row.subscription_id.clone();
        let order = DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            // A claim that another run wrote is not this one's to act on, so the id is its own.
            command_id: format!("retry:{}", self.entropy.ulid(now)),
            origin: Origin {
                who: Self::NAME,
                correlation_id: &subscription_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        let carried = order.carry_out_on(row, &|step| step).await?;
        if let Carried::Moved(transition) = &carried {
            let event = transition.event.as_str();
            let result = transition.result.as_deref().unwrap_or_default();
            tracing::info!(subscription.id = %subscription_id, event, result, "Moved `{subscription_id}`: {event} {result}");
        }
        Ok(carried)
    }

    /// A schedule that fires twice, early or after its plan was dropped changes nothing; the log says
    /// that it fired.
    ///
    /// A claim that it finds in flight is its holder's: should that die, Lambda's next try of it comes
    /// after the end of the lease and takes the claim over.
    async fn nothing_done(
        &self,
        row: &Dunning,
        job: &Job,
        why: Rejection,
        now: DateTime<Utc>,
    ) -> Result<&'static str, Failure> {
        let Job { subscription_id, n } = job;
        let (did, metric) = match why {
            Rejection::InFlight(_) => ("in_flight", "schedules_in_flight"),
            Rejection::Already | Rejection::Stale | Rejection::TooEarly(_) | Rejection::Nothing => {
                ("nothing", "stale_schedules")
            }
        };
        count(Self::NAME, metric, 1);
        tracing::info!(subscription.id = %subscription_id, n, ?why, "Plan {n} of `{subscription_id}` is not to be carried out");
        let id = self.entropy.ulid(now);
        let origin = Origin {
            who: Self::NAME,
            correlation_id: subscription_id,
        };
        let step = Step::new(id, format!("fired:{id}"), now);
        let step = idle_firing_step(step, &self.tables, row, *n, why, origin);
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(did),
            Written::Stale(_) | Written::Contended => Err("the log took no row".into()),
        }
    }
}
