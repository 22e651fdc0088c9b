//! What an event about a payment page does to its booking.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Function, Problem};
use paidonce_core::booking::{Booking, Command, Reason, Rejection, Transition, decide};
use paidonce_core::booking_step::{CashierOrder, Origin, step_of};
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::payment::Outcome;
use paidonce_core::refund::{self, PaymentRow};
use paidonce_core::slots::SlotRow;
use paidonce_core::step::{Found, Row, Step, from_item, read};
use serde_json::json;

use crate::Webhook;
use crate::again::{Again, with_place};
use crate::event::{Event, PaymentOrder};
use crate::ledger::{About, Next, audit};

/// How long a reference that we don't know may still become known: longer than any step takes.
const UNKNOWN_FOR: TimeDelta = TimeDelta::minutes(10);

/// What is known of the world, to decide on.
#[derive(Default)]
pub struct Known {
    pub booking: Option<Box<Booking>>,
    /// The payment's row, where reports came before the payment itself.
    pub payment: Option<Box<PaymentRow>>,
    /// Where a booking that was released may be held again.
    pub again: Again,
    /// Free starts near its own, once they were looked for.
    pub other_times: Option<Vec<DateTime<Utc>>>,
}

impl Webhook {
    pub(crate) async fn carry_out(
        &self,
        event: &Event,
        order: &PaymentOrder,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, &order.booking_id);
        let mut known = Known {
            booking: booking.await?.map(Box::new),
            ..Known::default()
        };
        for _ in 0..DECISIONS_MAX {
            self.look_around(&order.command, &mut known, now).await?;
            let step = match &known.booking {
                Some(booking) => self.step(event, order, &known, booking, now),
                None => self.unknown(event, order, &known, now)?,
            };
            match self.write(&step, event).await? {
                Next::Finished => return Ok(()),
                Next::Again(found) => known.learn(found)?,
            }
        }
        Err(Problem::busy(5).into())
    }

    /// Decides, and builds what is to be written. Public for the benchmark alone.
    #[doc(hidden)]
    pub fn step(
        &self,
        event: &Event,
        order: &PaymentOrder,
        known: &Known,
        booking: &Booking,
        now: DateTime<Utc>,
    ) -> Step {
        let command = with_place(order.command.clone(), booking, &known.again);
        let transition = match decide(booking, command, now) {
            Ok(transition) => Transition {
                other_times: known.other_times.clone().unwrap_or_default(),
                ..transition
            },
            Err(rejection) => return self.rejected(event, order, booking, rejection, now),
        };
        let outcome = outcome(&order.command, booking, &transition);
        let step = self.ledgered(event, about(order), outcome, now);
        let (step, transition) = if let Command::ReceivePayment(payment) = &order.command {
            self.claim(event, order, payment.paid_at, known, step, transition, now)
        } else {
            (step, transition)
        };
        let origin = Origin {
            who: Self::NAME,
            correlation_id: &event.id,
        };
        step_of(step, &self.tables, booking, &transition, origin)
    }

    /// Writes the payment's own row. What was reported of it before it was known whose it is
    /// reaches the booking in the same step.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step is built of all of these"
    )]
    fn claim(
        &self,
        event: &Event,
        order: &PaymentOrder,
        paid_at: DateTime<Utc>,
        known: &Known,
        step: Step,
        transition: Transition,
        now: DateTime<Utc>,
    ) -> (Step, Transition) {
        let table = &self.payments_table;
        let Some(before) = &known.payment else {
            let row =
                PaymentRow::collected(&order.payment_ref, &order.booking_id, order.amount, paid_at);
            return (step.create(table, &row), transition);
        };
        let command = refund::Command::Collected {
            booking_id: order.booking_id.clone(),
            amount: order.amount,
            paid_at,
        };
        let Ok(change) = refund::decide(before, command, now) else {
            return (step, transition);
        };
        let mut step = step
            .change(table, before.as_ref(), &change.after, before.version)
            .audit(
                &self.tables.audit,
                audit(
                    &change.after.event_id,
                    change.what,
                    None,
                    change.why.clone(),
                    event,
                ),
            );
        if change.after.misses_refunds() {
            let payment_ref = order.payment_ref.clone();
            let reconcile = CashierOrder::Reconcile { payment_ref };
            step = step.order_cashier(&self.tables, &order.booking_id, reconcile);
        }
        let step = step.money_cases(&self.tables, &change);
        let facts = change.after.facts();
        (step, transition.and(Command::SyncMoney(facts), now))
    }

    /// An event that changes nothing: the booking must still be so.
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
            Rejection::Overtaken(_)
            | Rejection::TooEarly(_)
            | Rejection::TooLate
            | Rejection::Frozen
            | Rejection::NotThatMuch => ("event overtaken", Outcome::Overtaken),
        };
        let state = Some(booking.state.as_str());
        let why = format!("payment {}", order.payment_ref);
        self.ledgered(event, about(order), outcome, now)
            .unchanged::<Booking>(&self.tables.bookings, &booking.booking_id, booking.version)
            .audit(
                &self.tables.audit,
                audit(&booking.booking_id, what, state, why, event),
            )
    }

    /// The booking is not there. Young events come again: our own write may be under way.
    fn unknown(
        &self,
        event: &Event,
        order: &PaymentOrder,
        known: &Known,
        now: DateTime<Utc>,
    ) -> Result<Step, Problem> {
        let Command::ReceivePayment(payment) = &order.command else {
            // No money came, and there is nothing to tell of it.
            let why = format!("session {}", order.session_id);
            let step = self.ledgered(event, about(order), Outcome::Overtaken, now);
            return Ok(step.audit(
                &self.tables.audit,
                audit(&order.booking_id, "unknown reference", None, why, event),
            ));
        };
        if now - event.created() < UNKNOWN_FOR {
            let detail = "The booking is not known yet; please send this again.";
            return Err(Problem {
                retry_after_s: Some(60),
                ..Problem::new(503, "unknown_yet", detail)
            });
        }
        tracing::warn!(event.id = %event.id, "Event `{}` is for a booking that does not exist", event.id);
        let why = format!("payment {}", order.payment_ref);
        let mut step = self.ledgered(event, about(order), Outcome::Escalated, now);
        if known.payment.is_none() {
            let paid_at = payment.paid_at;
            let (id, amount) = (&order.booking_id, order.amount);
            let row = PaymentRow::collected(&order.payment_ref, id, amount, paid_at);
            step = step.create(&self.payments_table, &row);
        }
        let facts = json!({
            "event_id": event.id,
            "session_id": order.session_id,
            "payment_ref": order.payment_ref,
            "paid": order.amount,
            "wanted": null,
        });
        Ok(step
            .audit(
                &self.tables.audit,
                audit(&order.booking_id, "unknown reference", None, why, event),
            )
            .hand_over(
                &self.tables,
                &order.booking_id,
                Reason::UnknownReference,
                facts,
            ))
    }
}

