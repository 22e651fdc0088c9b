//! The staff's orders about money: a refund, a waiver, a forfeit taken back. Each once, twice, too
//! late and beside itself.

use std::sync::Arc;

use fleet_tests::{Booked, Town};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::guests::support::{everything, forfeited, paid, refunded, seen_by_staff};

async fn order(town: &Town, booked: &Booked, order: &str, body: &Value) -> (u16, String) {
    let answer = town.staff(booked, order, body).await;
    (answer.status, answer.code())
}

fn ok() -> (u16, String) {
    (200, String::new())
}

fn refused(code: &str) -> (u16, String) {
    (409, code.to_owned())
}

#[tokio::test]
async fn a_refund_by_the_staff_goes_back_once_however_often_it_is_ordered() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let body = json!({"amount": {"amount": 500, "currency": "GBP"}, "reason": "cold soup"});
    for _ in 0..2 {
        assert_eq!(order(&town, &booked, "refund", &body).await, ok());
        town.settle().await;
    }
    assert_eq!(refunded(&town), 500);
    let seen = seen_by_staff(&town, &booked).await;
    assert_eq!(seen["payments"][0]["returned"]["amount"], 500);
    assert_eq!(seen["kept"]["amount"], 1500);
    let all = json!({"reason": "the whole evening was cold", "by": "Sam"});
    for _ in 0..2 {
        assert_eq!(order(&town, &booked, "refund", &all).await, ok());
        town.settle().await;
    }
    assert_eq!(refunded(&town), 2000);
    let more = json!({"amount": {"amount": 1, "currency": "GBP"}, "reason": "one more"});
    let answer = town.staff(&booked, "refund", &more).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (422, "not_that_much")
    );
    assert_eq!(answer.json()["field"], "amount");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_tills_that_refund_at_once_refund_once() {
    let town = Arc::new(Town::new());
    let booked = paid(&town, &json!({})).await;
    let mut tills = JoinSet::new();
    for _ in 0..50 {
        let (town, booked) = (Arc::clone(&town), booked.clone());
        tills.spawn(async move {
            let body = json!({"reason": "storm"});
            order(&town, &booked, "refund", &body).await.0
        });
    }
    let answers = tills.join_all().await;
    assert!(answers.contains(&200));
    assert!(answers.iter().all(|status| [200, 503].contains(status)));
    town.settle().await;
    assert_eq!(refunded(&town), 2000);
}

#[tokio::test]
async fn a_waived_deposit_confirms_and_is_told_once() {
    let town = Town::new();
    let booked = town.pending().await;
    let body = json!({"reason": "a regular", "by": "Sam"});
    for _ in 0..2 {
        assert_eq!(order(&town, &booked, "waive", &body).await, ok());
        town.settle().await;
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.kinds(), ["deposit_request", "confirmation"]);
    let seen = seen_by_staff(&town, &booked).await;
    assert_eq!(seen["waived"]["by"], "Sam");
    assert_eq!(seen["waived"]["reason"], "a regular");
    let form = town.get(&format!("/bookings/{}", booked.id)).await;
    for hidden in ["waived", "payments", "kept", "owed", "a regular"] {
        assert!(!form.text.contains(hidden), "{hidden}: {}", form.text);
    }
}

