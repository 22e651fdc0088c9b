//! The objects as the API and the events show them. Amounts are in the currency's smallest unit,
//! times in seconds.

mod dispute;

use serde_json::{Value, json};

use crate::Options;
use crate::state::{
    Charge, ChargeStatus, Intent, IntentStatus, LastError, Method, Refund, RefundStatus, Session,
    SessionStatus,
};

pub(crate) use dispute::dispute;

pub(crate) fn session(session: &Session, options: &Options) -> Value {
    let is_open = session.status == SessionStatus::Open;
    let url = is_open.then(|| format!("{}/{}", options.pages_url, session.id));
    let email = session.customer_email.as_deref();
    let details = (session.status == SessionStatus::Complete).then(|| {
        json!({
            "address": address(),
            "email": email.unwrap_or("guest@example.com"),
            "name": "Sandbox Guest",
            "phone": null,
            "tax_exempt": "none",
            "tax_ids": [],
        })
    });
    json!({
        "id": session.id,
        "object": "checkout.session",
        "after_expiration": null,
        "amount_subtotal": session.amount_total,
        "amount_total": session.amount_total,
        "cancel_url": session.cancel_url,
        "client_reference_id": session.client_reference_id,
        "created": session.created.timestamp(),
        "currency": session.currency,
        "customer": null,
        "customer_details": details,
        "customer_email": session.customer_email,
        "expires_at": session.expires_at.timestamp(),
        "livemode": options.livemode,
        "metadata": session.metadata,
        "mode": "payment",
        "payment_intent": session.payment_intent,
        "payment_link": null,
        "payment_method_types": session.payment_method_types,
        "payment_status": if session.paid { "paid" } else { "unpaid" },
        "recovered_from": null,
        "status": session.status.name(),
        "success_url": session.success_url,
        "total_details": { "amount_discount": 0, "amount_shipping": 0, "amount_tax": 0 },
        "ui_mode": "hosted",
        "url": url,
    })
}

pub(crate) fn intent(intent: &Intent, options: &Options) -> Value {
    let succeeded = intent.status == IntentStatus::Succeeded;
    let canceled = intent.status == IntentStatus::Canceled;
    let received = if succeeded { intent.amount } else { 0 };
    json!({
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        "amount_capturable": 0,
        "amount_received": received,
        "cancellation_reason": canceled.then_some("automatic"),
        "capture_method": "automatic",
        "confirmation_method": "automatic",
        "created": intent.created.timestamp(),
        "currency": intent.currency,
        "customer": intent.customer,
        "description": null,
        "last_payment_error": intent.last_error.as_ref().map(last_error),
        "latest_charge": intent.latest_charge,
        "livemode": options.livemode,
        "metadata": intent.metadata,
        "next_action": next_action(intent, options),
        "payment_method": intent.payment_method,
        "payment_method_types": ["card"],
        "status": intent.status.name(),
    })
}

/// A confirmation is asked for on the hosted page of the invoice.
fn next_action(intent: &Intent, options: &Options) -> Option<Value> {
    let invoice = intent.invoice.as_ref();
    let asked = intent.status == IntentStatus::RequiresAction;
    invoice.filter(|_| asked).map(|invoice| {
        let url = format!("{}/invoice/{invoice}", options.pages_url);
        json!({ "redirect_to_url": { "return_url": null, "url": url }, "type": "redirect_to_url" })
    })
}

fn last_error(error: &LastError) -> Value {
    json!({
        "advice_code": error.advice_code,
        "network_advice_code": error.network_advice_code,
        "network_decline_code": error.network_decline_code,
        "type": "card_error",
        "code": error.code,
        "decline_code": error.decline_code,
        "message": error.message,
        "payment_method": error.payment_method,
    })
}

pub(crate) fn charge(charge: &Charge, options: &Options) -> Value {
    let failure = charge.failure.as_ref();
    json!({
        "id": charge.id,
        "object": "charge",
        "amount": charge.amount,
        "amount_captured": charge.amount_captured,
        "amount_refunded": charge.amount_refunded,
        "balance_transaction": charge.balance_transaction,
        "billing_details": { "address": address(), "email": null, "name": "Sandbox Guest", "phone": null },
        "captured": charge.status == ChargeStatus::Succeeded,
        "created": charge.created.timestamp(),
        "currency": charge.currency,
        "customer": charge.customer,
        "description": null,
        "disputed": charge.disputed,
        "failure_code": failure.map(|failure| &failure.code),
        "failure_message": failure.map(|failure| &failure.message),
        "livemode": options.livemode,
        "metadata": charge.metadata,
        "outcome": outcome(charge),
        "paid": charge.status == ChargeStatus::Succeeded,
        "payment_intent": charge.payment_intent,
        "payment_method": charge.payment_method,
        "payment_method_details": method(&charge.method),
        "refunded": charge.amount_captured > 0 && charge.amount_refunded == charge.amount_captured,
        "status": charge.status.name(),
    })
}

fn outcome(charge: &Charge) -> Value {
    let Some(failure) = &charge.failure else {
        return json!({
            "advice_code": null,
            "network_advice_code": null,
            "network_decline_code": null,
            "network_status": "approved_by_network",
            "reason": null,
            "seller_message": "Payment complete.",
            "type": "authorized",
        });
    };
    let reason = failure.decline_code.as_ref().unwrap_or(&failure.code);
    json!({
        "advice_code": failure.advice_code,
        "network_advice_code": failure.network_advice_code,
        "network_decline_code": failure.network_decline_code,
        "network_status": "declined_by_network",
        "reason": reason,
        "seller_message": "The bank declined the payment.",
        "type": "issuer_declined",
    })
}

fn method(method: &Method) -> Value {
    match method {
        Method::Card(card) => json!({
            "card": {
                "brand": card.brand,
                "checks": { "address_line1_check": null, "address_postal_code_check": null, "cvc_check": "pass" },
                "country": card.country,
                "exp_month": card.exp_month,
                "exp_year": card.exp_year,
                "fingerprint": card.fingerprint,
                "funding": card.funding,
                "last4": card.last4,
                "network": card.brand,
            },
            "type": "card",
        }),
        Method::Other(kind) => {
            let mut details = json!({ "type": kind });
            details[kind] = json!({});
            details
        }
        Method::BankDebit => json!({ "bacs_debit": { "last4": "6789" }, "type": "bacs_debit" }),
    }
}

pub(crate) fn refund(refund: &Refund) -> Value {
    let mut shown = json!({
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "balance_transaction": refund.balance_transaction,
        "charge": refund.charge,
        "created": refund.created.timestamp(),
        "currency": refund.currency,
        "destination_details": { "card": { "type": "refund" }, "type": "card" },
        "metadata": refund.metadata,
        "payment_intent": refund.payment_intent,
        "reason": refund.reason,
        "receipt_number": null,
        "status": refund.status.name(),
    });
    // These are there only if there is something to say.
    if refund.status == RefundStatus::Pending {
        shown["pending_reason"] = "processing".into();
    }
    if let Some(reason) = &refund.failure_reason {
        shown["failure_reason"] = reason.as_str().into();
    }
    if let Some(id) = &refund.failure_balance_transaction {
        shown["failure_balance_transaction"] = id.as_str().into();
    }
    shown
}

fn address() -> Value {
    json!({
        "city": null, "country": "GB", "line1": null, "line2": null, "postal_code": null, "state": null,
    })
}
