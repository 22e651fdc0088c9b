//! Money for a booking that is not there: not yet, or never.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Duration;
use fleet_tests::{Booked, Town, deposit_paid};
use serde_json::{Value, json};

use crate::payments::money::{gbp, take};
use crate::payments::support::{assert_confirmed_once, case, everything};

fn stranger(town: &Town) -> Booked {
    let id = format!("bkg_{}", "01jzq0".repeat(5))
        .chars()
        .take(30)
        .collect::<String>();
    let answer = json!({"deposit": {"amount": 2000}});
    assert!(
        town.rows("bdc-bookings")
            .iter()
            .all(|row| row["booking_id"] != id.as_str())
    );
    Booked { id, answer }
}

#[tokio::test]
async fn bug_b03_a_young_event_for_a_booking_that_is_not_there_comes_again() {
    let town = Town::new();
    let event = deposit_paid(&town, &stranger(&town), "evt_1", "pi_1");
    let before = everything(&town);
    for _ in 0..3 {
        let answer = town.webhook(&event).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (503, "unknown_yet")
        );
        assert_eq!(answer.headers["retry-after"], "60");
    }
    town.settle().await;
    assert_eq!(everything(&town), before);
    assert_eq!(town.mails().len(), 0);
}

#[tokio::test]
async fn bug_b03_an_event_that_was_faster_than_the_booking_confirms_when_it_comes_again() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    let row = without_its_row(&town, &booked).await;
    assert_eq!(town.webhook(&event).await.status, 503);
    #[expect(
        clippy::disallowed_methods,
        reason = "the booking's own write, two seconds late"
    )]
    let put = town.fleet.cloud.dynamodb().put_item();
    put.table_name("bdc-bookings")
        .set_item(Some(row))
        .send()
        .await
        .unwrap();
    town.advance(Duration::minutes(30)).await;
    take(&town, &event).await;
    assert_confirmed_once(&town, &booked);
}

/// Takes the row away, as if the step that makes it were still under way.
async fn without_its_row(town: &Town, booked: &Booked) -> HashMap<String, AttributeValue> {
    let dynamodb = town.fleet.cloud.dynamodb();
    let key = AttributeValue::S(booked.id.clone());
    let got = dynamodb
        .get_item()
        .table_name("bdc-bookings")
        .key("booking_id", key.clone());
    let row = got.send().await.unwrap().item.unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the table before the booking's own write"
    )]
    let deletion = dynamodb.delete_item();
    let deletion = deletion.table_name("bdc-bookings").key("booking_id", key);
    deletion.send().await.unwrap();
    row
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_b03_a_reference_that_never_becomes_known_is_one_case() {
    let town = Arc::new(Town::new());
    let unknown = stranger(&town);
    let events = [
        deposit_paid(&town, &unknown, "evt_1", "pi_1"),
        deposit_paid(&town, &unknown, "evt_2", "pi_1"),
    ];
    town.advance(Duration::minutes(10)).await;
    let deliveries = (0..10).map(|n| {
        let (town, event) = (Arc::clone(&town), events[n % 2].clone());
        tokio::spawn(async move { town.webhook(&event).await.status })
    });
    for status in futures::future::join_all(deliveries).await {
        assert_eq!(status.unwrap(), 200);
    }
    town.settle().await;
    assert_eq!(
        town.rows("bdc-bookings"),
        Vec::<Value>::new(),
        "the webhook makes no booking"
    );
    let case = case(&town, "unknown_reference");
    let facts = &case["entries"][0]["facts"];
    assert_eq!(
        (&facts["paid"], &facts["payment_ref"]),
        (&gbp(2000), &json!("pi_1"))
    );
    assert_eq!(
        (&facts["wanted"], &facts["state"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(case["entries"].as_array().unwrap().len(), 1);
    assert_eq!(town.mails().len(), 1);
    let text = &town.mails()[0].text;
    assert!(
        text.contains("pi_1") && text.contains(&unknown.id) && text.contains("GBP 2000"),
        "{text}"
    );
}
