//! A batch is handled record by record: exactly those that failed come again.

use fleet_tests::Town;
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::messages::support::*;

#[tokio::test]
async fn bug_g05_of_ten_jobs_exactly_the_three_bad_ones_come_again() {
    let town = Town::new();
    let mut jobs = Vec::new();
    for starts_at in times().take(10) {
        let booked = town.book(&wish_at(&town, "table-4", &starts_at)).await;
        jobs.push(job(&town, &booked, "deposit_request"));
    }
    jobs[2] = "not json".to_owned();
    let mut unknown: Value = serde_json::from_str(&jobs[4]).unwrap();
    unknown["payload"]["booking_id"] = json!("bkg_none");
    jobs[4] = unknown.to_string();
    // Of #1, #2, #4, #6, #7 it is the fifth.
    let rule = FaultRule::once("bdc-composer", "Publish", FaultKind::Throttled).nth(5);
    town.fleet.cloud.faults().add(rule);
    let event = queue_event(&jobs);
    let reply = town.fleet.cloud.invoke("bdc-composer", event).await;
    assert_eq!(failed_ids(&reply.unwrap()), ["m-3", "m-5", "m-7"]);
    assert_eq!(town.texts().len(), 7);

    let again = queue_event(&[jobs[6].as_str()]);
    let reply = town.fleet.cloud.invoke("bdc-composer", again).await;
    assert_eq!(failed_ids(&reply.unwrap()), Vec::<&str>::new());
    assert_eq!(town.texts().len(), 8);
}

#[tokio::test]
async fn bug_g05_of_ten_handovers_exactly_the_three_bad_ones_come_again() {
    let town = Town::new();
    let handover = |nth: usize| {
        json!({
            "event_id": format!("e-{nth}"), "type": "case.open", "schema_version": 1,
            "aggregate": format!("booking#bkg_{nth}"), "occurred_at": "2026-07-09T12:00:00Z",
            "payload": {"subject": format!("bkg_{nth}"), "reason": "late_payment",
                "facts": {"payment_ref": format!("pi_{nth}")}},
        })
    };
    let mut bodies: Vec<String> = (1..=10).map(|nth| handover(nth).to_string()).collect();
    bodies[2] = "not json".to_owned();
    let mut bare = handover(5);
    bare["payload"] = json!({"subject": "bkg_5"});
    bodies[4] = bare.to_string();
    // Two writes each of #1, #2, #4, #6; then all that a contended write of #7 tries.
    let rule = FaultRule::once("bdc-escalator", "TransactWriteItems", FaultKind::Conflict);
    town.fleet.cloud.faults().add(rule.nth(9).times(4));
    let event = queue_event(&bodies);
    let reply = town.fleet.cloud.invoke("bdc-escalator", event).await;
    assert_eq!(failed_ids(&reply.unwrap()), ["m-3", "m-5", "m-7"]);
    assert_eq!((town.cases().len(), town.mails().len()), (7, 7));
}

#[tokio::test]
async fn a_batch_that_is_no_batch_fails_as_a_whole() {
    let town = Town::new();
    for function in ["bdc-composer", "bdc-escalator", "bdc-relay"] {
        let answer = town
            .fleet
            .cloud
            .invoke(function, json!({"Records": 1}))
            .await;
        assert!(answer.is_err(), "{function}: {answer:?}");
    }
}
