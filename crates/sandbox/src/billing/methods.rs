//! PaymentMethods: saved cards, and what else can be charged.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::form::Form;
use crate::reading::Asked;
use crate::state::{Metadata, State};

use super::model::{MethodKind, PaymentMethod};
use super::{customers, show, tell, test_cards};

/// What can be saved beside cards. None of them is retried by the provider itself.
const OTHERS: [&str; 3] = ["amazon_pay", "cashapp", "sepa_debit"];
const CARD: [&str; 5] = [
    "card[number]",
    "card[token]",
    "card[exp_month]",
    "card[exp_year]",
    "card[cvc]",
];

/// `POST /v1/payment_methods`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let known = [
        "type",
        "metadata[*]",
        "billing_details[*]",
        "sepa_debit[iban]",
    ];
    form.only(&[known.as_slice(), CARD.as_slice()].concat())?;
    let metadata = form.metadata("metadata")?;
    let kind = match form.required("type")? {
        "card" => card(form)?,
        other if OTHERS.contains(&other) => MethodKind::Other(other.to_owned()),
        _ => {
            let message = format!("Invalid type: must be one of card, {}", OTHERS.join(", "));
            return Err(ApiError::invalid(message).param("type"));
        }
    };
    let id = save(state, kind, metadata, now);
    show::one(state, "payment_methods", &id)
}

fn card(form: &Form) -> Result<MethodKind, ApiError> {
    let token = form.text("card[token]");
    let number = match token {
        Some(token) => test_cards::number_of(token)
            .ok_or_else(|| ApiError::no_such("token", token, "card[token]"))?,
        None => form.required("card[number]")?,
    };
    let (number, mut card) = test_cards::saved(number)?;
    if let Some(month) = form.integer("card[exp_month]")? {
        card.exp_month = u32::try_from(month).unwrap_or_default();
    }
    if let Some(year) = form.integer("card[exp_year]")? {
        card.exp_year = i32::try_from(year).unwrap_or_default();
    }
    if !(1..=12).contains(&card.exp_month) {
        let error = ApiError::card(
            "invalid_expiry_month",
            "Your card's expiration month is invalid.",
        );
        return Err(error.param("card[exp_month]"));
    }
    Ok(MethodKind::Card { number, card })
}

fn save(state: &mut State, kind: MethodKind, metadata: Metadata, now: DateTime<Utc>) -> String {
    let method = PaymentMethod {
        id: state.ids.next("pm_1"),
        created: now,
        kind,
        customer: None,
        metadata,
        confirmed: false,
    };
    let id = method.id.clone();
    state.billing.methods.insert(id.clone(), method);
    id
}

/// Saves the card of a typed number, or the method of a name like `cashapp`, for a customer.
///
/// # Errors
/// It is neither a test card nor such a name, or there is no such customer.
pub(crate) fn save_for(
    state: &mut State,
    typed: &str,
    customer: &str,
    now: DateTime<Utc>,
) -> Result<String, ApiError> {
    customers::find(state, customer)?;
    let kind = if OTHERS.contains(&typed) {
        MethodKind::Other(typed.to_owned())
    } else {
        let number = test_cards::number_of(typed).unwrap_or(typed);
        let (number, card) = test_cards::saved(number)?;
        MethodKind::Card { number, card }
    };
    let id = save(state, kind, Metadata::new(), now);
    attach(state, &id, customer, now)
}

/// `POST /v1/payment_methods/{id}`
pub(crate) fn update(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["metadata[*]", "card[exp_month]", "card[exp_year]"])?;
    find(state, id)?;
    let metadata = form.metadata("metadata")?;
    let month = form.integer("card[exp_month]")?.map(u32::try_from);
    let year = form.integer("card[exp_year]")?.map(i32::try_from);
    tell::tell_change(state, "payment_method.updated", id, now, |state| {
        let Some(method) = state.billing.methods.get_mut(id) else {
            return;
        };
        customers::merge(&mut method.metadata, metadata);
        if let MethodKind::Card { card, .. } = &mut method.kind {
            card.exp_month = month.and_then(Result::ok).unwrap_or(card.exp_month);
            card.exp_year = year.and_then(Result::ok).unwrap_or(card.exp_year);
        }
    });
    show::one(state, "payment_methods", id)
}

