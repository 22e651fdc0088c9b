//! A booking's transition as the one step that carries it out.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::booking::{Booking, Consequence, MessageKind, Paid, Reason, RefundOrder, Transition};
use crate::money::Money;
use crate::outbox::Outgoing;
use crate::planted::{self, Defect};
use crate::slots::SlotRow;
use crate::step::Step;

/// Where a function's steps are written and where their consequences go.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub bookings: String,
    /// Empty for a function that may not touch slots.
    pub slots: String,
    pub audit: String,
    pub outbox: String,
    pub jobs_queue: String,
    pub handovers_queue: String,
    /// Empty for a function after whose steps the provider has nothing to do.
    pub cashier_queue: String,
}

impl Tables {
    /// Reads the names that every function with consequences has, by their variables.
    pub fn named(variable: impl Fn(&str) -> String) -> Self {
        Self {
            bookings: variable("BOOKINGS_TABLE"),
            slots: String::new(),
            audit: variable("AUDIT_TABLE"),
            outbox: variable("OUTBOX_TABLE"),
            jobs_queue: variable("JOBS_QUEUE"),
            handovers_queue: variable("HANDOVERS_QUEUE"),
            cashier_queue: String::new(),
        }
    }
}

/// Who carries it out, and what it goes back to.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    pub who: &'a str,
    pub correlation_id: &'a str,
}

/// The order to the composer to write to a customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageJob {
    pub booking_id: String,
    pub kind: MessageKind,
    /// A message is sent at most once for each booking and occasion.
    pub occasion: String,
    /// What goes back to the customer in the same step.
    #[serde(default)]
    pub refund: Option<Money>,
    /// When it could be had instead, the best first, if the slot that it was about is gone.
    #[serde(default)]
    pub other_times: Vec<DateTime<Utc>>,
}

/// The order to the cashier to do something at the provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CashierJob {
    pub booking_id: String,
    pub order: CashierOrder,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CashierOrder {
    Refund(RefundOrder),
    ExpireSession {
        session_id: String,
    },
    /// Ask the provider what became of a payment's money.
    Reconcile {
        payment_ref: String,
    },
}

/// What a person must look at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handover {
    /// A booking, or the reference that the provider gave.
    pub subject: String,
    pub reason: Reason,
    /// What is needed to act: ids and amounts, nothing about a person.
    pub facts: Value,
}

/// Builds the step of `transition`, to be sent by [`crate::step::write`].
pub fn step_of(
    step: Step,
    tables: &Tables,
    before: &Booking,
    transition: &Transition,
    origin: Origin<'_>,
) -> Step {
    let booking_id = before.booking_id.as_str();
    let owner = ("booking_id", booking_id);
    let mut step = step.change(&tables.bookings, before, &transition.after, before.version);
    for slot_key in &transition.hold {
        let held_at = step.now();
        let row = SlotRow {
            slot_key: slot_key.clone(),
            booking_id: booking_id.to_owned(),
            held_at,
        };
        step = step.create(&tables.slots, &row);
    }
    for slot_key in &transition.free {
        step = step.delete_owned::<SlotRow>(&tables.slots, slot_key, owner);
    }
    step = step.audit(
        &tables.audit,
        Audit {
            subject: booking_id,
            who: origin.who,
            what: transition.what,
            before: Some(before.state.as_str()),
            after: Some(transition.after.state.as_str()),
            why: transition.why.clone(),
            correlation_id: origin.correlation_id,
        },
    );
    step.follow(tables, transition)
}

