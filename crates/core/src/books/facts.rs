//! What is on the rows of a payment and its booking, as dated facts.

use chrono::{DateTime, Utc};

use super::What;
use crate::booking::{Booking, Paid, RefundReason, State};
use crate::dispute::{Dispute, DisputeStatus};
use crate::money::Money;
use crate::refund::{PaymentRow, Progress, Refund};

/// One thing that happened to a payment's money.
pub(super) struct Fact {
    pub(super) at: DateTime<Utc>,
    pub(super) what: What,
    pub(super) about: Option<String>,
    /// All that is there, if it says none.
    pub(super) amount: Option<Money>,
    pub(super) refund: RefundKind,
    /// Whether the staff ordered it.
    pub(super) by_staff: bool,
}

/// Which refund a fact is about, if about one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RefundKind {
    None,
    Ours,
    /// Ordered by us, and the provider said no.
    Refused,
    ByOthers,
}

fn fact(at: DateTime<Utc>, what: What, amount: Option<Money>) -> Fact {
    Fact {
        at,
        what,
        about: None,
        amount,
        refund: RefundKind::None,
        by_staff: false,
    }
}

/// What the provider did: it collected, gave back, and had taken by banks.
pub(super) fn of_payment(row: &PaymentRow, amount: Money, paid_at: DateTime<Utc>) -> Vec<Fact> {
    let mut facts = vec![fact(paid_at, What::PaymentReceived, Some(amount))];
    for (key, refund) in &row.refunds {
        facts.extend(of_refund(key, refund));
    }
    for (id, dispute) in &row.disputes {
        facts.extend(of_dispute(id, dispute));
    }
    facts
}

fn of_refund(key: &str, refund: &Refund) -> Vec<Fact> {
    let kind = match (refund.reason, refund.progress) {
        (None, _) => RefundKind::ByOthers,
        (Some(_), Progress::Refused) => RefundKind::Refused,
        (Some(_), Progress::Asked | Progress::Known(_)) => RefundKind::Ours,
    };
    let mut facts = Vec::new();
    let mut add = |at, what| {
        facts.push(Fact {
            at,
            what,
            about: Some(refund.refund_id.clone().unwrap_or_else(|| key.to_owned())),
            amount: Some(refund.amount),
            refund: kind,
            by_staff: refund.reason == Some(RefundReason::Staff),
        });
    };
    if kind != RefundKind::ByOthers {
        add(refund.asked_at, What::RefundOrdered);
    }
    let is_made = match refund.progress {
        Progress::Asked | Progress::Refused => false,
        Progress::Known(_) => true,
    };
    if is_made {
        // The provider's seconds may seem to be before ours.
        let made_at = refund.made_at.unwrap_or(refund.asked_at);
        let made_at = match kind {
            RefundKind::ByOthers | RefundKind::None => made_at,
            RefundKind::Ours | RefundKind::Refused => made_at.max(refund.asked_at),
        };
        add(made_at, What::RefundMade);
        if !refund.progress.is_live() {
            let failed_at = refund.failed_at.unwrap_or(made_at);
            add(failed_at.max(made_at), What::RefundFailed);
        }
    }
    facts
}

fn of_dispute(id: &str, dispute: &Dispute) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |at: DateTime<Utc>, what, amount: Option<Money>| {
        if amount.is_some_and(|amount| amount.minor() > 0) {
            facts.push(Fact {
                about: Some(id.to_owned()),
                ..fact(at, what, amount)
            });
        }
    };
    let taken_at = dispute.withdrawn_at.unwrap_or(dispute.opened_at);
    let closed_at = dispute.closed_at.unwrap_or(taken_at).max(taken_at);
    let back_at = dispute.reinstated_at.unwrap_or(closed_at).max(taken_at);
    add(taken_at, What::DisputeWithdrawn, dispute.withdrawn);
    add(taken_at, What::DisputeFee, dispute.fee);
    add(back_at, What::DisputeReinstated, dispute.reinstated);
    add(back_at, What::DisputeFeeReturned, dispute.fee_returned);
    if dispute.status == DisputeStatus::Lost {
        add(closed_at, What::DisputeLost, outstanding(dispute));
    }
    facts
}

/// What a bank took and did not give back.
fn outstanding(dispute: &Dispute) -> Option<Money> {
    let withdrawn = dispute.withdrawn?;
    match dispute.reinstated {
        Some(reinstated) => withdrawn.checked_sub(reinstated).ok(),
        None => Some(withdrawn),
    }
}

/// What became of the booking, as far as this payment was its deposit.
pub(super) fn of_booking(row: &PaymentRow, booking: &Booking) -> Vec<Fact> {
    let paid = booking
        .payments
        .iter()
        .find(|paid| paid.payment_ref == row.payment_ref);
    let Some((paid, counted)) = paid.and_then(|paid| Some((paid, counted(booking, paid)?))) else {
        return Vec::new();
    };
    let mut facts = vec![counted];
    match (booking.state, booking.settled_at) {
        (State::Applied, Some(at)) => facts.push(fact(at, What::DepositApplied, None)),
        (State::Forfeited, Some(at)) => facts.push(fact(at, What::DepositForfeited, None)),
        (
            State::Pending
            | State::Confirmed
            | State::Released
            | State::Cancelled
            | State::Applied
            | State::Forfeited,
            _,
        ) => {}
    }
    if let Some(cancelled) = &booking.cancelled {
        let retained = paid.retained.or_else(|| paid.kept());
        facts.push(fact(cancelled.at, What::BookingCancelled, retained));
    }
    if let Some(reversal) = &booking.reversal {
        let what = match reversal.refund {
            true => What::ForfeitReversed,
            false => What::ForfeitCredited,
        };
        facts.push(fact(reversal.mark.at, what, None));
    }
    facts
}

/// When how much of it became the deposit. Older rows only tell which payment confirmed.
fn counted(booking: &Booking, paid: &Paid) -> Option<Fact> {
    if let Some(counted) = &paid.counted {
        return Some(fact(counted.at, What::DepositTaken, Some(counted.amount)));
    }
    let confirmed = booking.payment_ref.as_ref() == Some(&paid.payment_ref);
    let amount = paid.amount.filter(|_| confirmed)?;
    let amount = match amount.checked_sub(booking.deposit) {
        Ok(_) => booking.deposit,
        Err(_) => amount,
    };
    Some(fact(paid.paid_at, What::DepositTaken, Some(amount)))
}
