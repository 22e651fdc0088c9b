//! `bdc-intake`: holds slots for new bookings, takes the orders of the staff, and shows a customer the
//! page behind the signed link on which a booking is moved and called off.
//!
//! Triggered by its Function URL. Touches slots, bookings, idempotency keys, cases, outbox and audit,
//! and reads payments to prove what happened; it reaches no provider, no model and no phone, so nothing slow
//! happens while a customer waits. If two run at once for one slot, the slot's row can be created once:
//! one books, the other gets `slot_taken`. If one runs twice, under one `Idempotency-Key` or with the
//! same form, the second gives the first's answer.

mod api;
mod availability;
mod carrying;
mod cases;
mod claim;
mod evidence;
mod manage;
mod manage_page;
mod new_booking;
mod orders;
mod place;
mod routes;
mod staff;
mod wish;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{
    Caller, ConfigError, Entropy, Failure, Function, Problem, Reply, Request, SecretCache, Setup,
    Tokens, bearer_token, serve,
};
use paidonce_core::booking_step::Tables;
use paidonce_core::calendar::Calendar;
use paidonce_core::venue::{BUILT_IN, Venue};
use serde_json::Value;

use crate::api::no_such_booking;
use crate::routes::{Call, Route};

/// The largest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// The longest id that is looked for, in bytes: ours have 30, and DynamoDB refuses very long keys.
const ID_BYTES_MAX: usize = 64;

pub struct Intake {
    dynamodb: Client,
    tables: Tables,
    calendar: Calendar,
    idempotency_table: String,
    payments_table: String,
    cases_table: String,
    tokens: SecretCache,
    link_key: SecretCache,
    pay_url: String,
    venue: Venue,
    entropy: Entropy,
}

impl Function for Intake {
    const NAME: &'static str = "bdc-intake";

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
        let calendar = Calendar::new(dynamodb.clone(), tables.slots.clone(), venue.zone);
        environment.check(Self {
            dynamodb,
            tables,
            calendar,
            idempotency_table: environment.text("IDEMPOTENCY_TABLE"),
            payments_table: environment.text("PAYMENTS_TABLE"),
            cases_table: environment.text("CASES_TABLE"),
            tokens: SecretCache::new(&setup.aws, environment.text("TOKENS_SECRET")),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            pay_url: environment.text("PAY_URL"),
            venue,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let respond = |request| async move { self.respond(&request, now).await };
        serve(event, BODY_BYTES_MAX, respond).await
    }
}

impl Intake {
    async fn respond(&self, request: &Request, now: DateTime<Utc>) -> Result<Reply, Failure> {
        match Route::of(request) {
            Some(Route::Guest(visit, id)) => self.manage(visit, id, request, now).await,
            Some(Route::Api(call)) => self.answer_call(call, request, now).await,
            None => Err(Problem::new(404, "not_found", "There is nothing here.").into()),
        }
    }

    async fn answer_call(
        &self,
        call: Call<'_>,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let caller = self.caller(request, now).await?;
        if call.booking_id().is_some_and(|id| id.len() > ID_BYTES_MAX) {
            return Err(no_such_booking().into());
        }
        match call {
            Call::Book => self.book(request, &caller, now).await,
            Call::Slots => self.list_slots(request, now).await,
            Call::Show(id) => self.show(id, &caller).await,
            Call::Cases => self.list_cases(request, &caller).await,
            Call::CloseCase(id) => self.close_case(&id, request, &caller, now).await,
            Call::Evidence(id) => self.evidence(id, request, &caller, now).await,
            Call::Order(task, id) => self.staff_order(task, id, request, &caller, now).await,
        }
    }

    async fn caller(&self, request: &Request, now: DateTime<Utc>) -> Result<Caller, Failure> {
        let refused = || Problem::new(401, "unauthorized", "A valid bearer token is needed.");
        let token = bearer_token(request).ok_or_else(refused)?;
        let secret = self.tokens.get(now).await?;
        if let Some(caller) = caller_of(secret.current(), token)? {
            return Ok(caller);
        }
        // The tokens may just have been changed.
        let secret = self.tokens.refreshed(now).await?;
        Ok(caller_of(secret.current(), token)?.ok_or_else(refused)?)
    }
}

fn caller_of(secret: &str, token: &str) -> Result<Option<Caller>, serde_json::Error> {
    let tokens: Tokens = serde_json::from_str(secret)?;
    Ok(tokens.caller(token))
}
