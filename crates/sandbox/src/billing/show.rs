//! The objects of billing as the API and the events show them.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::form::Form;
use crate::state::State;
use crate::{Options, render};

use super::model::{
    CanceledBy, Customer, Interval, Invoice, InvoiceStatus, MethodKind, PaymentMethod,
    PortalSession, Price, Product, SetupIntent, Subscription, SubscriptionStatus,
};

const ACCOUNT: &str = "acct_1Sandbox";

/// Returns the object of an id, whatever it is of.
pub(crate) fn any(state: &State, id: &str) -> Option<Value> {
    let (options, billing) = (&state.options, &state.billing);
    match id.split('_').next()? {
        "cus" => billing.customers.get(id).map(|it| customer(state, it)),
        "pm" => billing.methods.get(id).map(|it| method(it, options)),
        "prod" => billing.products.get(id).map(|it| product(it, options)),
        "price" => billing.prices.get(id).map(|it| price(it, options)),
        "sub" => billing
            .subscriptions
            .get(id)
            .map(|it| subscription(state, it)),
        "in" => billing.invoices.get(id).map(|it| invoice(state, it)),
        "seti" => billing.setup_intents.get(id).map(|it| setup(it, options)),
        "pi" => state.intents.get(id).map(|it| render::intent(it, options)),
        "ch" => state.charges.get(id).map(|it| render::charge(it, options)),
        _ => None,
    }
}

/// Answers `GET /v1/{collection}/{id}`.
pub(crate) fn one(state: &State, collection: &str, id: &str) -> Result<Value, ApiError> {
    let (what, prefix) = match collection {
        "customers" => ("customer", "cus_"),
        "payment_methods" => ("PaymentMethod", "pm_"),
        "products" => ("product", "prod_"),
        "prices" => ("price", "price_"),
        "subscriptions" => ("subscription", "sub_"),
        "invoices" => ("invoice", "in_"),
        "setup_intents" => ("setupintent", "seti_"),
        _ => return Err(ApiError::no_url("GET", &format!("/v1/{collection}/{id}"))),
    };
    let found = Some(id).filter(|id| id.starts_with(prefix));
    found
        .and_then(|id| any(state, id))
        .ok_or_else(|| ApiError::no_such(what, id, "id"))
}

fn customer(state: &State, customer: &Customer) -> Value {
    let invoices = state.billing.invoices.values();
    let delinquent = invoices
        .filter(|invoice| invoice.customer == customer.id && invoice.attempted)
        .any(|invoice| {
            matches!(
                invoice.status,
                InvoiceStatus::Open | InvoiceStatus::Uncollectible
            )
        });
    json!({
        "id": customer.id,
        "object": "customer",
        "address": null,
        "balance": 0,
        "created": customer.created.timestamp(),
        "currency": null,
        "default_source": null,
        "delinquent": delinquent,
        "description": null,
        "email": customer.email,
        "invoice_prefix": prefix(&customer.id),
        "invoice_settings": {
            "custom_fields": null,
            "default_payment_method": customer.default_payment_method,
            "footer": null,
            "rendering_options": null,
        },
        "livemode": state.options.livemode,
        "metadata": customer.metadata,
        "name": customer.name,
        "next_invoice_sequence": customer.invoice_count + 1,
        "phone": customer.phone,
        "preferred_locales": [],
        "shipping": null,
        "tax_exempt": "none",
        "test_clock": null,
    })
}

/// What a customer's invoice numbers begin with.
pub(crate) fn prefix(customer: &str) -> String {
    let tail: Vec<char> = customer.chars().rev().take(8).collect();
    tail.iter().rev().collect::<String>().to_uppercase()
}

pub(crate) fn method(method: &PaymentMethod, options: &Options) -> Value {
    let mut shown = json!({
        "id": method.id,
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": { "address": null, "email": null, "name": null, "phone": null, "tax_id": null },
        "created": method.created.timestamp(),
        "customer": method.customer,
        "livemode": options.livemode,
        "metadata": method.metadata,
    });
    match &method.kind {
        MethodKind::Card { card, .. } => {
            shown["type"] = "card".into();
            shown["card"] = json!({
                "brand": card.brand,
                "checks": { "address_line1_check": null, "address_postal_code_check": null, "cvc_check": "pass" },
                "country": card.country,
                "display_brand": card.brand,
                "exp_month": card.exp_month,
                "exp_year": card.exp_year,
                "fingerprint": card.fingerprint,
                "funding": card.funding,
                "generated_from": null,
                "last4": card.last4,
                "networks": { "available": [card.brand], "preferred": null },
                "three_d_secure_usage": { "supported": true },
                "wallet": null,
            });
        }
        MethodKind::Other(kind) => {
            shown["type"] = kind.as_str().into();
            shown[kind] = json!({});
        }
    }
    shown
}