impl Known {
    fn learn(&mut self, found: Vec<Found>) -> Result<(), Failure> {
        for found in found {
            match (found.name, found.row) {
                (Booking::NAME, row) => {
                    self.booking = row.map(from_item).transpose()?.map(Box::new);
                }
                (PaymentRow::NAME, row) => {
                    self.payment = row.map(from_item).transpose()?.map(Box::new);
                }
                (SlotRow::NAME, _) => self.again = Again::Lost,
                _ => {}
            }
        }
        Ok(())
    }
}

fn about(order: &PaymentOrder) -> About<'_> {
    About {
        booking_id: Some(&order.booking_id),
        payment_ref: Some(&order.payment_ref),
        amount: order.amount,
    }
}

fn outcome(command: &Command, before: &Booking, to: &Transition) -> Outcome {
    match command {
        Command::AwaitFunds { .. } => Outcome::AwaitingFunds,
        Command::FailFunds { .. } => Outcome::FundsFailed,
        Command::CloseSession { .. } => Outcome::PageClosed,
        Command::ReceivePayment(_) if to.after.state != before.state => Outcome::Confirmed,
        Command::ReceivePayment(_) if to.refunded().is_some() => Outcome::Refunded,
        Command::ReceivePayment(_) => Outcome::Escalated,
        Command::SyncMoney(_)
        | Command::Refund { .. }
        | Command::Waive(_)
        | Command::Remind
        | Command::Release
        | Command::MarkAttendance { .. }
        | Command::Settle
        | Command::ReverseForfeit { .. }
        | Command::Cancel { .. }
        | Command::Reschedule { .. }
        | Command::IntendSession
        | Command::RecordSession { .. }
        | Command::SpendSession { .. } => Outcome::Overtaken,
    }
}
