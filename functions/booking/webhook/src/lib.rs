//! `bdc-webhook`: takes the payment provider's signed events, confirms bookings, and keeps what
//! became of their money.
//!
//! Triggered by its Function URL. Touches the event ledger and the payments, bookings, outbox and
//! audit; it can't create a booking or free a slot, it may hold slots again for money that was paid
//! in time, and looks at the calendar only after these slots or the time for them were lost, and it is the only role that may write `payment_ref`, so nobody else can confirm. An
//! event that comes twice finds itself in the ledger, written in the same step as what it did. If
//! two run at once for one booking, the version condition lets one write, and the other decides
//! again on the row that came back. Our own failure is a 5xx, so that the provider sends the event
//! again.

mod again;
mod deposit;
pub mod event;
mod ledger;
mod money;
pub mod report;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, SecretCache, SecretVersions,
    Setup, count, serve,
};
use paidonce_core::booking_step::Tables;
use paidonce_core::calendar::Calendar;
use paidonce_core::signature::{SignatureError, verify};
use paidonce_core::venue::{BUILT_IN, Venue};
use serde_json::{Value, json};

use crate::event::{Event, Meaning};

#[doc(hidden)]
pub use crate::again::Again;
#[doc(hidden)]
pub use crate::deposit::Known;

/// The largest body that is read, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// How the provider's signing secrets start. What stands there before the first real one was set
/// stays the previous version for a while, and is no secret.
const SECRET_PREFIX: &str = "whsec_";

pub struct Webhook {
    dynamodb: Client,
    tables: Tables,
    payments_table: String,
    calendar: Calendar,
    venue: Venue,
    signing: SecretCache,
    livemode: bool,
    account: Option<String>,
    /// The provider's release train, such as `dahlia`.
    train: String,
    entropy: Entropy,
}

impl Function for Webhook {
    const NAME: &'static str = "bdc-webhook";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let venue = environment.optional("VENUE");
        let venue = Venue::from_json(venue.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        let api_version = environment.text("PROVIDER_API_VERSION");
        let tables = Tables {
            slots: environment.text("SLOTS_TABLE"),
            cashier_queue: environment.text("CASHIER_QUEUE"),
            ..Tables::named(|name| environment.text(name))
        };
        let dynamodb = Client::new(&setup.aws);
        environment.check(Self {
            calendar: Calendar::new(dynamodb.clone(), tables.slots.clone(), venue.zone),
            venue,
            dynamodb,
            tables,
            payments_table: environment.text("PAYMENTS_TABLE"),
            signing: SecretCache::new(&setup.aws, environment.text("SIGNING_SECRET")),
            livemode: environment.parsed("LIVEMODE", true),
            account: environment.optional("PROVIDER_ACCOUNT"),
            train: event::train(&api_version).to_owned(),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let respond = |request| async move { self.respond(&request, now).await };
        serve(event, BODY_BYTES_MAX, respond).await
    }
}

impl Webhook {
    async fn respond(&self, request: &Request, now: DateTime<Utc>) -> Result<Reply, Failure> {
        if request.method != "POST" {
            return Err(Problem::new(405, "post_only", "Events are posted here.").into());
        }
        // Nobody signs nothing: this costs no look at the secret.
        if request.body.is_empty() {
            return Err(Problem::new(400, "not_an_event", "The body is empty.").into());
        }
        self.verified(request, now).await?;
        let event = Event::read(&request.body)?;
        if event.train() != Some(&self.train) {
            count(Self::NAME, "api_version_mismatch", 1);
        }
        let meaning = event
            .meaning(&request.body, self.livemode, self.account.as_deref())
            .inspect_err(|problem| {
                count(Self::NAME, "event_unreadable", 1);
                tracing::error!(event.id = %event.id, code = problem.code, "Event `{}` can't be read", event.id);
            })?;
        match meaning {
            Meaning::OtherType => count(Self::NAME, "event_ignored", 1),
            Meaning::OtherProduct => count(Self::NAME, "foreign_object", 1),
            Meaning::NotForUs(outcome) => self.record_only(&event, outcome, now).await?,
            Meaning::Order(order) => self.carry_out(&event, &order, now).await?,
            Meaning::Report(report) => self.take_in(&event, &report, now).await?,
        }
        Ok(Reply::json(200, &json!({"received": true})))
    }

    /// Checks the signature over the raw bytes, against every active secret.
    async fn verified(&self, request: &Request, now: DateTime<Utc>) -> Result<(), Failure> {
        let header = request.header("stripe-signature").unwrap_or_default();
        let secrets = self.signing.get(now).await?;
        let mut verdict = check(header, request, &secrets, now);
        if verdict == Err(SignatureError::Mismatch) {
            // The secret may just have been rolled.
            let secrets = self.signing.refreshed(now).await?;
            verdict = check(header, request, &secrets, now);
        }
        match verdict {
            Ok(()) => Ok(()),
            Err(SignatureError::NoSecret) => Err(Arc::new(SignatureError::NoSecret).into()),
            Err(error) => {
                count(Self::NAME, "signature_fail", 1);
                tracing::warn!(%error, "Refused an event: {error}");
                Err(Problem::new(400, "bad_signature", "The signature does not fit.").into())
            }
        }
    }
}

fn check(
    header: &str,
    request: &Request,
    secrets: &SecretVersions,
    now: DateTime<Utc>,
) -> Result<(), SignatureError> {
    let usable = |secret: &&str| secret.starts_with(SECRET_PREFIX);
    let secrets: Vec<&str> = secrets.all().filter(usable).collect();
    verify(header, &request.body, &secrets, now).map(|_| ())
}
