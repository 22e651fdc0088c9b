//! What was written leaves: at least once, under one id, in spite of crashes, refusals and poison.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet_tests::{Booked, Town};
use futures::future::join_all;
use http::{Request, Response};
use local_cloud::{Delivery, FaultKind, FaultRule, Neighbour};
use serde_json::{Value, json};

use crate::messages::support::*;

const RELAY: &str = "bdc-relay";

fn sweep() -> Value {
    json!({"kind": "sweep"})
}

fn row_of(town: &Town, booked: &Booked) -> Value {
    outbox_of(town, booked).remove(0)
}

/// Writes the pending rows anew as if at another time: the clock can't pass the stream's turn by.
async fn write_anew(town: &Town, created_at: &str) {
    for row in pending(town) {
        let attribute = |(name, value): (&String, &Value)| {
            let value = match value {
                Value::Number(number) => AttributeValue::N(number.to_string()),
                other => text(other.as_str().unwrap()),
            };
            (name.clone(), value)
        };
        let mut attributes: Vec<_> = row.as_object().unwrap().iter().map(attribute).collect();
        attributes.retain(|(name, _)| name != "created_at");
        attributes.push(("created_at".to_owned(), text(created_at)));
        put_row(town, "bdc-outbox", attributes).await;
    }
}

/// A queue service that refuses some entries of a batch, and keeps what it takes.
#[derive(Default)]
struct Picky {
    refused: Mutex<BTreeSet<String>>,
    taken: Mutex<Vec<Value>>,
}

impl Picky {
    fn beside(town: &Town) -> Arc<Self> {
        let picky = Arc::new(Self::default());
        town.fleet
            .cloud
            .attach(Arc::<Self>::clone(&picky) as Arc<dyn Neighbour>);
        picky
    }

    fn refuse(&self, rows: &[Value]) {
        let ids = rows.iter().map(event_id);
        *self.refused.lock().unwrap() = ids.collect();
    }

    /// The ids of the events that were taken, in order.
    fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().iter().map(event_id).collect()
    }
}

fn event_id(event: &Value) -> String {
    event["event_id"].as_str().unwrap().to_owned()
}

impl Neighbour for Picky {
    fn base_url(&self) -> &str {
        "https://sqs.eu-west-2.amazonaws.com"
    }

    fn call(&self, request: Request<Bytes>, _: DateTime<Utc>) -> Response<Bytes> {
        let request: Value = serde_json::from_slice(request.body()).unwrap();
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request["Entries"].as_array().unwrap() {
            let event: Value =
                serde_json::from_str(entry["MessageBody"].as_str().unwrap()).unwrap();
            if self.refused.lock().unwrap().contains(&event_id(&event)) {
                failed.push(
                    json!({"Id": entry["Id"], "SenderFault": false, "Code": "InternalError"}),
                );
            } else {
                successful
                    .push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0"}));
                self.taken.lock().unwrap().push(event);
            }
        }
        let answer = json!({"Successful": successful, "Failed": failed});
        Response::new(Bytes::from(answer.to_string()))
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        None
    }

    fn take_due(&self, _: DateTime<Utc>) -> Vec<Delivery> {
        Vec::new()
    }

    fn delivered(&self, _: &str, _: u16, _: DateTime<Utc>) {}
}

/// The events that wait in a queue.
fn events(town: &Town, queue: &str) -> Vec<Value> {
    let bodies = waiting(town, queue).into_iter();
    bodies
        .map(|body| serde_json::from_str(&body).unwrap())
        .collect()
}

/// As many bookings as asked for, whose events nobody has sent yet; in the order of their events.
async fn unsent(town: &Town, count: usize) -> Vec<Value> {
    for starts_at in times().take(count) {
        town.book(&wish_at(town, "table-4", &starts_at)).await;
    }
    town.rows("bdc-outbox")
}

