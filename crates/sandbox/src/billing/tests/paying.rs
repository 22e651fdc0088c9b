use serde_json::json;

use super::{Member, control};
use crate::testing::{text, types};

#[test]
fn an_invoice_is_paid_once_and_a_second_try_says_so() {
    let member = Member::new();
    let id = member.failed(&json!({"times": 0}));
    let (status, invoice) = member.pay(&id, "expand[]=payments");
    assert_eq!((status, &invoice["status"]), (200, &json!("paid")));
    assert_eq!(
        (&invoice["amount_remaining"], &invoice["attempt_count"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(invoice["payments"]["data"][0]["amount_paid"], 2000);
    let (status, body) = member.pay(&id, "");
    assert_eq!(
        (status, &body["error"]["message"]),
        (400, &json!("Invoice is already paid"))
    );
    assert_eq!(member.charges(&id), (1, 1));
    assert_eq!(member.status(), "active");
}

#[test]
fn a_decline_says_all_that_the_bank_said() {
    let member = Member::new();
    let wish =
        json!({"decline": "lost_card", "network_decline_code": "41", "network_advice_code": "03"});
    let id = member.failed(&wish);
    let (status, body) = member.pay(&id, "");
    let error = &body["error"];
    assert_eq!(
        (status, &error["type"], &error["code"]),
        (402, &json!("card_error"), &json!("card_declined"))
    );
    assert_eq!(
        (&error["decline_code"], &error["advice_code"]),
        (&json!("lost_card"), &json!("do_not_try_again"))
    );
    assert_eq!(
        (
            &error["network_decline_code"],
            &error["network_advice_code"]
        ),
        (&json!("41"), &json!("03"))
    );
    assert_eq!(
        error["payment_intent"]["last_payment_error"]["decline_code"],
        "lost_card"
    );
    assert_eq!(error["payment_method"]["id"], member.payment_method);
    let (_, charge) = member
        .town
        .get(&format!("/v1/charges/{}", text(&error["charge"])));
    assert_eq!(
        (&charge["outcome"]["network_advice_code"], &charge["status"]),
        (&json!("03"), &json!("failed"))
    );
    assert!(charge["payment_method_details"]["card"]["fingerprint"].is_string());
    assert_eq!(charge["customer"], member.customer);
}

#[test]
fn a_card_fails_until_another_takes_its_place_where_it_is_charged() {
    let member = Member::with(&json!({"where": "subscription"}));
    let id = member.failed(&json!({}));
    assert_eq!(member.pay(&id, "").0, 402);
    let card = format!("customers/{}/card", member.customer);
    control(&member.town, &card, &json!({"card": "5555555555554444"}));
    assert_eq!(
        member.pay(&id, "").0,
        402,
        "the subscription has a card of its own"
    );
    control(
        &member.town,
        &card,
        &json!({"card": "5555555555554444", "where": "subscription"}),
    );
    assert_eq!(member.pay(&id, "").0, 200);
    let (_, charges) = member
        .town
        .get(&format!("/v1/charges?customer={}&limit=1", member.customer));
    assert_eq!(
        charges["data"][0]["payment_method_details"]["card"]["network"],
        "mastercard"
    );
}

#[test]
fn only_the_providers_own_retries_count_after_the_first_attempt() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    member.pay(&id, "");
    assert_eq!(member.invoice(&id)["attempt_count"], 1);
    let retry = format!("/_sandbox/invoices/{id}/provider-retry");
    assert_eq!(member.town.post(&retry, "").0, 402);
    assert_eq!(member.invoice(&id)["attempt_count"], 2);
    assert_eq!(member.charges(&id), (0, 3));
}

#[test]
fn a_bank_that_asks_is_answered_by_its_customer() {
    let member = Member::with(&json!({"card": "4242424242424242"}));
    let id = member.failed(&json!({"times": 0}));
    let card = format!("customers/{}/card", member.customer);
    control(&member.town, &card, &json!({"card": "4000002760003184"}));
    member.town.deliver(200);
    let (status, body) = member.pay(&id, "");
    assert_eq!(
        (status, &body["error"]["code"]),
        (402, &json!("invoice_payment_intent_requires_action"))
    );
    let told = [
        "payment_intent.requires_action",
        "invoice.payment_action_required",
        "invoice.payment_failed",
    ];
    assert_eq!(types(&member.town.deliver(200)), told);
    let (_, invoice) = member.town.get(&format!(
        "/v1/invoices/{id}?expand[]=payments.data.payment.payment_intent"
    ));
    let intent = &invoice["payments"]["data"][0]["payment"]["payment_intent"];
    assert_eq!(intent["status"], "requires_action");
    assert_eq!(
        intent["next_action"]["redirect_to_url"]["url"],
        invoice["hosted_invoice_url"]
    );
    let path = format!("payment_intents/{}/authenticate", text(&intent["id"]));
    let refused = member
        .town
        .post(&format!("/_sandbox/{path}"), r#"{"approved": false}"#);
    assert_eq!(refused.0, 402);
    assert_eq!(member.pay(&id, "").0, 402);
    control(&member.town, &path, &json!({}));
    assert_eq!(member.invoice(&id)["status"], "paid");
    assert_eq!(member.charges(&id).0, 1);
}

#[test]
fn what_is_too_small_is_not_charged_and_what_is_credited_is_not_owed() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let credit = format!("invoices/{id}/credit");
    control(&member.town, &credit, &json!({"amount": 1980}));
    let (status, body) = member.pay(&id, "");
    assert_eq!(
        (status, &body["error"]["code"]),
        (400, &json!("amount_too_small"))
    );
    let invoice = control(&member.town, &credit, &json!({"amount": 20}));
    assert_eq!(
        (&invoice["status"], &invoice["amount_due"]),
        (&json!("paid"), &json!(0))
    );
    assert_eq!(member.charges(&id), (0, 1));
    assert_eq!(member.status(), "active");
}

#[test]
fn an_invoice_may_be_void_given_up_or_paid_elsewhere() {
    let member = Member::new();
    let void = member.failed(&json!({}));
    assert_eq!(
        member.town.post(&format!("/v1/invoices/{void}/void"), "").1["status"],
        "void"
    );
    assert_eq!(member.pay(&void, "").0, 400);
    assert_eq!(member.status(), "active");

    let given_up = member.failed(&json!({"times": 0}));
    let path = format!("/v1/invoices/{given_up}/mark_uncollectible");
    assert_eq!(member.town.post(&path, "").1["status"], "uncollectible");
    assert_eq!(
        member.pay(&given_up, "").1["status"],
        "paid",
        "it can still be paid"
    );

    let elsewhere = member.failed(&json!({}));
    let (_, invoice) = member.pay(&elsewhere, "paid_out_of_band=true");
    assert_eq!(
        (&invoice["amount_paid"], &invoice["amount_paid_off_stripe"]),
        (&json!(2000), &json!(2000))
    );
    assert_eq!(member.charges(&elsewhere).0, 0);
    assert_eq!(
        types(&member.town.deliver(200))
            .iter()
            .filter(|it| **it == "invoice.voided")
            .count(),
        1
    );
}

#[test]
fn a_subscription_that_is_canceled_says_who_ended_it_and_leaves_its_invoice_open() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let path = format!("/v1/subscriptions/{}", member.subscription);
    let (status, canceled) = member.town.delete(&path);
    assert_eq!((status, &canceled["status"]), (200, &json!("canceled")));
    assert_eq!(member.invoice(&id)["status"], "open");
    assert_eq!(
        member.town.sandbox.ledger()["subscriptions"][0]["canceled_by"],
        "api"
    );
    assert_eq!(member.town.delete(&path).0, 404);
}
