use std::fmt::Debug;

use super::*;
use crate::testing::{Fault, Town, key, now};

fn done<T: Debug>(answer: Answer<T>) -> T {
    match answer {
        Answer::Done(done) => done,
        other @ (Answer::Refused(_) | Answer::Unknown(_)) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_customer_with_too_many_charges_is_known_in_part() {
    let page = |from: usize| {
        let charges = (from..from + 100).map(|number| {
            serde_json::json!({
                "id": format!("ch_{number}"), "object": "charge", "status": "failed",
                "paid": false, "amount_captured": 0, "amount_refunded": 0, "currency": "gbp",
                "disputed": false, "created": 1_784_034_000, "livemode": false,
            })
        });
        let data: Vec<_> = charges.collect();
        let body = serde_json::json!({ "object": "list", "data": data, "has_more": true });
        Fault::Answers(200, Box::leak(body.to_string().into_boxed_str()), None)
    };
    let town = Town::with((0..5).map(|number| page(number * 100)));
    let answer = town
        .provider()
        .charges_of_customer(&key(), "cus_1", now())
        .await;
    let Charges { charges, complete } = done(answer);
    assert_eq!((charges.len(), complete), (500, false));
    assert_eq!(town.sent().len(), 5);
}

#[test]
fn calls_can_be_awaited_from_any_thread() {
    fn is_send(_: impl Send) {}
    let (provider, key) = (Town::with([]).provider(), key());
    let attempt = PayInvoice {
        invoice_id: "in_1",
        payment_method: None,
        idempotency_key: "a1",
    };
    is_send(provider.invoice(&key, "in_1"));
    is_send(provider.pay_invoice(&key, &attempt));
    is_send(provider.set_subscription_card(&key, "sub_1", "pm_1", "k"));
    is_send(provider.charges_of_customer(&key, "cus_1", now()));
    is_send(provider.webhook_endpoints(&key));
}
