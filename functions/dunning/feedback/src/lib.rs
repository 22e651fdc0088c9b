//! `dunr-feedback`: what came back, and who complained, gets no more mail.
//!
//! Triggered by the topic to which the configuration set `dunr-mail` publishes bounces and
//! complaints. Touches the list of addresses that get no mail, the subscription's row and the log. A
//! mail that bounced for good or was complained about goes to the second contact, or a person hears
//! of it: the core decides. A mailbox that is only full, or a server that is slow, is counted. If a
//! notification comes twice, or two run at once, the address is on the list already and the mail
//! noted already.

mod event;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, count};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::suppression::{Suppressed, SuppressedBy, suppression_key};
use paidonce_core::dunning::{Carried, Command, Dunning, DunningOrder, DunningTables, MailNote};
use paidonce_core::email::EmailAddress;
use paidonce_core::step::{Step, Written, write};
use serde_json::{Value, json};

use crate::event::{MailRef, Notification, Notifications, Verdict, read};

pub struct Feedback {
    dynamodb: Client,
    tables: DunningTables,
    suppression_table: String,
    entropy: Entropy,
}

impl Function for Feedback {
    const NAME: &'static str = "dunr-feedback";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            suppression_table: environment.text("SUPPRESSION_TABLE"),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let notifications: Notifications =
            serde_json::from_value(event).map_err(|_| "the event is no notification")?;
        let mut failure = None;
        for notification in notifications.all() {
            if let Err(error) = self.take(notification, now).await {
                failure.get_or_insert(error);
            }
        }
        // All come again: those that were taken change nothing by that.
        failure.map_or_else(|| Ok(json!({})), Err)
    }
}

impl Feedback {
    async fn take(&self, notification: Notification, now: DateTime<Utc>) -> Result<(), Failure> {
        let feedback = read(&notification)?;
        let (reason, metric) = match feedback.verdict {
            Verdict::HardBounce => (SuppressedBy::HardBounce, "hard_bounce"),
            Verdict::Complaint => (SuppressedBy::Complaint, "complaint"),
            Verdict::SoftBounce => {
                count(Self::NAME, "soft_bounce", 1);
                return Ok(());
            }
            Verdict::Other => {
                count(Self::NAME, "other_feedback", 1);
                return Ok(());
            }
        };
        count(Self::NAME, metric, 1);
        let message_id = &notification.message_id;
        for address in &feedback.addresses {
            self.suppress(address, reason, message_id, now).await?;
        }
        match &feedback.mail {
            Some(mail) => self.returned(mail, message_id, now).await,
            None => {
                tracing::warn!(message.id = %message_id, metric, "Notification `{message_id}` is about a mail that we do not know");
                Ok(())
            }
        }
    }

    async fn suppress(
        &self,
        address: &EmailAddress,
        reason: SuppressedBy,
        message_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let row = Suppressed {
            address: suppression_key(address),
            reason,
            suppressed_at: now,
        };
        let id = self.entropy.ulid(now);
        let step = Step::new(id, format!("suppress:{message_id}"), now);
        match write(&self.dynamodb, &step.create(&self.suppression_table, &row)).await? {
            // Stale: it is on the list.
            Written::Applied | Written::Stale(_) => Ok(()),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    async fn returned(
        &self,
        mail: &MailRef,
        message_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let new_id = || self.entropy.ulid(now);
        let order = DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command: Command::NoteMail {
                no: mail.no,
                note: MailNote::Returned,
            },
            command_id: format!("returned:{message_id}"),
            origin: Origin {
                who: Self::NAME,
                correlation_id: message_id,
            },
            now,
            new_id: &new_id,
        };
        let id = &mail.subscription_id;
        match order.carry_out(id).await? {
            Carried::Moved(to) => {
                // Nobody reads the team's cases any more: this must end where an alarm is.
                if to.result.as_deref() == Some("team") {
                    return Err("a mail to the team came back".into());
                }
                tracing::info!(subscription.id = %id, mail.no = mail.no, "Mail {} of `{id}` came back", mail.no);
                Ok(())
            }
            Carried::Rejected(_, row) if is_to_team(&row, mail.no) => {
                Err("a mail to the team came back".into())
            }
            Carried::Rejected(..) | Carried::Missing => Ok(()),
            Carried::Guarded(_) | Carried::Contended => Err("others kept writing".into()),
        }
    }
}

fn is_to_team(row: &Dunning, no: u32) -> bool {
    let mail = row.mails.items.get(&no);
    mail.is_some_and(|mail| !mail.kind.is_to_customer())
}
