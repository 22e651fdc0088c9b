use serde_json::Value;

use crate::testing::{Town, text, types};

const CARD: &str = "4242424242424242";
const LATER: &str = "4000000000007726";
const FAILS: &str = "4000000000005126";
const DAY: i64 = 86_400;

fn refund(town: &Town, intent: &str, more: &str) -> Value {
    let (status, refund) = town.post("/v1/refunds", &format!("payment_intent={intent}{more}"));
    assert_eq!(status, 200, "{refund}");
    refund
}

fn move_to(town: &Town, refund: &Value, body: &str) -> (u16, Value) {
    let id = text(&refund["id"]);
    town.post(&format!("/_sandbox/refunds/{id}/move"), body)
}

#[test]
fn partial_refunds_add_up_to_the_charge_and_no_further() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let refund =
        |amount: &str| town.post("/v1/refunds", &format!("payment_intent={intent}{amount}"));
    assert_eq!(refund("&amount=1500&metadata[k]=v").1["amount"], 1500);
    let (status, body) = refund("&amount=501");
    assert_eq!((status, &body["error"]["param"]), (400, &"amount".into()));
    assert_eq!(refund("").1["amount"], 500, "no amount: all that is left");
    assert_eq!(refund("").1["error"]["code"], "charge_already_refunded");
    let ledger = town.sandbox.ledger();
    assert_eq!(ledger["totals"]["gbp"]["refunded"], 2000);
    assert_eq!(ledger["charges"][0]["refunded"], true);
    let expected = [
        "charge.refunded",
        "refund.created",
        "charge.refunded",
        "refund.created",
    ];
    assert_eq!(types(&town.deliver(200)), expected);
    assert_eq!(town.get("/v1/refunds?limit=1").1["has_more"], true);
}

#[test]
fn a_charge_that_failed_or_does_not_exist_is_not_refunded() {
    let town = Town::default();
    let id = town.session();
    town.pay(&id, "4000000000000002");
    let charge = text(&town.sandbox.ledger()["charges"][0]["id"]);
    let code = |form: &str| town.post("/v1/refunds", form).1["error"]["code"].clone();
    assert_eq!(code(&format!("charge={charge}")), "charge_not_refundable");
    assert_eq!(code("charge=ch_none"), "resource_missing");
    assert_eq!(town.post("/v1/refunds", "amount=5").0, 400);
}

#[test]
fn metadata_stays_with_whom_it_was_given_to() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let refund = refund(&town, &intent, "&metadata[internal_id]=r-1");
    assert_eq!(refund["metadata"]["internal_id"], "r-1");
    assert!(refund["metadata"]["booking_id"].is_null());
    let events = town.deliver(200);
    let charge = &events[0]["data"]["object"];
    assert_eq!(
        (&events[0]["type"], &charge["metadata"]["booking_id"]),
        (&"charge.refunded".into(), &"b-1".into())
    );
    assert!(charge["metadata"]["internal_id"].is_null());
}

#[test]
fn a_pending_refund_succeeds_after_a_day_and_counts_from_the_start() {
    let town = Town::default();
    let intent = town.paid(LATER);
    let refund = refund(&town, &intent, "&amount=500");
    assert_eq!(refund["status"], "pending");
    assert!(refund["balance_transaction"].is_null());
    assert_eq!(town.charge()["amount_refunded"], 500);
    town.deliver(200);
    town.wait(DAY - 1);
    assert_eq!(town.deliver(200).len(), 0);
    town.wait(1);
    let events = town.deliver(200);
    assert_eq!(types(&events), ["refund.updated", "charge.refund.updated"]);
    assert_eq!(events[0]["data"]["object"]["status"], "succeeded");
    assert_eq!(events[0]["created"], town.now().timestamp());
    assert_eq!(town.total("refunded"), 500);
}

