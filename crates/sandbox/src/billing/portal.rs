//! The portal: where customers change the card that they are charged with.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::form::Form;
use crate::state::State;

use super::model::{PortalSession, SetupIntent, SubscriptionStatus};
use super::{customers, methods, show, tell};

const FLOW: &str = "flow_data[type]";
const AFTER: &str = "flow_data[after_completion][type]";
const BACK: &str = "flow_data[after_completion][redirect][return_url]";

/// What a new card becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// The customer's default, as the provider's portal does. A subscription with one of its own
    /// is charged with that all the same.
    Customer,
    /// The default of each of the customer's live subscriptions.
    Subscription,
}

/// `POST /v1/billing_portal/sessions`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[
        "customer",
        "return_url",
        "configuration",
        "locale",
        FLOW,
        AFTER,
        BACK,
    ])?;
    let customer = customers::find(state, form.required("customer")?)?
        .id
        .clone();
    let flow = form.choice(FLOW, &["payment_method_update"])?;
    form.choice(
        AFTER,
        &["hosted_confirmation", "portal_homepage", "redirect"],
    )?;
    let return_url = form.text(BACK).or_else(|| form.text("return_url"));
    if let Some(url) = return_url
        && !(url.starts_with("https://") || url.starts_with("http://"))
    {
        let message = "Not a valid URL";
        return Err(ApiError::invalid(message)
            .param("return_url")
            .code("url_invalid"));
    }
    let session = PortalSession {
        id: state.ids.next("bps_1"),
        created: now,
        customer,
        return_url: return_url.map(str::to_owned),
        only_card: flow.is_some(),
    };
    let shown = show::portal_session(&session, &state.options);
    let sessions = &mut state.billing.portal_sessions;
    sessions.insert(session.id.clone(), session);
    Ok(shown)
}

/// Saves a typed card for a customer who is there, and makes it what is charged.
///
/// # Errors
/// It is no test card, or there is no such customer.
pub(crate) fn change_card(
    state: &mut State,
    customer: &str,
    typed: &str,
    place: Place,
    now: DateTime<Utc>,
) -> Result<String, ApiError> {
    let method = methods::save_for(state, typed, customer, now)?;
    if let Some(saved) = state.billing.methods.get_mut(&method) {
        saved.confirmed = true;
    }
    let setup = SetupIntent {
        id: state.ids.next("seti_1"),
        created: now,
        customer: customer.to_owned(),
        payment_method: method.clone(),
    };
    let id = setup.id.clone();
    state.billing.setup_intents.insert(id.clone(), setup);
    tell::tell(state, "setup_intent.succeeded", &id, now);
    match place {
        Place::Customer => tell::tell_change(state, "customer.updated", customer, now, |state| {
            customers::set_default(state, customer, Some(method.clone()));
        }),
        Place::Subscription => charge_subscriptions(state, customer, &method, now),
    }
    Ok(method)
}

fn charge_subscriptions(state: &mut State, customer: &str, method: &str, now: DateTime<Utc>) {
    let all = state.billing.subscriptions.values();
    let live = all.filter(|it| it.status != SubscriptionStatus::Canceled);
    let own: Vec<String> = live
        .filter(|it| it.customer == customer)
        .map(|it| it.id.clone())
        .collect();
    for id in own {
        tell::tell_change(state, "customer.subscription.updated", &id, now, |state| {
            if let Some(subscription) = state.billing.subscriptions.get_mut(&id) {
                subscription.default_payment_method = Some(method.to_owned());
            }
        });
    }
}
