//! Customers: who is charged, and with what unless a subscription says otherwise.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::form::Form;
use crate::reading::Asked;
use crate::state::State;

use super::model::Customer;
use super::{methods, show, tell};

const DEFAULT: &str = "invoice_settings[default_payment_method]";

/// `POST /v1/customers`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let known = ["email", "name", "phone", "metadata[*]", "payment_method"];
    form.only(&[known.as_slice(), &[DEFAULT, "description"]].concat())?;
    let text = |name| form.text(name).map(str::to_owned);
    let customer = Customer {
        id: state.ids.next("cus_"),
        created: now,
        email: text("email"),
        name: text("name"),
        phone: text("phone"),
        metadata: form.metadata("metadata")?,
        default_payment_method: None,
        invoice_count: 0,
    };
    let id = customer.id.clone();
    state.billing.customers.insert(id.clone(), customer);
    let wanted = form.text("payment_method").or_else(|| form.text(DEFAULT));
    let attached = wanted.map(|method| methods::attach(state, method, &id, now));
    match attached.transpose() {
        Ok(method) => set_default(state, &id, method.filter(|_| form.text(DEFAULT).is_some())),
        Err(error) => {
            state.billing.customers.remove(&id);
            return Err(error);
        }
    }
    tell::tell(state, "customer.created", &id, now);
    show::one(state, "customers", &id)
}

/// `POST /v1/customers/{id}`
pub(crate) fn update(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["email", "name", "phone", "metadata[*]", DEFAULT])?;
    find(state, id)?;
    let metadata = form.metadata("metadata")?;
    let default = match form.text(DEFAULT) {
        Some(method) => Some(methods::of_customer(state, method, id)?),
        None => None,
    };
    let given = |name| form.given(name).map(|_| form.text(name).map(str::to_owned));
    tell::tell_change(state, "customer.updated", id, now, |state| {
        let Some(customer) = state.billing.customers.get_mut(id) else {
            return;
        };
        let fields = [
            ("email", &mut customer.email),
            ("name", &mut customer.name),
            ("phone", &mut customer.phone),
        ];
        for (name, field) in fields {
            if let Some(value) = given(name) {
                *field = value;
            }
        }
        merge(&mut customer.metadata, metadata);
        if form.given(DEFAULT).is_some() {
            customer.default_payment_method = default;
        }
    });
    show::one(state, "customers", id)
}

/// `GET /v1/customers`
pub(crate) fn list(state: &State, query: &Form) -> Result<Value, ApiError> {
    let asked = Asked::read("customer", &["customers"], &["email"], query)?;
    asked.page(&state.billing.customers, |it| {
        show::any(state, &it.id).unwrap_or_default()
    })
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Customer, ApiError> {
    let customer = state.billing.customers.get(id);
    customer.ok_or_else(|| ApiError::no_such("customer", id, "customer"))
}

/// Sets what a customer is charged with, if anything is given.
pub(crate) fn set_default(state: &mut State, id: &str, method: Option<String>) {
    if let (Some(customer), Some(method)) = (state.billing.customers.get_mut(id), method) {
        customer.default_payment_method = Some(method);
    }
}

/// Adds what is new, and removes what is given as empty.
pub(crate) fn merge(metadata: &mut crate::state::Metadata, given: crate::state::Metadata) {
    metadata.extend(given);
    metadata.retain(|_, value| !value.is_empty());
}