#[tokio::test]
async fn an_event_that_is_relayed_twice_keeps_its_id_and_is_applied_once() {
    let town = Town::new();
    let booked = town.pending().await;
    let sent = row_of(&town, &booked);
    assert_eq!(sent["status"], "PUBLISHED");
    let stream = stream_event(std::slice::from_ref(&sent));
    for event in [stream.clone(), stream] {
        let reply = town.fleet.cloud.invoke(RELAY, event).await.unwrap();
        assert_eq!(failed_ids(&reply), Vec::<&str>::new());
    }
    let message: Value = serde_json::from_str(&message_of(&sent)).unwrap();
    assert_eq!(events(&town, "bdc-jobs"), [message.clone(), message]);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn an_event_that_is_relayed_late_keeps_the_mark_of_its_first_sending() {
    let town = Town::new();
    let booked = town.book(&town.wish()).await;
    let stream = stream_event(&[row_of(&town, &booked)]);
    town.settle().await;
    let marked = row_of(&town, &booked);
    assert_eq!(marked["published_at"], "2026-07-09T12:00:00Z");
    assert_eq!(marked["attempts"], 1);
    assert_eq!(marked["pending_shard"], Value::Null);
    town.advance(Duration::minutes(10)).await;
    town.fleet.cloud.invoke(RELAY, stream).await.unwrap();
    town.settle().await;
    assert_eq!(row_of(&town, &booked), marked, "a mark never moves");
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stream_and_sweep_beside_each_other_lose_nothing_and_mark_once() {
    for _ in 0..5 {
        let town = Town::new();
        let rows = unsent(&town, 6).await;
        write_anew(&town, "2026-07-09T11:58:00Z").await;
        let racers = (0..8).map(|nth| {
            let cloud = town.fleet.cloud.clone();
            let event = if nth % 2 == 0 {
                sweep()
            } else {
                stream_event(&rows)
            };
            tokio::spawn(async move { cloud.invoke(RELAY, event).await })
        });
        for raced in join_all(racers).await {
            raced.unwrap().unwrap();
        }
        let after = town.rows("bdc-outbox");
        assert!(
            after
                .iter()
                .all(|row| row["status"] == "PUBLISHED" && row["attempts"] == 1)
        );
        let sent: BTreeSet<String> = events(&town, "bdc-jobs").iter().map(event_id).collect();
        assert_eq!(sent, rows.iter().map(event_id).collect());
        town.settle().await;
        assert_eq!(town.texts().len(), rows.len());
    }
}

#[tokio::test]
async fn bug_g05_of_a_batch_that_was_taken_in_part_only_the_rest_stays_pending() {
    let town = Town::new();
    let picky = Picky::beside(&town);
    let rows = unsent(&town, 4).await;
    picky.refuse(&rows[1..3]);
    let reply = town.fleet.cloud.invoke(RELAY, stream_event(&rows)).await;
    assert_eq!(failed_ids(&reply.unwrap()), ["s-2", "s-3"]);
    assert_eq!(picky.taken(), [event_id(&rows[0]), event_id(&rows[3])]);
    let pending_ids: Vec<String> = pending(&town).iter().map(event_id).collect();
    assert_eq!(pending_ids, [event_id(&rows[1]), event_id(&rows[2])]);

    picky.refuse(&rows[2..3]);
    write_anew(&town, "2026-07-09T11:58:00Z").await;
    let swept = town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(swept, json!({"pending": 2, "failed": 1}));
    assert_eq!(picky.taken().last(), Some(&event_id(&rows[1])));
    picky.refuse(&[]);
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(picky.taken().len(), 4);
    assert_eq!(pending(&town), Vec::<Value>::new());
}

#[tokio::test]
async fn more_events_than_fit_one_batch_go_out_in_several() {
    let town = Town::new();
    let picky = Picky::beside(&town);
    let rows = unsent(&town, 12).await;
    let reply = town.fleet.cloud.invoke(RELAY, stream_event(&rows)).await;
    assert_eq!(failed_ids(&reply.unwrap()), Vec::<&str>::new());
    assert_eq!(picky.taken(), rows.iter().map(event_id).collect::<Vec<_>>());
    let sends = town.calls(RELAY);
    let sends = sends.iter().filter(|call| call.starts_with("POST"));
    assert_eq!(sends.count(), 2);
}

#[tokio::test]
async fn bug_g21_an_event_that_was_sent_but_not_marked_is_sent_again_under_its_id() {
    for fault in [
        FaultKind::CrashBefore,
        FaultKind::CrashAfter,
        FaultKind::Slow,
    ] {
        let town = Town::new();
        let picky = Picky::beside(&town);
        let rows = unsent(&town, 2).await;
        let rule = FaultRule::once(RELAY, "UpdateItem", fault);
        town.fleet.cloud.faults().add(rule);
        town.advance(Duration::seconds(5)).await;
        let taken = picky.taken();
        assert!(taken.len() > rows.len(), "{fault:?}: {taken:?}");
        let ids: BTreeSet<String> = taken.into_iter().collect();
        assert_eq!(ids, rows.iter().map(event_id).collect(), "{fault:?}");
        assert_eq!(pending(&town), Vec::<Value>::new(), "{fault:?}");
    }
    // The same with the consumer: it knows the event and sends nothing more.
    let town = Town::new();
    let rule = FaultRule::once(RELAY, "UpdateItem", FaultKind::CrashBefore);
    town.fleet.cloud.faults().add(rule);
    town.pending().await;
    town.advance(Duration::seconds(5)).await;
    let jobs = town.calls("bdc-composer");
    assert_eq!(jobs.iter().filter(|call| *call == "Query").count(), 2);
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn rows_that_the_stream_gave_up_on_are_picked_up_by_the_sweep() {
    let town = Town::new();
    // Eleven tries of the stream, and the first sweep among them.
    let down = FaultRule::once(RELAY, "SendMessageBatch", FaultKind::CrashBefore).times(12);
    town.fleet.cloud.faults().add(down);
    town.pending().await;
    town.advance(Duration::minutes(6)).await;
    let given_up = waiting(&town, "bdc-relay-dlq");
    assert_eq!(given_up.len(), 1);
    assert!(given_up[0].contains("RetryAttemptsExhausted"));
    assert_eq!((town.texts().len(), pending(&town).len()), (0, 1));
    town.advance(Duration::minutes(5)).await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(pending(&town), Vec::<Value>::new());
}

#[tokio::test]
async fn a_record_that_is_no_outbox_row_goes_to_the_dead_letters_and_stops_none() {
    let town = Town::new();
    town.book(&wish_at(&town, "table-4", "2026-07-11T17:00"))
        .await;
    let poison = [("event_id", text("00POISON")), ("status", text("NONSENSE"))];
    put_row(&town, "bdc-outbox", poison).await;
    town.book(&wish_at(&town, "table-4", "2026-07-11T20:00"))
        .await;
    town.settle().await;
    assert_eq!(town.texts().len(), 2, "its neighbours are out at once");
    town.advance(Duration::minutes(6)).await;
    let given_up = waiting(&town, "bdc-relay-dlq");
    assert_eq!(given_up.len(), 1);
    let report: Value = serde_json::from_str(&given_up[0]).unwrap();
    assert_eq!(
        report["DDBStreamBatchInfo"]["batchSize"], 1,
        "only it: {report}"
    );
    town.book(&wish_at(&town, "table-5", "2026-07-11T20:00"))
        .await;
    town.settle().await;
    assert_eq!(town.texts().len(), 3, "the stream goes on behind it");
}

/// An event that can't be made into a message, among others of its queue.
async fn spoil(town: &Town, created_at: &str) {
    let good = town.rows("bdc-outbox").remove(0);
    let attribute = |name: &str| text(good[name].as_str().unwrap());
    let one = AttributeValue::N("1".to_owned());
    for shard in 0..4 {
        let row = [
            ("event_id", text(format!("00SPOILT{shard}"))),
            ("aggregate", attribute("aggregate")),
            ("type", attribute("type")),
            ("schema_version", one.clone()),
            ("payload", text("not json")),
            ("target", attribute("target")),
            ("status", text("PENDING")),
            ("attempts", one.clone()),
            ("created_at", text(created_at)),
            ("pending_shard", text(format!("PENDING#{shard}"))),
        ];
        put_row(town, "bdc-outbox", row).await;
    }
}

#[tokio::test]
async fn an_event_that_can_not_be_sent_stops_none_beside_it_in_the_stream() {
    let town = Town::new();
    let rows = unsent(&town, 3).await;
    spoil(&town, "2026-07-09T11:00:00Z").await;
    let stream = stream_event(&town.rows("bdc-outbox"));
    let reply = town.fleet.cloud.invoke(RELAY, stream).await.unwrap();
    assert_eq!(failed_ids(&reply), ["s-1", "s-2", "s-3", "s-4"]);
    assert_eq!(waiting(&town, "bdc-jobs").len(), rows.len());
    assert_eq!(pending(&town).len(), 4, "the spoilt ones alone");
}

#[tokio::test]
async fn an_event_that_can_not_be_sent_stops_none_behind_it_in_the_sweep() {
    let town = Town::new();
    let rows = unsent(&town, 12).await;
    write_anew(&town, "2026-07-09T11:58:00Z").await;
    // Older than all others in every shard: they come first in each batch.
    spoil(&town, "2026-07-09T11:00:00Z").await;
    let swept = town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(swept, json!({"pending": rows.len() + 4, "failed": 4}));
    assert_eq!(waiting(&town, "bdc-jobs").len(), rows.len());
    assert_eq!(pending(&town).len(), 4, "the spoilt ones alone");
}

#[tokio::test]
async fn events_too_large_for_one_batch_together_go_out_all_the_same() {
    let town = Town::new();
    let picky = Picky::beside(&town);
    let mut rows = unsent(&town, 6).await;
    for row in &mut rows {
        // As large as a row can be.
        row["payload"] = json!(json!({"long": "x".repeat(399_000)}).to_string());
    }
    let reply = town.fleet.cloud.invoke(RELAY, stream_event(&rows)).await;
    assert_eq!(failed_ids(&reply.unwrap()), Vec::<&str>::new());
    assert_eq!(picky.taken(), rows.iter().map(event_id).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_sweep_says_how_long_the_oldest_event_has_waited_and_zero_if_none_has() {
    let town = Town::new();
    let lines = Lines::default();
    let _collecting = lines.collect();
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(lines.metric("outbox_oldest_pending_s"), [0]);
    assert_eq!(lines.metric("outbox_pending"), [0]);

    unsent(&town, 2).await;
    let down = FaultRule::once(RELAY, "SendMessageBatch", FaultKind::NotSent).times(99);
    town.fleet.cloud.faults().add(down);
    write_anew(&town, "2026-07-09T11:48:20Z").await;
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(lines.metric("outbox_oldest_pending_s"), [0, 700]);
    assert_eq!(lines.metric("outbox_pending"), [0, 2]);

    town.fleet.cloud.faults().clear();
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(lines.metric("outbox_oldest_pending_s"), [0, 700, 700, 0]);
    town.settle().await;
    assert_eq!(town.texts().len(), 2);
}

#[tokio::test]
async fn the_relays_of_two_systems_count_under_their_own_names() {
    let town = Town::new();
    let lines = Lines::default();
    let _collecting = lines.collect();
    unsent(&town, 2).await;
    let down = FaultRule::once(RELAY, "SendMessageBatch", FaultKind::NotSent).times(99);
    town.fleet.cloud.faults().add(down);
    write_anew(&town, "2026-07-09T11:48:20Z").await;
    for relay in [RELAY, "dunr-relay"] {
        town.fleet.cloud.invoke(relay, sweep()).await.unwrap();
    }
    let booking_waits = [(RELAY.to_owned(), 700), ("dunr-relay".to_owned(), 0)];
    assert_eq!(lines.counted("outbox_oldest_pending_s"), booking_waits);
    town.fleet.cloud.faults().clear();
    town.settle().await;
}

#[tokio::test]
async fn an_event_of_a_writer_whose_clock_is_ahead_is_sent_and_has_no_age() {
    let town = Town::new();
    let lines = Lines::default();
    let _collecting = lines.collect();
    town.book(&town.wish()).await;
    write_anew(&town, "2026-07-09T12:05:00Z").await;
    town.fleet.cloud.invoke(RELAY, sweep()).await.unwrap();
    assert_eq!(lines.metric("outbox_oldest_pending_s"), [0]);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn any_fault_at_any_call_of_the_relay_loses_nothing_and_doubles_no_text() {
    let calls = {
        let town = Town::new();
        town.pending().await;
        town.calls(RELAY)
    };
    assert_eq!(calls, ["SendMessageBatch", "UpdateItem"]);
    for rule in every_fault(RELAY, calls) {
        let town = Town::new();
        town.fleet.cloud.faults().add(rule.clone());
        town.pending().await;
        town.advance(Duration::minutes(11)).await;
        assert_struck(&town, &rule);
        assert_eq!(town.kinds(), ["deposit_request"], "{rule:?}");
        assert_eq!(pending(&town), Vec::<Value>::new(), "{rule:?}");
        assert_eq!(town.cases(), Vec::<String>::new(), "{rule:?}");
    }
}

#[tokio::test]
async fn any_fault_at_any_call_of_a_sweep_loses_nothing_and_doubles_no_text() {
    let calls = ["Query", "GetItem", "SendMessageBatch", "UpdateItem"];
    let calls = calls.map(str::to_owned).to_vec();
    for rule in every_fault(RELAY, calls) {
        let town = Town::new();
        // Before the stream's turn, so that the sweep has something to do.
        town.book(&town.wish()).await;
        write_anew(&town, "2026-07-09T11:58:00Z").await;
        town.fleet.cloud.faults().add(rule.clone());
        let _ = town.fleet.cloud.invoke(RELAY, sweep()).await;
        town.advance(Duration::minutes(11)).await;
        assert_struck(&town, &rule);
        assert_eq!(town.kinds(), ["deposit_request"], "{rule:?}");
        assert_eq!(pending(&town), Vec::<Value>::new(), "{rule:?}");
    }
}
