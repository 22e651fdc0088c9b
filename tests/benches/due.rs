//! The release sweep over 100,000 bookings in the local cloud: what a few due ones among many others
//! cost, and what it takes to work all of them off. Prints the calls and the memory beside the time.

use std::cell::Cell;
use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, StreamSpecification, WriteRequest};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use divan::Bencher;
use fleet::{Fleet, FleetOptions};
use http::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const BOOKINGS: usize = 100_000;
const DUE: usize = 100;
const SWEEP: &str = "bdc-release-sweep";
/// What one request may write.
const BATCH: usize = 25;
const NOON: &str = "2026-07-09T12:00:00Z";
const DUE_AT: &str = "2026-07-10T12:00:00Z";
const NEXT_DAY: &str = "2026-07-10T12:01:00Z";
const LATER: &str = "2026-07-11T12:00:00Z";

type Item = HashMap<String, AttributeValue>;

fn main() {
    divan::main();
}

/// A fleet in memory with one booking, to be copied.
struct Stage {
    runtime: Runtime,
    fleet: Fleet,
    like: Item,
    planted: Cell<usize>,
}

impl Stage {
    fn set() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().expect("a runtime starts");
        let start: DateTime<Utc> = NOON.parse().expect("an instant");
        let fleet = Fleet::start(FleetOptions::starting(start)).expect("the fleet starts");
        let like = runtime.block_on(book(&fleet));
        runtime.block_on(without_stream(&fleet));
        runtime.block_on(
            fleet
                .cloud
                .advance_to(NEXT_DAY.parse().expect("an instant")),
        );
        Self {
            runtime,
            fleet,
            like,
            planted: Cell::new(0),
        }
    }

    /// Stores so many copies of the booking, due at an instant.
    fn plant(&self, count: usize, due_at: &str) {
        let first = self.planted.replace(self.planted.get() + count);
        let numbers: Vec<usize> = (first..first + count).collect();
        let client = self.fleet.cloud.dynamodb();
        for numbers in numbers.chunks(BATCH) {
            let put = |number: &usize| {
                let mut item = self.like.clone();
                let mut set = |name: &str, value: String| {
                    item.insert(name.to_owned(), AttributeValue::S(value));
                };
                set("booking_id", format!("bkg_{number:026}"));
                set("state_shard", format!("PENDING#{}", number % 4));
                set("due_at", due_at.to_owned());
                let put = PutRequest::builder().set_item(Some(item)).build();
                WriteRequest::builder()
                    .put_request(put.expect("it has an item"))
                    .build()
            };
            let requests = numbers.iter().map(put).collect();
            #[expect(clippy::disallowed_methods, reason = "many rows, and fast")]
            let write = client.batch_write_item();
            let write = write.request_items("bdc-bookings", requests).send();
            self.runtime.block_on(write).expect("they are stored");
        }
    }

    fn sweep(&self) -> Value {
        let event = json!({"kind": "sweep"});
        let swept = self.fleet.cloud.invoke(SWEEP, event);
        self.runtime.block_on(swept).expect("the sweep runs")
    }

    fn print_costs(&self, what: &str) {
        let calls = self.fleet.cloud.calls_by_function();
        let calls = &calls[SWEEP];
        let count = |operation: &str| &calls[format!("dynamodb {operation}")]["calls"];
        println!(
            "{what}: {} pages, {} reads, {} writes, at most {} MB",
            count("Query"),
            count("GetItem"),
            count("TransactWriteItems"),
            peak_mb(),
        );
        self.fleet.cloud.clear_calls();
    }
}

/// Ends the outbox's stream: the local one looks through all its records at each write, and nobody
/// reads it here.
async fn without_stream(fleet: &Fleet) {
    let off = StreamSpecification::builder().stream_enabled(false).build();
    let off = off.expect("it says whether");
    let client = fleet.cloud.dynamodb();
    let update = client.update_table().table_name("bdc-outbox");
    let updated = update.stream_specification(off).send().await;
    updated.expect("the stream ends");
}

async fn book(fleet: &Fleet) -> Item {
    let wish = json!({"resource": "table-4", "starts_at": "2026-07-11T20:00", "party": 2,
        "name": "Ada", "phone": "07700 900123", "source": "form"});
    let request = Request::post("/bookings")
        .header("authorization", format!("Bearer {}", fleet.tokens().form))
        .header("content-type", "application/json")
        .body(Bytes::from(wish.to_string()))
        .expect("a request");
    let answer = fleet.cloud.call_url("bdc-intake", request).await;
    let answer: Value = serde_json::from_slice(answer.body()).expect("a booking");
    let id = answer["booking_id"].as_str().expect("its id").to_owned();
    fleet.cloud.settle().await;
    let client = fleet.cloud.dynamodb();
    let get = client.get_item().table_name("bdc-bookings");
    let got = get.key("booking_id", AttributeValue::S(id)).send().await;
    got.ok().and_then(|got| got.item).expect("its row")
}

/// The most memory that this process ever had, in megabytes, tables and all.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.unwrap_or_default() / 1024
}

/// 100 due among 100,000.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn a_few_due_among_many(bencher: Bencher<'_, '_>) {
    let stage = Stage::set();
    stage.plant(BOOKINGS - DUE, LATER);
    stage.fleet.cloud.clear_calls();
    bencher
        .with_inputs(|| stage.plant(DUE, DUE_AT))
        .bench_local_values(|()| {
            let swept = stage.sweep();
            assert_eq!(swept, json!({"looked_at": DUE, "failed": 0, "more": false}));
        });
    stage.print_costs("ten sweeps of 100 due among 100,000");
}

/// All of them due, worked off to the last.
#[divan::bench(args = [10_000, BOOKINGS], sample_count = 1, sample_size = 1)]
fn all_of_them_due(bencher: Bencher<'_, '_>, due: usize) {
    let stage = Stage::set();
    stage.plant(due, DUE_AT);
    stage.fleet.cloud.clear_calls();
    println!("before the sweep: at most {} MB", peak_mb());
    bencher.bench_local(|| {
        let mut looked_at = 0;
        loop {
            let swept = stage.sweep();
            looked_at += swept["looked_at"].as_u64().unwrap_or_default();
            if swept["more"] == false {
                break;
            }
        }
        assert_eq!(looked_at, due as u64);
    });
    stage.print_costs(&format!("{due} due"));
}