#[tokio::test]
async fn a_waiver_after_the_release_comes_too_late() {
    let town = Town::new();
    let booked = town.pending().await;
    town.advance_to("2026-07-10T12:10:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
    let before = town.row(&booked);
    let body = json!({"reason": "a regular"});
    let answer = order(&town, &booked, "waive", &body).await;
    assert_eq!(answer, refused("wrong_state"));
    assert_eq!(town.row(&booked), before);
}

#[tokio::test]
async fn b18_a_forfeit_is_corrected_once_by_an_order_of_its_own() {
    let town = Town::new();
    let booked = forfeited(&town).await;
    let mark = order(&town, &booked, "attendance", &json!({"attended": true})).await;
    assert_eq!(mark, refused("too_late"), "a mark moves no money any more");
    let body = json!({"how": "refund", "reason": "she was there", "by": "Sam"});
    for _ in 0..2 {
        assert_eq!(order(&town, &booked, "reverse", &body).await, ok());
        town.settle().await;
    }
    // The other way is too late as well: it was taken back already.
    let credit = json!({"how": "credit", "reason": "she was there"});
    assert_eq!(order(&town, &booked, "reverse", &credit).await, ok());
    town.settle().await;
    assert_eq!(town.state(&booked), "FORFEITED", "the sweep's end stands");
    assert_eq!(refunded(&town), 2000);
    let seen = seen_by_staff(&town, &booked).await;
    assert_eq!(seen["reversal"]["how"], "refund");
    assert_eq!(seen["reversal"]["amount"]["amount"], 2000);
    assert_eq!(seen["reversal"]["reason"], "she was there");
    let told = town.history(&booked);
    assert_eq!(
        told.iter()
            .filter(|what| *what == "forfeit reversed")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_reversal_needs_a_forfeit() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let before = everything(&town);
    let body = json!({"how": "credit", "reason": "too early"});
    let answer = order(&town, &booked, "reverse", &body).await;
    assert_eq!(answer, refused("wrong_state"));
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn each_bad_field_of_an_order_is_named_and_nothing_moves() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let before = everything(&town);
    let long = "x".repeat(201);
    for (name, body, code, field) in [
        ("refund", json!({}), "missing", "reason"),
        ("refund", json!({"reason": "  "}), "missing", "reason"),
        ("refund", json!({"reason": long}), "too_long", "reason"),
        (
            "refund",
            json!({"reason": "r", "amount": 5}),
            "bad_amount",
            "amount",
        ),
        (
            "refund",
            json!({"reason": "r", "amount": {"amount": 0, "currency": "GBP"}}),
            "bad_amount",
            "amount",
        ),
        (
            "refund",
            json!({"reason": "r", "amount": {"amount": 5, "currency": "XXL"}}),
            "bad_amount",
            "amount",
        ),
        (
            "refund",
            json!({"reason": "r", "amount": {"amount": 5, "currency": "EUR"}}),
            "not_that_much",
            "amount",
        ),
        (
            "refund",
            json!({"reason": "r", "payment_ref": 5}),
            "not_text",
            "payment_ref",
        ),
        (
            "refund",
            json!({"reason": "r", "payment_ref": "pi_nobodys"}),
            "not_that_much",
            "amount",
        ),
        ("waive", json!({}), "missing", "reason"),
        (
            "waive",
            json!({"reason": "r", "by": "b".repeat(41)}),
            "too_long",
            "by",
        ),
        ("reverse", json!({"reason": "r"}), "missing", "how"),
        (
            "reverse",
            json!({"reason": "r", "how": "cash"}),
            "unknown_way",
            "how",
        ),
        ("reverse", json!({"how": "credit"}), "missing", "reason"),
    ] {
        let answer = town.staff(&booked, name, &body).await;
        let found = (answer.status, answer.code(), answer.json()["field"].clone());
        assert_eq!(found, (422, code.to_owned(), json!(field)), "{name} {body}");
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn money_is_ordered_by_the_staff_alone() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let before = everything(&town);
    let bearer = format!("Bearer {}", town.fleet.tokens().form);
    for name in ["refund", "waive", "reverse"] {
        let request = http::Request::post(format!("/bookings/{}/{name}", booked.id))
            .header("authorization", &bearer)
            .body(bytes::Bytes::from_static(b"{\"reason\": \"mine\"}"))
            .unwrap();
        let answer = town.request("bdc-intake", request).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "staff_only"));
    }
    let nobodys = Booked {
        id: "bkg_nobody".to_owned(),
        answer: Value::Null,
    };
    let answer = order(&town, &nobodys, "refund", &json!({"reason": "r"})).await;
    assert_eq!(answer, (404, "unknown_booking".to_owned()));
    assert_eq!(everything(&town), before);
}
