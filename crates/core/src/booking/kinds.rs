//! What messages, cases and refunds are about.

use serde::{Deserialize, Serialize};

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
    /// Money came that does not fit: a person looks into it.
    PaymentChecked,
    /// Money came too late and goes back.
    LateRefund,
    /// A second payment goes back.
    SecondRefund,
}

impl MessageKind {
    /// Every kind, in the order of a booking's life.
    pub const ALL: [Self; 9] = [
        Self::DepositRequest,
        Self::Reminder,
        Self::Confirmation,
        Self::Released,
        Self::Cancelled,
        Self::Rescheduled,
        Self::PaymentChecked,
        Self::LateRefund,
        Self::SecondRefund,
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
            Self::PaymentChecked => "payment_checked",
            Self::LateRefund => "late_refund",
            Self::SecondRefund => "second_refund",
        }
    }

    /// Says whether the message asks for money, so that amount and deadline must be in it.
    pub fn asks_for_deposit(self) -> bool {
        match self {
            Self::DepositRequest | Self::Reminder => true,
            Self::Confirmation
            | Self::Released
            | Self::Cancelled
            | Self::Rescheduled
            | Self::PaymentChecked
            | Self::LateRefund
            | Self::SecondRefund => false,
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
    /// The customer was done at the provider, and its event never came.
    FundsUnseen,
    /// Nobody marked whether the customer came.
    AttendanceUnmarked,
    /// The policy gives the deposit back, and it is disputed: a refund would pay twice.
    RefundDue,
    /// The provider did not do a refund, or it failed afterwards.
    RefundFailed,
    /// A refund has not been answered for a day.
    RefundUnanswered,
    /// Money went back by hand at the provider, and the booking still stands.
    RefundedElsewhere,
    /// The customer's bank disputes a payment.
    Disputed,
    /// A message may or may not have been sent.
    UnansweredSend,
    /// There is no way left to reach the customer.
    Unreachable,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LatePayment => "late_payment",
            Self::SecondPayment => "second_payment",
            Self::AmountMismatch => "amount_mismatch",
            Self::UnknownReference => "unknown_reference",
            Self::FundsUnseen => "funds_unseen",
            Self::AttendanceUnmarked => "attendance_unmarked",
            Self::RefundDue => "refund_due",
            Self::RefundFailed => "refund_failed",
            Self::RefundUnanswered => "refund_unanswered",
            Self::RefundedElsewhere => "refunded_elsewhere",
            Self::Disputed => "disputed",
            Self::UnansweredSend => "unanswered_send",
            Self::Unreachable => "unreachable",
        }
    }
}

/// Why money goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundReason {
    /// It came after the slot was given back.
    Late,
    /// The deposit was paid already.
    Second,
    /// More than the deposit.
    Over,
    /// Less than the deposit, and the rest did not come in time.
    Part,
    /// Called off, and the policy gives it back.
    Cancelled,
    /// A forfeit was taken back.
    Reversal,
    /// The staff say so.
    Staff,
}

impl RefundReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Second => "dup",
            Self::Over => "over",
            Self::Part => "part",
            Self::Cancelled => "cancel",
            Self::Reversal => "reversal",
            Self::Staff => "staff",
        }
    }
}
