use serde_json::json;

use super::{Member, control};
use crate::testing::read;

fn paying(member: &Member, invoice: &str, key: &str) -> (u16, serde_json::Value, bool) {
    let response = member
        .town
        .keyed(&format!("/v1/invoices/{invoice}/pay"), "", key);
    let (status, body) = read(&response);
    (
        status,
        body,
        response.headers().contains_key("idempotent-replayed"),
    )
}

#[test]
fn a_key_keeps_its_decline_although_the_card_would_pay_now() {
    let member = Member::new();
    let id = member.failed(&json!({"times": 1}));
    assert_eq!(paying(&member, &id, "a1").0, 402);
    let (status, _, replayed) = paying(&member, &id, "a1");
    assert_eq!((status, replayed), (402, true));
    assert_eq!(member.charges(&id), (0, 2));
    assert_eq!(paying(&member, &id, "a2").0, 200);
    let other = member
        .town
        .keyed(&format!("/v1/invoices/{id}/pay"), "forgive=true", "a2");
    assert_eq!(read(&other).1["error"]["type"], "idempotency_error");
    member.town.wait(86_400);
    assert_eq!(
        paying(&member, &id, "a1").0,
        400,
        "the key is forgotten, the invoice is not"
    );
}

#[test]
fn while_a_request_is_held_its_key_is_in_use_and_then_has_its_answer() {
    let member = Member::new();
    let id = member.failed(&json!({"times": 0}));
    control(&member.town, "next-pay", &json!({"outcome": "hold"}));
    let path = format!("/v1/invoices/{id}/pay");
    assert_eq!(member.town.keyed(&path, "", "a1").status(), 504);
    let (status, body, _) = paying(&member, &id, "a1");
    assert_eq!(
        (status, &body["error"]["code"]),
        (409, &json!("idempotency_key_in_use"))
    );
    assert_eq!(member.invoice(&id)["status"], "open");
    let released = control(&member.town, "next-pay/release", &json!({}));
    assert_eq!(released["status"], 200);
    let (status, body, replayed) = paying(&member, &id, "a1");
    assert_eq!(
        (status, &body["status"], replayed),
        (200, &json!("paid"), true)
    );
    assert_eq!(member.charges(&id), (1, 1));
}

#[test]
fn what_the_provider_gets_wrong_is_kept_or_not_as_it_says() {
    for (outcome, first, again, paid) in [
        ("500", 500, 500, 0),
        ("500_after_paying", 500, 500, 1),
        ("answer_lost", 504, 200, 1),
        ("rate_limit", 429, 200, 1),
        ("lock_timeout", 429, 200, 1),
        ("paid_by_customer", 400, 400, 1),
        ("processing_error", 402, 402, 0),
    ] {
        let member = Member::new();
        let id = member.failed(&json!({"times": 0}));
        control(&member.town, "next-pay", &json!({"outcome": outcome}));
        let path = format!("/v1/invoices/{id}/pay");
        let answers = [(); 2].map(|()| member.town.keyed(&path, "", "k").status().as_u16());
        assert_eq!(answers, [first, again], "{outcome}");
        assert_eq!(member.charges(&id).0, paid, "{outcome}");
    }
}

#[test]
fn while_a_request_is_held_nothing_else_pays_by_the_api() {
    let member = Member::new();
    let id = member.failed(&json!({"times": 0}));
    control(&member.town, "next-pay", &json!({"outcome": "hold"}));
    assert_eq!(paying_status(&member, &id, "a1"), 504);
    let (status, body, _) = paying(&member, &id, "a2");
    assert_eq!(
        (status, &body["error"]["code"]),
        (429, &json!("lock_timeout"))
    );
    control(&member.town, &format!("invoices/{id}/pay"), &json!({}));
    let released = control(&member.town, "next-pay/release", &json!({}));
    assert_eq!(released["status"], 400, "its customer was faster");
    assert_eq!(member.charges(&id).0, 1);
}

#[test]
fn what_is_held_charges_the_card_that_it_began_with() {
    let member = Member::new();
    let id = member.failed(&json!({"decline": "insufficient_funds"}));
    control(&member.town, "next-pay", &json!({"outcome": "hold"}));
    assert_eq!(paying_status(&member, &id, "a1"), 504);
    let card = format!("customers/{}/card", member.customer);
    control(&member.town, &card, &json!({"card": "pm_card_mastercard"}));
    let released = control(&member.town, "next-pay/release", &json!({}));
    assert_eq!(released["status"], 402);
    assert_eq!(
        paying_status(&member, &id, "a1"),
        402,
        "the same request has its answer"
    );
    assert_eq!(paying_status(&member, &id, "a2"), 200);
    assert_eq!(member.charges(&id), (1, 2));
}

fn paying_status(member: &Member, invoice: &str, key: &str) -> u16 {
    let path = format!("/v1/invoices/{invoice}/pay");
    member.town.keyed(&path, "", key).status().as_u16()
}
