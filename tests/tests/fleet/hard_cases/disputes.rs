//! B15 and B17: the customer's bank takes the money back, or asks about it.

use fleet_tests::{Booked, Town};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    AFTERNOON, SETTLE, assert_no_cases, assert_stands, brisk_town, case, staff, sweep, take, told,
};

/// Disputed as fraud as soon as it is paid.
const DISPUTED: &str = "4000000000000259";
/// The bank asks as soon as it is paid.
const INQUIRED: &str = "4000000000001976";

/// A booking of the same day, so that few sweeps are between it and its settlement.
async fn disputed(card: &str) -> (Town, Booked, String) {
    disputed_in(Town::at(AFTERNOON), card).await
}

async fn disputed_in(town: Town, card: &str) -> (Town, Booked, String) {
    let booked = town.pending().await;
    town.pay(&booked, card).await;
    town.settle().await;
    assert_stands(&town, &booked);
    let disputes = town.fleet.sandbox.ledger()["disputes"].clone();
    let dispute = disputes[0]["id"].as_str().unwrap().to_owned();
    (town, booked, dispute)
}

/// The customer came, and every sweep that could settle has run.
async fn let_it_be_settled(town: &Town, booked: &Booked) {
    town.advance_to("2026-07-11T19:30:00Z").await;
    let mark = json!({"attended": true, "by": "Sam"});
    staff(town, booked, "attendance", &mark).await;
    town.advance_to("2026-07-12T00:00:00Z").await;
    sweep(town, SETTLE).await;
}

