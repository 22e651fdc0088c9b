//! A transition as the one step that carries it out, with its row in the log.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ulid::Ulid;

use super::mail::MailJob;
use super::{Command, Consequence, Dunning, LogEvent, Rejection, Transition, decide, names};
use crate::booking_step::Origin;
use crate::carry_out::{CarryOutError, DECISIONS_MAX};
use crate::money::Money;
use crate::outbox::Outgoing;
use crate::step::{Found, Item, ReadError, Row, Step, Written, from_item, read, write};

/// Over how many partitions a month of the log is spread.
pub const MONTH_SHARDS: u64 = 4;

/// Where a function's steps are written and where their consequences go.
#[derive(Clone, Debug, Default)]
pub struct DunningTables {
    pub dunning: String,
    pub log: String,
    pub outbox: String,
    pub events_queue: String,
    pub mail_queue: String,
}

impl DunningTables {
    /// Reads the names that every function with consequences has, by their variables.
    pub fn named(variable: impl Fn(&str) -> String) -> Self {
        Self {
            dunning: variable("DUNNING_TABLE"),
            log: variable("LOG_TABLE"),
            outbox: variable("OUTBOX_TABLE"),
            events_queue: variable("EVENTS_QUEUE"),
            mail_queue: variable("MAIL_QUEUE"),
        }
    }
}

/// The order to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum SchedulerJob {
    /// Decide what is next, and make its schedule.
    Plan(PlanJob),
    /// Delete what is no longer wanted.
    Tidy(TidyJob),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanJob {
    pub subscription_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TidyJob {
    pub subscription_id: String,
    pub schedule_names: Vec<String>,
}

/// One row of the log: one attempt or change, for ever.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogRow {
    pub subscription_id: String,
    /// RFC 3339 in UTC with milliseconds, the row's version and the id of the step, with `#` between.
    pub ts: String,
    pub at: DateTime<Utc>,
    /// The month in UTC and a partition, such as `2026-11#2`: the index of the monthly summary.
    pub month: String,
    /// A [`super::LogEvent`], such as `retry_succeeded`.
    pub event: String,
    #[serde(default)]
    pub attempt_no: Option<u32>,
    #[serde(default)]
    pub result: Option<String>,
    #[serde(default)]
    pub failure_code: Option<String>,
    #[serde(default)]
    pub invoice_id: Option<String>,
    #[serde(default)]
    pub amount: Option<Money>,
    /// The status before and after.
    #[serde(default)]
    pub before: Option<String>,
    #[serde(default)]
    pub after: Option<String>,
    /// By which rule and edition.
    pub why: String,
    pub who: String,
    pub correlation_id: String,
    pub causation_id: String,
    #[serde(default)]
    pub set: Map<String, Value>,
    #[serde(default)]
    pub removed: Vec<String>,
}

impl Row for LogRow {
    const NAME: &'static str = "log";
    const KEY: &'static str = "subscription_id";

    fn key(&self) -> String {
        self.subscription_id.clone()
    }
}

/// Builds the step of a transition of a row that is there.
pub fn dunning_step(
    step: Step,
    tables: &DunningTables,
    before: &Dunning,
    transition: &Transition,
    origin: Origin<'_>,
) -> Step {
    step.change(&tables.dunning, before, &transition.after, before.version)
        .logged(tables, before, transition, origin)
}

/// Builds the step of the first transition of a subscription: its row must not exist yet.
pub fn create_step(
    step: Step,
    tables: &DunningTables,
    before: &Dunning,
    transition: &Transition,
    origin: Origin<'_>,
) -> Step {
    step.create_subject(&tables.dunning, &transition.after)
        .logged(tables, before, transition, origin)
}

/// Builds the step of a schedule that fired for nothing: a row in the log, and no change.
pub fn idle_firing_step(
    mut step: Step,
    tables: &DunningTables,
    row: &Dunning,
    n: u32,
    why: Rejection,
    origin: Origin<'_>,
) -> Step {
    let result = match why {
        Rejection::TooEarly(_) => "early",
        Rejection::InFlight(_) => "in_flight",
        Rejection::Already | Rejection::Stale | Rejection::Nothing => "stale",
    };
    step.subject_version = row.version;
    let mut idle = row
        .changing(step.now)
        .told(
            LogEvent::RetrySkipped,
            format!("the schedule of plan {n} fired"),
        )
        .with_result(result);
    idle.after = row.clone();
    step.logged(tables, row, &idle, origin)
}

