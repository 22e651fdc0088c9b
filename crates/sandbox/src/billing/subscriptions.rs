//! Subscriptions: what is charged again and again.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::form::Form;
use crate::reading::Asked;
use crate::state::State;

use super::model::{CanceledBy, Item, Reason, Subscription, SubscriptionStatus};
use super::paying::Payer;
use super::{customers, invoices, methods, paying, prices, settle, show, tell};

const ITEMS_MAX: usize = 20;
const BEHAVIORS: [&str; 3] = [
    "allow_incomplete",
    "default_incomplete",
    "error_if_incomplete",
];

/// `POST /v1/subscriptions`: makes it and tries to pay its first invoice.
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[
        "customer",
        "default_payment_method",
        "metadata[*]",
        "payment_behavior",
        "off_session",
        "items[#][price]",
        "items[#][quantity]",
        "items[#][price_data][currency]",
        "items[#][price_data][product]",
        "items[#][price_data][product_data][name]",
        "items[#][price_data][unit_amount]",
        "items[#][price_data][recurring][interval]",
    ])?;
    let customer = customers::find(state, form.required("customer")?)?
        .id
        .clone();
    let behavior = form.choice("payment_behavior", &BEHAVIORS)?;
    let default = match form.text("default_payment_method") {
        Some(method) => Some(methods::of_customer(state, method, &customer)?),
        None => None,
    };
    let has_default = default.is_some()
        || customers::find(state, &customer)?
            .default_payment_method
            .is_some();
    if !has_default && behavior != Some("default_incomplete") {
        let message = "This customer has no attached payment source or default payment method. \
                       Please consider adding a default payment method.";
        return Err(ApiError::invalid(message).code("resource_missing"));
    }
    let metadata = form.metadata("metadata")?;
    let items = read_items(state, form, now)?;
    let id = add(state, customer, items, default, now);
    if let Some(subscription) = state.billing.subscriptions.get_mut(&id) {
        subscription.metadata = metadata;
    }
    start(state, &id, behavior, now)?;
    show::one(state, "subscriptions", &id)
}

fn read_items(state: &mut State, form: &Form, now: DateTime<Utc>) -> Result<Vec<Item>, ApiError> {
    let count = form.items("items");
    if !(1..=ITEMS_MAX).contains(&count) {
        return Err(ApiError::missing("items"));
    }
    let mut items = Vec::new();
    for index in 0..count {
        let name = |field: &str| format!("items[{index}][{field}]");
        let price = match form.text(&name("price")) {
            Some(id) if state.billing.prices.contains_key(id) => id.to_owned(),
            Some(id) => return Err(ApiError::no_such("price", id, &name("price"))),
            None => prices::read(state, form, &name("price_data"), now)?,
        };
        let quantity = form.integer(&name("quantity"))?.unwrap_or(1);
        items.push(Item {
            id: state.ids.next("si_"),
            price,
            quantity,
        });
    }
    Ok(items)
}

/// Makes a subscription that has no invoice yet, and returns its id.
pub(crate) fn add(
    state: &mut State,
    customer: String,
    items: Vec<Item>,
    default_payment_method: Option<String>,
    now: DateTime<Utc>,
) -> String {
    let id = state.ids.next("sub_1");
    let subscription = Subscription {
        id: id.clone(),
        created: now,
        customer,
        period_end: now,
        items,
        default_payment_method,
        metadata: crate::state::Metadata::new(),
        status: SubscriptionStatus::Incomplete,
        latest_invoice: None,
        period_start: now,
        canceled_at: None,
        canceled_by: None,
        failing: None,
    };
    state.billing.subscriptions.insert(id.clone(), subscription);
    id
}

/// Makes the first invoice and tries to pay it.
///
/// # Errors
/// The payment failed and `behavior` takes no subscription that is not paid.
pub(crate) fn start(
    state: &mut State,
    id: &str,
    behavior: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    tell::tell(state, "customer.subscription.created", id, now);
    let invoice = invoices::issue(state, id, Reason::Create, None, now)?;
    if behavior == Some("default_incomplete") {
        return Ok(());
    }
    let tried = paying::with_default(state, &invoice, Payer::Provider, now);
    if let Err(error) = tried
        && behavior == Some("error_if_incomplete")
    {
        settle::void(state, &invoice, now);
        state.billing.subscriptions.remove(id);
        return Err(error);
    }
    Ok(())
}

/// `POST /v1/subscriptions/{id}`
pub(crate) fn update(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["default_payment_method", "metadata[*]"])?;
    let subscription = find(state, id)?;
    if subscription.status == SubscriptionStatus::Canceled {
        let message = "A canceled subscription can only update its cancellation_details and \
                       metadata.";
        return Err(ApiError::invalid(message).began());
    }
    let metadata = form.metadata("metadata")?;
    let customer = subscription.customer.clone();
    let default = match form.text("default_payment_method") {
        Some(method) => Some(methods::of_customer(state, method, &customer)?),
        None => None,
    };
    tell::tell_change(state, "customer.subscription.updated", id, now, |state| {
        let Some(subscription) = state.billing.subscriptions.get_mut(id) else {
            return;
        };
        customers::merge(&mut subscription.metadata, metadata);
        if form.given("default_payment_method").is_some() {
            subscription.default_payment_method = default;
        }
    });
    show::one(state, "subscriptions", id)
}

/// `DELETE /v1/subscriptions/{id}`
pub(crate) fn cancel_by_api(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["invoice_now", "prorate", "cancellation_details[comment]"])?;
    cancel(state, id, CanceledBy::Api, now)?;
    show::one(state, "subscriptions", id)
}

/// Ends a subscription at once. Its open invoices stay as they are.
///
/// # Errors
/// There is none, or none any more.
pub(crate) fn cancel(
    state: &mut State,
    id: &str,
    by: CanceledBy,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let live = state.billing.subscriptions.get_mut(id);
    let live = live.filter(|it| it.status != SubscriptionStatus::Canceled);
    let subscription = live.ok_or_else(|| ApiError::no_such("subscription", id, "id"))?;
    subscription.status = SubscriptionStatus::Canceled;
    subscription.canceled_at = Some(now);
    subscription.canceled_by = Some(by);
    tell::tell(state, "customer.subscription.deleted", id, now);
    Ok(())
}

/// `GET /v1/subscriptions`: those that are not canceled, unless `status` asks for others.
pub(crate) fn list(state: &State, query: &Form) -> Result<Value, ApiError> {
    let mut query = query.clone();
    let status = query.take("status");
    let asked = Asked::read("subscription", &["subscriptions"], &["customer"], &query)?;
    let wanted = |subscription: &Subscription| match status.as_deref() {
        None => subscription.status != SubscriptionStatus::Canceled,
        Some("all") => true,
        Some("ended") => subscription.status == SubscriptionStatus::Canceled,
        Some(name) => subscription.status.name() == name,
    };
    let all = state.billing.subscriptions.iter();
    let some = all.filter(|(_, it)| wanted(it));
    let some = some.map(|(id, it)| (id.clone(), it.clone())).collect();
    asked.page(&some, |it: &Subscription| {
        show::any(state, &it.id).unwrap_or_default()
    })
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Subscription, ApiError> {
    let subscription = state.billing.subscriptions.get(id);
    subscription.ok_or_else(|| ApiError::no_such("subscription", id, "id"))
}
