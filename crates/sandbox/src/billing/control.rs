//! What a test, the simulator or a person makes happen to subscriptions and invoices.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::Request;
use serde_json::{Value, json};

use crate::amounts;
use crate::control::body;
use crate::error::ApiError;
use crate::execution;
use crate::form::Form;
use crate::state::State;

use super::faults::Fault;
use super::model::{Customer, Failing, Item, MethodKind, Reason, SubscriptionStatus};
use super::paying::Payer;
use super::portal::{self, Place};
use super::settle::{self, Settled};
use super::wishes::{
    Amount, Approval, End, FailRenewal, NewCard, NextPay, Nothing, PayByCard, Subscribe,
};
use super::{
    customers, declines, invoices, methods, paying, prices, show, subscriptions, tell, test_cards,
};

/// Answers `POST /_sandbox/{path}`, as far as it is about billing.
pub(crate) fn answer(
    state: &mut State,
    request: &Request<Bytes>,
    path: &[&str],
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    match path {
        ["subscriptions"] => subscribe(state, body(request)?, now),
        ["subscriptions", id, deed] => subscription(state, request, id, deed, now),
        ["invoices", id, deed] => invoice(state, request, id, deed, now),
        ["customers", id, "card"] => {
            let new: NewCard = body(request)?;
            let method = portal::change_card(state, id, &new.card, new.r#where, now)?;
            show::one(state, "payment_methods", &method)
        }
        ["payment_methods", id, "replace"] => {
            let new: PayByCard = body(request)?;
            replace(state, id, &new.card, now)
        }
        ["payment_intents", id, "authenticate"] => {
            let answer: Approval = or_default(request)?;
            paying::authenticate(state, id, answer.approved, now)?;
            crate::reading::one(state, "payment_intents", id)
        }
        ["next-pay"] => next_pay(state, body(request)?),
        ["next-pay", "release"] => execution::release(state, now),
        _ => Err(ApiError::no_url("POST", request.uri().path())),
    }
}

/// Reads a body that may be left out.
fn or_default<T: serde::de::DeserializeOwned>(request: &Request<Bytes>) -> Result<T, ApiError> {
    if request.body().is_empty() {
        let nothing = serde_json::from_str("{}");
        return nothing.map_err(|error| ApiError::invalid(error.to_string()));
    }
    body(request)
}

fn subscribe(state: &mut State, wish: Subscribe, now: DateTime<Utc>) -> Result<Value, ApiError> {
    if amounts::find(&wish.currency).is_none() || wish.amount < 0 {
        return Err(ApiError::invalid("Invalid amount or currency").param("amount"));
    }
    test_cards::saved(test_cards::number_of(&wish.card).unwrap_or(&wish.card))?;
    let customer = match wish.customer {
        Some(id) => customers::find(state, &id)?.id.clone(),
        None => new_customer(state, wish.name, wish.email, now),
    };
    let method = methods::save_for(state, &wish.card, &customer, now)?;
    let own = (wish.r#where == Place::Subscription).then(|| method.clone());
    if own.is_none() {
        customers::set_default(state, &customer, Some(method.clone()));
    }
    let product = prices::add_product(state, wish.product, now);
    let price = prices::add(
        state,
        product,
        wish.currency,
        wish.amount,
        wish.interval,
        now,
    );
    let item = Item {
        id: state.ids.next("si_"),
        price,
        quantity: 1,
    };
    let id = subscriptions::add(state, customer.clone(), vec![item], own, now);
    if let Some(subscription) = state.billing.subscriptions.get_mut(&id) {
        subscription.metadata = wish.metadata;
    }
    subscriptions::start(state, &id, None, now)?;
    let found = subscriptions::find(state, &id)?;
    Ok(json!({
        "customer": customer,
        "payment_method": method,
        "subscription": id,
        "invoice": found.latest_invoice,
        "status": found.status.name(),
    }))
}

fn new_customer(state: &mut State, name: String, email: String, now: DateTime<Utc>) -> String {
    let id = state.ids.next("cus_");
    let customer = Customer {
        id: id.clone(),
        created: now,
        email: Some(email),
        name: Some(name),
        phone: None,
        metadata: crate::state::Metadata::new(),
        default_payment_method: None,
        invoice_count: 0,
    };
    state.billing.customers.insert(id.clone(), customer);
    tell::tell(state, "customer.created", &id, now);
    id
}

fn subscription(
    state: &mut State,
    request: &Request<Bytes>,
    id: &str,
    deed: &str,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    if subscriptions::find(state, id)?.status == SubscriptionStatus::Canceled {
        return Err(ApiError::invalid("This subscription is canceled."));
    }
    match deed {
        "fail-renewal" => {
            fail_from_now_on(state, id, &or_default(request)?)?;
            renew(state, id, now)
        }
        "renew" => {
            let Nothing {} = or_default(request)?;
            renew(state, id, now)
        }
        "prorate" => {
            let more: Amount = body(request)?;
            let invoice = invoices::issue(state, id, Reason::Change, Some(more.amount), now)?;
            show::one(state, "invoices", &invoice)
        }
        "cancel" => {
            let end: End = or_default(request)?;
            subscriptions::cancel(state, id, end.by, now)?;
            show::one(state, "subscriptions", id)
        }
        "unpaid" => {
            let Nothing {} = or_default(request)?;
            let kind = "customer.subscription.updated";
            tell::tell_change(state, kind, id, now, |state| {
                if let Some(subscription) = state.billing.subscriptions.get_mut(id) {
                    subscription.status = SubscriptionStatus::Unpaid;
                }
            });
            show::one(state, "subscriptions", id)
        }
        _ => Err(ApiError::no_url("POST", request.uri().path())),
    }
}

/// Makes the card that is charged now decline.
fn fail_from_now_on(state: &mut State, id: &str, wish: &FailRenewal) -> Result<(), ApiError> {
    let mut refusal = declines::refusal(wish.decline.as_deref().unwrap_or("generic_decline"))?;
    let given = [
        (&wish.advice_code, &mut refusal.advice_code),
        (
            &wish.network_decline_code,
            &mut refusal.network_decline_code,
        ),
        (&wish.network_advice_code, &mut refusal.network_advice_code),
    ];
    for (given, field) in given {
        if given.is_some() {
            field.clone_from(given);
        }
    }
    let found = subscriptions::find(state, id)?;
    let customer = customers::find(state, &found.customer)?;
    let method = found.default_payment_method.as_ref();
    let method = method.or(customer.default_payment_method.as_ref());
    let method = method.ok_or_else(|| ApiError::invalid("This subscription has no card."))?;
    let failing = Failing {
        fingerprint: methods::find(state, method)?.fingerprint().to_owned(),
        refusal,
        times: wish.times.map(|more| more.saturating_add(1)),
    };
    if let Some(subscription) = state.billing.subscriptions.get_mut(id) {
        subscription.failing = Some(failing);
    }
    Ok(())
}

/// Begins the next period: makes its invoice and charges it once.
fn renew(state: &mut State, id: &str, now: DateTime<Utc>) -> Result<Value, ApiError> {
    let invoice = invoices::issue(state, id, Reason::Cycle, None, now)?;
    if invoices::check_payable(invoices::find(state, &invoice)?).is_ok() {
        // What the bank says shows in the invoice.
        drop(paying::with_default(state, &invoice, Payer::Provider, now));
    }
    show::one(state, "invoices", &invoice)
}

fn invoice(
    state: &mut State,
    request: &Request<Bytes>,
    id: &str,
    deed: &str,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    invoices::find(state, id)?;
    match deed {
        "pay" => {
            let pay: PayByCard = or_default(request)?;
            paying::by_customer(state, id, &pay.card, pay.authenticated, now)?;
        }
        "provider-retry" => {
            paying::with_default(state, id, Payer::Provider, now)?;
        }
        "void" => return invoices::void(state, id, &Form::default(), now),
        "uncollectible" => return invoices::give_up(state, id, &Form::default(), now),
        "paid-out-of-band" => {
            invoices::check_payable(invoices::find(state, id)?)?;
            settle::close(state, id, Settled::OutOfBand, now);
        }
        "credit" => {
            let less: Amount = body(request)?;
            credit(state, id, less.amount, now)?;
        }
        "prorate" => {
            let more: Amount = body(request)?;
            change_amount(state, id, more.amount, now)?;
        }
        _ => return Err(ApiError::no_url("POST", request.uri().path())),
    }
    show::one(state, "invoices", id)
}

/// Writes a credit note: less is owed.
fn credit(state: &mut State, id: &str, amount: i64, now: DateTime<Utc>) -> Result<(), ApiError> {
    let invoice = invoices::find(state, id)?;
    invoices::check_payable(invoice)?;
    if !(1..=invoice.remaining()).contains(&amount) {
        let message = "The credit note is for more than what is left of the invoice.";
        return Err(ApiError::invalid(message).param("amount"));
    }
    tell::tell_change(state, "invoice.updated", id, now, |state| {
        if let Some(invoice) = state.billing.invoices.get_mut(id) {
            invoice.credited += amount;
        }
    });
    settle::close_if_nothing_is_left(state, id, now);
    Ok(())
}

/// Gives an open invoice another total.
fn change_amount(
    state: &mut State,
    id: &str,
    amount: i64,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let invoice = invoices::find(state, id)?;
    invoices::check_payable(invoice)?;
    if amount < invoice.credited {
        return Err(ApiError::invalid("Invalid amount").param("amount"));
    }
    tell::tell_change(state, "invoice.updated", id, now, |state| {
        if let Some(invoice) = state.billing.invoices.get_mut(id) {
            invoice.total = amount;
        }
    });
    settle::close_if_nothing_is_left(state, id, now);
    Ok(())
}

/// Puts another card behind a method, as card networks do when a bank sends a new one.
fn replace(
    state: &mut State,
    id: &str,
    typed: &str,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    methods::find(state, id)?;
    let (number, card) = test_cards::saved(typed)?;
    let kind = "payment_method.automatically_updated";
    tell::tell_change(state, kind, id, now, |state| {
        if let Some(method) = state.billing.methods.get_mut(id) {
            method.kind = MethodKind::Card { number, card };
        }
    });
    show::one(state, "payment_methods", id)
}

fn next_pay(state: &mut State, wish: NextPay) -> Result<Value, ApiError> {
    let mut fault = wish.outcome.as_deref().map(Fault::named).transpose()?;
    if let Some(Fault::Decline(refusal)) = &mut fault {
        let given = [
            (wish.advice_code, &mut refusal.advice_code),
            (wish.network_decline_code, &mut refusal.network_decline_code),
            (wish.network_advice_code, &mut refusal.network_advice_code),
        ];
        for (given, field) in given {
            *field = given.or(field.take());
        }
    }
    state.billing.next_pay = fault;
    Ok(json!({ "next_pay": state.billing.next_pay }))
}
