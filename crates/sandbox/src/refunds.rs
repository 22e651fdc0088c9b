//! Refunds: never more than was captured, and not always the end of it.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::amounts;
use crate::error::ApiError;
use crate::events::emit;
use crate::form::Form;
use crate::payments::tell_charge;
use crate::render;
use crate::state::{
    Charge, ChargeStatus, Dispute, Metadata, Refund, RefundCourse, RefundStatus, State, Timer,
};

const KNOWN: &[&str] = &[
    "amount",
    "charge",
    "metadata[*]",
    "payment_intent",
    "reason",
];
const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// How long the refunds of some test cards take to succeed, or to fail.
const SETTLES_AFTER: TimeDelta = TimeDelta::days(1);
/// Why a refund fails if nothing else is said.
const CARD_GONE: &str = "expired_or_canceled_card";

/// `POST /v1/refunds`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(KNOWN)?;
    let reason = form.choice("reason", REASONS)?.map(str::to_owned);
    let metadata = form.metadata("metadata")?;
    let asked = form.integer("amount")?;
    let charge = charge(state, form)?.clone();
    let amount = refundable(state, &charge, asked)?;
    Ok(start(state, &charge, amount, reason, metadata, now))
}

/// Refunds a payment as a person in the provider's dashboard does: no metadata of ours.
pub(crate) fn by_hand(
    state: &mut State,
    payment: &str,
    asked: Option<i64>,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let charge = state.charge_of(payment).cloned();
    let charge = charge.ok_or_else(|| ApiError::no_such("charge", payment, "id"))?;
    let amount = refundable(state, &charge, asked)?;
    let reason = Some("requested_by_customer".to_owned());
    let refund = start(state, &charge, amount, reason, Metadata::new(), now);
    Ok(refund)
}

/// Makes a refund that nothing speaks against, and tells it.
fn start(
    state: &mut State,
    charge: &Charge,
    amount: i64,
    reason: Option<String>,
    metadata: Metadata,
    now: DateTime<Utc>,
) -> Value {
    let (status, settles_later) = first_status(state.next_refund.take(), charge.refund_course);
    let has_failed = status == RefundStatus::Failed;
    let id = state.ids.next("re_3");
    let has_moved = status == RefundStatus::Succeeded;
    let refund = Refund {
        id: id.clone(),
        created: now,
        payment_intent: charge.payment_intent.clone(),
        amount,
        currency: charge.currency.clone(),
        reason,
        metadata,
        status,
        balance_transaction: has_moved.then(|| state.ids.next("txn_3")),
        failure_reason: has_failed.then(|| CARD_GONE.to_owned()),
        failure_balance_transaction: None,
        charge: charge.id.clone(),
    };
    let shown = render::refund(&refund);
    state.refunds.insert(id.clone(), refund);
    if settles_later {
        state.start_timer(now + SETTLES_AFTER, Timer::SettleRefund(id));
    }
    if status.is_live() {
        count(state, &charge.id, amount);
        tell_charge(state, "charge.refunded", &charge.id, now);
    }
    emit(state, "refund.created", &shown, now);
    if has_failed {
        emit(state, "refund.failed", &shown, now);
    }
    shown
}

/// Returns how a new refund stands, and whether that changes by itself.
fn first_status(told: Option<RefundStatus>, course: RefundCourse) -> (RefundStatus, bool) {
    match (told, course) {
        (Some(told), _) => (told, false),
        (None, RefundCourse::AtOnce) => (RefundStatus::Succeeded, false),
        (None, RefundCourse::Later) => (RefundStatus::Pending, true),
        (None, RefundCourse::FailsLater) => (RefundStatus::Succeeded, true),
    }
}

/// Changes what a charge has given back: less again if a refund failed.
fn count(state: &mut State, charge: &str, amount: i64) {
    if let Some(charge) = state.charges.get_mut(charge) {
        charge.amount_refunded += amount;
    }
}

/// Says how the next refund is answered, whatever its card.
///
/// # Errors
/// It can't be answered as canceled.
pub(crate) fn set_next(state: &mut State, status: RefundStatus) -> Result<(), ApiError> {
    if status == RefundStatus::Canceled {
        let message = "A refund is canceled later, not when it is made.";
        return Err(ApiError::invalid(message).param("status"));
    }
    state.next_refund = Some(status);
    Ok(())
}

/// Gives a refund its next status, and tells it.
///
/// # Errors
/// There is no such refund, or it can't become that.
pub(crate) fn change(
    state: &mut State,
    id: &str,
    status: RefundStatus,
    failure_reason: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let refund = state.refunds.get(id);
    let refund = refund.ok_or_else(|| ApiError::no_such("refund", id, "id"))?;
    if !refund.status.followers().contains(&status) {
        let (before, after) = (refund.status.name(), status.name());
        let message = format!("A refund that is {before} can't become {after}.");
        return Err(ApiError::invalid(message).param("status"));
    }
    let mut refund = refund.clone();
    let due = refund.created + SETTLES_AFTER;
    state.stop_timer(due, Timer::SettleRefund(id.to_owned()));
    refund.status = status;
    if status == RefundStatus::Succeeded {
        refund.balance_transaction = Some(state.ids.next("txn_3"));
    }
    if !status.is_live() {
        let has_moved = refund.balance_transaction.is_some();
        refund.failure_balance_transaction = has_moved.then(|| state.ids.next("txn_3"));
        count(state, &refund.charge, -refund.amount);
    }
    if status == RefundStatus::Failed {
        refund.failure_reason = Some(failure_reason.unwrap_or(CARD_GONE).to_owned());
    }
    Ok(tell_change(state, refund, now))
}

