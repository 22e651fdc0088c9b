//! What a booking needs beside its slots: the key that its answer is kept under, and a token of each
//! limit that it counts towards.

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Function, Problem, Reply, count};
use paidonce_core::booking::{Booking, State};
use paidonce_core::holds::{HoldRow, HoldTables, Scope as HoldScope, Token, digest};
use paidonce_core::idempotency::{Admission, IdempotencyRow, Scope, admit};
use paidonce_core::local_time::stamp;
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::{Found, Item, Row, Step, from_item, read};
use serde_json::Value;

use crate::Intake;
use crate::wish::Wish;

/// What an `Idempotency-Key` is for.
const COMMAND: &str = "POST /bookings";
/// The same form sent twice without one: the same phone, place, time and party.
const NATURAL: &str = "POST /bookings of the same";
/// How many unpaid bookings one address may hold slots with: a household, or a small office.
const HOLDS_PER_ADDRESS: u32 = 10;

/// What one booking claims for itself.
pub(crate) struct Claim {
    key: Key,
    holds: Vec<(HoldScope, Token)>,
}

/// The key that the answer is kept under.
struct Key {
    caller: String,
    command: &'static str,
    key: String,
    request_hash: String,
    /// A booking that had this key and is over.
    replaces: Option<String>,
}

impl Key {
    fn scope(&self) -> Scope<'_> {
        Scope {
            caller: &self.caller,
            command: self.command,
            key: &self.key,
        }
    }
}

impl Claim {
    /// Adds what is claimed to the step that makes a booking.
    pub(crate) fn add_to(
        &self,
        step: Step,
        table: &str,
        booking: &Booking,
        answer: &Value,
    ) -> Step {
        let row = IdempotencyRow::new(
            &self.key.scope(),
            self.key.request_hash.clone(),
            &booking.booking_id,
            (201, answer.to_string()),
            step.now(),
        );
        let replaces = self.key.replaces.as_deref();
        let mut step = step.create_or_replace(table, &row, replaces);
        for (_, token) in &self.holds {
            let (id, due) = (&booking.booking_id, booking.deposit_deadline);
            step = step.take_hold(table, token, id, due);
        }
        step
    }
}

impl Intake {
    /// What the booking of a wish claims, if all is as it should be.
    pub(crate) fn claim(
        &self,
        wish: &Wish<'_>,
        caller: &Caller,
        key: Option<&str>,
        request_hash: &str,
        now: DateTime<Utc>,
    ) -> Claim {
        let caller = caller.name();
        let holds = &self.venue.holds;
        let scopes = [
            Some(HoldScope::of_phone(&wish.phone, holds.per_phone)),
            Some(HoldScope::of_source(
                &caller,
                &wish.source,
                holds.per_source,
            )),
            wish.client_ip
                .map(|address| HoldScope::of_address(address, HOLDS_PER_ADDRESS)),
        ];
        let take_any = |scope: HoldScope| {
            let token = scope.any(self.entropy.ulid(now).random());
            (scope, token)
        };
        let (command, mut key, request_hash) = match key {
            Some(key) => (COMMAND, key.to_owned(), request_hash.to_owned()),
            None => (NATURAL, natural_key(wish), String::new()),
        };
        if planted::is(Defect::RepeatBooksTwice) {
            key.push_str(&self.entropy.ulid(now).to_string());
        }
        Claim {
            key: Key {
                caller,
                command,
                key,
                request_hash,
                replaces: None,
            },
            holds: scopes.into_iter().flatten().map(take_any).collect(),
        }
    }

    /// The answer that the key has already, if it still counts. The key of a booking that is over is
    /// claimed anew.
    pub(crate) async fn answered_before(
        &self,
        claim: &mut Claim,
        wish: &Wish<'_>,
        found: &[Found],
    ) -> Result<Option<Reply>, Failure> {
        let key = found
            .iter()
            .find(|found| found.name == IdempotencyRow::NAME);
        let Some(row) = key.and_then(|found| found.row.clone()) else {
            return Ok(None);
        };
        if claim.key.command == COMMAND {
            return Ok(Some(replay(row, &claim.key.request_hash)?));
        }
        let saved: IdempotencyRow = from_item(row)?;
        let owner = saved.booking_id.clone().unwrap_or_default();
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, &owner).await?;
        if booking.is_some_and(|booking| still_stands(&booking, wish)) {
            return Ok(Some(replayed(&saved)?));
        }
        claim.key.replaces = Some(owner);
        Ok(None)
    }

    /// The answer that an `Idempotency-Key` already has for this request.
    pub(crate) async fn saved(
        &self,
        caller: &Caller,
        key: Option<&str>,
        request_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Reply>, Failure> {
        let Some(key) = key else {
            return Ok(None);
        };
        let scope = Scope {
            caller: &caller.name(),
            command: COMMAND,
            key,
        };
        let row =
            read::<IdempotencyRow>(&self.dynamodb, &self.idempotency_table, &scope.key()).await?;
        let same =
            row.filter(|row| row.request_hash == request_hash && row.expires_at > now.timestamp());
        same.as_ref().map(replayed).transpose()
    }

    /// Claims other tokens instead of those that are taken.
    ///
    /// # Errors
    /// `too_many_holds` if there is none.
    pub(crate) async fn take_other_tokens(
        &self,
        claim: &mut Claim,
        found: &[Found],
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let tables = HoldTables {
            holds: &self.idempotency_table,
            bookings: &self.tables.bookings,
        };
        let taken = found.iter().filter(|found| found.name == HoldRow::NAME);
        for found in taken {
            let held = claim
                .holds
                .iter_mut()
                .find(|(scope, _)| scope.has(&found.key));
            let Some((scope, token)) = held else {
                continue;
            };
            let chance = self.entropy.ulid(now).random();
            let free = scope.free(&self.dynamodb, tables, now, chance).await?;
            *token = free.ok_or_else(too_many_holds)?;
        }
        Ok(())
    }
}

/// Says the same whatever it was that was counted: nobody learns what a phone has booked.
fn too_many_holds() -> Problem {
    count(Intake::NAME, "too_many_holds", 1);
    let detail =
        "There are too many unpaid bookings already. Please pay or cancel one of them first.";
    Problem::new(429, "too_many_holds", detail)
}

fn still_stands(booking: &Booking, wish: &Wish<'_>) -> bool {
    let is_there = booking.place.resource == wish.wanted.resource.id
        && booking.place.starts_at == wish.wanted.starts_at;
    match booking.state {
        State::Pending | State::Confirmed => is_there,
        State::Released | State::Cancelled | State::Applied | State::Forfeited => false,
    }
}

fn natural_key(wish: &Wish<'_>) -> String {
    digest(&[
        wish.phone.e164(),
        &wish.wanted.resource.id,
        &stamp(wish.wanted.starts_at),
        &wish.party.to_string(),
    ])
}

fn replay(row: Item, request_hash: &str) -> Result<Reply, Failure> {
    match admit(row, request_hash)? {
        Admission::Same(saved) => replayed(&saved),
        Admission::Conflict => Ok(Problem::new(
            409,
            "idempotency_mismatch",
            "This Idempotency-Key was used for another request.",
        )
        .into()),
    }
}

fn replayed(saved: &IdempotencyRow) -> Result<Reply, Failure> {
    let body: Value = serde_json::from_str(&saved.body)?;
    Ok(Reply::json(saved.status, &body).with_header("idempotent-replayed", "true".to_owned()))
}