fn product(product: &Product, options: &Options) -> Value {
    json!({
        "id": product.id,
        "object": "product",
        "active": true,
        "created": product.created.timestamp(),
        "description": null,
        "livemode": options.livemode,
        "metadata": {},
        "name": product.name,
    })
}

fn price(price: &Price, options: &Options) -> Value {
    json!({
        "id": price.id,
        "object": "price",
        "active": true,
        "billing_scheme": "per_unit",
        "created": price.created.timestamp(),
        "currency": price.currency,
        "livemode": options.livemode,
        "lookup_key": null,
        "metadata": {},
        "nickname": null,
        "product": price.product,
        "recurring": {
            "interval": interval(price.interval),
            "interval_count": 1,
            "meter": null,
            "trial_period_days": null,
            "usage_type": "licensed",
        },
        "tax_behavior": "unspecified",
        "type": "recurring",
        "unit_amount": price.unit_amount,
        "unit_amount_decimal": price.unit_amount.to_string(),
    })
}

fn interval(interval: Interval) -> &'static str {
    match interval {
        Interval::Day => "day",
        Interval::Week => "week",
        Interval::Month => "month",
        Interval::Year => "year",
    }
}

fn subscription(state: &State, subscription: &Subscription) -> Value {
    let (start, end) = (
        subscription.period_start.timestamp(),
        subscription.period_end.timestamp(),
    );
    let items = subscription.items.iter().map(|item| {
        let price = state.billing.prices.get(&item.price);
        json!({
            "id": item.id,
            "object": "subscription_item",
            "created": subscription.created.timestamp(),
            "current_period_end": end,
            "current_period_start": start,
            "discounts": [],
            "metadata": {},
            "price": price.map(|price| self::price(price, &state.options)),
            "quantity": item.quantity,
            "subscription": subscription.id,
            "tax_rates": [],
        })
    });
    let first = subscription.items.first();
    let price = first.and_then(|item| state.billing.prices.get(&item.price));
    let canceled_at = subscription.canceled_at.map(|at| at.timestamp());
    let ended = subscription.status == SubscriptionStatus::Canceled;
    json!({
        "id": subscription.id,
        "object": "subscription",
        "billing_cycle_anchor": subscription.created.timestamp(),
        "cancel_at": null,
        "cancel_at_period_end": false,
        "canceled_at": canceled_at,
        "cancellation_details": {
            "comment": null,
            "feedback": null,
            "reason": subscription.canceled_by.map(cancellation_reason),
        },
        "collection_method": "charge_automatically",
        "created": subscription.created.timestamp(),
        "currency": price.map(|price| &price.currency),
        "customer": subscription.customer,
        "days_until_due": null,
        "default_payment_method": subscription.default_payment_method,
        "default_source": null,
        "description": null,
        "discounts": [],
        "ended_at": canceled_at.filter(|_| ended),
        "items": {
            "object": "list",
            "data": items.collect::<Vec<_>>(),
            "has_more": false,
            "url": format!("/v1/subscription_items?subscription={}", subscription.id),
        },
        "latest_invoice": subscription.latest_invoice,
        "livemode": state.options.livemode,
        "metadata": subscription.metadata,
        "pause_collection": null,
        "start_date": subscription.created.timestamp(),
        "status": subscription.status.name(),
        "trial_end": null,
        "trial_start": null,
    })
}

fn cancellation_reason(by: CanceledBy) -> &'static str {
    match by {
        CanceledBy::Api | CanceledBy::Customer => "cancellation_requested",
        CanceledBy::Provider => "payment_failed",
    }
}

fn invoice(state: &State, invoice: &Invoice) -> Value {
    let mut shown = what_is_owed(invoice);
    let more = [
        whose_it_is(state, invoice),
        how_it_stands(invoice, &state.options),
    ];
    if let Some(fields) = shown.as_object_mut() {
        let more = more
            .into_iter()
            .filter_map(|more| more.as_object().cloned());
        fields.extend(more.flatten());
    }
    shown
}

fn what_is_owed(invoice: &Invoice) -> Value {
    json!({
        "id": invoice.id,
        "object": "invoice",
        "amount_due": invoice.due(),
        "amount_overpaid": 0,
        "amount_paid": invoice.amount_paid,
        "amount_paid_off_stripe": invoice.amount_paid_off_stripe,
        "amount_remaining": invoice.remaining(),
        "currency": invoice.currency,
        "ending_balance": 0,
        "post_payment_credit_notes_amount": 0,
        "pre_payment_credit_notes_amount": invoice.credited,
        "starting_balance": 0,
        "subtotal": invoice.total,
        "total": invoice.total,
    })
}

