//! Writing what an event did: the ledger row and its effect are one step.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Function, Problem, count};
use paidonce_core::audit::Audit;
use paidonce_core::booking::{Booking, Command, Reason, Rejection, decide};
use paidonce_core::booking_step::{Origin, step_of};
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::payment::{EventRow, KEPT_FOR, Outcome};
use paidonce_core::step::{Found, Row, Step, Written, from_item, read, write};
use serde_json::{Value, json};

use crate::Webhook;
use crate::event::{Event, PaymentOrder};

/// How long a reference that we don't know may still become known: longer than any step takes.
const UNKNOWN_FOR: TimeDelta = TimeDelta::minutes(10);

/// What to do after an attempt.
enum Next {
    Finished,
    /// Decide again on the booking as it stands.
    Again(Option<Box<Booking>>),
}

impl Webhook {
    pub(crate) async fn carry_out(
        &self,
        event: &Event,
        order: &PaymentOrder,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let mut booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, &order.booking_id)
            .await?
            .map(Box::new);
        for _ in 0..DECISIONS_MAX {
            let step = match &booking {
                Some(booking) => self.step(event, order, booking, now),
                None => self.unknown(event, order, now)?,
            };
            match self.write(&step, event).await? {
                Next::Finished => return Ok(()),
                Next::Again(row) => booking = row,
            }
        }
        Err(Problem::busy(5).into())
    }

    /// Keeps an event that is not for this deployment, so that it can be looked up.
    pub(crate) async fn record_only(
        &self,
        event: &Event,
        outcome: Outcome,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        count(Self::NAME, "event_not_for_us", 1);
        let subject = format!("event#{}", event.id);
        let step = self.ledgered(event, None, outcome, now).audit(
            &self.tables.audit,
            audit(
                &subject,
                "event ignored",
                None,
                outcome.as_str().to_owned(),
                event,
            ),
        );
        match self.write(&step, event).await? {
            Next::Finished => Ok(()),
            Next::Again(_) => Err(Problem::busy(5).into()),
        }
    }

    /// Decides, and builds what is to be written. Public for the benchmark alone.
    #[doc(hidden)]
    pub fn step(
        &self,
        event: &Event,
        order: &PaymentOrder,
        booking: &Booking,
        now: DateTime<Utc>,
    ) -> Step {
        match decide(booking, order.command.clone(), now) {
            Ok(transition) => {
                let outcome = match order.command {
                    Command::AwaitFunds { .. } => Outcome::AwaitingFunds,
                    Command::FailFunds { .. } => Outcome::FundsFailed,
                    Command::ReceivePayment(_)
                    | Command::Remind
                    | Command::Release
                    | Command::MarkAttendance { .. }
                    | Command::Settle
                    | Command::Cancel { .. }
                    | Command::Reschedule { .. }
                    | Command::IntendSession
                    | Command::RecordSession { .. }
                    | Command::SpendSession { .. } => Outcome::Confirmed,
                };
                let origin = Origin {
                    who: Self::NAME,
                    correlation_id: &event.id,
                };
                let step = self.ledgered(event, Some(order), outcome, now);
                step_of(step, &self.tables, booking, &transition, origin)
            }
            Err(rejection) => self.rejected(event, order, booking, rejection, now),
        }
    }

    /// Money that doesn't fit becomes a case; the booking stays as it is, and must still be so.
    fn rejected(
        &self,
        event: &Event,
        order: &PaymentOrder,
        booking: &Booking,
        rejection: Rejection,
        now: DateTime<Utc>,
    ) -> Step {
        let (what, outcome) = match rejection {
            Rejection::Already => ("payment known already", Outcome::Already),
            Rejection::Overtaken(_) | Rejection::TooEarly(_) | Rejection::TooLate => {
                ("event overtaken", Outcome::Overtaken)
            }
            Rejection::LatePayment => ("late payment", Outcome::Escalated),
            Rejection::SecondPayment => ("second payment", Outcome::Escalated),
            Rejection::AmountMismatch => ("amount mismatch", Outcome::Escalated),
        };
        let state = Some(booking.state.as_str());
        let why = format!("payment {}", order.payment_ref);
        let step = self
            .ledgered(event, Some(order), outcome, now)
            .unchanged::<Booking>(&self.tables.bookings, &booking.booking_id, booking.version)
            .audit(
                &self.tables.audit,
                audit(&booking.booking_id, what, state, why, event),
            );
        match rejection.reason() {
            Some(reason) => {
                tracing::warn!(booking.id = %booking.booking_id, reason = reason.as_str(), "Money for booking `{}` needs a person", booking.booking_id);
                step.hand_over(
                    &self.tables,
                    &booking.booking_id,
                    reason,
                    facts(event, order, Some(booking)),
                )
            }
            None => step,
        }
    }

    /// The booking is not there. Young events come again: our own write may be under way.
    fn unknown(
        &self,
        event: &Event,
        order: &PaymentOrder,
        now: DateTime<Utc>,
    ) -> Result<Step, Problem> {
        if now - event.created() < UNKNOWN_FOR {
            let detail = "The booking is not known yet; please send this again.";
            return Err(Problem {
                retry_after_s: Some(60),
                ..Problem::new(503, "unknown_yet", detail)
            });
        }
        tracing::warn!(event.id = %event.id, "Event `{}` is for a booking that does not exist", event.id);
        let why = format!("payment {}", order.payment_ref);
        Ok(self
            .ledgered(event, Some(order), Outcome::Escalated, now)
            .audit(
                &self.tables.audit,
                audit(&order.booking_id, "unknown reference", None, why, event),
            )
            .hand_over(
                &self.tables,
                &order.booking_id,
                Reason::UnknownReference,
                facts(event, order, None),
            ))
    }

    fn ledgered(
        &self,
        event: &Event,
        order: Option<&PaymentOrder>,
        outcome: Outcome,
        now: DateTime<Utc>,
    ) -> Step {
        let row = EventRow {
            event_id: event.id.clone(),
            kind: event.kind.clone(),
            created: event.created(),
            received_at: now,
            booking_id: order.map(|order| order.booking_id.clone()),
            payment_ref: order.map(|order| order.payment_ref.clone()),
            amount: order.and_then(|order| order.amount),
            outcome,
            expires_at: (now + KEPT_FOR).timestamp(),
        };
        Step::new(self.entropy.ulid(now), event.id.as_str(), now)
            .create_or_replace_expired(&self.payments_table, &row)
    }

    async fn write(&self, step: &Step, event: &Event) -> Result<Next, Failure> {
        match write(&self.dynamodb, step).await? {
            Written::Applied => {
                tracing::info!(event.id = %event.id, event.kind = %event.kind, "Took event `{}`", event.id);
                Ok(Next::Finished)
            }
            Written::Contended => Err(Problem::busy(5).into()),
            Written::Stale(found) => next(found),
        }
    }
}