impl Step {
    fn logged(
        mut self,
        tables: &DunningTables,
        before: &Dunning,
        transition: &Transition,
        origin: Origin<'_>,
    ) -> Self {
        let item = self.log_item(before, transition, origin);
        let key = before.subscription_id.clone();
        let condition = "attribute_not_exists(#key)";
        self = self.put_item::<LogRow>(&tables.log, key, item, condition, &[]);
        for consequence in &transition.consequences {
            self = self.consequence(tables, &before.subscription_id, consequence);
        }
        self
    }

    /// By hand, since the attributes of the change are in their stored form already.
    fn log_item(&mut self, before: &Dunning, transition: &Transition, origin: Origin<'_>) -> Item {
        let mut diff = std::mem::take(&mut self.diff);
        // The provider's page shows the customer's name and address to whoever has its URL.
        if let Some(AttributeValue::M(invoices)) = diff.set.get_mut("invoices") {
            for invoice in invoices.values_mut() {
                if let AttributeValue::M(debt) = invoice {
                    debt.remove("hosted_url");
                }
            }
        }
        let at = self.now.to_rfc3339_opts(SecondsFormat::Millis, true);
        // The version keeps steps of one millisecond in order.
        let ts = format!("{at}#{:06}#{}", self.subject_version, self.id);
        let shard = names::spread(&before.subscription_id) % MONTH_SHARDS;
        let month = month_shard(self.now, shard);
        let after = &transition.after;
        let texts = [
            ("subscription_id", Some(before.subscription_id.as_str())),
            ("ts", Some(ts.as_str())),
            ("at", Some(at.as_str())),
            ("month", Some(month.as_str())),
            ("event", Some(transition.event.as_str())),
            ("result", transition.result.as_deref()),
            ("failure_code", after.failure_code.as_deref()),
            ("invoice_id", transition.invoice_id.as_deref()),
            ("before", Some(before.status.as_str())),
            ("after", Some(after.status.as_str())),
            ("why", Some(transition.why.as_str())),
            ("who", Some(origin.who)),
            ("correlation_id", Some(origin.correlation_id)),
            ("causation_id", Some(self.command_id.as_str())),
        ];
        let mut item: Item = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), AttributeValue::S(text?.to_owned()))))
            .collect();
        if let Some(n) = transition.attempt_no {
            item.insert("attempt_no".to_owned(), AttributeValue::N(n.to_string()));
        }
        let amount = transition.amount.map(serde_dynamo::to_attribute_value);
        if let Some(amount) = amount.and_then(|amount| self.or_defect(amount)) {
            item.insert("amount".to_owned(), amount);
        }
        let removed = diff.removed.into_iter().map(AttributeValue::S).collect();
        item.insert("set".to_owned(), AttributeValue::M(diff.set));
        item.insert("removed".to_owned(), AttributeValue::L(removed));
        item
    }

    fn consequence(
        self,
        tables: &DunningTables,
        subscription_id: &str,
        consequence: &Consequence,
    ) -> Self {
        let subscription_id = subscription_id.to_owned();
        match consequence {
            Consequence::Plan => {
                let job = SchedulerJob::Plan(PlanJob { subscription_id });
                self.order_scheduler(tables, "dunning.plan", &job)
            }
            Consequence::Tidy(names) => {
                let schedule_names = names.clone();
                let job = SchedulerJob::Tidy(TidyJob {
                    subscription_id,
                    schedule_names,
                });
                self.order_scheduler(tables, "dunning.tidy", &job)
            }
            Consequence::Mail(no) => {
                let job = MailJob {
                    subscription_id,
                    no: *no,
                };
                let about = job.subscription_id.clone();
                self.order(tables, &about, "dunning.mail", &job, &tables.mail_queue)
            }
        }
    }

    fn order_scheduler(
        self,
        tables: &DunningTables,
        kind: &'static str,
        job: &SchedulerJob,
    ) -> Self {
        let (SchedulerJob::Plan(PlanJob { subscription_id })
        | SchedulerJob::Tidy(TidyJob {
            subscription_id, ..
        })) = job;
        let about = subscription_id.clone();
        self.order(tables, &about, kind, job, &tables.events_queue)
    }

    fn order<J: Serialize>(
        mut self,
        tables: &DunningTables,
        subscription_id: &str,
        kind: &'static str,
        job: &J,
        target: &str,
    ) -> Self {
        let payload = serde_json::to_string(job);
        let Some(payload) = self.or_defect(payload) else {
            return self;
        };
        let outgoing = Outgoing {
            aggregate: format!("subscription#{subscription_id}"),
            kind,
            payload,
            target,
        };
        self.emit(&tables.outbox, outgoing)
    }
}

