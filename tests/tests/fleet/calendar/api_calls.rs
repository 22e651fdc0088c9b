//! How many AWS calls each thing takes, one after the other: that is what a customer waits for and
//! what the bill counts.

use chrono::Duration;
use fleet_tests::{Booked, Town, deposit_paid};
use serde_json::json;

use crate::calendar::support::{book, overdue_town, quick_town, sweep, warm_up, wish};

#[tokio::test]
async fn a_booking_is_one_call_and_so_is_its_replay() {
    let town = Town::new();
    warm_up(&town).await;
    let posted = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!(posted.status, 201);
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
    town.forget_calls();
    town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
    town.forget_calls();
    let taken = town.post_booking(&town.wish(), Some("k-2")).await;
    assert_eq!(taken.status, 409);
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
    town.forget_calls();
    let bad = wish(&town, &json!({"party": 0}));
    assert_eq!(town.post_booking(&bad, None).await.status, 422);
    assert_eq!(town.calls("bdc-intake"), Vec::<String>::new());
}

#[tokio::test]
async fn a_cold_start_reads_two_secrets_and_a_warm_one_none() {
    let town = Town::new();
    town.book(&town.wish()).await;
    let calls = town.calls("bdc-intake");
    let secrets = calls
        .iter()
        .filter(|call| *call == "GetSecretValue")
        .count();
    assert_eq!(
        (secrets, calls.len()),
        (4, 5),
        "two versions each: {calls:?}"
    );
    town.forget_calls();
    book(&town, &json!({"starts_at": "2026-07-12T20:00"})).await;
    assert_eq!(town.calls("bdc-intake"), ["TransactWriteItems"]);
}

#[tokio::test]
async fn looking_is_one_read() {
    let town = Town::new();
    warm_up(&town).await;
    let booked = town.book(&town.wish()).await;
    town.forget_calls();
    assert_eq!(
        town.get(&format!("/bookings/{}", booked.id)).await.status,
        200
    );
    assert_eq!(town.calls("bdc-intake"), ["GetItem"]);
    town.forget_calls();
    let evening = "/slots?resource=table-4&from=2026-07-11T18:00&to=2026-07-11T22:00";
    assert_eq!(town.get(evening).await.status, 200);
    assert_eq!(town.calls("bdc-intake"), ["BatchGetItem"]);
}

#[tokio::test]
async fn a_sweep_costs_a_query_for_each_shard_and_two_calls_for_each_due_booking() {
    let (town, bookings) = overdue_town(3).await;
    town.advance(Duration::seconds(30)).await;
    for day in 1..20 {
        let starts_at = format!("2026-09-{day:02}T20:00");
        book(&town, &json!({"starts_at": starts_at})).await;
    }
    town.forget_calls();
    let swept = sweep(&town, "bdc-release-sweep").await;
    assert_eq!(
        swept,
        json!({"looked_at": bookings.len(), "failed": 0, "more": false})
    );
    let calls = town.calls("bdc-release-sweep");
    let count = |operation: &str| calls.iter().filter(|call| *call == operation).count();
    assert_eq!(
        [
            count("Query"),
            count("GetItem"),
            count("TransactWriteItems")
        ],
        [4, 3, 3],
        "bookings that are not due cost nothing"
    );
    assert_eq!(calls.len(), 10);
    town.forget_calls();
    assert_eq!(sweep(&town, "bdc-release-sweep").await["looked_at"], 0);
    assert_eq!(town.calls("bdc-release-sweep"), ["Query"; 4]);
}

#[tokio::test]
async fn a_settlement_costs_the_same() {
    let town = quick_town();
    let mut bookings: Vec<Booked> = Vec::new();
    for (resource, time) in [
        ("table-4", "18:30"),
        ("table-5", "18:30"),
        ("table-4", "20:00"),
    ] {
        let starts_at = format!("2026-07-11T{time}");
        let booked = book(
            &town,
            &json!({"resource": resource, "starts_at": starts_at}),
        )
        .await;
        let payment = format!("pi_{}", bookings.len());
        let event = deposit_paid(&town, &booked, &format!("evt_{payment}"), &payment);
        assert_eq!(town.webhook(&event).await.status, 200);
        bookings.push(booked);
    }
    // The schedule settles on the hour; 18:30 in London ends at 19:00 UTC.
    town.advance_to("2026-07-11T18:59:00Z").await;
    town.forget_calls();
    assert_eq!(sweep(&town, "bdc-settle-sweep").await["looked_at"], 0);
    assert_eq!(town.calls("bdc-settle-sweep"), ["Query"; 4]);
    town.forget_calls();
    town.advance_to("2026-07-11T19:00:00Z").await;
    let mut calls = town.calls("bdc-settle-sweep");
    calls.sort();
    assert_eq!(
        calls,
        [
            vec!["GetItem"; 2],
            vec!["Query"; 4],
            vec!["TransactWriteItems"; 2]
        ]
        .concat()
    );
    assert_eq!(town.cases(), ["attendance_unmarked", "attendance_unmarked"]);
}
