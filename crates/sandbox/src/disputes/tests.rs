use serde_json::Value;

use crate::testing::{Town, text, types};

const CARD: &str = "4242424242424242";
const CREATED: &str = "charge.dispute.created";
const WITHDRAWN: &str = "charge.dispute.funds_withdrawn";
const UPDATED: &str = "charge.dispute.updated";
const CLOSED: &str = "charge.dispute.closed";
const REINSTATED: &str = "charge.dispute.funds_reinstated";

fn dispute(town: &Town, intent: &str, body: &str) -> Value {
    let path = format!("/_sandbox/payments/{intent}/dispute");
    let (status, dispute) = town.post(&path, body);
    assert_eq!(status, 200, "{dispute}");
    dispute
}

fn move_to(town: &Town, dispute: &Value, status: &str) -> (u16, Value) {
    let path = format!("/_sandbox/disputes/{}/move", text(&dispute["id"]));
    town.post(&path, &format!(r#"{{"status":"{status}"}}"#))
}

fn refund_code(town: &Town, intent: &str) -> Value {
    let (_, answer) = town.post(
        "/v1/refunds",
        &format!("payment_intent={intent}&amount=100"),
    );
    answer["error"]["code"].clone()
}

#[test]
fn a_dispute_takes_the_money_and_a_fee_and_bars_refunds() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let made = dispute(&town, &intent, r#"{"amount":1500}"#);
    assert_eq!(
        (&made["status"], &made["reason"]),
        (&"needs_response".into(), &"fraudulent".into())
    );
    assert_eq!(made["payment_intent"], intent);
    assert_eq!(made["metadata"], serde_json::json!({}));
    let taken = &made["balance_transactions"][0];
    let numbers = [&taken["amount"], &taken["fee"], &taken["net"]];
    assert_eq!(numbers, [-1500, 2000, -3500]);
    // 13:00 on the 14th, so the end of the 22nd of July.
    assert_eq!(made["evidence_details"]["due_by"], 1_784_764_799);
    let events = town.deliver(200);
    assert_eq!(types(&events), [CREATED, WITHDRAWN]);
    assert_eq!(events[0]["data"]["object"], made);
    let totals = ["captured", "refunded", "disputed", "fees"].map(|name| town.total(name));
    assert_eq!(totals, [2000, 0, 1500, 2050]);
    assert_eq!(town.charge()["disputed"], true);
    assert_eq!(refund_code(&town, &intent), "charge_disputed");
    let shown = town.get(&format!("/v1/disputes/{}", text(&made["id"])));
    assert_eq!(shown, (200, made));
}

#[test]
fn a_dispute_that_is_won_gives_the_money_back_but_not_the_fee() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let made = dispute(&town, &intent, "{}");
    move_to(&town, &made, "under_review");
    let (_, won) = move_to(&town, &made, "won");
    let events = town.deliver(200);
    assert_eq!(
        types(&events),
        [CREATED, WITHDRAWN, UPDATED, REINSTATED, CLOSED]
    );
    assert_eq!(won["balance_transactions"][1]["amount"], 2000);
    assert_eq!(events[4]["data"]["object"], won);
    let totals = ["disputed", "fees"].map(|name| town.total(name));
    assert_eq!(totals, [0, 2050]);
    assert_eq!(town.sandbox.ledger()["charges"][0]["dispute_status"], "won");
    assert_eq!(town.charge()["disputed"], true, "it has been, for ever");
    assert!(refund_code(&town, &intent).is_null());
    assert_eq!(move_to(&town, &made, "lost").0, 400, "closed is the end");
}

#[test]
fn a_dispute_that_is_lost_keeps_the_money_and_bars_refunds_for_ever() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let made = dispute(&town, &intent, r#"{"reason":"product_not_received"}"#);
    town.deliver(200);
    let (_, lost) = move_to(&town, &made, "lost");
    assert_eq!(lost["reason"], "product_not_received");
    assert_eq!(types(&town.deliver(200)), [CLOSED]);
    assert_eq!(town.total("disputed"), 2000);
    assert_eq!(refund_code(&town, &intent), "charge_disputed");
}

#[test]
fn a_dispute_that_was_prevented_costs_nothing() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let made = dispute(&town, &intent, "{}");
    move_to(&town, &made, "prevented");
    let totals = ["disputed", "fees"].map(|name| town.total(name));
    assert_eq!(totals, [0, 50]);
    let inquiry = dispute(&town, &intent, r#"{"inquiry":true}"#);
    town.deliver(200);
    move_to(&town, &inquiry, "prevented");
    assert_eq!(
        types(&town.deliver(200)),
        [CLOSED],
        "there was nothing to put back"
    );
}

#[test]
fn an_inquiry_moves_no_money_until_it_becomes_a_dispute() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let closed = dispute(&town, &intent, r#"{"inquiry":true}"#);
    assert_eq!(closed["status"], "warning_needs_response");
    assert_eq!(closed["balance_transactions"], serde_json::json!([]));
    move_to(&town, &closed, "warning_under_review");
    move_to(&town, &closed, "warning_closed");
    assert_eq!(types(&town.deliver(200)), [CREATED, UPDATED, CLOSED]);
    assert!(refund_code(&town, &intent).is_null());
    town.deliver(200);
    let escalated = dispute(&town, &intent, r#"{"inquiry":true}"#);
    assert_eq!(move_to(&town, &escalated, "won").0, 400);
    move_to(&town, &escalated, "needs_response");
    assert_eq!(types(&town.deliver(200)), [CREATED, UPDATED, WITHDRAWN]);
    assert_eq!(town.total("disputed"), 2000, "whatever was refunded before");
}

#[test]
fn a_pending_refund_fails_when_the_bank_is_faster() {
    let town = Town::default();
    let intent = town.paid("4000000000007726");
    let form = format!("payment_intent={intent}&amount=500");
    let refund = text(&town.post("/v1/refunds", &form).1["id"]);
    town.deliver(200);
    dispute(&town, &intent, "{}");
    let events = town.deliver(200);
    assert_eq!(types(&events)[..2], [CREATED, WITHDRAWN]);
    assert_eq!(types(&events)[3], "refund.failed");
    let (_, failed) = town.get(&format!("/v1/refunds/{refund}"));
    assert_eq!(
        failed["failure_reason"],
        "charge_for_pending_refund_disputed"
    );
    town.wait(2 * 86_400);
    assert_eq!(town.total("refunded"), 0);
}

#[test]
fn three_test_cards_are_disputed_as_soon_as_they_pay() {
    let cases = [
        ("4000000000000259", "fraudulent", "needs_response", 2000),
        (
            "4000000000002685",
            "product_not_received",
            "needs_response",
            2000,
        ),
        (
            "4000000000001976",
            "fraudulent",
            "warning_needs_response",
            0,
        ),
    ];
    for (card, reason, status, withdrawn) in cases {
        let town = Town::default();
        let id = town.session();
        let (_, session) = town.pay(&id, card);
        assert_eq!(session["payment_status"], "paid", "{card}");
        let events = town.deliver(200);
        assert_eq!(types(&events)[2], CREATED);
        assert_eq!(
            types(&events).last(),
            Some(&"checkout.session.completed"),
            "the session is told last"
        );
        let (_, disputes) = town.get("/v1/disputes");
        let made = &disputes["data"][0];
        assert_eq!(
            (&made["reason"], &made["status"]),
            (&reason.into(), &status.into())
        );
        assert_eq!(town.total("disputed"), withdrawn);
    }
}

#[test]
fn a_claim_that_makes_no_sense_is_refused() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let status = |payment: &str, body: &str| {
        town.post(&format!("/_sandbox/payments/{payment}/dispute"), body)
            .0
    };
    assert_eq!(status("pi_none", "{}"), 404);
    for body in [
        r#"{"reason":"boredom"}"#,
        r#"{"amount":2001}"#,
        r#"{"amount":0}"#,
        r#"{"inquiry":"yes"}"#,
    ] {
        assert_eq!(status(&intent, body), 400, "{body}");
    }
    let id = town.session();
    town.pay(&id, "4000000000000002");
    let charges = town.get("/v1/charges?limit=1").1;
    assert_eq!(status(&text(&charges["data"][0]["id"]), "{}"), 400);
    assert_eq!(town.get("/v1/disputes").1["data"], serde_json::json!([]));
}
