//! Money that does not fit: nothing is confirmed by it, nothing is dropped, and it ends well by
//! itself or a person can act.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town, deposit_paid};
use serde_json::{Value, json};

use crate::payments::money::{assert_one_case, completed, gbp, take};
use crate::payments::support::{
    assert_confirmed_once, assert_refunded_once, case, confirmations, hasty_town,
    let_the_grace_pass, times,
};

/// What is not the deposit of 2000 GBP: the object, what is understood to have come, and its words.
fn misfits() -> Vec<(Value, Value, &'static str)> {
    let unknown = |object: Value| (object, Value::Null, "unknown");
    let foreign = |currency: &str| json!({"amount": 2000, "currency": currency});
    vec![
        (json!({"amount_total": 1}), gbp(1), "GBP 1 "),
        (json!({"amount_total": 1999}), gbp(1999), "GBP 1999 "),
        (json!({"currency": "usd"}), foreign("USD"), "USD 2000 "),
        (json!({"currency": "jpy"}), foreign("JPY"), "JPY 2000 "),
        unknown(json!({"amount_total": null})),
        unknown(json!({"amount_total": "2000"})),
        unknown(json!({"amount_total": 20.5})),
        unknown(json!({"currency": null})),
        unknown(json!({"payment_status": "no_payment_required"})),
        unknown(json!({"payment_status": null})),
        unknown(json!({"payment_status": "something_new"})),
    ]
}

#[tokio::test]
async fn bug_b08_only_the_exact_amount_in_the_currency_that_was_asked_for_confirms() {
    for (object, paid, words) in misfits() {
        let town = Town::new();
        let booked = town.pending().await;
        town.advance(Duration::hours(1)).await;
        let slots = town.rows("bdc-slots");
        for id in ["evt_1", "evt_1", "evt_2"] {
            take(&town, &completed(&town, &booked, id, &object)).await;
        }
        assert_eq!(town.rows("bdc-slots"), slots, "{object}");
        assert_eq!(town.kinds(), ["deposit_request", "payment_checked"]);
        let row = town.row(&booked);
        assert_eq!(row["state"], "PENDING", "{object}");
        assert_eq!(
            row["deposit_deadline"], "2026-07-10T13:00:00Z",
            "held for a day"
        );
        assert_eq!(row["payments"][0]["amount"], paid, "{object}");
        let facts = json!({"payment_ref": "pi_1", "paid": paid, "wanted": gbp(2000),
            "state": "PENDING", "slot_key": booked.slot_key(), "confirmed_by": null});
        let words = ["pi_1", words, "GBP 2000 "];
        assert_one_case(&town, "amount_mismatch", &booked.id, &facts, &words);
        let events = town.events();
        assert_eq!(events.len(), 2, "the ledger keeps the money fact");
        assert!(events.iter().all(|row| row["amount"] == paid));
        assert_eq!(
            (&events[0]["outcome"], &events[1]["outcome"]),
            (&json!("escalated"), &json!("already"))
        );
        assert_eq!(town.payment("pi_1")["amount"], paid);
    }
}

#[tokio::test]
async fn bug_b08_the_case_of_the_currency_does_not_matter() {
    let town = Town::new();
    let booked = town.pending().await;
    take(
        &town,
        &completed(&town, &booked, "evt_1", &json!({"currency": "GBP"})),
    )
    .await;
    assert_confirmed_once(&town, &booked);
}

