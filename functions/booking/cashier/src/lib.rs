//! `bdc-cashier`: the pay page behind the signed link, the payment sessions that it opens and closes,
//! and refunds.
//!
//! Triggered by its Function URL, by the queue `bdc-cashier` and by a schedule. Touches bookings,
//! payments, outbox and the audit, and reaches the provider with a restricted key; it can't confirm
//! a booking. GET shows a page and changes nothing, so a scanner
//! may follow the link; POST opens a session at the provider and sends the customer there. If a
//! POST comes twice, or two run at once, the attempt's number on the row is the same, so the
//! provider gets the same key and opens one session. An answer that did not come is asked for
//! again under the same key. A refund is intended on the payment's row before it is asked for, and
//! looked up before it is asked for again, so two runs of one order refund once.

mod jobs;
mod page;
mod refunds;
mod session;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use guest_page::verified;
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, SecretCache, Setup, serve,
};
use paidonce_core::booking::Booking;
use paidonce_core::booking_step::Tables;
use paidonce_core::link::{LinkError, Purpose};
use paidonce_core::step::read;
use paidonce_core::venue::{BUILT_IN, Venue};
use provider::Provider;
use serde_json::Value;

use crate::page::Notice;

/// The largest body that is read, in bytes: the page's form is empty.
const BODY_BYTES_MAX: usize = 4 * 1024;

pub struct Cashier {
    dynamodb: Client,
    tables: Tables,
    payments_table: String,
    provider: Provider,
    provider_key: SecretCache,
    link_key: SecretCache,
    /// Where the provider sends the customer after paying; this function's own page if not set.
    return_url: Option<String>,
    venue: Venue,
    entropy: Entropy,
}

impl Function for Cashier {
    const NAME: &'static str = "bdc-cashier";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let venue = environment.optional("VENUE");
        let venue = Venue::from_json(venue.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        let url = environment.text("PROVIDER_URL");
        let api_version = environment.text("PROVIDER_API_VERSION");
        let tables = Tables {
            bookings: environment.text("BOOKINGS_TABLE"),
            audit: environment.text("AUDIT_TABLE"),
            outbox: environment.text("OUTBOX_TABLE"),
            handovers_queue: environment.text("HANDOVERS_QUEUE"),
            ..Tables::default()
        };
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables,
            payments_table: environment.text("PAYMENTS_TABLE"),
            provider: Provider::new(&setup.aws, &url, &api_version),
            provider_key: SecretCache::new(&setup.aws, environment.text("PROVIDER_SECRET")),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            return_url: environment.optional("RETURN_URL"),
            venue,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        if event.get("Records").is_some() {
            return self.take_jobs(event, now).await;
        }
        if event.get("kind").is_some_and(|kind| kind == "sweep") {
            return self.sweep(now).await;
        }
        let respond = |request| async move { self.respond(&request, now).await };
        serve(event, BODY_BYTES_MAX, respond).await
    }
}

impl Cashier {
    async fn respond(&self, request: &Request, now: DateTime<Utc>) -> Result<Reply, Failure> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET" | "HEAD", ["paid"]) => Ok(self.notice(Notice::ThankYou)),
            ("GET" | "HEAD", ["pay", id]) => match self.booking(id, request, now).await? {
                Ok(booking) => Ok(self.pay_page(&booking, now)),
                Err(notice) => Ok(self.notice(notice)),
            },
            ("POST", ["pay", id]) => match self.booking(id, request, now).await? {
                Ok(booking) => self.open_session(booking, request, now).await,
                Err(notice) => Ok(self.notice(notice)),
            },
            _ => Err(Problem::new(404, "not_found", "There is nothing here.").into()),
        }
    }

    /// Returns the booking that a genuine link is for. A forged link learns nothing, not even
    /// whether there is such a booking.
    async fn booking(
        &self,
        id: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Result<Booking, Notice>, Failure> {
        match verified(&self.link_key, Purpose::Pay, id, request, now).await? {
            Ok(()) => {}
            Err(LinkError::Expired) => return Ok(Err(Notice::LinkExpired)),
            Err(LinkError::Forged) => return Ok(Err(Notice::LinkInvalid)),
        }
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?;
        Ok(booking.ok_or(Notice::LinkInvalid))
    }
}
