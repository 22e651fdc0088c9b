//! What may happen to a booking.
//!
//! ```text
//!             deposit paid, or waived   attended, or not asked to know
//!   PENDING ───────────────▶ CONFIRMED ───────────────────────────────▶ APPLIED
//!     │  │                    ▲  │  │   did not come
//!     │  └──────────┐ paid in │  │  └─────────────────────────────────▶ FORFEITED
//!     │ deadline    │ time,   │  │ cancel
//!     ▼             │ heard   │  ▼
//!   RELEASED ───────┼─ late ──┘ CANCELLED
//!                   └──────────────▲
//! ```
//!
//! [`decide`] is pure: it is given the booking as it stands, a command and the time, and returns
//! the booking as it will stand with what follows from that, or why not. Money always leads
//! somewhere: it confirms, it goes back, or a person decides. `booking_table.txt` beside this file
//! has every state and command, and a test keeps it true.
//!
//! Where the rules are: the unpaid hold in `holding`, what money does in `money`, how it goes back in
//! `refunding`, what is here of it in `kept`, the page at the provider in `pay_page`, the visit and its
//! deposit in `visit`, calling off and moving in `moving`.

mod holding;
mod kept;
mod kinds;
mod money;
mod moving;
mod pay_page;
mod refunding;
mod row;
mod visit;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::money::Money;

pub use kinds::{MessageKind, Reason, RefundReason};
pub use row::{
    Attendance, Booking, Cancellation, CancelledBy, Counted, DUE_SHARDS, Disputed, Funds, Mark,
    OpenedSession, Order, Paid, Place, Refunds, Reversal, Session, due_shard,
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
    /// The page that it was made on.
    pub session_id: String,
    /// `None` if the provider gave no amount that we can read, or one that it did not collect.
    pub amount: Option<Money>,
    pub paid_at: DateTime<Utc>,
    /// Where a booking that was released can be held again; `None` once all that is known taken.
    pub hold_again: Option<Place>,
}

/// What is known of a payment's money beyond that it came: as its own row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoneyFacts {
    pub payment_ref: String,
    pub refunds: Refunds,
    /// Whether some of them were ordered by others than us.
    pub by_others: bool,
    pub disputes: BTreeMap<String, Disputed>,
}

/// Who of the staff orders it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaffOrder {
    pub by: String,
    /// In their own words.
    pub reason: String,
}

