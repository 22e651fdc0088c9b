//! The customer has another payment method.

use super::{Dunning, LogEvent, Rejection, Status, Transition};

pub(super) fn reported(
    row: &Dunning,
    mut to: Transition,
    payment_method: String,
    renewed: bool,
) -> Result<Transition, Rejection> {
    if row.status == Status::Cancelled || row.current().is_none() {
        return Err(Rejection::Nothing);
    }
    let given = Some(&payment_method);
    if row.card_pending.as_ref() == given || row.new_card.as_ref() == given {
        return Err(Rejection::Already);
    }
    let is_charged = row
        .attempt
        .as_ref()
        .is_some_and(|it| it.payment_method.as_ref() == given);
    let has_failed = row.open_debts().iter().any(|(_, debt)| {
        let block = debt.block.as_ref();
        block.is_some_and(|block| block.payment_method.as_ref() == given)
    });
    if !renewed && (is_charged || has_failed) {
        return Err(Rejection::Already);
    }
    to = to.told(LogEvent::CardUpdated, "reported by the provider");
    if row.attempt.is_some() {
        // It waits for the charge that is in flight, and then gets a number and a key of its own.
        to.after.card_pending = Some(payment_method);
        return Ok(to.with_result("waits for the charge in flight"));
    }
    take(&mut to, payment_method);
    Ok(to)
}

/// Goes on with a new payment method: what stood in the way was about the old one.
pub(super) fn take(to: &mut Transition, payment_method: String) {
    to.after.new_card = Some(payment_method);
    if to.after.closed.take().is_some() {
        // The customer takes it up again, so the horizon is counted anew.
        to.after.entered_dunning_at = Some(to.after.moved_at);
    }
    for debt in to.after.invoices.values_mut().filter(|debt| debt.is_open()) {
        debt.block = None;
        debt.not_before = None;
    }
    to.drop_plan();
    to.order_plan();
}
