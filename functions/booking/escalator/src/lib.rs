//! `bdc-escalator`: opens a case for a person and tells the team by mail.
//!
//! Triggered by the queue `bdc-handovers`, and once a day by a schedule for the digest of what is
//! still open. Touches the cases, the audit and the mail service, and reads bookings and what is
//! known of a disputed payment. There is one open case for each subject and reason: if a handover
//! comes twice, or two run at once, the case's version lets one write. A mail whose answer was lost
//! is sent again: the team rather hears twice than never. A digest is sent once a day, however
//! often it is started: its intent is a row of the audit that can be created once.

mod digest;
mod mail;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, each_record};
use paidonce_core::audit::Audit;
use paidonce_core::booking_step::Handover;
use paidonce_core::case::{Case, Escalation, case_id, escalate};
use paidonce_core::outbox::Envelope;
use paidonce_core::step::{Step, Written, from_item, read, write};
use serde_json::Value;

/// How often a case is decided on: other handovers may join it in between.
const DECISIONS_MAX: usize = 5;

pub struct Escalator {
    dynamodb: Client,
    ses: postman::Client,
    bookings_table: String,
    payments_table: String,
    audit_table: String,
    cases_table: String,
    team_email: String,
    sender_email: String,
    entropy: Entropy,
}

impl Function for Escalator {
    const NAME: &'static str = "bdc-escalator";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            ses: postman::client(&setup.aws),
            bookings_table: environment.text("BOOKINGS_TABLE"),
            payments_table: environment.text("PAYMENTS_TABLE"),
            audit_table: environment.text("AUDIT_TABLE"),
            cases_table: environment.text("CASES_TABLE"),
            team_email: environment.text("TEAM_EMAIL"),
            sender_email: environment.text("SENDER_EMAIL"),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        if event["kind"] == "digest" {
            self.digest(now).await?;
            return Ok(Value::Null);
        }
        each_record(event, |body| async move {
            let (event_id, handover) = Envelope::read::<Handover>(body)?;
            self.take(&event_id, &handover, now).await
        })
        .await
    }
}

impl Escalator {
    async fn take(
        &self,
        event_id: &str,
        handover: &Handover,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let id = case_id(handover);
        let mut case = read::<Case>(&self.dynamodb, &self.cases_table, &id).await?;
        for _ in 0..DECISIONS_MAX {
            match escalate(case.as_ref(), event_id, handover, now) {
                Escalation::Known => return Ok(()),
                Escalation::Untold(case) => return self.tell(&case, now).await,
                Escalation::New(after) => {
                    let command_id = format!("case:{event_id}");
                    match self
                        .write(case.as_ref(), &after, &command_id, "case opened", now)
                        .await?
                    {
                        Written::Applied => {
                            let reason = handover.reason.as_str();
                            tracing::warn!(case.id = %id, reason, "Case `{id}` needs a person");
                            return self.tell(&after, now).await;
                        }
                        Written::Contended => return Err("others kept writing".into()),
                        Written::Stale(found) => {
                            let row = found.into_iter().find_map(|found| found.row);
                            case = row.map(from_item).transpose()?;
                        }
                    }
                }
            }
        }
        Err("the case kept changing".into())
    }

    /// Mails what the team has not been told of, and then notes that it has.
    async fn tell(&self, case: &Case, now: DateTime<Utc>) -> Result<(), Failure> {
        self.mail(case).await?;
        let command_id = format!("told:{}:{}", case.case_id, case.version);
        match self
            .write(Some(case), &case.told(now), &command_id, "team told", now)
            .await?
        {
            // Stale: another handover joined the case, and its own mail tells of all that is untold.
            Written::Applied | Written::Stale(_) => Ok(()),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    async fn write(
        &self,
        before: Option<&Case>,
        after: &Case,
        command_id: &str,
        what: &str,
        now: DateTime<Utc>,
    ) -> Result<Written, Failure> {
        let step = Step::new(self.entropy.ulid(now), command_id, now);
        let step = match before {
            Some(before) => step.change(&self.cases_table, before, after, before.version),
            None => step.create_subject(&self.cases_table, after),
        };
        let audit = Audit {
            subject: &after.subject,
            who: Self::NAME,
            what,
            before: None,
            after: None,
            why: after.reason.as_str().to_owned(),
            correlation_id: &after.case_id,
        };
        // The booking's history names the case; the case's attributes stay with the case.
        let step = step.without_diff().audit(&self.audit_table, audit);
        Ok(write(&self.dynamodb, &step).await?)
    }
}