impl Step {
    /// Orders what follows from a transition.
    fn follow(mut self, tables: &Tables, transition: &Transition) -> Self {
        let booking = &transition.after;
        let booking_id = booking.booking_id.as_str();
        for consequence in &transition.consequences {
            self = match consequence {
                Consequence::Message(kind) => {
                    let other_times = match kind {
                        MessageKind::LateRefund => transition.other_times.clone(),
                        MessageKind::DepositRequest
                        | MessageKind::Reminder
                        | MessageKind::Confirmation
                        | MessageKind::Released
                        | MessageKind::Cancelled
                        | MessageKind::Rescheduled
                        | MessageKind::PaymentChecked
                        | MessageKind::SecondRefund => Vec::new(),
                    };
                    let refund = transition.refunded();
                    self.message_offering(tables, booking, *kind, refund, other_times)
                }
                Consequence::Handover(reason, about) => {
                    let facts = facts_of(booking, about.as_ref());
                    self.hand_over(tables, booking_id, *reason, facts)
                }
                Consequence::Refund(order) => {
                    self.order_cashier(tables, booking_id, CashierOrder::Refund(order.clone()))
                }
                Consequence::ExpireSession { session_id } => {
                    let session_id = session_id.clone();
                    let order = CashierOrder::ExpireSession { session_id };
                    self.order_cashier(tables, booking_id, order)
                }
            };
        }
        self
    }

    /// Orders something at the provider.
    #[must_use]
    pub fn order_cashier(self, tables: &Tables, booking_id: &str, order: CashierOrder) -> Self {
        let job = CashierJob {
            booking_id: booking_id.to_owned(),
            order,
        };
        self.emit_job(
            tables,
            booking_id,
            "cashier.order",
            &job,
            &tables.cashier_queue,
        )
    }

    /// Orders a message to the booking's customer.
    #[must_use]
    pub fn message(
        self,
        tables: &Tables,
        booking: &Booking,
        kind: MessageKind,
        refund: Option<Money>,
    ) -> Self {
        self.message_offering(tables, booking, kind, refund, Vec::new())
    }

    fn message_offering(
        self,
        tables: &Tables,
        booking: &Booking,
        kind: MessageKind,
        refund: Option<Money>,
        other_times: Vec<DateTime<Utc>>,
    ) -> Self {
        let occasion = match kind {
            // These may happen more than once, and each time is news.
            MessageKind::Rescheduled
            | MessageKind::PaymentChecked
            | MessageKind::LateRefund
            | MessageKind::SecondRefund => format!("{}-{}", kind.as_str(), booking.version),
            MessageKind::Reminder if planted::is(Defect::RemindedAgain) => {
                format!("{}-{}", kind.as_str(), booking.version)
            }
            MessageKind::DepositRequest
            | MessageKind::Reminder
            | MessageKind::Confirmation
            | MessageKind::Released
            | MessageKind::Cancelled => kind.as_str().to_owned(),
        };
        let job = MessageJob {
            booking_id: booking.booking_id.clone(),
            kind,
            occasion,
            refund,
            other_times,
        };
        self.emit_job(
            tables,
            &booking.booking_id,
            "message.compose",
            &job,
            &tables.jobs_queue,
        )
    }

    fn emit_job(
        mut self,
        tables: &Tables,
        subject: &str,
        kind: &'static str,
        job: &impl Serialize,
        target: &str,
    ) -> Self {
        let payload = self.or_defect(serde_json::to_string(job));
        let outgoing = Outgoing {
            aggregate: format!("booking#{subject}"),
            kind,
            payload: payload.unwrap_or_default(),
            target,
        };
        self.emit(&tables.outbox, outgoing)
    }

    /// Hands something over to a person.
    #[must_use]
    pub fn hand_over(self, tables: &Tables, subject: &str, reason: Reason, facts: Value) -> Self {
        let handover = Handover {
            subject: subject.to_owned(),
            reason,
            facts,
        };
        self.emit_job(
            tables,
            subject,
            "case.open",
            &handover,
            &tables.handovers_queue,
        )
    }
}

/// What a case tells of a booking, and of the payment that it is about.
pub fn facts_of(booking: &Booking, about: Option<&Paid>) -> Value {
    let mut facts = json!({
        "state": booking.state,
        "slot_key": booking.place.slot_keys.first(),
        "starts_at": booking.place.starts_at,
        "deposit": booking.deposit,
        "deposit_deadline": booking.deposit_deadline,
        "payment_ref": booking.payment_ref,
        "attendance": booking.attendance,
    });
    if let Some(paid) = about {
        facts["payment_ref"] = json!(paid.payment_ref);
        facts["paid"] = json!(paid.amount);
        facts["paid_at"] = json!(paid.paid_at);
        facts["wanted"] = json!(booking.deposit);
        facts["confirmed_by"] = json!(booking.payment_ref);
    }
    facts
}
