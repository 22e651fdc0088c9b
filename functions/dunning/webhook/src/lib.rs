//! `dunr-webhook`: takes the payment provider's signed events about subscriptions, and brings those
//! that fail to pay into dunning and out of it.
//!
//! Triggered by its Function URL. Touches what was seen before, the subscriptions, their log and the
//! outbox; it reads no invoice, charges nothing, makes no schedule and can't shut anybody out. An
//! event that comes twice finds itself among what was seen, written in the same step as what it did;
//! a second event about the same change finds it done. Events may come in any order: an invoice that
//! was paid before its failure is reported here, or a subscription that has ended, leaves a note,
//! and the failure's own step requires that there is none. If two run at once for one subscription,
//! the version lets one write, and the other decides again on the row that came back. Our own
//! failure is a 5xx, so that the provider sends the event again.

mod carry_out;
mod customer;
pub mod event;
mod invoice;
mod notes;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, Setup, count, serve,
};
use paidonce_core::dunning::DunningTables;
use paidonce_core::dunning::policy::{BUILT_IN, Policy, Terms};
use provider_events::{BODY_BYTES_MAX, Door};
use serde_json::{Value, json};

use crate::event::{Meaning, Received};

pub struct Webhook {
    dynamodb: Client,
    tables: DunningTables,
    dedupe_table: String,
    terms: Terms,
    door: Door,
    entropy: Entropy,
}

impl Function for Webhook {
    const NAME: &'static str = "dunr-webhook";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy =
            Policy::from_json(policy.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            dedupe_table: environment.text("DEDUPE_TABLE"),
            terms: policy.terms,
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
        let event = Received::read(&request.body)?;
        self.door.note_train(&event);
        match self.meaning(&event, &request.body)? {
            Meaning::OtherType => count(Self::NAME, "event_ignored", 1),
            Meaning::OtherProduct => count(Self::NAME, "foreign_object", 1),
            Meaning::CardNotChosen => count(Self::NAME, "card_not_chosen", 1),
            Meaning::NotForUs(why) => {
                count(Self::NAME, "event_not_for_us", 1);
                self.record_only(&event, why.as_str(), now).await?;
            }
            Meaning::Subscription(report) => self.carry_out(&event, &report, now).await?,
            Meaning::Customer(report) => self.fan_out(&event, &report, now).await?,
        }
        Ok(Reply::json(200, &json!({"received": true})))
    }

    fn meaning(&self, event: &Received, body: &[u8]) -> Result<Meaning, Problem> {
        event::meaning(event, body, &self.door).inspect_err(|problem| {
            count(Self::NAME, "event_unreadable", 1);
            tracing::error!(event.id = %event.id, code = problem.code, "Event `{}` can't be read", event.id);
        })
    }
}
