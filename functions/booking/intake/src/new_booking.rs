//! `POST /bookings`: the slots, the booking, its audit row, the deposit request, the answer under its
//! key and a token of each limit are one step.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::audit::Audit;
use paidonce_core::booking::{Booking, MessageKind, Place, State};
use paidonce_core::canonical;
use paidonce_core::idempotency::KEY_BYTES_MAX;
use paidonce_core::link::{LinkKey, Purpose};
use paidonce_core::local_time::stamp;
use paidonce_core::money::Money;
use paidonce_core::slots::SlotRow;
use paidonce_core::step::{Found, Row, Step, Written, write};
use serde_json::{Value, json};

use crate::Intake;
use crate::api::Fields;
use crate::claim::Claim;
use crate::wish::Wish;

/// How often it is tried anew when the chosen slots or tokens were just taken.
const TRIES_MAX: u32 = 8;

/// What became of one attempt at one place.
enum Attempt {
    Booked(Reply),
    /// Nothing is written: these rows were there already.
    InTheWay(Vec<Found>),
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
        let claim = self.claim(&wish, caller, key, &request_hash, now);
        self.book_wish(&wish, claim, &caller.name(), now).await
    }

    async fn book_wish(
        &self,
        wish: &Wish<'_>,
        mut claim: Claim,
        caller: &str,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let id = self.entropy.ulid(now);
        let booking_id = format!("bkg_{}", id.to_string().to_lowercase());
        let capacity = wish.wanted.resource.capacity;
        let first_unit = u32::try_from(id.random() % u128::from(capacity)).unwrap_or_default();
        let mut place = wish.wanted.place(self.venue.zone, first_unit, None);
        for _ in 0..TRIES_MAX {
            let chosen = place.clone().ok_or_else(slot_taken)?;
            let booking = self.booking(&booking_id, wish, chosen, now);
            let found = match self.attempt(&booking, &claim, caller, now).await? {
                Attempt::Booked(reply) => {
                    tracing::info!(booking.id = %booking_id, "Holding a slot for booking `{booking_id}`");
                    return Ok(reply);
                }
                Attempt::InTheWay(found) => found,
            };
            if let Some(reply) = self.answered_before(&mut claim, wish, &found).await? {
                return Ok(reply);
            }
            if found.iter().any(|found| found.name == SlotRow::NAME) {
                if capacity == 1 {
                    return Err(slot_taken().into());
                }
                let owner = booking_id.as_str();
                let free = self.calendar.free_place(wish.wanted, first_unit, owner);
                place = free.await?;
            }
            self.take_other_tokens(&mut claim, &found, now).await?;
        }
        Err(Problem::busy(1).into())
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
                .unwrap_or_else(|| Money::zero(currency)),
            remind_at: policy.remind_at(now, deposit_deadline, place.zone),
            deposit_deadline,
            reminded_at: None,
            funds: None,
            session: None,
            payment_ref: None,
            paid_at: None,
            payments: Vec::new(),
            refund_reason: None,
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
            language: wish.language.map(|language| language.as_str().to_owned()),
            consented_at: wish.consents.then_some(now),
            moves: 0,
            created_at: now,
            version: 1,
        }
    }

    async fn attempt(
        &self,
        booking: &Booking,
        claim: &Claim,
        caller: &str,
        now: DateTime<Utc>,
    ) -> Result<Attempt, Failure> {
        let answer = self.answer(booking, now).await?;
        let step = Step::new(self.entropy.ulid(now), booking.booking_id.as_str(), now);
        let mut step = claim.add_to(step, &self.idempotency_table, booking, &answer);
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
            Written::Stale(found) => Ok(Attempt::InTheWay(found)),
        }
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
