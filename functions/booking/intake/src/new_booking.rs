//! `POST /bookings`: the slots, the booking, its audit row, the deposit request and the answer
//! under the caller's key are one step.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::audit::Audit;
use paidonce_core::booking::{Booking, MessageKind, Place, State};
use paidonce_core::calendar::Wanted;
use paidonce_core::canonical;
use paidonce_core::email::EmailAddress;
use paidonce_core::idempotency::{Admission, IdempotencyRow, KEY_BYTES_MAX, Scope, admit};
use paidonce_core::link::{LinkKey, Purpose};
use paidonce_core::local_time::stamp;
use paidonce_core::phone::Phone;
use paidonce_core::slots::SlotRow;
use paidonce_core::step::{Found, Row, Step, Written, read, write};
use serde_json::{Value, json};

use crate::Intake;
use crate::api::{Fields, start};

/// What an `Idempotency-Key` is for.
const COMMAND: &str = "POST /bookings";
/// How often other units are tried when the chosen ones were just taken.
const PLACES_MAX: u32 = 4;

/// What a customer asks for, checked.
struct Wish<'a> {
    wanted: Wanted<'a>,
    party: u32,
    name: String,
    phone: Phone,
    email: Option<EmailAddress>,
    notes: Option<String>,
    source: String,
}

/// What became of one attempt at one place.
enum Attempt {
    Booked(Reply),
    Answered(Reply),
    SlotTaken,
}

impl Intake {
    pub(crate) async fn book(
        &self,
        request: &Request,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let fields = Fields::of(request)?;
        let key = idempotency_key(request)?;
        let request_hash = canonical::hash(&fields.value());
        let wish = match self.wish(&fields, now) {
            Ok(wish) => wish,
            // What was taken in time stays taken, though it could not be taken now.
            Err(problem) => {
                let saved = self.saved(caller, key, &request_hash, now).await?;
                return saved.ok_or(problem.into());
            }
        };
        let id = self.entropy.ulid(now);
        let booking_id = format!("bkg_{}", id.to_string().to_lowercase());
        let capacity = wish.wanted.resource.capacity;
        let first_unit = u32::try_from(id.random() % u128::from(capacity)).unwrap_or_default();
        let zone = self.venue.zone;
        let mut place = wish.wanted.place(zone, first_unit, None);
        for _ in 0..PLACES_MAX {
            let Some(chosen) = place else {
                return Err(slot_taken().into());
            };
            let booking = self.booking(&booking_id, &wish, chosen, now);
            match self
                .attempt(&booking, caller, key, &request_hash, now)
                .await?
            {
                Attempt::Booked(reply) => {
                    tracing::info!(booking.id = %booking_id, "Holding a slot for booking `{booking_id}`");
                    return Ok(reply);
                }
                Attempt::Answered(reply) => return Ok(reply),
                Attempt::SlotTaken if capacity == 1 => return Err(slot_taken().into()),
                Attempt::SlotTaken => {
                    let owner = booking_id.as_str();
                    let free = self.calendar.free_place(wish.wanted, first_unit, owner);
                    place = free.await?;
                }
            }
        }
        Err(Problem::busy(1).into())
    }

