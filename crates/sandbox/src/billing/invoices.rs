//! Invoices: one amount that a customer owes, and what may become of it.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::form::Form;
use crate::reading::Asked;
use crate::state::{Metadata, State};

use super::model::{Interval, Invoice, InvoiceStatus, Reason, Subscription};
use super::paying::Payer;
use super::settle::Settled;
use super::{customers, methods, paying, prices, settle, show, subscriptions, tell};

/// Makes an invoice of a subscription and finalizes it. It is for all items and begins a period,
/// unless it is for an amount of its own. Nothing is charged yet, but one for nothing is paid.
///
/// # Errors
/// There is no such subscription.
pub(crate) fn issue(
    state: &mut State,
    subscription: &str,
    reason: Reason,
    amount: Option<i64>,
    now: DateTime<Utc>,
) -> Result<String, ApiError> {
    let found = subscriptions::find(state, subscription)?.clone();
    let mut invoice = draft(state, &found, reason, now);
    let id = invoice.id.clone();
    match amount {
        Some(amount) => invoice.total = amount,
        None => begin_period(state, subscription, &mut invoice, now),
    }
    state.billing.invoices.insert(id.clone(), invoice);
    if let Some(found) = state.billing.subscriptions.get_mut(subscription) {
        found.latest_invoice = Some(id.clone());
    }
    tell::tell(state, "invoice.created", &id, now);
    if let Some(invoice) = state.billing.invoices.get_mut(&id) {
        invoice.status = InvoiceStatus::Open;
    }
    tell::tell(state, "invoice.finalized", &id, now);
    settle::close_if_nothing_is_left(state, &id, now);
    Ok(id)
}

fn draft(
    state: &mut State,
    subscription: &Subscription,
    reason: Reason,
    now: DateTime<Utc>,
) -> Invoice {
    let id = state.ids.next("in_1");
    let payment = state.ids.next("inpay_1");
    let customer = state.billing.customers.get_mut(&subscription.customer);
    let number = customer.map(|customer| {
        customer.invoice_count += 1;
        let prefix = show::prefix(&customer.id);
        format!("{prefix}-{:04}", customer.invoice_count)
    });
    let first = subscription.items.first();
    let price = first.and_then(|item| state.billing.prices.get(&item.price));
    let product = price.and_then(|price| state.billing.products.get(&price.product));
    let amounts = subscription.items.iter().map(|item| {
        let price = state.billing.prices.get(&item.price);
        price.map_or(0, |price| price.unit_amount) * item.quantity
    });
    Invoice {
        id,
        created: now,
        number: number.unwrap_or_default(),
        customer: subscription.customer.clone(),
        subscription: Some(subscription.id.clone()),
        subscription_metadata: subscription.metadata.clone(),
        reason,
        currency: price
            .map(|price| price.currency.clone())
            .unwrap_or_default(),
        description: product
            .map(|product| product.name.clone())
            .unwrap_or_default(),
        total: amounts.sum(),
        credited: 0,
        amount_paid: 0,
        amount_paid_off_stripe: 0,
        status: InvoiceStatus::Draft,
        attempted: false,
        attempt_count: 0,
        metadata: Metadata::new(),
        default_payment_method: None,
        payment,
        payment_intent: None,
        period_start: now,
        period_end: now,
        paid_at: None,
        voided_at: None,
        uncollectible_at: None,
    }
}

fn begin_period(state: &mut State, subscription: &str, invoice: &mut Invoice, now: DateTime<Utc>) {
    let billing = &mut state.billing;
    let Some(subscription) = billing.subscriptions.get_mut(subscription) else {
        return;
    };
    let item = subscription.items.first();
    let price = item.and_then(|item| billing.prices.get(&item.price));
    let interval = price.map_or(Interval::Month, |price| price.interval);
    subscription.period_start = now;
    subscription.period_end = prices::period_end(interval, now);
    invoice.period_start = subscription.period_start;
    invoice.period_end = subscription.period_end;
}

