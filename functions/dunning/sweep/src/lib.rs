//! `dunr-sweep`: finds what an order or a schedule should have done about a subscription and did not.
//!
//! Started by a schedule once a day. Touches the subscriptions' rows, their log and the outbox; it
//! neither charges nor writes to anybody. If two run at once, the version condition lets one write:
//! the other decides again on the row that came back and finds nothing left to do. It also says how
//! many days the bank holiday data lasts. What one sweep does not get to in its time is the next
//! one's, and its answer says so.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, chain, count};
use paidonce_core::booking_step::Origin;
use paidonce_core::due::{DueWork, work_off};
use paidonce_core::dunning::business_days::covered_until;
use paidonce_core::dunning::policy::{BUILT_IN, Policy, Terms};
use paidonce_core::dunning::{Carried, Command, Dunning, DunningOrder, DunningTables};
use paidonce_core::step::read;
use serde_json::{Value, json};

/// Well before the function's time-out.
const WITHIN: Duration = Duration::from_secs(90);
/// More things than can be due about one subscription.
const TENDED_MAX: usize = 8;

pub struct Sweep {
    dynamodb: Client,
    tables: DunningTables,
    terms: Terms,
    entropy: Entropy,
}

impl Function for Sweep {
    const NAME: &'static str = "dunr-sweep";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy =
            Policy::from_json(policy.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            terms: policy.terms,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, _: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let (unanswered, moved) = (AtomicI64::new(0), AtomicI64::new(0));
        let due = DueWork::subscriptions(&self.tables.dunning);
        let tend = |id: String| {
            let (unanswered, moved) = (&unanswered, &moved);
            async move {
                let tended = self.tend(id, now).await;
                let tended = tended.map_err(|error| chain(error.as_ref()))?;
                unanswered.fetch_add(i64::from(tended.is_unanswered), Ordering::Relaxed);
                moved.fetch_add(tended.steps, Ordering::Relaxed);
                Ok::<(), String>(())
            }
        };
        let swept = work_off(&self.dynamodb, &due, now, WITHIN, tend).await?;
        let (unanswered, moved) = (unanswered.into_inner(), moved.into_inner());
        let days_left = self.holiday_days_left(now);
        count(Self::NAME, "sweep_failures", i64::from(swept.failed));
        count(Self::NAME, "unanswered_attempts", unanswered);
        count(Self::NAME, "holiday_data_days_left", days_left);
        let looked_at = swept.looked_at;
        tracing::info!(
            looked_at,
            moved,
            unanswered,
            days_left,
            "Looked at {looked_at} subscriptions"
        );
        Ok(json!(swept))
    }
}

/// What was found of one subscription.
struct Tended {
    steps: i64,
    /// Whether a charge of it still has no answer.
    is_unanswered: bool,
}

impl Sweep {
    /// How many days the bank holidays are known for where the business is.
    fn holiday_days_left(&self, now: DateTime<Utc>) -> i64 {
        let today = now.with_timezone(&self.terms.zone).date_naive();
        (covered_until(self.terms.region) - today).num_days()
    }

    /// Does what is due about one subscription, one thing after the other.
    async fn tend(&self, subscription_id: String, now: DateTime<Utc>) -> Result<Tended, Failure> {
        let table = &self.tables.dunning;
        let row = read::<Dunning>(&self.dynamodb, table, &subscription_id).await?;
        let mut tended = Tended {
            steps: 0,
            is_unanswered: row.as_ref().is_some_and(|row| row.attempt.is_some()),
        };
        let Some(mut row) = row else {
            return Ok(tended);
        };
        for _ in 0..TENDED_MAX {
            row = match self.order(row, &subscription_id, now).await? {
                Carried::Moved(transition) => transition.after,
                Carried::Rejected(..) | Carried::Missing => return Ok(tended),
                Carried::Guarded(_) => {
                    return Err("a step without guards was stopped by one".into());
                }
                Carried::Contended => return Err("others kept writing".into()),
            };
            tended.steps += 1;
        }
        Err("there was more to do than there can be".into())
    }

    async fn order(
        &self,
        row: Dunning,
        subscription_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Carried, Failure> {
        let order = DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command: Command::Tend,
            command_id: format!("tend:{}", self.entropy.ulid(now)),
            origin: Origin {
                who: Self::NAME,
                correlation_id: subscription_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        let carried = order.carry_out_on(row, &|step| step).await?;
        if let Carried::Moved(transition) = &carried {
            let event = transition.event.as_str();
            let result = transition.result.as_deref().unwrap_or_default();
            tracing::info!(subscription.id = %subscription_id, event, result, "Tended `{subscription_id}`: {event} {result}");
        }
        Ok(carried)
    }
}
