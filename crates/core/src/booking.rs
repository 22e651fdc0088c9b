//! What may happen to a booking.
//!
//! ```text
//!             deposit paid              attended, or not asked to know
//!   PENDING ───────────────▶ CONFIRMED ───────────────────────────────▶ APPLIED
//!     │  │                     │    │   did not come
//!     │  └──────────┐          │    └─────────────────────────────────▶ FORFEITED
//!     │ deadline    │ cancel   │ cancel
//!     ▼             ▼          ▼
//!   RELEASED      CANCELLED ◀──┘
//! ```
//!
//! [`decide`] is pure: it is given the booking as it stands, a command and the time, and returns
//! the booking as it will stand with what follows from that, or why not. Money that doesn't fit is
//! a [`Rejection`] too: the webhook turns it into a case for a person, the booking stays.
//! `booking_table.txt` beside this file has every state and command, and a test keeps it true.

mod pay_page;
mod row;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use self::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use self::pay_page::{intend_session, record_session, spend_session};
use crate::local_time::stamp;
use crate::money::Money;
use crate::venue::{Unmarked, minutes};

pub use row::{
    Attendance, Booking, Cancellation, CancelledBy, DUE_SHARDS, Funds, OpenedSession, Place,
    Session, due_shard,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// The slot is held, the deposit is not paid.
    Pending,
    /// The deposit is paid.
    Confirmed,
    /// The deposit was not paid in time: the slot is on sale again.
    Released,
    /// Called off by the customer or the business: the slot is on sale again.
    Cancelled,
    /// The customer came: the deposit counts towards the bill.
    Applied,
    /// The customer did not come: the business keeps the deposit.
    Forfeited,
}

impl State {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Confirmed,
        Self::Released,
        Self::Cancelled,
        Self::Applied,
        Self::Forfeited,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Confirmed => "CONFIRMED",
            Self::Released => "RELEASED",
            Self::Cancelled => "CANCELLED",
            Self::Applied => "APPLIED",
            Self::Forfeited => "FORFEITED",
        }
    }
}

/// A payment that the provider says succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    pub payment_ref: String,
    /// `None` if the provider gave no amount that we can read, or one that it did not collect.
    pub amount: Option<Money>,
    pub paid_at: DateTime<Utc>,
}

/// An order to a booking.
#[derive(Clone, Debug)]
pub enum Command {
    /// The provider collected money for it.
    ReceivePayment(Payment),
    /// The customer is done at the provider, but the money takes days.
    AwaitFunds {
        payment_ref: String,
    },
    /// The money that was to come will not.
    FailFunds {
        payment_ref: String,
    },
    Remind,
    Release,
    MarkAttendance {
        attended: bool,
        marked_by: String,
    },
    Settle,
    Cancel {
        by: CancelledBy,
        reason: String,
    },
    /// Move to slots that the step will hold.
    Reschedule {
        to: Place,
    },
    /// Make a payment page, or take up one whose making was not answered.
    IntendSession,
    RecordSession {
        attempt: u32,
        opened: OpenedSession,
    },
    /// The provider will never open this attempt, whatever is asked for under its key.
    SpendSession {
        attempt: u32,
    },
}

/// The booking as it will stand, and what follows from it.
#[derive(Clone, PartialEq)]
pub struct Transition {
    pub after: Booking,
    /// The fact, for the audit.
    pub what: &'static str,
    pub why: String,
    pub hold: Vec<String>,
    pub free: Vec<String>,
    pub consequences: Vec<Consequence>,
}

/// Something that someone must hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// A message to the customer, by its kind.
    Message(MessageKind),
    /// A case for a person.
    Handover(Reason),
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Held: please pay the deposit.
    DepositRequest,
    /// The deposit is due soon.
    Reminder,
    /// Paid and confirmed.
    Confirmation,
    /// Not paid in time, so given up.
    Released,
    /// Called off.
    Cancelled,
    /// Moved to another time.
    Rescheduled,
}

impl MessageKind {
    /// Every kind, in the order of a booking's life.
    pub const ALL: [Self; 6] = [
        Self::DepositRequest,
        Self::Reminder,
        Self::Confirmation,
        Self::Released,
        Self::Cancelled,
        Self::Rescheduled,
    ];

