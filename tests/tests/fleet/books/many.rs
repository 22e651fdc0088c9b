//! Tables of many pages, and rows that nobody can read.

use chrono::Duration;
use fleet_tests::{Town, session_event};
use lambda_kit::Entropy;
use ops::Tables;
use ops::books::{Books, LeftOut, read};
use paidonce_core::refund::PaymentRow;
use paidonce_core::step::{Row, Step, Written, write};
use serde::Serialize;
use serde_json::json;

use crate::books::support::*;

/// A row of the payments table of which only the key fits.
#[derive(Serialize)]
struct Broken {
    event_id: String,
}

impl Row for Broken {
    const NAME: &'static str = "broken";
    const KEY: &'static str = "event_id";

    fn key(&self) -> String {
        self.event_id.clone()
    }
}

async fn put<R: Row>(town: &Town, rows: &[R]) {
    let entropy = Entropy::from_os();
    for rows in rows.chunks(50) {
        let id = entropy.ulid(town.now());
        let step = Step::new(id, id.to_string(), town.now());
        let step = rows
            .iter()
            .fold(step, |step, row| step.create("bdc-payments", row));
        let written = write(&town.fleet.cloud.dynamodb(), &step).await.unwrap();
        assert!(matches!(written, Written::Applied));
    }
}

/// Payments of 1.00 each for bookings that are not there, one an hour.
fn payments(town: &Town, count: i32) -> Vec<PaymentRow> {
    let pound = serde_json::from_value(json!({"amount": 100, "currency": "GBP"})).ok();
    let payment = |number: i32| {
        let (id, at) = (
            format!("pi_{number:04}"),
            town.now() + Duration::hours(number.into()),
        );
        PaymentRow::collected(&id, &format!("bkg_{number}"), pound, at)
    };
    (0..count).map(payment).collect()
}

async fn without_provider(town: &Town, pages: &mut Vec<u64>) -> Books {
    let client = lambda_kit::client!(aws_sdk_dynamodb, &town.fleet.cloud.principal(POLICY));
    let mut progress = |rows| pages.push(rows);
    read(&client, &Tables::default(), july(), None, &mut progress)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_table_of_many_pages_is_read_to_its_end() {
    let town = Town::new();
    put(&town, &payments(&town, 350)).await;
    let mut pages = Vec::new();
    let books = without_provider(&town, &mut pages).await;
    assert_eq!(books.rows, 350);
    assert!(pages.len() >= 4 && pages.is_sorted(), "{pages:?}");
    assert_eq!(pages.last(), Some(&350));
    assert_eq!(books.entries.len(), 350);
    assert!(books.entries.is_sorted_by_key(|entry| entry.at));
    assert_eq!(closing(&books)["unallocated_payments"], -35_000);
    assert!(books.are_in_order() && books.tied.is_none());
}

#[tokio::test]
async fn a_row_that_can_not_be_read_is_named_and_stops_none_behind_it() {
    let town = Town::new();
    let broken = ["payment#a", "payment#pi_0001x", "payment#zz"];
    let broken = broken.map(|key| Broken {
        event_id: key.to_owned(),
    });
    put(&town, &broken).await;
    put(&town, &payments(&town, 120)).await;
    let mut books = without_provider(&town, &mut Vec::new()).await;
    assert_eq!(books.entries.len(), 120);
    assert!(!books.are_in_order());
    books.left_out.sort_by(|one, two| one.key.cmp(&two.key));
    let named: Vec<&str> = books.left_out.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(named, ["payment#a", "payment#pi_0001x", "payment#zz"]);
}

#[tokio::test]
async fn a_payment_of_which_it_is_not_known_what_came_is_named() {
    let town = Town::new();
    let booked = booked(&town, "2026-07-11T20:00").await;
    let event = json!({"metadata": {"booking_id": booked.id}, "payment_intent": "pi_odd",
        "client_reference_id": booked.id, "amount_total": null});
    let event = session_event(&town, "checkout.session.completed", "evt_1", &event);
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    let books = without_provider(&town, &mut Vec::new()).await;
    let left_out = LeftOut {
        key: "payment#pi_odd".to_owned(),
        why: "it is not known what came",
    };
    assert_eq!(books.left_out, [left_out]);
    assert!(!books.are_in_order() && books.entries.is_empty());
}
