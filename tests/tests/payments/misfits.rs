//! Money that does not fit: nothing is confirmed by it, nothing is dropped, and a person can act.

use fleet_tests::{Town, deposit_paid};
use serde_json::{Value, json};

use crate::money::{assert_one_case, completed, gbp, take};
use crate::support::{
    assert_confirmed_once, case, confirmations, hasty_town, ledger, let_it_lapse, times,
};

#[tokio::test]
async fn bug_b08_only_the_exact_amount_in_the_currency_that_was_asked_for_confirms() {
    let wrong = [
        (json!({"amount_total": 1}), gbp(1), "GBP 1 "),
        (json!({"amount_total": 1999}), gbp(1999), "GBP 1999 "),
        (json!({"amount_total": 2001}), gbp(2001), "GBP 2001 "),
        (
            json!({"currency": "usd"}),
            json!({"amount": 2000, "currency": "USD"}),
            "USD 2000 ",
        ),
        (
            json!({"currency": "jpy"}),
            json!({"amount": 2000, "currency": "JPY"}),
            "JPY 2000 ",
        ),
        (json!({"amount_total": null}), Value::Null, "unknown"),
        (json!({"amount_total": "2000"}), Value::Null, "unknown"),
        (json!({"amount_total": 20.5}), Value::Null, "unknown"),
        (json!({"currency": null}), Value::Null, "unknown"),
        (
            json!({"payment_status": "no_payment_required"}),
            Value::Null,
            "unknown",
        ),
        (json!({"payment_status": null}), Value::Null, "unknown"),
        (
            json!({"payment_status": "something_new"}),
            Value::Null,
            "unknown",
        ),
    ];
    for (object, paid, words) in wrong {
        let town = Town::new();
        let booked = town.pending().await;
        let before = (town.row(&booked), town.rows("bdc-slots"));
        take(&town, &completed(&town, &booked, "evt_1", &object)).await;
        take(&town, &completed(&town, &booked, "evt_1", &object)).await;
        take(&town, &completed(&town, &booked, "evt_2", &object)).await;
        assert_eq!(
            (town.row(&booked), town.rows("bdc-slots")),
            before,
            "{object}"
        );
        assert_eq!(confirmations(&town), 0);
        let facts = json!({"event_id": "evt_1", "session_id": "cs_1", "payment_ref": "pi_1",
            "paid": paid, "wanted": gbp(2000), "state": "PENDING", "slot_key": booked.slot_key(),
            "confirmed_by": null});
        let words = ["pi_1", words, "GBP 2000 "];
        assert_one_case(&town, "amount_mismatch", &booked.id, &facts, &words);
        let rows = town.rows("bdc-payments");
        assert_eq!(rows.len(), 2, "the ledger keeps the money fact");
        assert!(
            rows.iter()
                .all(|row| row["amount"] == paid && row["outcome"] == "escalated")
        );
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
async fn a_short_payment_does_not_stand_in_the_way_of_the_whole_one() {
    let town = Town::new();
    let booked = town.pending().await;
    take(
        &town,
        &completed(&town, &booked, "evt_1", &json!({"amount_total": 1500})),
    )
    .await;
    take(&town, &deposit_paid(&town, &booked, "evt_2", "pi_2")).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("CONFIRMED", 1)
    );
    assert_eq!(
        town.cases(),
        ["amount_mismatch"],
        "the first payment is still to be given back"
    );
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

#[tokio::test]
async fn a_second_payment_is_a_case_and_the_booking_stays_as_it_is() {
    let town = Town::new();
    let booked = town.confirmed().await;
    let before = town.row(&booked);
    for id in ["evt_2", "evt_2", "evt_3"] {
        take(
            &town,
            &completed(&town, &booked, id, &json!({"payment_intent": "pi_2"})),
        )
        .await;
    }
    assert_eq!(town.row(&booked), before);
    assert_eq!(confirmations(&town), 1);
    let facts = json!({"payment_ref": "pi_2", "paid": gbp(2000), "wanted": gbp(2000),
        "state": "CONFIRMED", "confirmed_by": "pi_confirmed"});
    assert_one_case(
        &town,
        "second_payment",
        &booked.id,
        &facts,
        &["pi_2", "GBP 2000 "],
    );
}

#[tokio::test]
async fn a_third_payment_joins_the_open_case_and_the_team_hears_of_it() {
    let town = Town::new();
    let booked = town.confirmed().await;
    for (id, payment) in [("evt_2", "pi_2"), ("evt_3", "pi_3")] {
        take(
            &town,
            &completed(&town, &booked, id, &json!({"payment_intent": payment})),
        )
        .await;
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
async fn bug_c02_a_late_payment_is_a_case_with_all_that_is_needed_to_act() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    let_it_lapse(&town, &booked).await;
    let before = town.row(&booked);
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    for _ in 0..5 {
        take(&town, &event).await;
    }
    assert_eq!(town.row(&booked), before);
    assert_eq!((confirmations(&town), town.rows("bdc-slots").len()), (0, 0));
    let facts = json!({"event_id": "evt_1", "payment_ref": "pi_1", "paid": gbp(2000),
        "wanted": gbp(2000), "state": "RELEASED", "slot_key": booked.slot_key(), "confirmed_by": null});
    let words = ["pi_1", "GBP 2000 ", "RELEASED", "table-4", "released"];
    assert_one_case(&town, "late_payment", &booked.id, &facts, &words);
    assert_eq!(
        ledger(&town),
        [("evt_1".to_owned(), "escalated".to_owned())]
    );
    assert_eq!(times(&town.history(&booked), "late payment"), 1);
}

#[tokio::test]
async fn money_for_a_cancelled_booking_is_a_case() {
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
    take(&town, &deposit_paid(&town, &booked, "evt_1", "pi_1")).await;
    assert_eq!(
        (town.state(&booked).as_str(), confirmations(&town)),
        ("CANCELLED", 0)
    );
    let facts = json!({"payment_ref": "pi_1", "state": "CANCELLED"});
    assert_one_case(&town, "late_payment", &booked.id, &facts, &["pi_1"]);
}
