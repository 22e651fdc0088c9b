//! The objects of billing as the API and the events show them.

mod invoice;
mod subscription;

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::form::Form;
use crate::state::State;
use crate::{Options, render};

use super::model::{
    Customer, InvoiceStatus, MethodKind, PaymentMethod, PortalSession, SetupIntent,
};
use invoice::invoice;
pub(crate) use invoice::invoice_payment;
use subscription::{price, product, subscription};

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