/// `POST /v1/invoices/{id}/pay`
pub(crate) fn pay(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[
        "payment_method",
        "source",
        "mandate",
        "off_session",
        "forgive",
        "paid_out_of_band",
    ])?;
    let yes_or_no = |name| form.choice(name, &["true", "false"]);
    // A bank that asks is answered on the hosted page, whether its customer is there or not.
    yes_or_no("off_session")?;
    let out_of_band = yes_or_no("paid_out_of_band")? == Some("true");
    let forgiven = yes_or_no("forgive")? == Some("true");
    check_payable(find(state, id)?)?;
    let payer = Payer::Api;
    if out_of_band {
        settle::close(state, id, Settled::OutOfBand, now);
    } else if forgiven {
        settle::close(state, id, Settled::Forgiven, now);
    } else if let Some(method) = form.text("payment_method") {
        let customer = find(state, id)?.customer.clone();
        let method = methods::of_customer(state, method, &customer)?;
        paying::attempt(state, id, &method, payer, now)?;
    } else {
        paying::with_default(state, id, payer, now)?;
    }
    show::one(state, "invoices", id)
}

/// Refuses what is not open, or given up.
pub(crate) fn check_payable(invoice: &Invoice) -> Result<(), ApiError> {
    let message = match invoice.status {
        InvoiceStatus::Open | InvoiceStatus::Uncollectible => return Ok(()),
        InvoiceStatus::Paid => "Invoice is already paid",
        InvoiceStatus::Void => "This invoice can no longer be paid: it is void.",
        InvoiceStatus::Draft => "This invoice can't be paid yet: it is a draft.",
    };
    Err(ApiError::invalid(message).began())
}

/// `POST /v1/invoices/{id}`
pub(crate) fn update(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["default_payment_method", "metadata[*]"])?;
    let customer = find(state, id)?.customer.clone();
    let metadata = form.metadata("metadata")?;
    let default = match form.text("default_payment_method") {
        Some(method) => Some(methods::of_customer(state, method, &customer)?),
        None => None,
    };
    tell::tell_change(state, "invoice.updated", id, now, |state| {
        let Some(invoice) = state.billing.invoices.get_mut(id) else {
            return;
        };
        customers::merge(&mut invoice.metadata, metadata);
        if form.given("default_payment_method").is_some() {
            invoice.default_payment_method = default;
        }
    });
    show::one(state, "invoices", id)
}

/// `POST /v1/invoices/{id}/void`
pub(crate) fn void(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[])?;
    let status = find(state, id)?.status;
    if !matches!(status, InvoiceStatus::Open | InvoiceStatus::Uncollectible) {
        let message = format!(
            "You can only pass in open or uncollectible invoices. This invoice isn't: it is {}.",
            status.name()
        );
        return Err(ApiError::invalid(message).began());
    }
    settle::void(state, id, now);
    show::one(state, "invoices", id)
}

/// `POST /v1/invoices/{id}/mark_uncollectible`
pub(crate) fn give_up(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[])?;
    let status = find(state, id)?.status;
    if status != InvoiceStatus::Open {
        let message = format!(
            "You can only mark open invoices as uncollectible. This invoice is {}.",
            status.name()
        );
        return Err(ApiError::invalid(message).began());
    }
    settle::give_up(state, id, now);
    show::one(state, "invoices", id)
}

/// `GET /v1/invoices`
pub(crate) fn list(state: &State, query: &Form) -> Result<Value, ApiError> {
    let fields = ["collection_method", "customer", "status", "subscription"];
    let asked = Asked::read("invoice", &["invoices"], &fields, query)?;
    asked.page(&state.billing.invoices, |it| {
        show::any(state, &it.id).unwrap_or_default()
    })
}

/// `GET /v1/invoice_payments`: that of one invoice, or of one PaymentIntent.
pub(crate) fn list_payments(state: &State, query: &Form) -> Result<Value, ApiError> {
    query.only(&[
        "invoice",
        "status",
        "limit",
        "payment[type]",
        "payment[payment_intent]",
    ])?;
    let intent = query.text("payment[payment_intent]");
    let of_intent = |it: &Invoice| intent.is_none_or(|id| it.payment_intent.as_deref() == Some(id));
    let of_invoice = |it: &Invoice| query.text("invoice").is_none_or(|id| it.id == id);
    let asked = state.billing.invoices.values().rev();
    let asked = asked.filter(|it| of_intent(it) && of_invoice(it));
    let data = asked.filter_map(|it| show::invoice_payment(it, &state.options));
    let status = query.text("status");
    let data: Vec<Value> = data
        .filter(|it| status.is_none_or(|status| it["status"] == status))
        .take(100)
        .collect();
    Ok(json!({ "object": "list", "data": data, "has_more": false, "url": "/v1/invoice_payments" }))
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Invoice, ApiError> {
    let invoice = state.billing.invoices.get(id);
    invoice.ok_or_else(|| ApiError::no_such("invoice", id, "invoice"))
}
