//! The open cases, and closing one: once, twice, beside the team's other hands, and what comes after.

use std::sync::Arc;

use bytes::Bytes;
use fleet_tests::{Answer, Booked, Town, deposit_paid};
use http::Request;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::guests::support::{INTAKE, everything, get_as_staff};

/// A booking that was released, and then paid too late for the grace.
async fn paid_too_late(town: &Town) -> Booked {
    let booked = town.pending().await;
    town.advance_to("2026-07-10T12:30:00Z").await;
    let event = deposit_paid(town, &booked, "evt_late", "pi_late");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    // The provider knows no such payment, so its refund fails: that is another case.
    assert_eq!(town.cases(), ["late_payment", "refund_failed"]);
    booked
}

async fn close(town: &Town, token: &str, case_id: &str, body: &Value) -> Answer {
    let path = format!("/cases/{}/close", case_id.replace('#', "%23"));
    let request = Request::post(path)
        .header("authorization", format!("Bearer {token}"))
        .body(Bytes::from(body.to_string()))
        .unwrap();
    town.request(INTAKE, request).await
}

/// The open cases about late payments.
async fn open(town: &Town) -> Vec<Value> {
    let answer = get_as_staff(town, "/cases?status=open", &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let cases = answer.json()["cases"].as_array().unwrap().clone();
    let late = |case: &Value| case["reason"] == "late_payment";
    cases.into_iter().filter(late).collect()
}

#[tokio::test]
async fn a_case_is_listed_closed_once_and_told_of_in_the_history() {
    let town = Town::new();
    let booked = paid_too_late(&town).await;
    let listed = open(&town).await;
    let case_id = format!("{}#late_payment", booked.id);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["case_id"], case_id.as_str());
    assert_eq!(listed[0]["opened_at"], "2026-07-10T12:30:00Z");
    let staff = town.fleet.tokens().staff;
    let body = json!({"reason": "called, wants another evening", "by": "Sam"});
    for again in [body.clone(), json!({"reason": "me too"})] {
        let answer = close(&town, &staff, &case_id, &again).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let case = answer.json();
        assert_eq!(
            (&case["status"], &case["closed"]["by"]),
            (&json!("CLOSED"), &json!("Sam"))
        );
        assert_eq!(case["closed_reason"], "called, wants another evening");
    }
    town.settle().await;
    assert_eq!(open(&town).await, Vec::<Value>::new());
    let told = town.history(&booked);
    assert_eq!(told.iter().filter(|what| *what == "case closed").count(), 1);
    // Something new opens it again.
    let event = deposit_paid(&town, &booked, "evt_later", "pi_later");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    assert_eq!(open(&town).await.len(), 1);
}

#[tokio::test]
async fn a_case_needs_a_reason_a_staff_token_and_to_be_there() {
    let town = Town::new();
    let booked = paid_too_late(&town).await;
    let case_id = format!("{}#late_payment", booked.id);
    let tokens = town.fleet.tokens();
    let before = everything(&town);
    let done = json!({"reason": "done"});
    for (token, id, body, status, code) in [
        (&tokens.form, case_id.as_str(), &done, 403, "staff_only"),
        (&tokens.staff, &case_id, &json!({}), 422, "missing"),
        (
            &tokens.staff,
            "bkg_none#disputed",
            &done,
            404,
            "unknown_case",
        ),
    ] {
        let answer = close(&town, token, id, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    let long = close(&town, &tokens.staff, &"x".repeat(3000), &done).await;
    assert_eq!(long.status, 404);
    let form = town.get("/cases?status=open").await;
    assert_eq!((form.status, form.code().as_str()), (403, "staff_only"));
    let closed = get_as_staff(&town, "/cases?status=closed", &[]).await;
    assert_eq!(
        (closed.status, closed.code().as_str()),
        (422, "unknown_status")
    );
    assert_eq!(everything(&town), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_people_who_close_a_case_at_once_close_it_once() {
    let town = Arc::new(Town::new());
    let booked = paid_too_late(&town).await;
    let case_id = format!("{}#late_payment", booked.id);
    let mut people = JoinSet::new();
    for _ in 0..30 {
        let (town, case_id) = (Arc::clone(&town), case_id.clone());
        people.spawn(async move {
            let staff = town.fleet.tokens().staff;
            let mut answer = close(&town, &staff, &case_id, &json!({"reason": "done"})).await;
            while answer.status == 503 {
                answer = close(&town, &staff, &case_id, &json!({"reason": "done"})).await;
            }
            answer.status
        });
    }
    let answers = people.join_all().await;
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    let told = town.history(&booked);
    assert_eq!(told.iter().filter(|what| *what == "case closed").count(), 1);
}
