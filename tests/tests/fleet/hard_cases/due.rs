//! Due work: few pages for little, further sweeps for much, and nothing starved by what fails.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use fleet_tests::{Booked, Town};
use futures::FutureExt;
use paidonce_core::booking::State;
use paidonce_core::due::{DueWork, work_off};
use serde_json::{Value, json};

use crate::hard_cases::support::{RELEASE, SETTLE, brisk_town, minutes, sweep};

type Item = HashMap<String, AttributeValue>;

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn stored(town: &Town, booked: &Booked) -> Item {
    let dynamodb = town.fleet.cloud.dynamodb();
    let get = dynamodb.get_item().table_name("bdc-bookings");
    let got = get.key("booking_id", text(&booked.id)).send().await;
    got.unwrap().item.unwrap()
}

/// Stores copies of a booking under ids of their own, without slots.
async fn plant(
    town: &Town,
    like: &Item,
    name: &str,
    count: usize,
    change: impl Fn(usize, &mut Item),
) {
    let dynamodb = town.fleet.cloud.dynamodb();
    for number in 0..count {
        let mut item = like.clone();
        let id = format!("bkg_{name}{number:0width$}", width = 26 - name.len());
        item.insert("booking_id".to_owned(), text(&id));
        change(number, &mut item);
        #[expect(clippy::disallowed_methods, reason = "many rows, and fast")]
        let put = dynamodb.put_item().table_name("bdc-bookings");
        put.set_item(Some(item)).send().await.unwrap();
    }
}

fn in_shard(state: &str, number: usize, due_at: &str, item: &mut Item) {
    let shard = format!("{state}#{}", number % 4);
    item.insert("state_shard".to_owned(), text(&shard));
    item.insert("due_at".to_owned(), text(due_at));
}

/// A town in which so many deposits are overdue, and no sweep has seen it since.
async fn overdue(count: usize) -> Town {
    let town = brisk_town();
    let booked = town.pending().await;
    let like = stored(&town, &booked).await;
    minutes(&town, 36).await;
    assert_eq!(town.state(&booked), "RELEASED");
    plant(&town, &like, "due", count, |number, item| {
        in_shard("PENDING", number, "2026-07-09T12:30:00Z", item);
    })
    .await;
    town.forget_calls();
    town
}

fn with_state(town: &Town, state: &str) -> usize {
    let rows = town.rows("bdc-bookings");
    let due = rows.iter().filter(|row| {
        let id = row["booking_id"].as_str().unwrap();
        row["state"] == state && id.starts_with("bkg_due")
    });
    due.count()
}

fn queries(town: &Town, function: &str) -> usize {
    let calls = town.calls(function);
    calls.iter().filter(|call| *call == "Query").count()
}

#[tokio::test]
async fn a_few_due_bookings_among_many_others_cost_a_few_pages() {
    let town = overdue(24).await;
    let row = |state: &str| {
        town.rows("bdc-bookings")
            .into_iter()
            .find(|row| row["state"] == state)
    };
    let due: Booked = Booked {
        id: row("PENDING").unwrap()["booking_id"]
            .as_str()
            .unwrap()
            .to_owned(),
        answer: Value::Null,
    };
    let like = stored(&town, &due).await;
    // Held and not due yet, confirmed, and over: none of them is read.
    plant(&town, &like, "held", 300, |number, item| {
        in_shard("PENDING", number, "2026-07-10T12:30:00Z", item);
    })
    .await;
    plant(&town, &like, "paid", 300, |number, item| {
        item.insert("state".to_owned(), text("CONFIRMED"));
        in_shard("CONFIRMED", number, "2026-07-11T22:30:00Z", item);
    })
    .await;
    plant(&town, &like, "over", 300, |_, item| {
        item.insert("state".to_owned(), text("APPLIED"));
        item.remove("state_shard");
        item.remove("due_at");
    })
    .await;
    town.forget_calls();
    let swept = sweep(&town, RELEASE).await;
    assert_eq!(swept, json!({"looked_at": 24, "failed": 0, "more": false}));
    assert_eq!(queries(&town, RELEASE), 4, "one page of each partition");
    let reads = town.calls(RELEASE);
    let reads = reads.iter().filter(|call| *call == "GetItem").count();
    assert_eq!(reads, 24, "and no row but the due ones");
    sweep(&town, SETTLE).await;
    assert_eq!(queries(&town, SETTLE), 4);
    assert_eq!(with_state(&town, "RELEASED"), 24);
}

