use serde_json::{Value, json};

use super::*;
use crate::object;

fn dollars(cents: i64) -> Money {
    Money::from_stripe(cents, "usd").unwrap()
}

fn intent() -> Value {
    json!({
        "amount": 1000, "created": 1_234_567_890, "currency": "usd", "id": "pi_1",
        "last_payment_error": {
            "charge": "ch_1", "code": "card_declined", "decline_code": "insufficient_funds",
            "message": "Your card has insufficient funds.", "type": "card_error",
        },
        "latest_charge": "ch_1", "livemode": false, "metadata": {}, "next_action": null,
        "object": "payment_intent", "payment_method": null, "status": "requires_payment_method",
    })
}

fn shown() -> Value {
    let payment = json!({
        "amount_paid": null, "amount_requested": 1000, "created": 1_028_554_472,
        "currency": "usd", "id": "inpay_1", "invoice": "in_1", "is_default": true,
        "livemode": false, "object": "invoice_payment", "status": "open",
        "payment": { "payment_intent": intent(), "type": "payment_intent" },
    });
    json!({
        "amount_due": 1000, "amount_overpaid": 0, "amount_paid": 0, "amount_remaining": 1000,
        "attempt_count": 1, "attempted": true, "billing_reason": "subscription_cycle",
        "collection_method": "charge_automatically", "created": 1_234_567_890, "currency": "usd",
        "customer": "cus_1", "default_payment_method": null, "default_source": null,
        "hosted_invoice_url": "https://pay.example/i/1", "id": "in_1", "livemode": false,
        "next_payment_attempt": 1_234_654_290, "number": "7FE1103-0001", "object": "invoice",
        "parent": {
            "quote_details": null, "type": "subscription_details",
            "subscription_details": { "metadata": {}, "subscription": "sub_1" },
        },
        "payments": { "data": [payment], "has_more": false, "object": "list" },
        "status": "open", "status_transitions": { "finalized_at": 1_234_567_890, "paid_at": null },
    })
}

fn parse(change: impl FnOnce(&mut Value)) -> Result<Invoice, String> {
    let mut value = shown();
    change(&mut value);
    object::one(value.to_string().as_bytes())
}

#[test]
fn an_open_invoice_tells_what_is_due_and_why_it_is_not_paid() {
    let invoice = parse(|_| {}).unwrap();
    assert_eq!(invoice.status, InvoiceStatus::Open);
    assert_eq!(invoice.subscription.as_deref(), Some("sub_1"));
    assert_eq!(
        (invoice.amount_due, invoice.amount_remaining),
        (dollars(1000), dollars(1000))
    );
    assert_eq!(
        (invoice.amount_paid, invoice.paid_off_provider),
        (dollars(0), dollars(0))
    );
    assert_eq!(invoice.attempt_count, 1);
    let again = invoice.next_payment_attempt.unwrap() - invoice.created;
    assert_eq!((again.num_days(), invoice.paid_at), (1, None));
    let [payment] = &invoice.payments[..] else {
        panic!("{invoice:?}");
    };
    assert_eq!(payment.status, InvoicePaymentStatus::Open);
    let intent = payment.payment_intent.as_ref().unwrap();
    assert_eq!(intent.status, IntentStatus::RequiresPaymentMethod);
    let error = intent.last_error.as_ref().unwrap();
    assert_eq!(error.decline_code.as_deref(), Some("insufficient_funds"));
    assert_eq!(error.payment_intent.as_deref(), Some("pi_1"));
}

#[test]
fn an_invoice_of_a_list_or_of_no_subscription_shows_less() {
    let invoice = parse(|value| {
        value["payments"].take();
        value["parent"].take();
        value["next_payment_attempt"].take();
    });
    let invoice = invoice.unwrap();
    assert_eq!((invoice.payments.len(), invoice.subscription), (0, None));
    assert_eq!(invoice.next_payment_attempt, None);
    let of_a_quote = json!({ "quote_details": { "quote": "qt_1" }, "type": "quote_details" });
    let quoted = parse(|value| value["parent"] = of_a_quote).unwrap();
    assert_eq!(quoted.subscription, None);
}

#[test]
fn what_was_paid_in_cash_is_told_from_what_the_provider_took() {
    let invoice = parse(|value| {
        value["status"] = "paid".into();
        value["amount_paid"] = 1000.into();
        value["amount_paid_off_stripe"] = 1000.into();
        value["amount_remaining"] = 0.into();
        value["status_transitions"]["paid_at"] = 1_234_567_900.into();
        value["payments"]["data"][0]["payment"] = json!({ "type": "payment_record" });
    });
    let invoice = invoice.unwrap();
    assert_eq!(invoice.paid_off_provider, invoice.amount_paid);
    assert!(invoice.paid_at > Some(invoice.created));
    assert_eq!(invoice.payments[0].payment_intent, None);
}

#[test]
fn payments_that_did_not_fit_are_not_forgotten() {
    assert!(!parse(|_| {}).unwrap().has_more_payments);
    let invoice = parse(|value| value["payments"]["has_more"] = true.into()).unwrap();
    assert!(invoice.has_more_payments);
}

#[test]
fn what_is_shown_in_whole_is_known_by_its_id() {
    let invoice = parse(|value| {
        value["customer"] = json!({ "id": "cus_2", "object": "customer" });
        value["parent"]["subscription_details"]["subscription"] = json!({ "id": "sub_2" });
        value["default_source"] = "card_1".into();
    });
    let invoice = invoice.unwrap();
    assert_eq!(invoice.customer.as_deref(), Some("cus_2"));
    assert_eq!(invoice.subscription.as_deref(), Some("sub_2"));
    assert_eq!(invoice.default_payment_method.as_deref(), Some("card_1"));
}

#[test]
fn nothing_that_decides_about_money_is_guessed() {
    let changes: [(&str, Value); 12] = [
        ("/status", "deferred".into()),
        ("/status", Value::Null),
        ("/object", "charge".into()),
        ("/amount_remaining", 10.5.into()),
        ("/amount_remaining", (-1).into()),
        ("/amount_paid_off_stripe", "0".into()),
        ("/currency", "gold".into()),
        ("/collection_method", "pigeon".into()),
        ("/attempt_count", (-1).into()),
        ("/payments/data/0/status", "lost".into()),
        ("/payments/data/0/payment/payment_intent", "pi_1".into()),
        (
            "/payments/data/0/payment/payment_intent/status",
            "settled".into(),
        ),
    ];
    for (pointer, to) in changes {
        let change = |value: &mut Value| match value.pointer_mut(pointer) {
            Some(place) => *place = to.clone(),
            None => value[&pointer[1..]] = to.clone(),
        };
        assert!(parse(change).is_err(), "{pointer} {to}");
    }
}

#[test]
fn an_attempt_is_always_written_the_same_way() {
    let mut attempt = PayInvoice {
        invoice_id: "in_1",
        payment_method: None,
        idempotency_key: "k",
    };
    let expand = "expand%5B%5D=payments.data.payment.payment_intent";
    assert_eq!(attempt.form().0, format!("off_session=true&{expand}"));
    attempt.payment_method = Some("pm_1&x");
    let written = format!("off_session=true&payment_method=pm_1%26x&{expand}");
    assert_eq!(attempt.form().0, written);
}