fn whose_it_is(state: &State, invoice: &Invoice) -> Value {
    let customer = state.billing.customers.get(&invoice.customer);
    json!({
        "account_country": "GB",
        "account_name": "Sandbox",
        "billing_reason": invoice.reason.name(),
        "created": invoice.created.timestamp(),
        "customer": invoice.customer,
        "customer_email": customer.and_then(|customer| customer.email.as_ref()),
        "customer_name": customer.and_then(|customer| customer.name.as_ref()),
        "customer_phone": customer.and_then(|customer| customer.phone.as_ref()),
        "description": null,
        "lines": lines(invoice, &state.options),
        "livemode": state.options.livemode,
        "metadata": invoice.metadata,
        "parent": parent(invoice),
        "period_end": invoice.period_end.timestamp(),
        "period_start": invoice.period_start.timestamp(),
    })
}

fn how_it_stands(invoice: &Invoice, options: &Options) -> Value {
    let url = format!("{}/invoice/{}", options.pages_url, invoice.id);
    let is_final = invoice.status != InvoiceStatus::Draft;
    let seconds = |at: Option<chrono::DateTime<chrono::Utc>>| at.map(|at| at.timestamp());
    json!({
        "attempt_count": invoice.attempt_count,
        "attempted": invoice.attempted,
        "auto_advance": false,
        "collection_method": "charge_automatically",
        "default_payment_method": invoice.default_payment_method,
        "default_source": null,
        "due_date": null,
        "hosted_invoice_url": is_final.then_some(url),
        "invoice_pdf": null,
        // The provider's own retries are switched off, or there would be two engines.
        "next_payment_attempt": null,
        "number": is_final.then_some(&invoice.number),
        "payment_settings": { "default_mandate": null, "payment_method_options": null, "payment_method_types": null },
        "receipt_number": null,
        "status": invoice.status.name(),
        "status_transitions": {
            "finalized_at": is_final.then(|| invoice.created.timestamp()),
            "marked_uncollectible_at": seconds(invoice.uncollectible_at),
            "paid_at": seconds(invoice.paid_at),
            "voided_at": seconds(invoice.voided_at),
        },
        "webhooks_delivered_at": null,
    })
}

fn parent(invoice: &Invoice) -> Option<Value> {
    invoice.subscription.as_ref().map(|subscription| {
        json!({
            "quote_details": null,
            "subscription_details": {
                "metadata": invoice.subscription_metadata,
                "subscription": subscription,
            },
            "type": "subscription_details",
        })
    })
}

fn lines(invoice: &Invoice, options: &Options) -> Value {
    let is_proration = invoice.reason == super::model::Reason::Change;
    let parent = json!({
        "invoice_item_details": null,
        "subscription_item_details": {
            "invoice_item": null,
            "proration": is_proration,
            "subscription": invoice.subscription,
        },
        "type": "subscription_item_details",
    });
    let line = json!({
        "id": format!("il_{}", invoice.id.trim_start_matches("in_")),
        "object": "line_item",
        "amount": invoice.total,
        "currency": invoice.currency,
        "description": invoice.description,
        "invoice": invoice.id,
        "livemode": options.livemode,
        "metadata": {},
        "parent": parent,
        "period": { "end": invoice.period_end.timestamp(), "start": invoice.period_start.timestamp() },
        "quantity": 1,
        "subtotal": invoice.total,
    });
    json!({ "object": "list", "data": [line], "has_more": false,
        "url": format!("/v1/invoices/{}/lines", invoice.id) })
}

/// Shows the link between an invoice and its PaymentIntent, once there is one.
pub(crate) fn invoice_payment(invoice: &Invoice, options: &Options) -> Option<Value> {
    let intent = invoice.payment_intent.as_ref()?;
    let paid = invoice.amount_paid - invoice.amount_paid_off_stripe;
    let is_paid = invoice.status == InvoiceStatus::Paid && paid > 0;
    let canceled_at = match invoice.status {
        InvoiceStatus::Void => invoice.voided_at,
        InvoiceStatus::Paid if !is_paid => invoice.paid_at,
        InvoiceStatus::Draft
        | InvoiceStatus::Open
        | InvoiceStatus::Paid
        | InvoiceStatus::Uncollectible => None,
    };
    let status = match (is_paid, canceled_at) {
        (true, _) => "paid",
        (false, Some(_)) => "canceled",
        (false, None) => "open",
    };
    Some(json!({
        "id": invoice.payment,
        "object": "invoice_payment",
        "amount_paid": is_paid.then_some(paid),
        "amount_requested": invoice.due(),
        "created": invoice.created.timestamp(),
        "currency": invoice.currency,
        "invoice": invoice.id,
        "is_default": true,
        "livemode": options.livemode,
        "payment": { "payment_intent": intent, "type": "payment_intent" },
        "status": status,
        "status_transitions": {
            "canceled_at": canceled_at.map(|at| at.timestamp()),
            "paid_at": invoice.paid_at.filter(|_| is_paid).map(|at| at.timestamp()),
        },
    }))
}