#[tokio::test]
async fn more_than_the_deposit_confirms_and_the_difference_goes_back() {
    for over in [1, 500] {
        let town = Town::new();
        let booked = town.pending().await;
        let page = town.page_by_hand(&booked, 2000 + over, "gbp");
        let payment = town.pay_page(&page, CARD);
        town.settle().await;
        assert_confirmed_once(&town, &booked);
        assert_refunded_once(&town, &payment, over);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn where_the_policy_asks_more_than_the_deposit_is_a_case_too() {
    let mut venue: Value = serde_json::from_str(paidonce_core::venue::BUILT_IN).unwrap();
    venue["policy"]["overpaid"] = json!("ASK");
    let town = Town::with_venue(&venue);
    let booked = town.pending().await;
    let page = town.page_by_hand(&booked, 2500, "gbp");
    let payment = town.pay_page(&page, CARD);
    town.settle().await;
    assert_eq!(
        (town.state(&booked).as_str(), town.refunded()),
        ("PENDING", 0)
    );
    let facts = json!({"payment_ref": payment, "paid": gbp(2500)});
    assert_one_case(&town, "amount_mismatch", &booked.id, &facts, &["GBP 2500 "]);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn a_short_payment_and_then_the_whole_deposit_confirm_and_what_is_over_goes_back() {
    let town = Town::new();
    let booked = town.pending().await;
    let page = town.page_by_hand(&booked, 1500, "gbp");
    town.pay_page(&page, CARD);
    town.settle().await;
    let page = town.page_by_hand(&booked, 2000, "gbp");
    let whole = town.pay_page(&page, CARD);
    town.settle().await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("CONFIRMED", 1)
    );
    assert_refunded_once(&town, &whole, 1500);
    assert_eq!(town.captured() - town.refunded(), 2000);
    assert_eq!(town.cases(), ["amount_mismatch"], "a person may close it");
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn nothing_to_pay_for_a_deposit_is_a_mismatch_that_names_the_session() {
    let town = Town::new();
    let booked = town.pending().await;
    let object =
        json!({"payment_status": "no_payment_required", "payment_intent": null, "amount_total": 0});
    take(&town, &completed(&town, &booked, "evt_1", &object)).await;
    let facts = json!({"payment_ref": "cs_1", "paid": null, "wanted": gbp(2000)});
    assert_one_case(&town, "amount_mismatch", &booked.id, &facts, &["cs_1"]);
}

/// What must not change by a payment that is not the booking's.
fn what_stands(town: &Town, booked: &Booked) -> Value {
    let row = town.row(booked);
    json!([
        row["state"],
        row["payment_ref"],
        row["paid_at"],
        row["place"],
        row["payments"][0]
    ])
}

#[tokio::test]
async fn a_second_and_a_third_payment_go_back_by_themselves_and_the_booking_stays_as_it_is() {
    let town = Town::new();
    let booked = town.paid().await;
    let before = what_stands(&town, &booked);
    for told in 1..=2 {
        let payment = town.pay_quietly(&booked, 2000);
        for id in ["a", "a", "b"] {
            let event = deposit_paid(&town, &booked, &format!("evt_{told}{id}"), &payment);
            take(&town, &event).await;
        }
        assert_refunded_once(&town, &payment, 2000);
        assert_eq!(what_stands(&town, &booked), before);
        assert_eq!(times(&town.kinds(), "second_refund"), told);
    }
    assert_eq!(confirmations(&town), 1);
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(town.captured() - town.refunded(), 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn second_payments_of_an_unknown_amount_join_one_case_and_the_team_hears_of_each() {
    let town = Town::new();
    let booked = town.confirmed().await;
    for (id, payment) in [("evt_2", "pi_2"), ("evt_3", "pi_3")] {
        let object = json!({"payment_intent": payment, "amount_total": null});
        take(&town, &completed(&town, &booked, id, &object)).await;
    }
    let case = case(&town, "second_payment");
    let about: Vec<&Value> = case["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["about"])
        .collect();
    assert_eq!(about, ["pi_2", "pi_3"]);
    assert_eq!(town.mails().len(), 2);
    assert!(town.mails()[1].text.contains("pi_3"));
}

#[tokio::test]
async fn bug_c02_a_late_payment_goes_back_once_and_is_a_case_with_all_that_is_needed_to_act() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    let_the_grace_pass(&town, &booked).await;
    let payment = town.pay_quietly(&booked, 2000);
    let event = deposit_paid(&town, &booked, "evt_1", &payment);
    for _ in 0..5 {
        take(&town, &event).await;
    }
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!((confirmations(&town), town.rows("bdc-slots").len()), (0, 0));
    assert_eq!(times(&town.kinds(), "late_refund"), 1);
    assert_refunded_once(&town, &payment, 2000);
    let facts = json!({"payment_ref": payment, "paid": gbp(2000), "wanted": gbp(2000),
        "state": "RELEASED", "slot_key": booked.slot_key(), "confirmed_by": null});
    let words = [&payment, "GBP 2000 ", "RELEASED", "table-4", "released"];
    assert_one_case(&town, "late_payment", &booked.id, &facts, &words);
    assert_eq!(town.events()[0]["outcome"], "refunded");
    assert_eq!(times(&town.history(&booked), "late payment"), 1);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn money_for_a_cancelled_booking_goes_back() {
    let town = Town::new();
    let booked = town.pending().await;
    let cancelled = town
        .staff(
            &booked,
            "cancel",
            &json!({"by": "customer", "reason": "ill"}),
        )
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let payment = town.pay_quietly(&booked, 2000);
    take(&town, &deposit_paid(&town, &booked, "evt_1", &payment)).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("CANCELLED", 0)
    );
    let facts = json!({"payment_ref": payment, "state": "CANCELLED"});
    assert_one_case(&town, "late_payment", &booked.id, &facts, &[&payment]);
    assert_refunded_once(&town, &payment, 2000);
    town.assert_money_is_accounted_for();
}
