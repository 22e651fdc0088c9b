//! `bdc-optout`: takes STOP, START and their variants from inbound texts.
//!
//! Triggered by the topic to which two-way SMS publishes. Touches the opt-out list and the audit.
//! A text that comes twice, or after a later one, changes nothing: the row keeps when the wish that
//! it holds was sent. If two run at once, the later wish stays. What the phone of a forgotten person
//! wants stays under its hidden form, under the salt that this function may read.

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, SecretCache, Setup, count};
use paidonce_core::audit::Audit;
use paidonce_core::optout::{OptoutRow, Wish, hidden, subject, wish};
use paidonce_core::phone::Phone;
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::{Step, Written, write};
use serde::Deserialize;
use serde_json::{Value, json};

pub struct Optout {
    dynamodb: Client,
    optout_table: String,
    audit_table: String,
    privacy_salt: SecretCache,
    entropy: Entropy,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notifications {
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    sns: Notification,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification {
    message_id: String,
    message: String,
    timestamp: DateTime<Utc>,
}

/// A two-way SMS message. Source: AWS End User Messaging SMS, "Two-way SMS messaging".
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InboundSms {
    origination_number: String,
    message_body: String,
}

impl Function for Optout {
    const NAME: &'static str = "bdc-optout";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            optout_table: environment.text("OPTOUT_TABLE"),
            audit_table: environment.text("AUDIT_TABLE"),
            privacy_salt: SecretCache::new(&setup.aws, environment.text("PRIVACY_SECRET")),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let notifications: Notifications =
            serde_json::from_value(event).map_err(|_| "the event is no notification")?;
        let mut failure = None;
        for record in notifications.records {
            if let Err(error) = self.take(record.sns, now).await {
                failure.get_or_insert(error);
            }
        }
        // All come again: those that were taken change nothing by that.
        failure.map_or_else(|| Ok(json!({})), Err)
    }
}

impl Optout {
    async fn take(&self, notification: Notification, now: DateTime<Utc>) -> Result<(), Failure> {
        // The parser's own words repeat what it read.
        let sms: InboundSms = serde_json::from_str(&notification.message)
            .map_err(|_| "the notification is not an inbound text")?;
        let is_heard = |wish: &Wish| !planted::is(Defect::StopIgnored) || *wish == Wish::Start;
        let Some(wish) = wish(&sms.message_body).filter(is_heard) else {
            count(Self::NAME, "inbound_other", 1);
            return Ok(());
        };
        // The carrier gives it in E.164, as we keep it. Whether it still counts as a mobile does not
        // matter: whoever can text STOP can be texted.
        let phone = Phone::try_from(sms.origination_number)
            .map_err(|_| "the inbound text is not from a phone number")?;
        let salt = self.privacy_salt.get(now).await?;
        let hidden = hidden(&phone, salt.current())?;
        let id = notification.message_id;
        let row = |key: &str| OptoutRow::new(key, wish, notification.timestamp, id.clone());
        let step = self
            .step(&id, &row(phone.e164()), now)
            .unless_hidden(&self.optout_table, &hidden);
        let found = match self.write(step, wish, &id, &hidden).await? {
            Written::Applied => return Ok(()),
            Written::Contended => return Err("others kept writing".into()),
            Written::Stale(found) => found,
        };
        // A later wish is known, or the phone's person was forgotten.
        if !found.iter().any(|found| found.key == hidden) {
            return Ok(());
        }
        let step = self.step(&id, &row(&hidden), now);
        match self.write(step, wish, &id, &hidden).await? {
            Written::Applied | Written::Stale(_) => Ok(()),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    fn step(&self, message_id: &str, row: &OptoutRow, now: DateTime<Utc>) -> Step {
        let command_id = format!("optout:{message_id}");
        Step::new(self.entropy.ulid(now), command_id, now).note_wish(&self.optout_table, row)
    }

    async fn write(
        &self,
        step: Step,
        wish: Wish,
        message_id: &str,
        hidden: &str,
    ) -> Result<Written, Failure> {
        let what = match wish {
            Wish::Stop => "opted out",
            Wish::Start => "opted in",
        };
        let audit = Audit {
            subject: &subject(hidden),
            who: Self::NAME,
            what,
            before: None,
            after: None,
            why: "by text".to_owned(),
            correlation_id: message_id,
        };
        let written = write(&self.dynamodb, &step.audit(&self.audit_table, audit)).await?;
        if let Written::Applied = written {
            tracing::info!(message.id = %message_id, "A customer {what}");
        }
        Ok(written)
    }
}