/// Runs a sweep while the clock goes on by a second whenever it waits for the table.
async fn sweep_while_time_passes(town: &Town) -> Value {
    let mut sweeping = Box::pin(sweep(town, RELEASE));
    loop {
        if let Some(swept) = (&mut sweeping).now_or_never() {
            return swept;
        }
        town.advance(chrono::Duration::seconds(1)).await;
    }
}

#[tokio::test]
async fn more_than_one_sweep_takes_is_worked_off_by_further_sweeps_each_row_once() {
    const DUE: usize = 400;
    let town = overdue(DUE).await;
    let (mut looked_at, mut sweeps) = (0, 0);
    loop {
        let swept = sweep_while_time_passes(&town).await;
        assert_eq!(swept["failed"], 0);
        looked_at += swept["looked_at"].as_u64().unwrap();
        sweeps += 1;
        if swept["more"] == false {
            break;
        }
        assert_ne!(swept["looked_at"], 0, "every sweep gets on");
    }
    assert!(sweeps > 1, "{sweeps}");
    assert_eq!(with_state(&town, "RELEASED"), DUE);
    // A sweep of the schedule may have taken some of them.
    assert!(looked_at <= DUE as u64, "none is looked at twice");
    let audit = town.rows("bdc-audit");
    let released = audit.iter().filter(|row| {
        let id = row["booking_id"].as_str().unwrap_or_default();
        row["what"] == "released" && id.starts_with("bkg_due")
    });
    assert_eq!(released.count(), DUE);
}

#[tokio::test]
async fn pages_full_of_rows_that_fail_starve_none_behind_them() {
    let town = overdue(120).await;
    let bad: Item = [("state".to_owned(), text("PENDING"))].into();
    plant(&town, &bad, "bad", 480, |number, item| {
        in_shard("PENDING", number, "2020-01-01T00:00:00Z", item);
    })
    .await;
    for expected in [600, 480] {
        let swept = sweep(&town, RELEASE).await;
        assert_eq!(
            swept,
            json!({"looked_at": expected, "failed": 480, "more": false})
        );
        assert_eq!(with_state(&town, "RELEASED"), 120);
    }
}

#[tokio::test]
async fn a_partition_full_of_slow_failures_stops_no_other_when_the_time_is_over() {
    let town = overdue(0).await;
    let like: Item = [("state".to_owned(), text("PENDING"))].into();
    plant(&town, &like, "slow", 200, |_, item| {
        in_shard("PENDING", 0, "2020-01-01T00:00:00Z", item);
    })
    .await;
    plant(&town, &like, "fine", 30, |number, item| {
        in_shard("PENDING", number % 3 + 1, "2026-07-09T12:30:00Z", item);
    })
    .await;
    let client = town.fleet.cloud.dynamodb();
    let work = DueWork::bookings("bdc-bookings", State::Pending);
    let handled = Mutex::new(Vec::new());
    let (town, seen) = (&town, &handled);
    let handle = |key: String| async move {
        let is_slow = key.starts_with("bkg_slow");
        seen.lock().unwrap().push(key);
        if is_slow {
            town.advance(chrono::Duration::seconds(1)).await;
            return Err("it takes a second to fail");
        }
        Ok(())
    };
    let within = Duration::from_secs(80);
    let swept = work_off(&client, &work, town.now(), within, handle).await;
    let swept = swept.unwrap();
    assert!(swept.more, "{swept:?}");
    let handled = handled.lock().unwrap();
    let fine = handled.iter().filter(|key| key.starts_with("bkg_fine"));
    assert_eq!(fine.count(), 30, "{swept:?}");
    assert!((80..100).contains(&swept.failed), "{swept:?}");
}