    fn wish(&self, fields: &Fields, now: DateTime<Utc>) -> Result<Wish<'_>, Problem> {
        let resource = fields.text("resource", 40)?;
        let instant = start(&fields.text("starts_at", 40)?, self.venue.zone, now)?;
        let party = fields.number("party", 1, 1000)?;
        let name = fields.text("name", 80)?;
        let phone = fields.text("phone", 40)?;
        let phone = Phone::parse(&phone, &self.venue.phone_region)
            .map_err(|error| Problem::field("phone", "bad_phone", &format!("`phone`: {error}.")))?;
        let email = match fields.optional_text("email", 254)? {
            Some(email) => Some(EmailAddress::parse(&email).map_err(|error| {
                Problem::field("email", "bad_email", &format!("`email`: {error}."))
            })?),
            None => None,
        };
        let notes = fields.optional_lines("notes", 500)?;
        let source = fields.text("source", 40)?;
        let wanted = self.wanted(&resource, instant.utc, party, now)?;
        Ok(Wish {
            wanted,
            party,
            name,
            phone,
            email,
            notes,
            source,
        })
    }

    fn booking(
        &self,
        booking_id: &str,
        wish: &Wish<'_>,
        place: Place,
        now: DateTime<Utc>,
    ) -> Booking {
        let policy = self.venue.policy.clone();
        let deposit_deadline = policy.deposit_deadline(now, place.starts_at, place.zone);
        let currency = self.venue.currency;
        Booking {
            booking_id: booking_id.to_owned(),
            state: State::Pending,
            party: wish.party,
            name: wish.name.clone(),
            phone: Some(wish.phone.clone()),
            email: wish.email.clone(),
            notes: wish.notes.clone(),
            source: wish.source.clone(),
            deposit: wish
                .wanted
                .resource
                .deposit(wish.party, place.starts_at, place.zone, currency)
                .unwrap_or_else(|| paidonce_core::money::Money::zero(currency)),
            remind_at: policy.remind_at(now, deposit_deadline, place.zone),
            deposit_deadline,
            reminded_at: None,
            funds: None,
            session: None,
            payment_ref: None,
            paid_at: None,
            payments: Vec::new(),
            refund_orders: BTreeSet::new(),
            disputes: BTreeMap::new(),
            waived: None,
            waived_reason: None,
            attendance: None,
            asked_at: None,
            settled_at: None,
            reversal: None,
            reversal_reason: None,
            cancelled: None,
            cancelled_reason: None,
            place,
            policy,
            language: None,
            consented_at: None,
            moves: 0,
            created_at: now,
            version: 1,
        }
    }

    async fn attempt(
        &self,
        booking: &Booking,
        caller: &Caller,
        key: Option<&str>,
        request_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Attempt, Failure> {
        let answer = self.answer(booking, now).await?;
        let caller = caller.name();
        let mut step = Step::new(self.entropy.ulid(now), booking.booking_id.as_str(), now);
        if let Some(key) = key {
            let scope = Scope {
                caller: &caller,
                command: COMMAND,
                key,
            };
            let row = IdempotencyRow::new(
                &scope,
                request_hash.to_owned(),
                (201, answer.to_string()),
                now,
            );
            step = step.create_or_replace_expired(&self.idempotency_table, &row);
        }
        for slot_key in &booking.place.slot_keys {
            let row = SlotRow {
                slot_key: slot_key.clone(),
                booking_id: booking.booking_id.clone(),
                held_at: now,
            };
            step = step.create(&self.tables.slots, &row);
        }
        let audit = Audit {
            subject: &booking.booking_id,
            who: &format!("bdc-intake for {caller}"),
            what: "slot held",
            before: None,
            after: Some(booking.state.as_str()),
            why: format!("booked by {}", booking.source),
            correlation_id: &booking.booking_id,
        };
        step = step
            .create_subject(&self.tables.bookings, booking)
            .audit(&self.tables.audit, audit)
            .message(&self.tables, booking, MessageKind::DepositRequest, None);
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(Attempt::Booked(Reply::json(201, &answer))),
            Written::Contended => Err(Problem::busy(1).into()),
            Written::Stale(found) => replay(found, request_hash),
        }
    }

    /// The answer that this key already has for this request.
    async fn saved(
        &self,
        caller: &Caller,
        key: Option<&str>,
        request_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Reply>, Failure> {
        let Some(key) = key else {
            return Ok(None);
        };
        let caller = caller.name();
        let scope = Scope {
            caller: &caller,
            command: COMMAND,
            key,
        };
        let row =
            read::<IdempotencyRow>(&self.dynamodb, &self.idempotency_table, &scope.key()).await?;
        let same =
            row.filter(|row| row.request_hash == request_hash && row.expires_at > now.timestamp());
        same.as_ref().map(replayed).transpose()
    }

    async fn answer(&self, booking: &Booking, now: DateTime<Utc>) -> Result<Value, Failure> {
        let secret = self.link_key.get(now).await?;
        let key = LinkKey::new(secret.current().as_bytes())?;
        let query = key.sign(Purpose::Pay, &booking.booking_id, booking.place.starts_at);
        Ok(json!({
            "booking_id": booking.booking_id,
            "state": booking.state,
            "slot_key": booking.place.slot_keys.first(),
            "deposit": booking.deposit,
            "deposit_deadline": stamp(booking.deposit_deadline),
            "pay_url": format!("{}pay/{}?{query}", self.pay_url, booking.booking_id),
        }))
    }
}

fn replay(found: Vec<Found>, request_hash: &str) -> Result<Attempt, Failure> {
    let key = found
        .into_iter()
        .find(|found| found.name == IdempotencyRow::NAME);
    let Some(row) = key.and_then(|found| found.row) else {
        return Ok(Attempt::SlotTaken);
    };
    let reply = match admit(row, request_hash)? {
        Admission::Same(saved) => replayed(&saved)?,
        Admission::Conflict => Problem::new(
            409,
            "idempotency_mismatch",
            "This Idempotency-Key was used for another request.",
        )
        .into(),
    };
    Ok(Attempt::Answered(reply))
}

fn replayed(saved: &IdempotencyRow) -> Result<Reply, Failure> {
    let body: Value = serde_json::from_str(&saved.body)?;
    Ok(Reply::json(saved.status, &body).with_header("idempotent-replayed", "true".to_owned()))
}

fn slot_taken() -> Problem {
    Problem {
        field: Some("starts_at"),
        ..Problem::new(409, "slot_taken", "Somebody else has this slot.")
    }
}

fn idempotency_key(request: &Request) -> Result<Option<&str>, Problem> {
    let Some(key) = request.header("idempotency-key") else {
        return Ok(None);
    };
    let visible = key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if key.trim().is_empty() || key.len() > KEY_BYTES_MAX || !visible {
        let detail = "`Idempotency-Key` must have 1 to 255 visible ASCII characters.";
        return Err(Problem {
            status: 400,
            ..Problem::field("Idempotency-Key", "bad_idempotency_key", detail)
        });
    }
    Ok(Some(key))
}