    /// Returns the name that jobs and audit rows carry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DepositRequest => "deposit_request",
            Self::Reminder => "reminder",
            Self::Confirmation => "confirmation",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
            Self::Rescheduled => "rescheduled",
        }
    }

    /// Says whether the message asks for money, so that amount and deadline must be in it.
    pub fn asks_for_deposit(self) -> bool {
        match self {
            Self::DepositRequest | Self::Reminder => true,
            Self::Confirmation | Self::Released | Self::Cancelled | Self::Rescheduled => false,
        }
    }
}

/// Why a person must look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Money for a booking that gave its slot back.
    LatePayment,
    /// A second payment for one booking.
    SecondPayment,
    /// Another amount or currency than the deposit.
    AmountMismatch,
    /// Money for a booking that we don't know.
    UnknownReference,
    /// Nobody marked whether the customer came.
    AttendanceUnmarked,
    /// Cancelled, and the policy gives the deposit back.
    RefundDue,
    /// A message may or may not have been sent.
    UnansweredSend,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LatePayment => "late_payment",
            Self::SecondPayment => "second_payment",
            Self::AmountMismatch => "amount_mismatch",
            Self::UnknownReference => "unknown_reference",
            Self::AttendanceUnmarked => "attendance_unmarked",
            Self::RefundDue => "refund_due",
            Self::UnansweredSend => "unanswered_send",
        }
    }
}

/// Why a command does not apply. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It has happened already: a duplicate, and a success.
    Already,
    /// The booking has moved on, so this has no bearing any more.
    Overtaken(State),
    /// Not before then.
    TooEarly(DateTime<Utc>),
    /// The time for it has passed.
    TooLate,
    /// Money for a slot that was given back.
    LatePayment,
    /// Money for what is paid already.
    SecondPayment,
    /// Not the amount or currency that was asked for.
    AmountMismatch,
}

impl Rejection {
    /// The case that a person must look at, if there is money in it.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::LatePayment => Some(Reason::LatePayment),
            Self::SecondPayment => Some(Reason::SecondPayment),
            Self::AmountMismatch => Some(Reason::AmountMismatch),
            Self::Already | Self::Overtaken(_) | Self::TooEarly(_) | Self::TooLate => None,
        }
    }
}

/// Decides what `command` does to `booking` at `now`.
///
/// # Errors
/// Why it does nothing; see [`Rejection`].
pub fn decide(
    booking: &Booking,
    command: Command,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    match command {
        Command::ReceivePayment(payment) => receive_payment(booking, payment),
        Command::AwaitFunds { payment_ref } => await_funds(booking, payment_ref, now),
        Command::FailFunds { payment_ref } => fail_funds(booking, payment_ref, now),
        Command::Remind => remind(booking, now),
        Command::Release => release(booking, now),
        Command::MarkAttendance {
            attended,
            marked_by,
        } => mark(booking, attended, marked_by, now),
        Command::Settle => settle(booking, now),
        Command::Cancel { by, reason } => cancel(booking, by, reason, now),
        Command::Reschedule { to } => reschedule(booking, to, now),
        Command::IntendSession => intend_session(booking, now),
        Command::RecordSession { attempt, opened } => record_session(booking, attempt, opened),
        Command::SpendSession { attempt } => spend_session(booking, attempt),
    }
}

fn receive_payment(booking: &Booking, payment: Payment) -> Result<Transition, Rejection> {
    if booking.payment_ref.as_ref() == Some(&payment.payment_ref) {
        return Err(Rejection::Already);
    }
    match booking.state {
        Pending if payment.amount != Some(booking.deposit) => Err(Rejection::AmountMismatch),
        // A payment after the deadline still counts while the slot is this booking's.
        Pending => {
            let mut to = booking.moving_to(Confirmed, "deposit paid");
            to.why = format!("payment {}", payment.payment_ref);
            to.after.payment_ref = Some(payment.payment_ref);
            to.after.paid_at = Some(payment.paid_at);
            to.after.funds = None;
            Ok(to.telling(MessageKind::Confirmation))
        }
        Confirmed | Applied | Forfeited => Err(Rejection::SecondPayment),
        Released | Cancelled if booking.payment_ref.is_some() => Err(Rejection::SecondPayment),
        Released | Cancelled => Err(Rejection::LatePayment),
    }
}

