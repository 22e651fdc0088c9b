//! `expand[]`: ids that become the objects that they name.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::state::State;

use super::show;

/// The provider goes no deeper than this.
const DEPTH_MAX: usize = 4;

/// Expands each of `paths` in an answer.
///
/// # Errors
/// A path is too deep, or leads nowhere.
pub(crate) fn apply(state: &State, answer: &mut Value, paths: &[String]) -> Result<(), ApiError> {
    for path in paths {
        let names: Vec<&str> = path.split('.').collect();
        // An invoice's payments are a list, whose `data` and `payment` count as well.
        if names.len() > DEPTH_MAX {
            let message = format!("You cannot expand more than {DEPTH_MAX} levels of a property.");
            return Err(ApiError::invalid(message).param("expand"));
        }
        expand(state, answer, &names)?;
    }
    Ok(())
}

fn expand(state: &State, value: &mut Value, names: &[&str]) -> Result<(), ApiError> {
    let Some((name, rest)) = names.split_first() else {
        return Ok(());
    };
    if *name == "data" && value["object"] == "list" {
        let items = value["data"].as_array_mut();
        return items
            .into_iter()
            .flatten()
            .try_for_each(|item| expand(state, item, rest));
    }
    if *name == "payments" && value["object"] == "invoice" && value["payments"].is_null() {
        value["payments"] = payments(state, value);
    }
    let Some(field) = value.get_mut(*name) else {
        let message = format!("This property cannot be expanded ({name}).");
        return Err(ApiError::invalid(message).param("expand"));
    };
    if let Some(found) = field.as_str().and_then(|id| show::any(state, id)) {
        *field = found;
    }
    if field.is_null() {
        return Ok(());
    }
    expand(state, field, rest)
}

fn payments(state: &State, invoice: &Value) -> Value {
    let id = invoice["id"].as_str().unwrap_or_default();
    let invoice = state.billing.invoices.get(id);
    let data: Vec<Value> = invoice
        .and_then(|invoice| show::invoice_payment(invoice, &state.options))
        .into_iter()
        .collect();
    json!({ "object": "list", "data": data, "has_more": false,
        "url": format!("/v1/invoice_payments?invoice={id}") })
}
