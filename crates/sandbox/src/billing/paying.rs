//! One attempt to pay an invoice: which method is charged, and what its bank answers.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::amounts;
use crate::error::ApiError;
use crate::payments::{collect, new_charge, save, tell_charge, tell_intent};
use crate::state::{
    Charge, ChargeStatus, Intent, IntentStatus, LastError, Method, RefundCourse, State,
};

use super::model::{Invoice, MethodKind, PaymentMethod};
use super::settle::{self, Settled};
use super::verdict::{Verdict, verdict};
use super::{declines, invoices, methods, tell};

/// Who tries to pay.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payer {
    /// A request with the API key. Nobody is there to confirm.
    Api,
    /// The customer on a hosted page, with the answer to the bank's question if it was asked.
    Customer { confirmed: Option<bool> },
    /// The provider itself: the first try of an invoice, and its own retries.
    Provider,
}

/// Tries with the method that stands first: the invoice's, the subscription's, the customer's.
///
/// # Errors
/// As [`attempt`], and none of them has one.
pub(crate) fn with_default(
    state: &mut State,
    invoice: &str,
    payer: Payer,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let method = default_method(state, invoices::find(state, invoice)?);
    let method = method.ok_or_else(|| {
        ApiError::invalid(
            "There is no `default_payment_method` set on this Customer or Invoice. Please set \
             either a `default_payment_method` or a `default_source`.",
        )
        .began()
    })?;
    attempt(state, invoice, &method, payer, now)
}

pub(super) fn default_method(state: &State, invoice: &Invoice) -> Option<String> {
    let billing = &state.billing;
    let subscription = invoice.subscription.as_ref();
    let subscription = subscription.and_then(|id| billing.subscriptions.get(id));
    let customer = billing.customers.get(&invoice.customer);
    [
        invoice.default_payment_method.as_ref(),
        subscription.and_then(|it| it.default_payment_method.as_ref()),
        customer.and_then(|it| it.default_payment_method.as_ref()),
    ]
    .into_iter()
    .flatten()
    .next()
    .cloned()
}

/// Tries once to pay what is left of an invoice with a method.
///
/// # Errors
/// It can't be paid any more, the amount is too small to be charged, the bank declines, or its
/// customer has to confirm first.
pub(crate) fn attempt(
    state: &mut State,
    id: &str,
    method: &str,
    payer: Payer,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let invoice = invoices::find(state, id)?.clone();
    let method = methods::find(state, method)?.clone();
    invoices::check_payable(&invoice)?;
    if invoice.remaining() <= 0 {
        settle::close(state, id, Settled::Credit, now);
        return Ok(());
    }
    check_amount(&invoice)?;
    let intent = open_intent(state, &invoice, &method, now);
    let verdict = verdict(state, &invoice, &method, payer);
    if matches!(payer, Payer::Customer { .. }) && matches!(verdict, Verdict::Pays) {
        confirm(state, &method);
    }
    match verdict {
        Verdict::Pays => {
            capture(state, &invoice, &method, intent, payer, now);
            Ok(())
        }
        Verdict::Declines(refusal) => Err(decline(
            state, &invoice, &method, intent, refusal, payer, now,
        )),
        Verdict::Asks => Err(ask(state, &invoice, intent, payer, now)),
    }
}

fn check_amount(invoice: &Invoice) -> Result<(), ApiError> {
    let minimum = amounts::find(&invoice.currency).map_or(0, |currency| currency.minimum);
    if invoice.remaining() >= minimum {
        return Ok(());
    }
    let least = amounts::written(minimum, &invoice.currency);
    let message = format!("Amount must be at least {least}");
    Err(ApiError::invalid(message).code("amount_too_small").began())
}

/// Returns the invoice's PaymentIntent, for what is left now and the method that is tried.
fn open_intent(
    state: &mut State,
    invoice: &Invoice,
    method: &PaymentMethod,
    now: DateTime<Utc>,
) -> Intent {
    let known = invoice.payment_intent.as_ref();
    let known = known.and_then(|id| state.intents.get(id)).cloned();
    let mut intent = known.unwrap_or_else(|| Intent {
        id: state.ids.next("pi_3"),
        created: now,
        amount: 0,
        currency: invoice.currency.clone(),
        metadata: invoice.metadata.clone(),
        status: IntentStatus::RequiresPaymentMethod,
        latest_charge: None,
        last_error: None,
        customer: Some(invoice.customer.clone()),
        payment_method: None,
        invoice: Some(invoice.id.clone()),
    });
    intent.amount = invoice.remaining();
    intent.payment_method = Some(method.id.clone());
    state.intents.insert(intent.id.clone(), intent.clone());
    if let Some(invoice) = state.billing.invoices.get_mut(&invoice.id) {
        invoice.payment_intent = Some(intent.id.clone());
    }
    intent
}

fn confirm(state: &mut State, method: &PaymentMethod) {
    if let Some(method) = state.billing.methods.get_mut(&method.id) {
        method.confirmed = true;
    }
}

fn charge(
    state: &mut State,
    intent: &Intent,
    method: &PaymentMethod,
    now: DateTime<Utc>,
) -> Charge {
    let paid_with = match &method.kind {
        MethodKind::Card { card, .. } => Method::Card(card.clone()),
        MethodKind::Other(kind) => Method::Other(kind.clone()),
    };
    new_charge(state, intent, paid_with, now)
}

