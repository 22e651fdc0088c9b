//! Invoices, and what links them to their PaymentIntents.

use serde_json::{Value, json};

use crate::Options;
use crate::billing::model::{Invoice, InvoiceStatus, Reason};
use crate::state::State;

pub(crate) fn invoice(state: &State, invoice: &Invoice) -> Value {
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
    let is_proration = invoice.reason == Reason::Change;
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
