//! `dunr-mailer`: writes to the customer about a failed payment, and to the team about a case.
//!
//! Triggered by the queue `dunr-mail`. Touches the model, the mail service, the operator's templates
//! (read), the list of addresses that get no mail (read), the link key, the subscription's row, the
//! log, and the row that keeps a customer's mail of a day. A mail is claimed on the row before it is
//! sent, in one step with the day's row; what it says is read from the claimed row, so it is true
//! when it leaves. If an order comes twice, or two run at once, one of them claims it. What the mail
//! service took or refused is noted; where it did not answer, the mail stays claimed, is never sent
//! again, and becomes a case for a person.

mod assets;
mod claim;
mod recipient;
mod send;
mod team;
mod words;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, SecretCache, Setup, count, each_record};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::mail::{MailFacts, MailJob, MailState, NoMail, facts};
use paidonce_core::dunning::policy::{BUILT_IN, Policy};
use paidonce_core::dunning::{
    Carried, Command, Dunning, DunningOrder, DunningTables, MailNote, Rejection,
};
use paidonce_core::outbox::Envelope;
use paidonce_core::step::read;
use serde_json::Value;
use ulid::Ulid;

use crate::assets::AssetCache;
use crate::claim::Claimed;

pub struct Mailer {
    dynamodb: Client,
    bedrock: aws_sdk_bedrockruntime::Client,
    ses: postman::Client,
    assets: AssetCache,
    tables: DunningTables,
    dedupe_table: String,
    suppression_table: String,
    link_key: SecretCache,
    portal_url: String,
    model_id: String,
    sender: String,
    team_email: String,
    configuration_set: String,
    policy: Policy,
    entropy: Entropy,
}

impl Function for Mailer {
    const NAME: &'static str = "dunr-mailer";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy =
            Policy::from_json(policy.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            bedrock: lambda_kit::client!(aws_sdk_bedrockruntime, &setup.aws),
            ses: postman::client(&setup.aws),
            assets: AssetCache::new(&setup.aws, environment.text("ASSETS_BUCKET")),
            tables: DunningTables::named(|name| environment.text(name)),
            dedupe_table: environment.text("DEDUPE_TABLE"),
            suppression_table: environment.text("SUPPRESSION_TABLE"),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            portal_url: environment.text("PORTAL_URL"),
            model_id: environment.text("MODEL_ID"),
            sender: environment.text("SENDER"),
            team_email: environment.text("TEAM_EMAIL"),
            configuration_set: environment.text("CONFIGURATION_SET"),
            policy,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        each_record(event, |body| async move {
            let (_, job) = Envelope::read::<MailJob>(body)?;
            self.take(&job, now).await
        })
        .await
    }
}

impl Mailer {
    async fn take(&self, job: &MailJob, now: DateTime<Utc>) -> Result<(), Failure> {
        let row = read::<Dunning>(&self.dynamodb, &self.tables.dunning, &job.subscription_id)
            .await?
            .ok_or("the mail is about a subscription that does not exist")?;
        match facts(&row, job.no) {
            Ok(facts) => self.owed(job, row, &facts, now).await,
            // Another delivery may be sending it, or have ended without a word.
            Err(NoMail::Done) if is_claimed(&row, job.no) => self.settle_claim(job, row, now).await,
            Err(NoMail::Done) => Ok(()),
            Err(NoMail::Overtaken) => {
                self.note(job, MailNote::Dropped(NoMail::Overtaken.as_str()), now)
                    .await
            }
        }
    }

    async fn owed(
        &self,
        job: &MailJob,
        row: Dunning,
        facts: &MailFacts,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let Some(to) = self.recipient(&row, facts.kind).await? else {
            count(Self::NAME, "nobody_to_write_to", 1);
            return self.note(job, MailNote::NobodyToWriteTo, now).await;
        };
        // What can fail without harm comes before the claim.
        let key = self.signing_key(now).await?;
        let assets = self.assets.of(facts.kind, now).await;
        match self.claim(job, row, facts.kind, now).await? {
            Claimed::Ours(row) => {
                let letter = self.letter(&row, job.no, &key, &assets, now).await?;
                self.send(job, facts.kind, &to, &letter, now).await
            }
            Claimed::NotToday => {
                count(Self::NAME, "mail_of_the_day_is_spent", 1);
                let id = &job.subscription_id;
                tracing::info!(subscription.id = %id, mail.no = job.no, "Mail {} of `{id}` waits for another day", job.no);
                Ok(())
            }
            Claimed::Settled => Ok(()),
            Claimed::Busy => Err("another delivery of this order may be sending".into()),
        }
    }

    async fn settle_claim(
        &self,
        job: &MailJob,
        row: Dunning,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let new_id = || self.entropy.ulid(now);
        let order = self.order(job, Command::ClaimMail { no: job.no }, now, &new_id);
        match order.carry_out_on(row, &|step| step).await? {
            Carried::Moved(_) => {
                let id = &job.subscription_id;
                tracing::warn!(subscription.id = %id, mail.no = job.no, "Mail {} of `{id}` was not answered", job.no);
                count(Self::NAME, "mail_unanswered", 1);
                Ok(())
            }
            Carried::Rejected(Rejection::InFlight(_), _) => {
                Err("another delivery of this order may be sending".into())
            }
            Carried::Rejected(
                Rejection::Already | Rejection::Stale | Rejection::TooEarly(_) | Rejection::Nothing,
                _,
            ) => Ok(()),
            Carried::Missing | Carried::Guarded(_) | Carried::Contended => {
                Err("others kept writing".into())
            }
        }
    }

    /// Writes what became of a mail.
    async fn note(&self, job: &MailJob, note: MailNote, now: DateTime<Utc>) -> Result<(), Failure> {
        let new_id = || self.entropy.ulid(now);
        let order = self.order(job, Command::NoteMail { no: job.no, note }, now, &new_id);
        match order.carry_out(&job.subscription_id).await? {
            Carried::Moved(_) | Carried::Rejected(..) | Carried::Missing => Ok(()),
            Carried::Guarded(_) | Carried::Contended => Err("others kept writing".into()),
        }
    }

    fn order<'a>(
        &'a self,
        job: &'a MailJob,
        command: Command,
        now: DateTime<Utc>,
        new_id: &'a (dyn Fn() -> Ulid + Sync),
    ) -> DunningOrder<'a> {
        DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            // This delivery's own: a claim that another one wrote is not ours to act on.
            command_id: format!("mail:{}", new_id()),
            origin: Origin {
                who: Self::NAME,
                correlation_id: &job.subscription_id,
            },
            now,
            new_id,
        }
    }
}

fn is_claimed(row: &Dunning, no: u32) -> bool {
    let mail = row.mails.items.get(&no);
    mail.is_some_and(|mail| matches!(mail.state, MailState::Claimed { .. }))
}
