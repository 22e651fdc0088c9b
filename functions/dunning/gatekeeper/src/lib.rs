//! `dunr-gatekeeper`: tells an app whether a subscription's customer is let in, and lets an operator
//! pause and restore access by hand.
//!
//! Triggered by its Function URL; the caller shows a token. An app's question is one keyed read. An
//! operator's order writes the access of the row, and a row of the log, in one step; it reaches no
//! provider, no queue and no mail. If two run at once for one row, the row's version lets one write
//! and the other decides again on what stands then; an order that is carried out already is answered
//! like one that was.
//!
//! # When something fails here
//!
//! An outage shuts nobody out. If the row can't be read in time, an app hears `granted` with
//! `"degraded": true`, for a few seconds and without a signed entitlement; the same if nothing is
//! known yet of the tokens, since such an answer tells nothing about anybody. Each call is given
//! up after 1.3 seconds, so the answer comes well within the function's time-out.
//! An order needs its token and its row, and is refused with 503 meanwhile.
//!
//! # If the gatekeeper can't be reached at all
//!
//! An answer of `granted` brings an entitlement: a JWS (RFC 7515, HS256) with the claims `sub`,
//! `access`, `iat`, `exp` and `iss`, signed with the secret's `entitlement_key`. An app that can't
//! reach the gatekeeper goes on with the last entitlement until its `exp`. An answer of `paused` brings
//! none, since it must not last longer than the fact: the app forgets the entitlement that it had.

mod answer;
mod callers;
mod clients;
mod entitlement;
mod orders;
mod routes;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, SecretCache, SecretError,
    Setup, bearer_token, chain, count, serve,
};
use paidonce_core::dunning::DunningTables;
use paidonce_core::dunning::access::Standing;
use paidonce_core::dunning::policy::{self, Policy};
use paidonce_core::step::from_item;
use serde_json::Value;

pub use crate::answer::Answer;
pub use crate::callers::{Caller, Callers};
use crate::clients::{Limits, within_limits};
use crate::routes::Route;

/// The largest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 4 * 1024;
/// How long an app may go on with an answer that was given without knowledge, in seconds.
const DEGRADED_CACHE_SECONDS: u32 = 10;
/// How long tokens that were read are believed while Secrets Manager does not answer.
const TOKENS_STALE_MAX: TimeDelta = TimeDelta::hours(6);

pub struct Gatekeeper {
    reader: Client,
    writer: Client,
    tables: DunningTables,
    tokens: SecretCache,
    policy: policy::Gatekeeper,
    entropy: Entropy,
}

impl Function for Gatekeeper {
    const NAME: &'static str = "dunr-gatekeeper";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy = policy.as_deref().unwrap_or(policy::BUILT_IN);
        let policy = Policy::from_json(policy).map_err(ConfigError)?;
        let reads = within_limits(&setup.aws, Limits::Question);
        environment.check(Self {
            reader: lambda_kit::client!(aws_sdk_dynamodb, &reads),
            writer: lambda_kit::client!(
                aws_sdk_dynamodb,
                &within_limits(&setup.aws, Limits::Order)
            ),
            // No consequence leaves from here: it has no outbox and no queue.
            tables: DunningTables {
                dunning: environment.text("DUNNING_TABLE"),
                log: environment.text("LOG_TABLE"),
                ..DunningTables::default()
            },
            tokens: SecretCache::new(&reads, environment.text("TOKENS_SECRET")),
            policy: policy.gatekeeper,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let respond = |request| async move { self.respond(&request, now).await };
        serve(event, BODY_BYTES_MAX, respond).await
    }
}

impl Gatekeeper {
    async fn respond(&self, request: &Request, now: DateTime<Utc>) -> Result<Reply, Failure> {
        match Route::of(request)? {
            Route::Ask(id) => {
                let reply = self.answer(&id, request, now).await?;
                let is_head = request.method == "HEAD";
                Ok(Reply {
                    body: if is_head { String::new() } else { reply.body },
                    ..reply
                })
            }
            Route::Order(order, id) => self.carry_out(order, &id, request, now).await,
        }
    }

    /// What an app hears: never `paused` for want of an answer of our own.
    async fn answer(
        &self,
        id: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Problem> {
        let callers = match self.callers(request, now).await {
            Ok((callers, _)) => callers,
            Err(Unknown::Refused(problem)) => return Err(problem),
            Err(Unknown::NotRead(error)) => return Ok(degraded(id, "secret", &error, now)),
        };
        match self.standing(id).await {
            Ok(standing) => {
                let answer = Answer::of(id, standing, now);
                let hours = self.policy.entitlement_valid_hours;
                let answer = answer.signed(callers.entitlement_key(), hours);
                Ok(answer.reply(self.policy.cache_seconds))
            }
            Err(error) => Ok(degraded(id, "table", &error, now)),
        }
    }

    /// The part of the row that says who is let in; nothing if there is no row.
    async fn standing(&self, id: &str) -> Result<Option<Standing>, Failure> {
        let names = Standing::ATTRIBUTES.map(|name| (format!("#{name}"), name.to_owned()));
        let wanted: Vec<&str> = names.iter().map(|(alias, _)| alias.as_str()).collect();
        let answer = self
            .reader
            .get_item()
            .table_name(&self.tables.dunning)
            .key("subscription_id", AttributeValue::S(id.to_owned()))
            .consistent_read(true)
            .projection_expression(wanted.join(", "))
            .set_expression_attribute_names(Some(HashMap::from(names.clone())))
            .send()
            .await?;
        Ok(answer.item.map(from_item).transpose()?)
    }

    /// Who asks, and all that the secret has.
    async fn callers(
        &self,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<(Callers, Caller), Unknown> {
        let refused = || Problem::new(401, "unauthorized", "A valid bearer token is needed.");
        let token = bearer_token(request).ok_or_else(|| Unknown::Refused(refused()))?;
        let secret = self.tokens.get_or_stale(now, TOKENS_STALE_MAX).await?;
        let callers = Callers::read(secret.current())?;
        if let Some(caller) = callers.caller(token) {
            return Ok((callers, caller));
        }
        // The tokens may just have been changed.
        let Ok(secret) = self.tokens.refreshed(now).await else {
            return Err(Unknown::Refused(refused()));
        };
        let callers = Callers::read(secret.current())?;
        match callers.caller(token) {
            Some(caller) => Ok((callers, caller)),
            None => Err(Unknown::Refused(refused())),
        }
    }
}

/// The documented answer while something can't be read: nobody is shut out by an outage.
fn degraded(id: &str, what: &'static str, error: &Failure, now: DateTime<Utc>) -> Reply {
    count(Gatekeeper::NAME, "degraded", 1);
    let error = chain(error.as_ref());
    tracing::error!(subscription.id = %id, error, "Granted `{id}`: the {what} did not answer");
    Answer::without_knowledge(id, now).reply(DEGRADED_CACHE_SECONDS)
}

/// Why it is not known who asks.
enum Unknown {
    Refused(Problem),
    NotRead(Failure),
}

impl From<SecretError> for Unknown {
    fn from(error: SecretError) -> Self {
        Self::NotRead(error.into())
    }
}

impl From<serde_json::Error> for Unknown {
    // A secret that can't be parsed is our own fault, not the caller's. Its text stays out of the log.
    fn from(error: serde_json::Error) -> Self {
        Self::NotRead(format!("the tokens are unreadable at column {}", error.column()).into())
    }
}

#[cfg(test)]
mod tests;