#[test]
fn a_refund_that_fails_gives_its_amount_back_to_the_charge() {
    let town = Town::default();
    let intent = town.paid(FAILS);
    let first = refund(&town, &intent, "");
    assert_eq!(first["status"], "succeeded");
    assert_eq!(town.charge()["refunded"], true);
    town.deliver(200);
    town.wait(DAY);
    let events = town.deliver(200);
    let expected = ["refund.updated", "refund.failed", "charge.refund.updated"];
    assert_eq!(types(&events), expected);
    let failed = &events[1]["data"]["object"];
    assert_eq!(failed["failure_reason"], "expired_or_canceled_card");
    assert!(failed["failure_balance_transaction"].is_string());
    assert_eq!(town.charge()["amount_refunded"], 0);
    assert_eq!(town.charge()["refunded"], false);
    assert_eq!(town.total("refunded"), 0);
    assert_eq!(town.sandbox.ledger()["refunds"][0]["status"], "failed");
    assert_eq!(refund(&town, &intent, "")["amount"], 2000, "once more");
}

#[test]
fn the_next_refund_is_answered_as_told_and_waits_to_be_moved() {
    let town = Town::default();
    let intent = town.paid(CARD);
    for status in ["pending", "requires_action"] {
        let body = format!(r#"{{"status":"{status}"}}"#);
        assert_eq!(town.post("/_sandbox/refunds/next", &body).0, 200);
        let made = refund(&town, &intent, "&amount=100");
        assert_eq!(made["status"], status);
        town.wait(30 * DAY);
        let id = text(&made["id"]);
        assert_eq!(
            town.get(&format!("/v1/refunds/{id}")).1["status"],
            status,
            "nothing moves it but a person"
        );
        assert_eq!(move_to(&town, &made, r#"{"status":"canceled"}"#).0, 200);
        let again = move_to(&town, &made, r#"{"status":"succeeded"}"#);
        assert_eq!(again.0, 400, "canceled is the end");
    }
    assert_eq!(town.charge()["amount_refunded"], 0);
    assert_eq!(refund(&town, &intent, "")["status"], "succeeded");
    let canceled = town.post("/_sandbox/refunds/next", r#"{"status":"canceled"}"#);
    assert_eq!(canceled.0, 400);
}

#[test]
fn a_refund_can_fail_in_the_answer_itself() {
    let town = Town::default();
    let intent = town.paid(CARD);
    town.post("/_sandbox/refunds/next", r#"{"status":"failed"}"#);
    let made = refund(&town, &intent, "");
    assert_eq!(made["status"], "failed");
    assert_eq!(town.charge()["amount_refunded"], 0);
    let events = town.deliver(200);
    assert_eq!(types(&events), ["refund.created", "refund.failed"]);
}

#[test]
fn a_refund_that_was_moved_by_hand_is_left_alone_by_the_time() {
    let town = Town::default();
    let intent = town.paid(LATER);
    let made = refund(&town, &intent, "");
    move_to(&town, &made, r#"{"status":"succeeded"}"#);
    town.wait(3 * DAY);
    assert_eq!(town.total("refunded"), 2000);
    let body = r#"{"status":"failed","failure_reason":"lost_or_stolen_card"}"#;
    let (_, failed) = move_to(&town, &made, body);
    assert_eq!(failed["failure_reason"], "lost_or_stolen_card");
    assert_eq!(town.total("refunded"), 0);
}

#[test]
fn a_refund_from_the_dashboard_has_no_metadata_and_no_request() {
    let town = Town::default();
    let intent = town.paid(CARD);
    let path = format!("/_sandbox/payments/{intent}/refund");
    let (status, made) = town.post(&path, r#"{"amount":700}"#);
    assert_eq!((status, &made["metadata"]), (200, &serde_json::json!({})));
    let events = town.deliver(200);
    assert_eq!(types(&events), ["charge.refunded", "refund.created"]);
    assert!(events[0]["request"]["id"].is_null());
    let charge = text(&made["charge"]);
    let path = format!("/_sandbox/payments/{charge}/refund");
    assert_eq!(town.post(&path, "{}").1["amount"], 1300, "all that is left");
    assert_eq!(town.post(&path, "{}").0, 400);
    assert_eq!(town.post("/_sandbox/payments/pi_none/refund", "{}").0, 404);
}