fn await_funds(
    booking: &Booking,
    payment_ref: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let known = booking
        .funds
        .as_ref()
        .is_some_and(|funds| funds.payment_ref == payment_ref);
    if known || booking.payment_ref.as_ref() == Some(&payment_ref) {
        return Err(Rejection::Already);
    }
    match booking.state {
        Pending => {
            let mut to = booking.staying("payment under way");
            to.why = format!("payment {payment_ref} takes days");
            let latest = booking.place.starts_at - minutes(booking.policy.start_buffer);
            let until = (now + minutes(booking.policy.funds_within)).min(latest);
            to.after.deposit_deadline = until.max(booking.deposit_deadline);
            to.after.remind_at = None;
            to.after.funds = Some(Funds {
                payment_ref,
                awaited: true,
            });
            Ok(to)
        }
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

fn fail_funds(
    booking: &Booking,
    payment_ref: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let failed = Funds {
        payment_ref,
        awaited: false,
    };
    let awaited = booking.funds.as_ref().filter(|funds| funds.awaited);
    let is_another = awaited.is_some_and(|funds| funds.payment_ref != failed.payment_ref);
    match booking.state {
        Pending if booking.funds.as_ref() == Some(&failed) => Err(Rejection::Already),
        Pending if is_another => Err(Rejection::Overtaken(Pending)),
        // The sweep releases it: this role can't free a slot.
        Pending => {
            let mut to = booking.staying("payment failed");
            to.why = format!("payment {}", failed.payment_ref);
            if awaited.is_some() {
                to.after.deposit_deadline = now;
            }
            to.after.funds = Some(failed);
            Ok(to)
        }
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

fn remind(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    match (booking.state, booking.remind_at) {
        (Pending, _) if booking.reminded_at.is_some() => Err(Rejection::Already),
        (Pending, _) if now >= booking.deposit_deadline => Err(Rejection::TooLate),
        (Pending, Some(remind_at)) if now < remind_at => Err(Rejection::TooEarly(remind_at)),
        (Pending, None) => Err(Rejection::TooEarly(booking.deposit_deadline)),
        (Pending, Some(_)) => {
            let mut to = booking.staying("reminded");
            to.why = format!("due {}", stamp(booking.deposit_deadline));
            to.after.reminded_at = Some(now);
            Ok(to.telling(MessageKind::Reminder))
        }
        (state @ (Confirmed | Released | Cancelled | Applied | Forfeited), _) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

fn release(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    match booking.state {
        Pending if now < booking.release_at() => Err(Rejection::TooEarly(booking.release_at())),
        Pending => {
            let mut to = booking.moving_to(Released, "released");
            to.why = format!("unpaid at {}", stamp(booking.deposit_deadline));
            to.free = booking.place.slot_keys.clone();
            Ok(to.telling(MessageKind::Released))
        }
        Released => Err(Rejection::Already),
        state @ (Confirmed | Cancelled | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

fn mark(
    booking: &Booking,
    attended: bool,
    marked_by: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let same = booking
        .attendance
        .as_ref()
        .is_some_and(|mark| mark.attended == attended);
    match booking.state {
        Confirmed | Applied | Forfeited if same => Err(Rejection::Already),
        Confirmed if now < booking.place.starts_at => {
            Err(Rejection::TooEarly(booking.place.starts_at))
        }
        Confirmed => {
            let mut to = booking.staying("attendance marked");
            to.why = format!("attended: {attended}, marked by {marked_by}");
            to.after.attendance = Some(Attendance {
                attended,
                marked_by,
                marked_at: now,
            });
            Ok(to)
        }
        // Settled by another mark, or by none: correcting that moves money, which is another order.
        Applied | Forfeited => Err(Rejection::TooLate),
        state @ (Pending | Released | Cancelled) => Err(Rejection::Overtaken(state)),
    }
}

fn settle(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    let settle_at = booking.settle_at();
    let attended = booking.attendance.as_ref().map(|mark| mark.attended);
    match (booking.state, attended, booking.policy.unmarked) {
        (Confirmed, _, _) if now < settle_at => Err(Rejection::TooEarly(settle_at)),
        (Confirmed, Some(true), _) => Ok(booking
            .moving_to(Applied, "deposit applied")
            .because("the customer came")),
        (Confirmed, Some(false), _) => Ok(booking
            .moving_to(Forfeited, "deposit forfeited")
            .because("the customer did not come")),
        (Confirmed, None, Unmarked::AssumeAttended) => Ok(booking
            .moving_to(Applied, "deposit applied")
            .because("nobody marked it, and the policy assumes that the customer came")),
        (Confirmed, None, Unmarked::Ask) if booking.asked_at.is_some() => Err(Rejection::Already),
        (Confirmed, None, Unmarked::Ask) => {
            let mut to = booking
                .staying("attendance asked for")
                .because("nobody marked it");
            to.after.asked_at = Some(now);
            Ok(to.handing_over(Reason::AttendanceUnmarked))
        }
        (Applied | Forfeited, _, _) => Err(Rejection::Already),
        (state @ (Pending | Released | Cancelled), _, _) => Err(Rejection::Overtaken(state)),
    }
}

fn cancel(
    booking: &Booking,
    by: CancelledBy,
    reason: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let free_until = booking.place.starts_at - minutes(booking.policy.free_cancellation);
    let in_time = match by {
        CancelledBy::Business => true,
        CancelledBy::Customer => now <= free_until,
    };
    match booking.state {
        Pending | Confirmed if now >= booking.place.starts_at => Err(Rejection::TooLate),
        Pending | Confirmed => {
            let refund_due = booking.state == Confirmed && in_time;
            let mut to = booking.moving_to(Cancelled, "cancelled");
            to.why = format!("by the {}", by.as_str());
            to.free = booking.place.slot_keys.clone();
            to.after.cancelled = Some(Cancellation {
                by,
                at: now,
                refund_due,
            });
            to.after.cancelled_reason = Some(reason).filter(|reason| !reason.is_empty());
            let to = to.telling(MessageKind::Cancelled);
            Ok(if refund_due {
                to.handing_over(Reason::RefundDue)
            } else {
                to
            })
        }
        Cancelled => Err(Rejection::Already),
        state @ (Released | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

fn reschedule(
    booking: &Booking,
    place: Place,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let old = &booking.place;
    match booking.state {
        Pending | Confirmed if old.is_same_time(&place) => Err(Rejection::Already),
        Pending | Confirmed if now >= old.starts_at || now >= place.starts_at => {
            Err(Rejection::TooLate)
        }
        Pending | Confirmed => {
            let mut to = booking.staying("rescheduled");
            to.why = format!("from {} {}", old.resource, stamp(old.starts_at));
            to.hold = place
                .slot_keys
                .iter()
                .filter(|key| !old.slot_keys.contains(key))
                .cloned()
                .collect();
            to.free = old
                .slot_keys
                .iter()
                .filter(|key| !place.slot_keys.contains(key))
                .cloned()
                .collect();
            let latest = booking.policy.deposit_due_by(place.starts_at, place.zone);
            if booking.state == Pending && latest < booking.deposit_deadline {
                let due = booking
                    .policy
                    .deposit_deadline(now, place.starts_at, place.zone);
                to.after.deposit_deadline = due;
                to.after.remind_at = booking.policy.remind_at(now, due, place.zone);
            }
            to.after.attendance = None;
            to.after.asked_at = None;
            to.after.place = place;
            Ok(to.telling(MessageKind::Rescheduled))
        }
        state @ (Released | Cancelled | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

impl Booking {
    fn staying(&self, what: &'static str) -> Transition {
        self.moving_to(self.state, what)
    }

    fn moving_to(&self, state: State, what: &'static str) -> Transition {
        Transition {
            after: Self {
                state,
                version: self.version + 1,
                ..self.clone()
            },
            what,
            why: String::new(),
            hold: Vec::new(),
            free: Vec::new(),
            consequences: Vec::new(),
        }
    }
}

impl Transition {
    fn because(mut self, why: &str) -> Self {
        self.why = why.to_owned();
        self
    }

    fn telling(mut self, kind: MessageKind) -> Self {
        self.consequences.push(Consequence::Message(kind));
        self
    }

    fn handing_over(mut self, reason: Reason) -> Self {
        self.consequences.push(Consequence::Handover(reason));
        self
    }
}

#[cfg(test)]
mod tests;
