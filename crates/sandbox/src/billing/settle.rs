//! How an invoice ends, and what that means to its subscription.

use chrono::{DateTime, Utc};

use crate::payments::tell_intent;
use crate::state::{IntentStatus, State};

use super::model::{Invoice, InvoiceStatus, Subscription, SubscriptionStatus};
use super::tell;

/// Why nothing is owed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// A charge brought this amount.
    Charge(i64),
    /// Paid elsewhere, as the merchant says.
    OutOfBand,
    /// The merchant lets it go.
    Forgiven,
    /// Credit notes have left nothing.
    Credit,
}

/// Marks an invoice as paid.
pub(crate) fn close(state: &mut State, id: &str, how: Settled, now: DateTime<Utc>) {
    tell::tell_change(state, "invoice.updated", id, now, |state| {
        let Some(invoice) = state.billing.invoices.get_mut(id) else {
            return;
        };
        let remaining = invoice.remaining();
        match how {
            Settled::Charge(amount) => invoice.amount_paid += amount,
            Settled::OutOfBand => {
                invoice.amount_paid += remaining;
                invoice.amount_paid_off_stripe += remaining;
            }
            Settled::Forgiven => invoice.credited += remaining,
            Settled::Credit => {}
        }
        invoice.status = InvoiceStatus::Paid;
        invoice.attempted = true;
        invoice.paid_at = Some(now);
    });
    match how {
        Settled::Charge(_) => {}
        Settled::OutOfBand | Settled::Forgiven | Settled::Credit => cancel_intent(state, id, now),
    }
    tell::tell(state, "invoice.paid", id, now);
    tell::tell(state, "invoice.payment_succeeded", id, now);
    refresh(state, id, now);
}

/// Marks an open invoice as paid if nothing is left of it.
pub(crate) fn close_if_nothing_is_left(state: &mut State, id: &str, now: DateTime<Utc>) {
    let is_done =
        |invoice: &&Invoice| invoice.status == InvoiceStatus::Open && invoice.remaining() <= 0;
    if state.billing.invoices.get(id).filter(is_done).is_some() {
        close(state, id, Settled::Credit, now);
    }
}

/// Makes an invoice void: it never was.
pub(crate) fn void(state: &mut State, id: &str, now: DateTime<Utc>) {
    if let Some(invoice) = state.billing.invoices.get_mut(id) {
        invoice.status = InvoiceStatus::Void;
        invoice.voided_at = Some(now);
    }
    cancel_intent(state, id, now);
    tell::tell(state, "invoice.voided", id, now);
    refresh(state, id, now);
}

/// Writes an invoice off. It can still be paid.
pub(crate) fn give_up(state: &mut State, id: &str, now: DateTime<Utc>) {
    if let Some(invoice) = state.billing.invoices.get_mut(id) {
        invoice.status = InvoiceStatus::Uncollectible;
        invoice.uncollectible_at = Some(now);
    }
    tell::tell(state, "invoice.marked_uncollectible", id, now);
    refresh(state, id, now);
}

fn cancel_intent(state: &mut State, invoice: &str, now: DateTime<Utc>) {
    let invoice = state.billing.invoices.get(invoice);
    let Some(intent) = invoice.and_then(|invoice| invoice.payment_intent.clone()) else {
        return;
    };
    if let Some(intent) = state.intents.get_mut(&intent) {
        intent.status = IntentStatus::Canceled;
    }
    tell_intent(state, "payment_intent.canceled", &intent, now);
}

/// Gives the subscription of an invoice the status that its latest invoice stands for.
pub(crate) fn refresh(state: &mut State, invoice: &str, now: DateTime<Utc>) {
    let invoice = state.billing.invoices.get(invoice);
    let Some(id) = invoice.and_then(|invoice| invoice.subscription.clone()) else {
        return;
    };
    let Some(status) = state
        .billing
        .subscriptions
        .get(&id)
        .and_then(|it| status(state, it))
    else {
        return;
    };
    let kind = "customer.subscription.updated";
    tell::tell_change(state, kind, &id, now, |state| {
        if let Some(subscription) = state.billing.subscriptions.get_mut(&id) {
            subscription.status = status;
        }
    });
}

/// Returns the status that follows from the latest invoice that was tried or ended, if one does:
/// an older one that is still open does not hold a subscription back, as in
/// <https://docs.stripe.com/api/subscriptions/object#subscription_object-status>.
fn status(state: &State, subscription: &Subscription) -> Option<SubscriptionStatus> {
    let invoices = state.billing.invoices.values().rev();
    let mut own = invoices.filter(|it| it.subscription.as_ref() == Some(&subscription.id));
    let latest = own.find(|it| match it.status {
        InvoiceStatus::Draft => false,
        InvoiceStatus::Open => it.attempted,
        InvoiceStatus::Paid | InvoiceStatus::Uncollectible | InvoiceStatus::Void => true,
    })?;
    match (subscription.status, latest.status) {
        (SubscriptionStatus::Canceled, _) => None,
        (_, InvoiceStatus::Paid) => Some(SubscriptionStatus::Active),
        // A first invoice that was never paid leaves nothing to go on with.
        (SubscriptionStatus::Incomplete, _) => None,
        (SubscriptionStatus::Unpaid, InvoiceStatus::Open) => None,
        (_, InvoiceStatus::Open) => Some(SubscriptionStatus::PastDue),
        (_, InvoiceStatus::Uncollectible | InvoiceStatus::Void) => Some(SubscriptionStatus::Active),
        (_, InvoiceStatus::Draft) => None,
    }
}