/// The partition of a month's log.
pub fn month_shard(at: DateTime<Utc>, shard: u64) -> String {
    format!("{}#{shard}", at.format("%Y-%m"))
}

/// A command with all that its step needs.
pub struct DunningOrder<'a> {
    pub client: &'a Client,
    pub tables: &'a DunningTables,
    pub command: Command,
    /// Unique for each invocation, or the id of the event that it carries out: only the same order
    /// recognises a write as its own.
    pub command_id: String,
    pub origin: Origin<'a>,
    pub now: DateTime<Utc>,
    pub new_id: &'a (dyn Fn() -> Ulid + Sync),
}

/// What became of a command.
#[must_use]
pub enum Carried {
    Moved(Box<Transition>),
    /// Why not, and the row as it stands.
    Rejected(Rejection, Box<Dunning>),
    /// A guard of the caller's did not hold: nothing is written.
    Guarded(Vec<Found>),
    /// There is no such subscription.
    Missing,
    /// Others kept writing: try again later.
    Contended,
}

impl DunningOrder<'_> {
    /// Reads the subscription and carries out the command on it.
    ///
    /// # Errors
    /// If the table did not answer; the same order may be repeated.
    pub async fn carry_out(&self, subscription_id: &str) -> Result<Carried, CarryOutError> {
        let row = read::<Dunning>(self.client, &self.tables.dunning, subscription_id).await?;
        match row {
            Some(row) => self.carry_out_on(row, &|step| step).await,
            None => Ok(Carried::Missing),
        }
    }

    /// Carries out the command on a row that was read before, with the caller's guards in the step.
    ///
    /// # Errors
    /// As [`DunningOrder::carry_out`].
    pub async fn carry_out_on(
        &self,
        mut row: Dunning,
        guards: &(dyn Fn(Step) -> Step + Sync),
    ) -> Result<Carried, CarryOutError> {
        for _ in 0..DECISIONS_MAX {
            let transition = match decide(&row, self.command.clone(), self.now) {
                Ok(transition) => transition,
                Err(rejection) => return Ok(Carried::Rejected(rejection, Box::new(row))),
            };
            let step = Step::new((self.new_id)(), self.command_id.clone(), self.now);
            let step = match row.version {
                0 => create_step(guards(step), self.tables, &row, &transition, self.origin),
                _ => dunning_step(guards(step), self.tables, &row, &transition, self.origin),
            };
            match write(self.client, &step).await? {
                Written::Applied => return Ok(Carried::Moved(Box::new(transition))),
                Written::Contended => return Ok(Carried::Contended),
                Written::Stale(found) => {
                    if found.iter().any(|found| found.name != Dunning::NAME) {
                        return Ok(Carried::Guarded(found));
                    }
                    match found.into_iter().next() {
                        Some(Found {
                            row: Some(item), ..
                        }) => {
                            row = from_item(item).map_err(ReadError::from)?;
                        }
                        Some(Found { row: None, .. }) | None => return Ok(Carried::Missing),
                    }
                }
            }
        }
        Ok(Carried::Contended)
    }
}
