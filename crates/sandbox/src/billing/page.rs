//! The hosted pages of billing: an invoice that can be paid or confirmed, and the portal.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Method, Request, Response, StatusCode};
use minijinja::{Value, context};

use crate::amounts;
use crate::card_form::Typed;
use crate::error::ApiError;
use crate::form::Form;
use crate::pages::{grouped, render};
use crate::state::{IntentStatus, State};

use super::model::{Invoice, InvoiceStatus};
use super::portal::{self, Place};
use super::test_cards::SAVED_CARDS;
use super::{invoices, paying};

/// Answers a browser, if the id is of an invoice or of a portal session.
pub(crate) fn answer(
    state: &mut State,
    request: &Request<Bytes>,
    id: &str,
    now: DateTime<Utc>,
) -> Option<Response<Bytes>> {
    let is_invoice = state.billing.invoices.contains_key(id);
    if !is_invoice && !state.billing.portal_sessions.contains_key(id) {
        return None;
    }
    let form = Form::parse(request.body());
    let response = match (request.method(), is_invoice) {
        (&Method::POST, true) => submit_invoice(state, id, &form, now),
        (&Method::POST, false) => submit_card(state, id, &form, now),
        (&Method::GET | &Method::HEAD, true) => show_invoice(state, id, &Typed::default(), None),
        (&Method::GET | &Method::HEAD, false) => show_portal(state, id, &Typed::default(), None),
        _ => {
            let message = "This page can only be opened and sent.";
            ended(StatusCode::METHOD_NOT_ALLOWED, "Not allowed", message, None)
        }
    };
    Some(response)
}

fn submit_invoice(state: &mut State, id: &str, form: &Form, now: DateTime<Utc>) -> Response<Bytes> {
    let typed = Typed::read(form);
    let payable = |state: &State| {
        let invoice = invoices::find(state, id);
        invoice.is_ok_and(|invoice| invoices::check_payable(invoice).is_ok())
    };
    if !payable(state) {
        return show_invoice(state, id, &typed, None);
    }
    let asked = asked(state, id);
    let paid = match (form.text("confirm"), asked) {
        (Some(answer), Some(intent)) => paying::authenticate(state, &intent, answer == "yes", now),
        _ => typed
            .check(now)
            .and_then(|()| paying::by_customer(state, id, &typed.card, None, now)),
    };
    match paid {
        Ok(()) => show_invoice(state, id, &typed, None),
        Err(error) if error.code == Some("invoice_payment_intent_requires_action") => {
            show_invoice(state, id, &typed, None)
        }
        Err(error) => show_invoice(state, id, &typed, Some(&error)),
    }
}

/// Returns the invoice's PaymentIntent if the bank asks about it.
fn asked(state: &State, invoice: &str) -> Option<String> {
    let intent = state.billing.invoices.get(invoice)?.payment_intent.as_ref();
    let intent = state.intents.get(intent?)?;
    (intent.status == IntentStatus::RequiresAction).then(|| intent.id.clone())
}

fn show_invoice(
    state: &State,
    id: &str,
    typed: &Typed,
    problem: Option<&ApiError>,
) -> Response<Bytes> {
    let Ok(invoice) = invoices::find(state, id) else {
        return ended(StatusCode::NOT_FOUND, "Not found", "", None);
    };
    match invoice.status {
        InvoiceStatus::Open | InvoiceStatus::Uncollectible => {
            let view = asked(state, id).map_or("card", |_| "confirm");
            open_invoice(invoice, view, typed, problem)
        }
        InvoiceStatus::Paid => {
            let message = "This has been paid. There is nothing more to do.";
            ended(StatusCode::OK, "Paid", message, None)
        }
        InvoiceStatus::Void | InvoiceStatus::Draft => {
            let message = "There is nothing to pay.";
            ended(StatusCode::GONE, "Not payable", message, None)
        }
    }
}

fn open_invoice(
    invoice: &Invoice,
    view: &str,
    typed: &Typed,
    problem: Option<&ApiError>,
) -> Response<Bytes> {
    let amount = amounts::written(invoice.remaining(), &invoice.currency);
    render(
        "billing.html",
        status(problem),
        &context! {
            view,
            title => format!("Pay invoice {}", invoice.number),
            amount,
            description => format!("{}, invoice {}", invoice.description, invoice.number),
            note => "The card is charged at once.",
            message => problem.map(|problem| &problem.message),
            card => typed.card,
            expiry => typed.expiry,
            cvc => typed.cvc,
            button => format!("Pay {amount}"),
            test_cards => test_cards(),
        },
    )
}

fn submit_card(state: &mut State, id: &str, form: &Form, now: DateTime<Utc>) -> Response<Bytes> {
    let typed = Typed::read(form);
    let session = state.billing.portal_sessions.get(id);
    let customer = session.map(|session| session.customer.clone());
    let customer = customer.unwrap_or_default();
    let changed = typed
        .check(now)
        .and_then(|()| portal::change_card(state, &customer, &typed.card, Place::Customer, now));
    match changed {
        Ok(_) => {
            let session = state.billing.portal_sessions.get(id);
            let next = session.and_then(|session| session.return_url.as_deref());
            let message = "Your new card has been saved.";
            ended(StatusCode::OK, "Card saved", message, next)
        }
        Err(error) => show_portal(state, id, &typed, Some(&error)),
    }
}

fn show_portal(
    state: &State,
    id: &str,
    typed: &Typed,
    problem: Option<&ApiError>,
) -> Response<Bytes> {
    let Some(session) = state.billing.portal_sessions.get(id) else {
        return ended(StatusCode::NOT_FOUND, "Not found", "", None);
    };
    let all = state.billing.invoices.values();
    let own = all.filter(|it| it.customer == session.customer && it.status == InvoiceStatus::Open);
    let open = own.map(|it| {
        let url = format!("{}/invoice/{}", state.options.pages_url, it.id);
        let amount = amounts::written(it.remaining(), &it.currency);
        context! { number => it.number, url, amount }
    });
    let invoices: Vec<Value> = if session.only_card {
        Vec::new()
    } else {
        open.collect()
    };
    render(
        "billing.html",
        status(problem),
        &context! {
            view => "card",
            title => "Change your card",
            note => "Your subscriptions are charged to this card from now on.",
            message => problem.map(|problem| &problem.message),
            card => typed.card,
            expiry => typed.expiry,
            cvc => typed.cvc,
            button => "Save the card",
            next_url => session.return_url,
            invoices,
            test_cards => test_cards(),
        },
    )
}

fn status(problem: Option<&ApiError>) -> StatusCode {
    match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::PAYMENT_REQUIRED,
    }
}

fn test_cards() -> Vec<Value> {
    let cards = SAVED_CARDS.iter();
    cards
        .map(|card| context! { number => grouped(card.number), what => card.what })
        .collect()
}

fn ended(
    status: StatusCode,
    title: &str,
    message: &str,
    next_url: Option<&str>,
) -> Response<Bytes> {
    let view = "ended";
    render(
        "billing.html",
        status,
        &context! { view, title, message, next_url },
    )
}
