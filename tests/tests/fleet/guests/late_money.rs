//! Money for a booking that gave its slots back: other units of the same time are held, or it goes
//! back with an offer of what else is free. The calendar is read only then.

use fleet_tests::{Booked, Town, deposit_paid};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::guests::support::wish;

const TASTING: &str = "2026-07-11T16:00";
/// Ten minutes after the deadline of every booking here, and the sweep has been.
const RELEASED: &str = "2026-07-10T12:10:00Z";

/// A released booking of the tasting for two, whose units are another party's by now.
async fn resold_tasting(town: &Town, party: u32) -> Booked {
    let tasting = json!({"resource": "tasting", "starts_at": TASTING});
    let booked = town.book(&wish(town, &tasting)).await;
    town.settle().await;
    town.advance_to(RELEASED).await;
    assert_eq!(town.state(&booked), "RELEASED");
    let others = json!({"resource": "tasting", "starts_at": TASTING, "party": party,
        "phone": "07700 900124"});
    town.book(&wish(town, &others)).await;
    town.settle().await;
    booked
}

/// An event that tells late of a payment that was made at an instant.
fn paid_at(town: &Town, booked: &Booked, at: &str) -> Value {
    let at: chrono::DateTime<chrono::Utc> = at.parse().unwrap();
    let mut event = deposit_paid(town, booked, "evt_late", "pi_late");
    event["created"] = json!(at.timestamp());
    event
}

/// The other times that the customer of a late refund is offered.
fn offered(town: &Town) -> Vec<Value> {
    let jobs = town.rows("bdc-outbox").into_iter();
    let jobs = jobs.filter_map(|row| serde_json::from_str(row["payload"].as_str()?).ok());
    let late: Vec<Value> = jobs
        .filter(|job: &Value| job["kind"] == "late_refund")
        .collect();
    let [job] = late.as_slice() else {
        panic!("{late:?}");
    };
    job["other_times"].as_array().unwrap().clone()
}

#[tokio::test]
async fn money_that_was_paid_in_time_gets_other_units_of_the_same_time() {
    let town = Town::new();
    // Ten of twelve: two other units are left, whichever the released booking had.
    let booked = resold_tasting(&town, 10).await;
    let event = paid_at(&town, &booked, "2026-07-10T11:59:00Z");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    let keys = town.row(&booked)["place"]["slot_keys"].clone();
    for key in keys.as_array().unwrap() {
        let holder = town.holder(key.as_str().unwrap());
        assert_eq!(holder.as_deref(), Some(booked.id.as_str()), "{key}");
    }
    assert_eq!(
        town.rows("bdc-slots").len(),
        24,
        "two hours of twelve seats"
    );
    assert!(!town.kinds().contains(&"late_refund".to_owned()));
}

#[tokio::test]
async fn money_for_a_time_that_is_sold_out_goes_back_with_what_else_is_free() {
    let town = Town::new();
    let booked = resold_tasting(&town, 12).await;
    let event = paid_at(&town, &booked, "2026-07-10T11:59:00Z");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.state(&booked), "RELEASED");
    // Two hours from 16:00 are sold, so 18:00 is the nearest that is free.
    let times = offered(&town);
    assert_eq!(times.len(), 3, "{times:?}");
    assert_eq!(times[0], "2026-07-11T17:00:00Z");
    assert!(!times.contains(&json!("2026-07-11T16:00:00Z")), "{times:?}");
}

#[tokio::test]
async fn money_that_was_paid_too_late_is_offered_its_own_time_first_if_that_is_free() {
    let town = Town::new();
    let booked = town.pending().await;
    town.advance_to("2026-07-10T12:30:00Z").await;
    let event = paid_at(&town, &booked, "2026-07-10T12:29:00Z");
    town.forget_calls();
    assert_eq!(town.webhook(&event).await.status, 200);
    let times = offered(&town);
    let own = json!("2026-07-11T19:00:00Z");
    assert_eq!((times.len(), &times[0]), (3, &own), "{times:?}");
    // Twice: the second finds itself in the ledger.
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(offered(&town), times);
}

#[tokio::test]
async fn a_calendar_that_does_not_answer_keeps_no_money_back() {
    let town = Town::new();
    let booked = town.pending().await;
    town.advance_to("2026-07-10T12:30:00Z").await;
    let faults = town.fleet.cloud.faults();
    let down = FaultRule::once("bdc-webhook", "BatchGetItem", FaultKind::InternalError);
    faults.add(down.times(20));
    let event = paid_at(&town, &booked, "2026-07-10T12:29:00Z");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(offered(&town), Vec::<Value>::new());
    assert_eq!(town.row(&booked)["payments"][0]["returned"]["amount"], 2000);
}

#[tokio::test]
async fn an_event_that_confirms_a_held_booking_reads_no_calendar() {
    let town = Town::new();
    let (first, second) = (
        town.pending().await,
        json!({"starts_at": "2026-07-12T20:00"}),
    );
    let second = town.book(&wish(&town, &second)).await;
    town.settle().await;
    let warm = deposit_paid(&town, &first, "evt_1", "pi_1");
    assert_eq!(town.webhook(&warm).await.status, 200);
    town.forget_calls();
    let event = deposit_paid(&town, &second, "evt_2", "pi_2");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.calls("bdc-webhook"), ["GetItem", "TransactWriteItems"]);
    assert_eq!(town.state(&second), "CONFIRMED");
}