fn tell_change(state: &mut State, refund: Refund, now: DateTime<Utc>) -> Value {
    let has_failed = refund.status == RefundStatus::Failed;
    let shown = render::refund(&refund);
    state.refunds.insert(refund.id.clone(), refund);
    emit(state, "refund.updated", &shown, now);
    if has_failed {
        emit(state, "refund.failed", &shown, now);
    }
    // The name that such events had before refunds had events of their own.
    emit(state, "charge.refund.updated", &shown, now);
    shown
}

/// Ends a refund whose time has come: what was pending succeeds, what had succeeded fails.
pub(crate) fn settle_due(state: &mut State, id: &str, now: DateTime<Utc>) {
    let status = match state.refunds.get(id).map(|refund| refund.status) {
        Some(RefundStatus::Pending | RefundStatus::RequiresAction) => RefundStatus::Succeeded,
        Some(RefundStatus::Succeeded) => RefundStatus::Failed,
        Some(RefundStatus::Failed | RefundStatus::Canceled) | None => return,
    };
    // Each of them can become that.
    drop(change(state, id, status, None, now));
}

/// Fails what is still pending of a charge, because the bank took the money itself.
pub(crate) fn overtake(state: &mut State, charge: &str, now: DateTime<Utc>) {
    let is_pending = |refund: &&Refund| match refund.status {
        RefundStatus::Pending | RefundStatus::RequiresAction => refund.charge == charge,
        RefundStatus::Succeeded | RefundStatus::Failed | RefundStatus::Canceled => false,
    };
    let pending = state.refunds.values().filter(is_pending);
    let pending: Vec<String> = pending.map(|refund| refund.id.clone()).collect();
    let reason = Some("charge_for_pending_refund_disputed");
    for id in pending {
        drop(change(state, &id, RefundStatus::Failed, reason, now));
    }
}

/// Returns the charge that is meant: named itself, or by its PaymentIntent.
fn charge<'a>(state: &'a State, form: &Form) -> Result<&'a Charge, ApiError> {
    if let Some(id) = form.text("charge") {
        let charge = state.charges.get(id);
        return charge.ok_or_else(|| ApiError::no_such("charge", id, "charge"));
    }
    let name = "payment_intent";
    let Some(id) = form.text(name) else {
        return Err(ApiError::invalid(
            "One of the following params should be provided for this request: payment_intent or \
             charge.",
        ));
    };
    let intent = state.intents.get(id);
    let intent = intent.ok_or_else(|| ApiError::no_such(name, id, "intent"))?;
    let charge = intent.latest_charge.as_ref();
    let charge = charge.and_then(|id| state.charges.get(id));
    charge
        .filter(|charge| charge.status == ChargeStatus::Succeeded)
        .ok_or_else(|| {
            let message =
                format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
            ApiError::invalid(message).param(name).began()
        })
}

/// Returns how much is to go back: what is asked for, or all that is left.
fn refundable(state: &State, charge: &Charge, asked: Option<i64>) -> Result<i64, ApiError> {
    let left = charge.amount_captured - charge.amount_refunded;
    if charge.status != ChargeStatus::Succeeded {
        let message = format!(
            "Charge {} did not succeed and cannot be refunded.",
            charge.id
        );
        let error = ApiError::invalid(message).code("charge_not_refundable");
        return Err(error.began());
    }
    let bars = |dispute: &Dispute| dispute.charge == charge.id && dispute.status.bars_refunds();
    if state.disputes.values().any(bars) {
        let message = format!(
            "Charge {} has been charged back; cannot issue a refund.",
            charge.id
        );
        return Err(ApiError::invalid(message).code("charge_disputed").began());
    }
    if left == 0 {
        let message = format!("Charge {} has already been refunded.", charge.id);
        let error = ApiError::invalid(message).code("charge_already_refunded");
        return Err(error.began());
    }
    match asked {
        None => Ok(left),
        Some(amount) if amount < 1 => Err(ApiError::invalid("Invalid positive integer")
            .param("amount")
            .code("parameter_invalid_integer")),
        Some(amount) if amount > left => {
            let written = |amount| amounts::written(amount, &charge.currency);
            let message = format!(
                "Refund amount ({}) is greater than unrefunded amount on charge ({})",
                written(amount),
                written(left)
            );
            Err(ApiError::invalid(message).param("amount").began())
        }
        Some(amount) => Ok(amount),
    }
}

#[cfg(test)]
mod tests;