#[tokio::test]
async fn b15_a_chargeback_before_the_visit_freezes_the_deposit_and_is_one_case() {
    let (town, booked, dispute) = disputed(DISPUTED).await;
    let facts = case(&town, "disputed")["facts"].clone();
    assert_eq!(facts["payment_ref"], town.row(&booked)["payment_ref"]);
    for kind in ["charge.dispute.created", "charge.dispute.funds_withdrawn"] {
        take(&town, &told(&town, kind)).await;
    }
    assert_eq!(town.mails().len(), 1);
    assert_eq!(
        town.row(&booked)["disputes"][&dispute]["status"],
        "needs_response"
    );
    assert_eq!(
        town.row(&booked)["due_at"],
        Value::Null,
        "no sweep looks at it"
    );
    let_it_be_settled(&town, &booked).await;
    assert_eq!(town.state(&booked), "CONFIRMED", "frozen");
    // The deadline for evidence, and what it cost so far.
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let known = &town.payment(&payment)["disputes"][&dispute];
    assert_eq!(known["due_by"], "2026-07-19T23:59:59Z");
    assert_eq!(known["withdrawn"]["amount"], 2000);
    assert_eq!(known["fee"]["amount"], 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b15_calling_off_what_is_disputed_refunds_nothing_and_is_a_case() {
    for by in ["customer", "business"] {
        // Early enough for a customer to get the deposit back.
        let (town, booked, _) = disputed_in(Town::new(), DISPUTED).await;
        staff(&town, &booked, "cancel", &json!({"by": by})).await;
        assert_eq!(town.state(&booked), "CANCELLED");
        assert_eq!(town.holder(booked.slot_key()), None);
        assert_eq!(town.refunds(), Vec::<Value>::new());
        assert_eq!(town.cases(), ["disputed", "refund_due"]);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b15_the_staff_can_not_refund_what_is_disputed() {
    let (town, booked, _) = disputed(DISPUTED).await;
    let order = json!({"by": "Sam", "reason": "kind"});
    let answer = town.staff(&booked, "refund", &order).await;
    assert_eq!(answer.status, 409, "{}", answer.text);
    town.settle().await;
    assert_eq!(town.refunds(), Vec::<Value>::new());
}

#[tokio::test]
async fn b15_a_refund_that_the_dispute_overtook_is_refused_and_a_case() {
    let town = Town::new();
    let booked = town.paid().await;
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    // Called off, and disputed before the order has left.
    let cancel = json!({"by": "business"});
    assert_eq!(town.staff(&booked, "cancel", &cancel).await.status, 200);
    town.dispute(&payment, false);
    town.settle().await;
    assert_eq!(town.refunds(), Vec::<Value>::new(), "the provider says no");
    assert_eq!(town.cases(), ["disputed", "refund_failed"]);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b15_a_disputed_part_does_not_go_back_with_the_release() {
    let town = brisk_town();
    let booked = town.pending().await;
    let page = town.page_by_hand(&booked, 1500, "gbp");
    let payment = town.pay_page(&page, fleet_tests::CARD);
    town.settle().await;
    town.dispute(&payment, false);
    town.settle().await;
    town.advance(chrono::Duration::hours(25)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.refunds(), Vec::<Value>::new());
    assert_eq!(
        case(&town, "refund_due")["facts"]["payment_ref"],
        payment.as_str()
    );
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b17_a_dispute_that_is_won_or_prevented_lets_the_deposit_be_settled() {
    for end in ["won", "prevented"] {
        let (town, booked, dispute) = disputed(DISPUTED).await;
        let_it_be_settled(&town, &booked).await;
        assert_eq!(town.state(&booked), "CONFIRMED");
        town.move_dispute(&dispute, end);
        town.settle().await;
        assert_eq!(town.row(&booked)["disputes"][&dispute]["status"], end);
        sweep(&town, SETTLE).await;
        assert_eq!(town.state(&booked), "APPLIED", "{end}");
        let payment = town.row(&booked)["payment_ref"]
            .as_str()
            .unwrap()
            .to_owned();
        let known = &town.payment(&payment)["disputes"][&dispute];
        assert_eq!(known["reinstated"]["amount"], 2000, "{end}");
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b17_a_dispute_that_is_lost_leaves_nothing_to_settle_and_the_books_know_what_it_cost() {
    let (town, booked, dispute) = disputed(DISPUTED).await;
    town.move_dispute(&dispute, "under_review");
    town.settle().await;
    town.move_dispute(&dispute, "lost");
    town.settle().await;
    let_it_be_settled(&town, &booked).await;
    // There is no deposit to apply or to forfeit.
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.row(&booked)["payments"][0]["lost"]["amount"], 2000);
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let known = &town.payment(&payment)["disputes"][&dispute];
    assert_eq!(
        (
            &known["withdrawn"]["amount"],
            &known["fee"]["amount"],
            &known["status"]
        ),
        (&json!(2000), &json!(2000), &json!("lost"))
    );
    assert_eq!(known["reinstated"], Value::Null);
    // The team hears of the end, in the case that is open or a new one.
    let cases = town.rows("bdc-cases");
    assert!(cases.iter().any(|case| case["reason"] == "disputed"));
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b17_an_inquiry_moves_no_money_and_freezes_nothing() {
    for end in ["warning_under_review", "warning_closed"] {
        let (town, booked, dispute) = disputed(INQUIRED).await;
        case(&town, "disputed");
        town.move_dispute(&dispute, end);
        town.settle().await;
        let_it_be_settled(&town, &booked).await;
        assert_eq!(town.state(&booked), "APPLIED", "{end}");
        assert_eq!(town.fleet.sandbox.ledger()["totals"]["gbp"]["disputed"], 0);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b17_an_inquiry_that_becomes_a_dispute_freezes_from_then_on() {
    let (town, booked, dispute) = disputed(INQUIRED).await;
    town.move_dispute(&dispute, "needs_response");
    town.settle().await;
    let_it_be_settled(&town, &booked).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    // The inquiry's own event, late: it does not thaw anything.
    take(&town, &told(&town, "charge.dispute.created")).await;
    assert_eq!(
        town.row(&booked)["disputes"][&dispute]["status"],
        "needs_response"
    );
    sweep(&town, SETTLE).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn b17_calling_off_during_an_inquiry_gives_the_deposit_back() {
    let (town, booked, _) = disputed(INQUIRED).await;
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    assert_eq!(town.refunded(), 2000);
    assert_eq!(town.cases(), ["disputed"]);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn bug_d16_a_dispute_of_a_part_is_that_part_and_freezes_the_deposit() {
    let town = Town::at(AFTERNOON);
    let booked = town.paid().await;
    assert_no_cases(&town);
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/_sandbox/payments/{payment}/dispute");
    let opened = town.provider("POST", &path, &json!({"amount": 700}));
    assert_eq!(opened.0, 200);
    town.settle().await;
    let dispute = opened.1["id"].as_str().unwrap();
    let known = &town.payment(&payment)["disputes"][dispute];
    assert_eq!(
        (&known["amount"]["amount"], &known["withdrawn"]["amount"]),
        (&json!(700), &json!(700))
    );
    let_it_be_settled(&town, &booked).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
}