/// `POST /v1/payment_methods/{id}/attach`
pub(crate) fn attach_by_api(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["customer"])?;
    let customer = form.required("customer")?;
    let id = attach(state, id, customer, now)?;
    show::one(state, "payment_methods", &id)
}

/// Gives a method to a customer, and returns its id. Of `pm_card_visa` and the like a new one is
/// made each time.
pub(crate) fn attach(
    state: &mut State,
    id: &str,
    customer: &str,
    now: DateTime<Utc>,
) -> Result<String, ApiError> {
    customers::find(state, customer)?;
    let id = match test_cards::number_of(id) {
        Some(number) => {
            let (number, card) = test_cards::saved(number)?;
            save(
                state,
                MethodKind::Card { number, card },
                Metadata::new(),
                now,
            )
        }
        None => id.to_owned(),
    };
    let owner = find(state, &id)?.customer.as_deref();
    if owner == Some(customer) {
        return Ok(id);
    }
    if owner.is_some() {
        let message = "The payment method you provided has already been attached to a customer.";
        return Err(ApiError::invalid(message).began());
    }
    if let Some(method) = state.billing.methods.get_mut(&id) {
        method.customer = Some(customer.to_owned());
    }
    tell::tell(state, "payment_method.attached", &id, now);
    Ok(id)
}

/// `POST /v1/payment_methods/{id}/detach`
pub(crate) fn detach(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[])?;
    let Some(customer) = find(state, id)?.customer.clone() else {
        let message = "The payment method you provided is not attached to a customer so \
                       detachment is impossible.";
        return Err(ApiError::invalid(message).began());
    };
    tell::tell_change(state, "customer.updated", &customer, now, |state| {
        let owner = state.billing.customers.get_mut(&customer);
        if let Some(owner) = owner.filter(|it| it.default_payment_method.as_deref() == Some(id)) {
            owner.default_payment_method = None;
        }
    });
    let subscriptions = state.billing.subscriptions.values_mut();
    for subscription in subscriptions.filter(|it| it.default_payment_method.as_deref() == Some(id))
    {
        subscription.default_payment_method = None;
    }
    tell::tell_change(state, "payment_method.detached", id, now, |state| {
        if let Some(method) = state.billing.methods.get_mut(id) {
            method.customer = None;
        }
    });
    show::one(state, "payment_methods", id)
}

/// `GET /v1/payment_methods`: those of a customer.
pub(crate) fn list(state: &State, query: &Form) -> Result<Value, ApiError> {
    let fields = ["customer", "type"];
    let asked = Asked::read("payment_method", &["payment_methods"], &fields, query)?;
    query.required("customer")?;
    asked.page(&state.billing.methods, |it| {
        show::method(it, &state.options)
    })
}

/// `GET /v1/customers/{id}/payment_methods`
pub(crate) fn list_of(state: &State, customer: &str, query: &Form) -> Result<Value, ApiError> {
    customers::find(state, customer)?;
    let path = ["customers", customer, "payment_methods"];
    let asked = Asked::read("payment_method", &path, &["type"], query)?;
    let own = state.billing.methods.iter();
    let own = own.filter(|(_, it)| it.customer.as_deref() == Some(customer));
    let own = own.map(|(id, it)| (id.clone(), it.clone())).collect();
    asked.page(&own, |it| show::method(it, &state.options))
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a PaymentMethod, ApiError> {
    let method = state.billing.methods.get(id);
    method.ok_or_else(|| {
        let mut error = ApiError::no_such("PaymentMethod", id, "payment_method");
        error.status = http::StatusCode::BAD_REQUEST;
        error
    })
}

/// Returns the method if it is attached to the customer.
pub(crate) fn of_customer(state: &State, id: &str, customer: &str) -> Result<String, ApiError> {
    let method = find(state, id)?;
    if method.customer.as_deref() == Some(customer) {
        return Ok(method.id.clone());
    }
    let message = format!(
        "The customer does not have a payment method with the ID {id}. The payment method must \
         be attached to the customer."
    );
    Err(ApiError::invalid(message)
        .param("payment_method")
        .code("resource_missing"))
}
