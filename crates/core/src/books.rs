//! The books: what each payment did to the accounts, as double entries.
//!
//! ```text
//!   provider_clearing ◀── money comes ──▶ unallocated_payments ──▶ deposit_liability
//!                                           ▲    │ goes back          │ applied, forfeited,
//!                                           └────┼────────────────────┤ kept of a cancellation
//!                                                ▼                    ▼
//!                                        provider_clearing          revenue
//! ```
//!
//! [`entries`] is pure: a payment's row and its booking in, all that ever happened to that money
//! out. The deposit is owed to the customer until the visit; money that is nobody's deposit (late,
//! second, of another amount, on its way back) is owed too, and stands apart. A refund comes out of
//! where the money stood when it was ordered, and one that failed stands with what is on its way
//! back, for a person to pay by other means. What the provider keeps of each charge is not known to
//! us: its own report has it.

mod account;
mod facts;
mod purse;

use chrono::{DateTime, Utc};

pub use account::{Account, AccountKind};

use crate::booking::Booking;
use crate::money::{Currency, Money};
use crate::refund::PaymentRow;

/// One entry of the journal. Its lines balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub at: DateTime<Utc>,
    pub what: What,
    pub booking_id: String,
    pub payment_ref: String,
    /// The refund or dispute that it is about: the provider's id, or our key.
    pub about: Option<String>,
    pub currency: Currency,
    pub lines: Vec<Line>,
}

/// An amount on one side of one account, in minor units. One of the two is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub account: Account,
    pub debit: i64,
    pub credit: i64,
}

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    PaymentReceived,
    /// It confirmed the booking, or was here when the booking was confirmed.
    DepositTaken,
    DepositApplied,
    DepositForfeited,
    /// The booking was called off: what the business keeps, and what goes back.
    BookingCancelled,
    ForfeitReversed,
    ForfeitCredited,
    /// Money leaves the account that it stood in, to go back.
    RefundOrdered,
    RefundMade,
    RefundFailed,
    DisputeWithdrawn,
    DisputeFee,
    DisputeReinstated,
    DisputeFeeReturned,
    DisputeLost,
}

impl What {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PaymentReceived => "payment_received",
            Self::DepositTaken => "deposit_taken",
            Self::DepositApplied => "deposit_applied",
            Self::DepositForfeited => "deposit_forfeited",
            Self::BookingCancelled => "booking_cancelled",
            Self::ForfeitReversed => "forfeit_reversed",
            Self::ForfeitCredited => "forfeit_credited",
            Self::RefundOrdered => "refund_ordered",
            Self::RefundMade => "refund_made",
            Self::RefundFailed => "refund_failed",
            Self::DisputeWithdrawn => "dispute_withdrawn",
            Self::DisputeFee => "dispute_fee",
            Self::DisputeReinstated => "dispute_reinstated",
            Self::DisputeFeeReturned => "dispute_fee_returned",
            Self::DisputeLost => "dispute_lost",
        }
    }
}

impl Entry {
    pub fn is_balanced(&self) -> bool {
        let debit: i128 = self.lines.iter().map(|line| i128::from(line.debit)).sum();
        let credit: i128 = self.lines.iter().map(|line| i128::from(line.credit)).sum();
        debit == credit
    }
}

impl Line {
    /// What it adds to its account: debits are above zero.
    pub fn signed(&self) -> i64 {
        self.debit - self.credit
    }
}

/// Returns every entry of one payment, in order. Nothing, if it is not known what came, or whose it
/// is.
pub fn entries(payment: &PaymentRow, booking: Option<&Booking>) -> Vec<Entry> {
    let (Some(booking_id), Some(amount), Some(paid_at)) =
        (&payment.booking_id, payment.amount, payment.paid_at)
    else {
        return Vec::new();
    };
    let mut facts = facts::of_payment(payment, amount, paid_at);
    if let Some(booking) = booking {
        facts.extend(facts::of_booking(payment, booking));
    }
    for fact in &mut facts {
        // Nothing happens to money before it is there, whatever two clocks say.
        fact.at = fact.at.max(paid_at);
    }
    facts.sort_by(|one, two| (one.at, one.what, &one.about).cmp(&(two.at, two.what, &two.about)));
    let mut purse = purse::Purse::of(amount.currency());
    facts
        .into_iter()
        .filter_map(|fact| {
            let lines = purse.take_in(&fact);
            (!lines.is_empty()).then(|| Entry {
                at: fact.at,
                what: fact.what,
                booking_id: booking_id.clone(),
                payment_ref: payment.payment_ref.clone(),
                about: fact.about,
                currency: fact.amount.map_or(amount.currency(), Money::currency),
                lines,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
