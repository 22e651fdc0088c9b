//! `bdc-composer`: words and sends the messages to customers.
//!
//! Triggered by the queue `bdc-jobs`. Touches the model, the SMS service, the audit (where it keeps
//! which message it sent), and reads bookings and the opt-out list; it can delete nothing and is on
//! no money path. Before a text goes out its intent is written, in one step with the check that the
//! phone did not opt out. If a job comes twice, or two run at once, the intent's row can be created
//! once. A send that was not answered is a case for a person, never a second text.

mod facts;
mod ledger;
mod send;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
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

pub struct Composer {
    dynamodb: Client,
    bedrock: aws_sdk_bedrockruntime::Client,
    sns: aws_sdk_sns::Client,
    tables: Tables,
    optout_table: String,
    link_key: SecretCache,
    privacy_salt: SecretCache,
    pay_url: String,
    model_id: String,
    sender_id: Option<String>,
    venue: Venue,
    entropy: Entropy,
}

/// A message that is to go out, with the event that ordered it.
pub(crate) struct Job {
    pub(crate) event_id: String,
    pub(crate) order: MessageJob,
}

impl Function for Composer {
    const NAME: &'static str = "bdc-composer";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let venue = environment.optional("VENUE");
        let venue = Venue::from_json(venue.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: Client::new(&setup.aws),
            bedrock: aws_sdk_bedrockruntime::Client::new(&setup.aws),
            sns: send::client(&setup.aws),
            tables: Tables::named(|name| environment.text(name)),
            optout_table: environment.text("OPTOUT_TABLE"),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            privacy_salt: SecretCache::new(&setup.aws, environment.text("PRIVACY_SECRET")),
            pay_url: environment.text("PAY_URL"),
            model_id: environment.text("MODEL_ID"),
            sender_id: environment.optional("SENDER_ID"),
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
        let attempt = match self.ledger(job, now).await? {
            Ledger::Finished => return Ok(()),
            Ledger::UnderWay => return Err("another delivery of this job may be sending".into()),
            Ledger::Unanswered(attempt) => return self.escalate(job, attempt, now).await,
            Ledger::Open(attempt) => attempt,
        };
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, &job.order.booking_id)
            .await?
            .ok_or("the message is for a booking that does not exist")?;
        if !facts::is_news(job.order.kind, booking.state) {
            let id = &booking.booking_id;
            tracing::info!(booking.id = %id, "Booking `{id}` has moved on: nothing to say");
            return Ok(());
        }
        let Some(phone) = booking.phone.clone() else {
            // The person was forgotten.
            return self.suppressed(job, now).await;
        };
        let text = self.text(&booking, job, now).await?;
        self.send(job, &phone, &text, attempt, now).await
    }

    /// Words the message: by the model if its draft stands the check, else plainly.
    async fn text(
        &self,
        booking: &Booking,
        job: &Job,
        now: DateTime<Utc>,
    ) -> Result<String, Failure> {
        let kind = job.order.kind;
        let facts = facts::of(booking, &self.venue.name, job.order.refund);
        let draft = match copywriter::draft(&self.bedrock, &self.model_id, kind, &facts).await {
            Ok(draft) => {
                copywriter::check(&draft, &facts, kind).map_err(|doubt| format!("{doubt}"))
            }
            Err(error) => Err(chain(&error)),
        };
        let words = draft.unwrap_or_else(|doubt| {
            count(Self::NAME, "plain_wording", 1);
            tracing::warn!(booking.id = %booking.booking_id, doubt, "Plain wording for booking `{}`", booking.booking_id);
            copywriter::plain(kind, &facts)
        });
        let link = match kind.asks_for_deposit() {
            true => Some(self.pay_link(booking, now).await?),
            false => None,
        };
        Ok(copywriter::fit(&words, kind, &facts, link.as_deref())?.text)
    }

    async fn pay_link(&self, booking: &Booking, now: DateTime<Utc>) -> Result<String, Failure> {
        let secret = self.link_key.get(now).await?;
        let key = LinkKey::new(secret.current().as_bytes())?;
        let query = key.sign(Purpose::Pay, &booking.booking_id, booking.place.starts_at);
        Ok(format!(
            "{}pay/{}?{query}",
            self.pay_url, booking.booking_id
        ))
    }
}
