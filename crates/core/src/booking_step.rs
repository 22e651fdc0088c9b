//! A booking's transition as the one step that carries it out.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::booking::{Booking, Consequence, MessageKind, Reason, Transition};
use crate::outbox::Outgoing;
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
    for consequence in &transition.consequences {
        step = match consequence {
            Consequence::Message(kind) => step.message(tables, &transition.after, *kind),
            Consequence::Handover(reason) => {
                step.hand_over(tables, booking_id, *reason, facts_of(&transition.after))
            }
        };
    }
    step
}

impl Step {
    /// Orders a message to the booking's customer.
    #[must_use]
    pub fn message(self, tables: &Tables, booking: &Booking, kind: MessageKind) -> Self {
        let occasion = match kind {
            // A booking may move more than once, and each move is news.
            MessageKind::Rescheduled => format!("{}-{}", kind.as_str(), booking.version),
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
        };
        let mut step = self;
        let payload = step
            .or_defect(serde_json::to_string(&job))
            .unwrap_or_default();
        step.emit(
            &tables.outbox,
            Outgoing {
                aggregate: format!("booking#{}", booking.booking_id),
                kind: "message.compose",
                payload,
                target: &tables.jobs_queue,
            },
        )
    }

    /// Hands something over to a person.
    #[must_use]
    pub fn hand_over(self, tables: &Tables, subject: &str, reason: Reason, facts: Value) -> Self {
        let handover = Handover {
            subject: subject.to_owned(),
            reason,
            facts,
        };
        let mut step = self;
        let payload = step
            .or_defect(serde_json::to_string(&handover))
            .unwrap_or_default();
        step.emit(
            &tables.outbox,
            Outgoing {
                aggregate: format!("booking#{subject}"),
                kind: "case.open",
                payload,
                target: &tables.handovers_queue,
            },
        )
    }
}

/// What a case tells of a booking.
pub fn facts_of(booking: &Booking) -> Value {
    json!({
        "state": booking.state,
        "slot_key": booking.place.slot_keys.first(),
        "starts_at": booking.place.starts_at,
        "deposit": booking.deposit,
        "deposit_deadline": booking.deposit_deadline,
        "payment_ref": booking.payment_ref,
        "attendance": booking.attendance,
    })
}
