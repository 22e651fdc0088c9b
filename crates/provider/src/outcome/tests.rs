use super::*;
use crate::object;
use crate::wire::Reply;
use serde_json::{Value, json};

fn outcome(status: u16, body: &Value) -> PayOutcome {
    let reply = Reply {
        status,
        body: body.to_string().into_bytes(),
        replayed: true,
        ..Reply::default()
    };
    PayOutcome::of(Answer::read(Ok(reply), object::one))
}

fn invoice(status: &str, intent_status: &str) -> Value {
    json!({
        "amount_due": 1000, "amount_paid": 0, "amount_remaining": 1000, "attempt_count": 1,
        "collection_method": "charge_automatically", "created": 1_234_567_890,
        "currency": "usd", "id": "in_1", "livemode": false, "object": "invoice",
        "payments": { "has_more": false, "object": "list", "data": [{
            "status": "open", "payment": { "payment_intent": {
                "created": 1_234_567_890, "id": "pi_1", "latest_charge": null,
                "object": "payment_intent", "payment_method": "pm_1", "status": intent_status,
            } },
        }] },
        "status": status, "status_transitions": {},
    })
}

fn error(kind: &str, code: Value, message: &str) -> Value {
    json!({ "error": { "type": kind, "code": code, "message": message } })
}

#[test]
fn what_is_done_is_told_by_the_invoice_and_its_payment() {
    let paid = outcome(200, &invoice("paid", "succeeded"));
    assert!(matches!(paid, PayOutcome::Captured(_)), "{paid:?}");
    let open = outcome(200, &invoice("open", "processing"));
    assert!(matches!(open, PayOutcome::Processing(_)), "{open:?}");
    let PayOutcome::NeedsAction { failure, .. } = outcome(200, &invoice("open", "requires_action"))
    else {
        panic!();
    };
    assert_eq!(failure.payment_intent.as_deref(), Some("pi_1"));
    assert_eq!(failure.payment_method.as_deref(), Some("pm_1"));
    for status in ["draft", "void", "uncollectible"] {
        assert_eq!(
            outcome(200, &invoice(status, "canceled")),
            PayOutcome::NotOpen
        );
    }
}

#[test]
fn a_decline_keeps_its_codes_and_says_whether_it_is_an_old_one() {
    let body = json!({ "error": {
        "type": "card_error", "code": "card_declined", "decline_code": "do_not_honor",
        "advice_code": "try_again_later", "network_decline_code": "05", "charge": "ch_1",
    } });
    let PayOutcome::Declined { failure, replayed } = outcome(402, &body) else {
        panic!();
    };
    assert!(replayed);
    let codes = (
        failure.decline_code.as_deref(),
        failure.network_decline_code.as_deref(),
    );
    assert_eq!(codes, (Some("do_not_honor"), Some("05")));
    let debit = error(
        "invalid_request_error",
        "payment_method_provider_decline".into(),
        "",
    );
    assert!(matches!(outcome(402, &debit), PayOutcome::Declined { .. }));
}

#[test]
fn only_the_customer_can_authenticate() {
    let codes = [
        (402, "card_error", "authentication_required"),
        (402, "card_error", "invoice_payment_intent_requires_action"),
        (
            400,
            "invalid_request_error",
            "payment_intent_action_required",
        ),
    ];
    for (status, kind, code) in codes {
        let body = error(kind, code.into(), "Authenticate.");
        let PayOutcome::NeedsAction { failure, .. } = outcome(status, &body) else {
            panic!("{code}");
        };
        assert_eq!(failure.code.as_deref(), Some(code));
    }
    let body = json!({ "error": {
        "type": "card_error", "code": "card_declined",
        "decline_code": "authentication_required",
    } });
    assert!(matches!(
        outcome(402, &body),
        PayOutcome::NeedsAction { .. }
    ));
}

#[test]
fn an_invoice_that_is_not_open_is_looked_at_again() {
    let sentences = [
        "Invoice is already paid",
        "This invoice is void and can't be paid.",
        "The invoice has been marked as uncollectible",
    ];
    for sentence in sentences {
        let body = error("invalid_request_error", Value::Null, sentence);
        assert_eq!(outcome(400, &body), PayOutcome::NotOpen, "{sentence}");
    }
    let moved = error(
        "invalid_request_error",
        "payment_intent_unexpected_state".into(),
        "",
    );
    assert_eq!(outcome(400, &moved), PayOutcome::NotOpen);
    let small = error("invalid_request_error", "amount_too_small".into(), "");
    assert_eq!(outcome(400, &small), PayOutcome::TooSmall);
    let others = [
        (
            400,
            Value::Null,
            "To avoid this, set a default payment method.",
        ),
        (404, "resource_missing".into(), "No such invoice: 'void'"),
    ];
    for (status, code, message) in others {
        let other = outcome(status, &error("invalid_request_error", code, message));
        assert!(matches!(other, PayOutcome::Refused(_)), "{other:?}");
    }
}

#[test]
fn what_may_have_been_charged_is_unknown_and_what_never_ran_is_not() {
    let reused = error(
        "idempotency_error",
        Value::Null,
        "Keys for idempotent requests …",
    );
    let PayOutcome::Unknown(doubt) = outcome(400, &reused) else {
        panic!();
    };
    assert_eq!(doubt.reason, Reason::KeyReused);
    let decline = error("card_error", "card_declined".into(), "");
    for status in [409, 429, 500, 502, 503, 504] {
        let unknown = outcome(status, &decline);
        assert!(
            matches!(unknown, PayOutcome::Unknown(_)),
            "{status} {unknown:?}"
        );
    }
    for (status, body) in [(200, json!({})), (402, json!("no")), (400, json!({}))] {
        let unknown = outcome(status, &body);
        assert!(
            matches!(unknown, PayOutcome::Unknown(_)),
            "{status} {unknown:?}"
        );
    }
    for status in [401, 403] {
        let wrong = outcome(status, &error("invalid_request_error", Value::Null, ""));
        assert!(matches!(wrong, PayOutcome::Unauthorised(_)), "{wrong:?}");
    }
}
