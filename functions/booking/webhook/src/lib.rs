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

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, Setup, count, serve,
};
use paidonce_core::booking_step::Tables;
use paidonce_core::calendar::Calendar;
use paidonce_core::venue::{BUILT_IN, Venue};
use provider_events::Door;
use serde_json::{Value, json};

use crate::event::{Event, Meaning};

pub use provider_events::BODY_BYTES_MAX;

#[doc(hidden)]
pub use crate::again::Again;
#[doc(hidden)]
pub use crate::deposit::Known;

pub struct Webhook {
    dynamodb: Client,
    tables: Tables,
    payments_table: String,
    calendar: Calendar,
    venue: Venue,
    door: Door,
    entropy: Entropy,
}

impl Function for Webhook {
    const NAME: &'static str = "bdc-webhook";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let venue = environment.optional("VENUE");
        let venue = Venue::from_json(venue.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        let tables = Tables {
            slots: environment.text("SLOTS_TABLE"),
            cashier_queue: environment.text("CASHIER_QUEUE"),
            ..Tables::named(|name| environment.text(name))
        };
        let dynamodb = lambda_kit::client!(aws_sdk_dynamodb, &setup.aws);
        environment.check(Self {
            calendar: Calendar::new(dynamodb.clone(), tables.slots.clone(), venue.zone),
            venue,
            dynamodb,
            tables,
            payments_table: environment.text("PAYMENTS_TABLE"),
            door: Door::new(setup, Self::NAME),
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
        self.door.verified(request, now).await?;
        let event = Event::read(&request.body)?;
        self.door.note_train(&event);
        let meaning = self.meaning(&event, &request.body).inspect_err(|problem| {
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

    /// What an event is to this deployment. Public for the benchmark alone.
    ///
    /// # Errors
    /// As [`event::meaning`].
    #[doc(hidden)]
    pub fn meaning(&self, event: &Event, body: &[u8]) -> Result<Meaning, Problem> {
        event::meaning(event, body, &self.door)
    }
}