fn capture(
    state: &mut State,
    invoice: &Invoice,
    method: &PaymentMethod,
    mut intent: Intent,
    payer: Payer,
    now: DateTime<Utc>,
) {
    let mut charge = charge(state, &intent, method, now);
    collect(state, &mut charge);
    charge.refund_course = RefundCourse::AtOnce;
    intent.status = IntentStatus::Succeeded;
    intent.last_error = None;
    let amount = intent.amount;
    let intent = save(state, intent, &charge);
    tell_charge(state, "charge.succeeded", &charge.id, now);
    tell_intent(state, "payment_intent.succeeded", &intent, now);
    count(state, &invoice.id, payer);
    settle::close(state, &invoice.id, Settled::Charge(amount), now);
}

fn decline(
    state: &mut State,
    invoice: &Invoice,
    method: &PaymentMethod,
    mut intent: Intent,
    mut refusal: LastError,
    payer: Payer,
    now: DateTime<Utc>,
) -> ApiError {
    let mut charge = charge(state, &intent, method, now);
    let method = super::show::method(method, &state.options);
    refusal.payment_method = Some(method.clone());
    charge.status = ChargeStatus::Failed;
    charge.failure = Some(refusal.clone());
    intent.status = IntentStatus::RequiresPaymentMethod;
    intent.last_error = Some(refusal.clone());
    let intent = save(state, intent, &charge);
    tell_charge(state, "charge.failed", &charge.id, now);
    let shown = tell_intent(state, "payment_intent.payment_failed", &intent, now);
    fail(state, &invoice.id, payer, now);
    let mut error = ApiError::card(declines::code(&refusal), refusal.message.clone());
    error.payment_intent = shown.map(Box::new);
    let details = [
        ("decline_code", json!(refusal.decline_code)),
        ("advice_code", json!(refusal.advice_code)),
        ("network_decline_code", json!(refusal.network_decline_code)),
        ("network_advice_code", json!(refusal.network_advice_code)),
        ("charge", json!(charge.id)),
        ("payment_method", method),
    ];
    let said = details.into_iter().filter(|(_, value)| !value.is_null());
    let said = said.map(|(name, value)| (name.to_owned(), value));
    error.details = Some(Box::new(said.collect()));
    error
}

fn ask(
    state: &mut State,
    invoice: &Invoice,
    mut intent: Intent,
    payer: Payer,
    now: DateTime<Utc>,
) -> ApiError {
    let id = intent.id.clone();
    intent.status = IntentStatus::RequiresAction;
    state.intents.insert(id.clone(), intent);
    tell_intent(state, "payment_intent.requires_action", &id, now);
    tell::tell(state, "invoice.payment_action_required", &invoice.id, now);
    fail(state, &invoice.id, payer, now);
    ApiError::card(
        "invoice_payment_intent_requires_action",
        "This payment requires additional user action before it can be completed successfully. \
         Payment can be completed using the PaymentIntent associated with the invoice.",
    )
}

fn fail(state: &mut State, invoice: &str, payer: Payer, now: DateTime<Utc>) {
    let kind = "invoice.updated";
    tell::tell_change(state, kind, invoice, now, |state| {
        count(state, invoice, payer)
    });
    tell::tell(state, "invoice.payment_failed", invoice, now);
    settle::refresh(state, invoice, now);
}

/// Counts as the provider does: any first attempt, and after it only its own retries.
fn count(state: &mut State, invoice: &str, payer: Payer) {
    let Some(invoice) = state.billing.invoices.get_mut(invoice) else {
        return;
    };
    invoice.attempted = true;
    let counts = match payer {
        Payer::Provider => true,
        Payer::Api | Payer::Customer { .. } => invoice.attempt_count == 0,
    };
    invoice.attempt_count += u32::from(counts);
}

/// Pays an invoice as its customer does, on the hosted page with a card that is typed there.
///
/// # Errors
/// As [`attempt`], and the card is no test card.
pub(crate) fn by_customer(
    state: &mut State,
    invoice: &str,
    typed: &str,
    confirmed: Option<bool>,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let found = invoices::find(state, invoice)?.clone();
    invoices::check_payable(&found)?;
    let method = methods::save_for(state, typed, &found.customer, now)?;
    attempt(state, invoice, &method, Payer::Customer { confirmed }, now)
}

/// Answers the bank's question about an invoice, for the method that it was asked about.
///
/// # Errors
/// As [`attempt`], and there is no question.
pub(crate) fn authenticate(
    state: &mut State,
    intent: &str,
    approved: bool,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let found = state.intents.get(intent);
    let found = found.ok_or_else(|| ApiError::no_such("payment_intent", intent, "intent"))?;
    let asked = found.status == IntentStatus::RequiresAction;
    let (Some(invoice), Some(method), true) =
        (found.invoice.clone(), found.payment_method.clone(), asked)
    else {
        let message = "This PaymentIntent asks for no confirmation of an invoice.";
        return Err(ApiError::invalid(message));
    };
    let payer = Payer::Customer {
        confirmed: Some(approved),
    };
    attempt(state, &invoice, &method, payer, now)
}
