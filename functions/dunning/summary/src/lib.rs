//! `dunr-summary`: tells the team what came of a month's failed invoices.
//!
//! Started by a schedule on the first Monday of a month for the month before, or by an operator with
//! `{"month": "2026-10"}`. Reads the log by its index, asks the model once for a few sentences, keeps
//! the report in `reports/` of the bucket, and mails it to the team. It reaches no provider, no
//! customer and no row of a subscription.
//!
//! The numbers come from the log alone and are the same each time. The team is mailed once for each
//! month, under a row that is claimed before the mail is handed over. If two run at once, one claims
//! it. A mail without an answer is not sent again: the report is in the bucket either way, and the
//! error in the log says so. An operator's later start writes the numbers anew, worded plainly.

mod files;
mod log;
mod told;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use copywriter::summary::{Report, check_narrative, draft_narrative, plain_narrative, report};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, chain, count};
use paidonce_core::dunning::policy::{self, Policy};
use paidonce_core::dunning::summary::{MonthWindow, Summary, summarise};
use postman::{Parcel, Posted};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::told::Told;

pub struct MonthlySummary {
    dynamodb: Client,
    bedrock: aws_sdk_bedrockruntime::Client,
    s3: aws_sdk_s3::Client,
    ses: postman::Client,
    log_table: String,
    dedupe_table: String,
    assets_bucket: String,
    model_id: String,
    sender: String,
    team_email: String,
    configuration_set: String,
    policy: Policy,
    entropy: Entropy,
}

/// What starts it.
#[derive(Deserialize)]
struct Start {
    /// Such as `2026-10`; the month before if absent.
    month: Option<String>,
}

impl Function for MonthlySummary {
    const NAME: &'static str = "dunr-summary";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy = policy.as_deref().unwrap_or(policy::BUILT_IN);
        let policy = Policy::from_json(policy).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            bedrock: lambda_kit::client!(aws_sdk_bedrockruntime, &setup.aws),
            s3: lambda_kit::client!(aws_sdk_s3, &setup.aws),
            ses: postman::client(&setup.aws),
            log_table: environment.text("LOG_TABLE"),
            dedupe_table: environment.text("DEDUPE_TABLE"),
            assets_bucket: environment.text("ASSETS_BUCKET"),
            model_id: environment.text("MODEL_ID"),
            sender: environment.text("SENDER"),
            team_email: environment.text("TEAM_EMAIL"),
            configuration_set: environment.text("CONFIGURATION_SET"),
            policy,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let start: Start = serde_json::from_value(event)?;
        let window = self.window(start.month.as_deref(), now)?;
        let told = self.told(window.month(), now).await?;
        if told == Told::Done && start.month.is_none() {
            return Ok(outcome(&window, "told before"));
        }
        let lines = log::lines(&self.dynamodb, &self.log_table, &window).await?;
        let summary = summarise(&window, &lines)?;
        let narrative = match told {
            Told::NotYet => self.narrative(&summary).await,
            // Words of the model would differ from those that the team has.
            Told::Done => plain_narrative(&summary),
        };
        let report = report(&self.policy.business.name, &summary, &narrative);
        self.keep(&summary, &report).await?;
        match told {
            Told::Done => Ok(outcome(&window, "kept")),
            Told::NotYet => self.tell(&window, &report, now).await,
        }
    }
}

impl MonthlySummary {
    fn window(&self, month: Option<&str>, now: DateTime<Utc>) -> Result<MonthWindow, Failure> {
        let zone = self.policy.terms.zone;
        let window = match month {
            Some(month) => MonthWindow::named(month, zone),
            None => MonthWindow::before(now, zone),
        };
        let window = window.ok_or("the month must be such as 2026-10")?;
        match window.is_over(now) {
            true => Ok(window),
            false => Err(format!("the month {} is not over", window.month()).into()),
        }
    }

    /// A few sentences: the model's, if every number in them is one of ours.
    async fn narrative(&self, summary: &Summary) -> String {
        if summary.is_empty() {
            return plain_narrative(summary);
        }
        let business = &self.policy.business.name;
        let draft = draft_narrative(&self.bedrock, &self.model_id, business, summary).await;
        let why = match draft {
            Ok(draft) => match check_narrative(&draft, business, summary) {
                Ok(words) => return words,
                Err(doubt) => doubt.to_string(),
            },
            Err(error) => chain(&error),
        };
        count(Self::NAME, "plain_narrative", 1);
        tracing::warn!(why, "The summary is worded plainly");
        plain_narrative(summary)
    }

    /// Mails the team, once.
    async fn tell(
        &self,
        window: &MonthWindow,
        report: &Report,
        now: DateTime<Utc>,
    ) -> Result<Value, Failure> {
        let month = window.month();
        if !self.claim(month, now).await? {
            return Err("another start is mailing the summary".into());
        }
        let parcel = Parcel {
            from: &self.sender,
            to: &self.team_email,
            subject: &report.subject,
            text: &report.text,
            html: Some(&report.html),
            tags: vec![("kind", "summary".to_owned()), ("month", month.to_owned())],
            configuration_set: Some(&self.configuration_set),
            ..Parcel::default()
        };
        match postman::post(&self.ses, &parcel).await {
            Posted::Taken => {
                self.note(month, told::SENT, now).await?;
                tracing::info!(month, "Mailed the summary of `{month}`");
                Ok(outcome(window, "sent"))
            }
            Posted::NotNow(code) => {
                self.note(month, told::NOT_SENT, now).await?;
                Err(format!("the mail service did not take the summary: {code}").into())
            }
            Posted::Never(code) => {
                self.note(month, told::NOT_SENT, now).await?;
                tracing::error!(
                    month,
                    code,
                    "The summary of `{month}` is refused: it is in the bucket"
                );
                Ok(outcome(window, "refused"))
            }
            Posted::Unanswered(code) => {
                self.note(month, told::UNANSWERED, now).await?;
                told::cry_unanswered(month, &code);
                Ok(outcome(window, "unanswered"))
            }
        }
    }
}

fn outcome(window: &MonthWindow, outcome: &str) -> Value {
    json!({"month": window.month(), "outcome": outcome})
}
