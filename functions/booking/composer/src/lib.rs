//! `bdc-composer`: words and sends the messages to customers.
//!
//! Triggered by the queue `bdc-jobs`. Touches the model, the SMS service, the mail service, the
//! audit (where it keeps which message it sent) and the day's count of texts, and reads bookings
//! and the opt-out list; it can delete nothing and is on no money path. A message goes as a text,
//! or as a mail if no text may go and there is an address (see `way`). Before it goes out its
//! intent is written; a text's in one step with the check that the phone did not opt out, and with
//! the count that keeps a day's texts within the venue's limit. If a job comes twice, or two run at
//! once, the intent's row can be created once, whichever channel it takes. A send that was not
//! answered is a case for a person, never a second message.

mod facts;
mod ledger;
mod mail;
mod send;
mod way;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use copywriter::{Facts, Language};
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, SecretCache, Setup, chain, count, each_record,
};
use paidonce_core::booking::Booking;
use paidonce_core::booking_step::{MessageJob, Tables};
use paidonce_core::link::{LinkKey, Purpose};
use paidonce_core::outbox::Envelope;
use paidonce_core::step::read;
use paidonce_core::venue::{BUILT_IN, Venue};
use serde_json::Value;

use crate::ledger::Ledger;
use crate::send::Texted;
use crate::way::Way;

pub struct Composer {
    dynamodb: Client,
    bedrock: aws_sdk_bedrockruntime::Client,
    sns: aws_sdk_sns::Client,
    ses: postman::Client,
    tables: Tables,
    optout_table: String,
    /// Has the day's count of texts.
    idempotency_table: String,
    link_key: SecretCache,
    privacy_salt: SecretCache,
    pay_url: String,
    manage_url: String,
    model_id: String,
    sender_id: Option<String>,
    sender_email: String,
    venue: Venue,
    entropy: Entropy,
}

/// A message that is to go out, with the event that ordered it.
pub(crate) struct Job {
    pub(crate) event_id: String,
    pub(crate) order: MessageJob,
}

/// What a message says, whichever way it goes.
pub(crate) struct Wording {
    pub(crate) language: Language,
    pub(crate) facts: Facts,
    pub(crate) words: String,
    pub(crate) link: Option<String>,
}

impl Function for Composer {
    const NAME: &'static str = "bdc-composer";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let venue = environment.optional("VENUE");
        let venue = Venue::from_json(venue.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            bedrock: lambda_kit::client!(aws_sdk_bedrockruntime, &setup.aws),
            sns: send::client(&setup.aws),
            ses: postman::client(&setup.aws),
            tables: Tables::named(|name| environment.text(name)),
            optout_table: environment.text("OPTOUT_TABLE"),
            idempotency_table: environment.text("IDEMPOTENCY_TABLE"),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            privacy_salt: SecretCache::new(&setup.aws, environment.text("PRIVACY_SECRET")),
            pay_url: environment.text("PAY_URL"),
            manage_url: environment.text("MANAGE_URL"),
            model_id: environment.text("MODEL_ID"),
            sender_id: environment.optional("SENDER_ID"),
            sender_email: environment.text("SENDER_EMAIL"),
            venue,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        each_record(event, |body| async move {
            let (event_id, order) = Envelope::read(body)?;
            let job = Job { event_id, order };
            self.compose(&job, now).await
        })
        .await
    }
}

impl Composer {
    async fn compose(&self, job: &Job, now: DateTime<Utc>) -> Result<(), Failure> {
        let (attempt, was_refused) = match self.ledger(job, now).await? {
            Ledger::Finished => return Ok(()),
            Ledger::UnderWay => return Err("another delivery of this job may be sending".into()),
            Ledger::Unanswered(attempt) => return self.escalate(job, attempt, now).await,
            Ledger::Open(attempt) => (attempt, false),
            Ledger::Refused(attempt) => (attempt, true),
        };
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, &job.order.booking_id)
            .await?
            .ok_or("the message is for a booking that does not exist")?;
        if !facts::is_news(job.order.kind, booking.state) {
            let id = &booking.booking_id;
            tracing::info!(booking.id = %id, "Booking `{id}` has moved on: nothing to say");
            return Ok(());
        }
        let way = way::of(job.order.kind, &booking, was_refused, now);
        self.send(job, &booking, way, attempt, now).await
    }

    async fn send(
        &self,
        job: &Job,
        booking: &Booking,
        way: Way<'_>,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        if let Way::None(obstacle) = way {
            return self.suppressed(job, obstacle, now).await;
        }
        let wording = self.word(booking, job, now).await?;
        let (obstacle, attempt) = match way {
            Way::None(obstacle) | Way::Mail(_, obstacle) => (obstacle, attempt),
            Way::Text(phone) => {
                match self
                    .text(job, booking, phone, &wording, attempt, now)
                    .await?
                {
                    Texted::Done => return Ok(()),
                    Texted::Not(obstacle, next_attempt) => (obstacle, next_attempt),
                }
            }
        };
        match way::around(booking, obstacle) {
            Way::Mail(to, obstacle) => self.mail(job, to, &wording, (obstacle, attempt), now).await,
            Way::None(_) | Way::Text(_) => self.suppressed(job, obstacle, now).await,
        }
    }

    async fn word(
        &self,
        booking: &Booking,
        job: &Job,
        now: DateTime<Utc>,
    ) -> Result<Wording, Failure> {
        let language = facts::language_of(booking, self.venue.language);
        let facts = facts::of(booking, &self.venue.name, &job.order, language);
        let words = self.words(booking, job, language, &facts).await;
        let link = self.link(booking, job, &facts, now).await?;
        Ok(Wording {
            language,
            facts,
            words,
            link,
        })
    }

    /// Words the message: by the model if it may, and if its draft stands the check; else plainly.
    async fn words(
        &self,
        booking: &Booking,
        job: &Job,
        language: Language,
        facts: &Facts,
    ) -> String {
        let kind = job.order.kind;
        if !copywriter::is_worded_by_model(kind, language) {
            return copywriter::plain(kind, language, facts);
        }
        let draft = match copywriter::draft(&self.bedrock, &self.model_id, kind, facts).await {
            Ok(draft) => copywriter::check(&draft, facts, kind).map_err(|doubt| format!("{doubt}")),
            Err(error) => Err(chain(&error)),
        };
        draft.unwrap_or_else(|doubt| {
            count(Self::NAME, "plain_wording", 1);
            tracing::warn!(booking.id = %booking.booking_id, doubt, "Plain wording for booking `{}`", booking.booking_id);
            copywriter::plain(kind, language, facts)
        })
    }

    /// Signs the link that the message ends with, until the booking starts.
    async fn link(
        &self,
        booking: &Booking,
        job: &Job,
        facts: &Facts,
        now: DateTime<Utc>,
    ) -> Result<Option<String>, Failure> {
        let Some(purpose) = copywriter::link_purpose(job.order.kind, facts) else {
            return Ok(None);
        };
        let base = match purpose {
            Purpose::Pay => &self.pay_url,
            Purpose::Manage => &self.manage_url,
            // Not about a booking.
            Purpose::Card => return Ok(None),
        };
        let secret = self.link_key.get(now).await?;
        let key = LinkKey::new(secret.current().as_bytes())?;
        let query = key.sign(purpose, &booking.booking_id, booking.place.starts_at);
        let path = purpose.as_str();
        Ok(Some(format!("{base}{path}/{}?{query}", booking.booking_id)))
    }
}