/// An order to a booking.
#[derive(Clone, Debug)]
pub enum Command {
    /// The provider collected money for it.
    ReceivePayment(Payment),
    /// The customer is done at the provider, but the money takes days; or it is collected, and the
    /// event that says so is still to come.
    AwaitFunds {
        payment_ref: String,
        collected: bool,
    },
    /// The money that was to come will not.
    FailFunds {
        payment_ref: String,
    },
    /// Take in what became of a payment: refunds and disputes.
    SyncMoney(MoneyFacts),
    /// Give money back, because the staff say so. `None`: all of it that is still here.
    Refund {
        payment_ref: Option<String>,
        amount: Option<Money>,
        order: StaffOrder,
    },
    /// Confirm without the deposit, or with what has come of it.
    Waive(StaffOrder),
    Remind,
    Release,
    MarkAttendance {
        attended: bool,
        marked_by: String,
    },
    Settle,
    /// Take back a forfeit: the money goes back, or counts towards the bill after all.
    ReverseForfeit {
        refund: bool,
        order: StaffOrder,
    },
    Cancel {
        by: CancelledBy,
        reason: String,
    },
    /// Move to slots that the step will hold.
    Reschedule {
        to: Place,
        by: CancelledBy,
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
    /// Nobody can pay on this page any more.
    CloseSession {
        session_id: String,
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
    /// What a customer who lost the slot is offered instead; filled in by whoever sees the calendar.
    pub other_times: Vec<DateTime<Utc>>,
}

/// Something that someone must do or hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// A message to the customer, by its kind.
    Message(MessageKind),
    /// A case for a person, about a payment if it is about one.
    Handover(Reason, Option<Paid>),
    /// Money that goes back.
    Refund(RefundOrder),
    /// A page at the provider that must take no money any more.
    ExpireSession { session_id: String },
}

/// Money to be given back. The key depends on these facts alone, so an order is carried out once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundOrder {
    pub key: String,
    pub payment_ref: String,
    pub amount: Money,
    pub reason: RefundReason,
    /// How much of it stands for older orders that came to nothing; in minor units.
    #[serde(default)]
    pub makes_up: i64,
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
    /// Its money is disputed, or went back: nothing is done with it until a person has decided.
    Frozen,
    /// There is not that much of the booking's money here.
    NotThatMuch,
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
        Command::ReceivePayment(payment) => money::receive(booking, payment, now),
        Command::AwaitFunds {
            payment_ref,
            collected,
        } => money::await_funds(booking, payment_ref, collected, now),
        Command::FailFunds { payment_ref } => money::fail_funds(booking, payment_ref, now),
        Command::SyncMoney(facts) => refunding::sync(booking, facts),
        Command::Refund {
            payment_ref,
            amount,
            order,
        } => refunding::refund(booking, payment_ref.as_deref(), amount, order),
        Command::Waive(order) => money::waive(booking, order, now),
        Command::Remind => holding::remind(booking, now),
        Command::Release => holding::release(booking, now),
        Command::MarkAttendance {
            attended,
            marked_by,
        } => visit::mark(booking, attended, marked_by, now),
        Command::Settle => visit::settle(booking, now),
        Command::ReverseForfeit { refund, order } => {
            visit::reverse_forfeit(booking, refund, order, now)
        }
        Command::Cancel { by, reason } => moving::cancel(booking, by, reason, now),
        Command::Reschedule { to, by } => moving::reschedule(booking, to, by, now),
        Command::IntendSession => pay_page::intend(booking, now),
        Command::RecordSession { attempt, opened } => pay_page::record(booking, attempt, opened),
        Command::SpendSession { attempt } => pay_page::spend(booking, attempt),
        Command::CloseSession { session_id } => pay_page::close(booking, &session_id),
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
            other_times: Vec::new(),
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

    fn handing_over(self, reason: Reason, about: Option<&Paid>) -> Self {
        self.then(Consequence::Handover(reason, about.cloned()))
    }

    fn then(mut self, consequence: Consequence) -> Self {
        self.consequences.push(consequence);
        self
    }

    /// Applies a further command to the booking as it will stand, in the same step. A command that
    /// does nothing leaves the transition as it is.
    #[must_use]
    pub fn and(mut self, command: Command, now: DateTime<Utc>) -> Self {
        let Ok(further) = decide(&self.after, command, now) else {
            return self;
        };
        let version = self.after.version;
        self.after = Booking {
            version,
            ..further.after
        };
        self.why = format!("{}; {} ({})", self.why, further.what, further.why);
        self.hold.extend(further.hold);
        self.free.extend(further.free);
        self.consequences.extend(further.consequences);
        self
    }

    /// What goes back to the customer in this step, if anything does: of the deposit, or of foreign
    /// money where that is all.
    pub fn refunded(&self) -> Option<Money> {
        let amounts = || {
            self.consequences.iter().filter_map(|it| match it {
                Consequence::Refund(order) => Some(order.amount),
                Consequence::Message(_)
                | Consequence::Handover(..)
                | Consequence::ExpireSession { .. } => None,
            })
        };
        let deposit = self.after.deposit.currency();
        let of_deposit = amounts().find(|amount| amount.currency() == deposit);
        let currency = of_deposit.or_else(|| amounts().next())?.currency();
        amounts()
            .filter(|amount| amount.currency() == currency)
            .try_fold(Money::zero(currency), Money::checked_add)
            .ok()
    }
}

#[cfg(test)]
pub(crate) mod tests;