fn setup(setup: &SetupIntent, options: &Options) -> Value {
    json!({
        "id": setup.id,
        "object": "setup_intent",
        "created": setup.created.timestamp(),
        "customer": setup.customer,
        "description": null,
        "last_setup_error": null,
        "livemode": options.livemode,
        "metadata": {},
        "next_action": null,
        "payment_method": setup.payment_method,
        "payment_method_types": ["card"],
        "status": "succeeded",
        "usage": "off_session",
    })
}

pub(crate) fn portal_session(session: &PortalSession, options: &Options) -> Value {
    let return_url = session.return_url.as_ref();
    let after = match return_url {
        Some(url) => {
            json!({ "hosted_confirmation": null, "redirect": { "return_url": url }, "type": "redirect" })
        }
        None => json!({ "hosted_confirmation": null, "redirect": null, "type": "portal_homepage" }),
    };
    let flow = session.only_card.then(|| {
        json!({
            "after_completion": after,
            "subscription_cancel": null,
            "subscription_update": null,
            "subscription_update_confirm": null,
            "type": "payment_method_update",
        })
    });
    json!({
        "id": session.id,
        "object": "billing_portal.session",
        "configuration": "bpc_1Sandbox",
        "created": session.created.timestamp(),
        "customer": session.customer,
        "flow": flow,
        "livemode": options.livemode,
        "locale": null,
        "on_behalf_of": null,
        "return_url": return_url,
        "url": format!("{}/portal/{}", options.pages_url, session.id),
    })
}

pub(crate) fn account() -> Value {
    json!({
        "id": ACCOUNT,
        "object": "account",
        "business_profile": { "name": "Sandbox", "support_email": null, "url": null },
        "capabilities": { "card_payments": "active", "transfers": "active" },
        "charges_enabled": true,
        "country": "GB",
        "default_currency": "gbp",
        "details_submitted": true,
        "email": null,
        "metadata": {},
        "payouts_enabled": true,
        "settings": { "dashboard": { "display_name": "Sandbox", "timezone": "Europe/London" } },
        "type": "standard",
    })
}

/// Answers `GET /v1/webhook_endpoints`. Nothing can be changed there, so that is one page.
pub(crate) fn endpoints(state: &State, query: &Form) -> Result<Value, ApiError> {
    query.only(&["limit"])?;
    let options = &state.options;
    let data = options.endpoints().enumerate().map(|(index, endpoint)| {
        json!({
            "id": format!("we_1Sandbox{index}"),
            "object": "webhook_endpoint",
            "api_version": options.api_version,
            "application": null,
            "created": 0,
            "description": endpoint.function,
            "enabled_events": endpoint.enabled_events,
            "livemode": options.livemode,
            "metadata": {},
            "status": "enabled",
            "url": endpoint.url,
        })
    });
    Ok(
        json!({ "object": "list", "data": data.collect::<Vec<_>>(), "has_more": false,
            "url": "/v1/webhook_endpoints" }),
    )
}

/// Lists invoices with the charges that came of them, and subscriptions with who ended them.
pub(crate) fn ledger(state: &State) -> (Vec<Value>, Vec<Value>) {
    let invoices = state.billing.invoices.values().map(|invoice| {
        let mut shown = self::invoice(state, invoice);
        let charges = |succeeded: bool| {
            let of_invoice = state.charges.values().filter(move |charge| {
                let intent = state.intents.get(&charge.payment_intent);
                let of = intent.and_then(|intent| intent.invoice.as_ref());
                let has_succeeded = charge.status == crate::state::ChargeStatus::Succeeded;
                of == Some(&invoice.id) && has_succeeded == succeeded
            });
            of_invoice
                .map(|charge| charge.id.as_str())
                .collect::<Vec<_>>()
        };
        shown["successful_charges"] = charges(true).into();
        shown["failed_charges"] = charges(false).into();
        shown
    });
    let subscriptions = state.billing.subscriptions.values().map(|it| {
        let mut shown = subscription(state, it);
        shown["canceled_by"] = json!(it.canceled_by);
        shown
    });
    (invoices.collect(), subscriptions.collect())
}