fn next(found: Vec<Found>) -> Result<Next, Failure> {
    // The ledger has the event: it did what it had to do, in the same step.
    if found.iter().any(|found| found.name == EventRow::NAME) {
        return Ok(Next::Finished);
    }
    let row = found
        .into_iter()
        .find(|found| found.name == Booking::NAME)
        .and_then(|found| found.row);
    Ok(Next::Again(row.map(from_item).transpose()?.map(Box::new)))
}

fn audit<'a>(
    subject: &'a str,
    what: &'a str,
    state: Option<&'a str>,
    why: String,
    event: &'a Event,
) -> Audit<'a> {
    Audit {
        subject,
        who: Webhook::NAME,
        what,
        before: state,
        after: state,
        why,
        correlation_id: &event.id,
    }
}

fn facts(event: &Event, order: &PaymentOrder, booking: Option<&Booking>) -> Value {
    json!({
        "event_id": event.id,
        "session_id": order.session_id,
        "payment_ref": order.payment_ref,
        "paid": order.amount,
        "wanted": booking.map(|booking| booking.deposit),
        "state": booking.map(|booking| booking.state),
        "slot_key": booking.and_then(|booking| booking.place.slot_keys.first()),
        "confirmed_by": booking.and_then(|booking| booking.payment_ref.as_ref()),
    })
}
