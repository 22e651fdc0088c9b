//! Billing: customers, their cards and subscriptions, and the invoices that are charged to them.
//!
//! What is read here are Stripe's objects of the version 2026-07-29.dahlia: an invoice names its
//! subscription under `parent`, and its payments are listed only if they are asked for.

pub(crate) mod control;
mod customers;
mod declines;
mod expand;
mod faults;
mod invoices;
mod methods;
mod model;
mod page;
mod paying;
mod portal;
mod prices;
mod settle;
mod show;
mod subscriptions;
mod tell;
mod test_cards;
#[cfg(test)]
mod tests;
mod verdict;
mod wishes;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::form::Form;
use crate::state::State;

pub(crate) use expand::apply as expand;
pub(crate) use faults::{Fault, Held, is_locked, take as take_fault};
pub(crate) use model::Billing;
pub(crate) use page::answer as page;
pub(crate) use show::ledger;

/// Answers `POST /v1/{path}`.
pub(crate) fn change(
    state: &mut State,
    path: &[&str],
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    match path {
        ["customers"] => customers::create(state, form, now),
        ["customers", id] => customers::update(state, id, form, now),
        ["payment_methods"] => methods::create(state, form, now),
        ["payment_methods", id] => methods::update(state, id, form, now),
        ["payment_methods", id, "attach"] => methods::attach_by_api(state, id, form, now),
        ["payment_methods", id, "detach"] => methods::detach(state, id, form, now),
        ["products"] => prices::create_product(state, form, now),
        ["prices"] => prices::create(state, form, now),
        ["subscriptions"] => subscriptions::create(state, form, now),
        ["subscriptions", id] => subscriptions::update(state, id, form, now),
        ["invoices", id] => invoices::update(state, id, form, now),
        ["invoices", id, "pay"] => invoices::pay(state, id, form, now),
        ["invoices", id, "void"] => invoices::void(state, id, form, now),
        ["invoices", id, "mark_uncollectible"] => invoices::give_up(state, id, form, now),
        ["billing_portal", "sessions"] => portal::create(state, form, now),
        _ => Err(ApiError::no_url("POST", &format!("/v1/{}", path.join("/")))),
    }
}

/// Answers `GET /v1/{path}`, as far as it is about billing.
pub(crate) fn read(state: &State, path: &[&str], query: &Form) -> Result<Value, ApiError> {
    match path {
        ["customers"] => customers::list(state, query),
        ["customers", id, "payment_methods"] => methods::list_of(state, id, query),
        ["payment_methods"] => methods::list(state, query),
        ["subscriptions"] => subscriptions::list(state, query),
        ["invoices"] => invoices::list(state, query),
        ["invoice_payments"] => invoices::list_payments(state, query),
        ["account"] => query.only(&[]).map(|()| show::account()),
        ["webhook_endpoints"] => show::endpoints(state, query),
        [collection, id] => query
            .only(&[])
            .and_then(|()| show::one(state, collection, id)),
        _ => Err(ApiError::no_url("GET", &format!("/v1/{}", path.join("/")))),
    }
}

/// Pays the invoice of `/v1/invoices/{id}/pay` on the hosted page, just before a request does.
pub(crate) fn paid_by_customer(state: &mut State, path: &str, now: DateTime<Utc>) {
    let id = path.split('/').nth(3).unwrap_or_default();
    // If it can't be paid, the request that follows says why.
    drop(paying::by_customer(state, id, "pm_card_visa", None, now));
}

/// Names the payment method in a request to pay that leaves it to the provider: it was settled when
/// the payment began, and another default comes too late for it.
pub(crate) fn settle_method(state: &State, request: &mut Held) {
    let id = request.path.split('/').nth(3).unwrap_or_default();
    let invoice = invoices::find(state, id).ok();
    let method = invoice.and_then(|invoice| paying::default_method(state, invoice));
    if let Some(method) = method {
        request.form.fill_in("payment_method", method);
    }
}

/// Answers `DELETE /v1/{path}`.
pub(crate) fn remove(
    state: &mut State,
    path: &[&str],
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    match path {
        ["subscriptions", id] => subscriptions::cancel_by_api(state, id, form, now),
        _ => Err(ApiError::no_url(
            "DELETE",
            &format!("/v1/{}", path.join("/")),
        )),
    }
}
