//! Disputes: the customer's bank takes the money back, or asks about it first.

use chrono::{DateTime, Days, TimeDelta, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::events::emit;
use crate::refunds;
use crate::render;
use crate::state::{Charge, ChargeStatus, Dispute, DisputeStatus, Movement, State};

/// Why a bank may dispute.
const REASONS: &[&str] = &[
    "bank_cannot_process",
    "check_returned",
    "credit_not_processed",
    "customer_initiated",
    "debit_not_authorized",
    "duplicate",
    "fraudulent",
    "general",
    "incorrect_account_details",
    "insufficient_funds",
    "noncompliant",
    "product_not_received",
    "product_unacceptable",
    "subscription_canceled",
    "unrecognized",
];

/// What the provider takes for a dispute, in the smallest unit of any currency.
const FEE: i64 = 2000;
/// Evidence is due at the end of the day that many days later.
const DAYS_TO_ANSWER: Days = Days::new(8);

/// What a bank says when it opens a dispute.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) reason: &'a str,
    /// All of the charge if it isn't said.
    pub(crate) amount: Option<i64>,
    /// Whether it only asks: no money moves.
    pub(crate) inquiry: bool,
}

/// Opens a dispute of the payment, named by its charge or its PaymentIntent.
///
/// # Errors
/// There is no such payment, it was not made, or the claim makes no sense.
pub(crate) fn open(
    state: &mut State,
    payment: &str,
    claim: &Claim<'_>,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let charge = state.charge_of(payment).cloned();
    let charge = charge.ok_or_else(|| ApiError::no_such("charge", payment, "id"))?;
    let amount = disputable(&charge, claim)?;
    let status = match claim.inquiry {
        true => DisputeStatus::WarningNeedsResponse,
        false => DisputeStatus::NeedsResponse,
    };
    let dispute = Dispute {
        id: state.ids.next("du_1"),
        created: now,
        charge: charge.id.clone(),
        payment_intent: charge.payment_intent,
        amount,
        currency: charge.currency,
        reason: claim.reason.to_owned(),
        status,
        due_by: due_by(now),
        movements: Vec::new(),
    };
    if let Some(charge) = state.charges.get_mut(&charge.id) {
        charge.disputed = true;
    }
    Ok(began(state, dispute, "charge.dispute.created", now))
}

/// Returns how much the bank may claim, and for that reason.
fn disputable(charge: &Charge, claim: &Claim<'_>) -> Result<i64, ApiError> {
    if charge.status != ChargeStatus::Succeeded {
        let message = format!("Charge {} did not succeed.", charge.id);
        return Err(ApiError::invalid(message));
    }
    if !REASONS.contains(&claim.reason) {
        let message = format!("Invalid reason: must be one of {}", REASONS.join(", "));
        return Err(ApiError::invalid(message).param("reason"));
    }
    let amount = claim.amount.unwrap_or(charge.amount_captured);
    if !(1..=charge.amount_captured).contains(&amount) {
        let message = "At least 1 and at most what was captured can be disputed.";
        return Err(ApiError::invalid(message).param("amount"));
    }
    Ok(amount)
}

/// The last second of the day.
fn due_by(now: DateTime<Utc>) -> DateTime<Utc> {
    let day = now.date_naive() + DAYS_TO_ANSWER + Days::new(1);
    day.and_time(chrono::NaiveTime::MIN).and_utc() - TimeDelta::seconds(1)
}

/// Tells a dispute that has just begun, or an inquiry that has just become one, and takes the money.
fn began(state: &mut State, mut dispute: Dispute, kind: &str, now: DateTime<Utc>) -> Value {
    let takes = !dispute.status.is_inquiry();
    if takes {
        let amount = -dispute.amount;
        dispute.movements.push(movement(state, amount, FEE, now));
    }
    let charge = dispute.charge.clone();
    let shown = save(state, dispute);
    emit(state, kind, &shown, now);
    if takes {
        emit(state, "charge.dispute.funds_withdrawn", &shown, now);
        refunds::overtake(state, &charge, now);
    }
    shown
}

/// Gives a dispute its next status, and tells it.
///
/// # Errors
/// There is no such dispute, or it can't become that.
pub(crate) fn change(
    state: &mut State,
    id: &str,
    status: DisputeStatus,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let dispute = state.disputes.get(id);
    let dispute = dispute.ok_or_else(|| ApiError::no_such("dispute", id, "dispute"))?;
    if dispute.status.is_closed() {
        return Err(ApiError::invalid("This dispute is already closed"));
    }
    if !dispute.status.followers().contains(&status) {
        let (before, after) = (dispute.status.name(), status.name());
        let message = format!("A dispute that is {before} can't become {after}.");
        return Err(ApiError::invalid(message).param("status"));
    }
    let mut dispute = dispute.clone();
    dispute.status = status;
    Ok(match status {
        DisputeStatus::NeedsResponse => began(state, dispute, "charge.dispute.updated", now),
        DisputeStatus::WarningNeedsResponse
        | DisputeStatus::WarningUnderReview
        | DisputeStatus::UnderReview => tell(state, dispute, "charge.dispute.updated", now),
        DisputeStatus::WarningClosed | DisputeStatus::Lost => {
            tell(state, dispute, "charge.dispute.closed", now)
        }
        DisputeStatus::Won => give_back(state, dispute, 0, now),
        // It never became a dispute that the card network counts: its fee comes back too.
        DisputeStatus::Prevented => give_back(state, dispute, FEE, now),
    })
}

/// Closes a dispute and puts back what it had taken, if it had.
fn give_back(state: &mut State, mut dispute: Dispute, fee: i64, now: DateTime<Utc>) -> Value {
    let amount = dispute.withdrawn();
    if amount > 0 {
        dispute.movements.push(movement(state, amount, -fee, now));
    }
    let shown = save(state, dispute);
    if amount > 0 {
        emit(state, "charge.dispute.funds_reinstated", &shown, now);
    }
    emit(state, "charge.dispute.closed", &shown, now);
    shown
}

fn tell(state: &mut State, dispute: Dispute, kind: &str, now: DateTime<Utc>) -> Value {
    let shown = save(state, dispute);
    emit(state, kind, &shown, now);
    shown
}

fn movement(state: &mut State, amount: i64, fee: i64, created: DateTime<Utc>) -> Movement {
    Movement {
        id: state.ids.next("txn_1"),
        created,
        amount,
        fee,
    }
}

fn save(state: &mut State, dispute: Dispute) -> Value {
    let shown = render::dispute(&dispute, &state.options);
    state.disputes.insert(dispute.id.clone(), dispute);
    shown
}

#[cfg(test)]
mod tests;
