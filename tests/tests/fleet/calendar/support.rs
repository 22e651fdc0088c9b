//! What the stories of the calendar have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::task::Poll;

use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use chrono::Duration;
use fleet::FleetOptions;
use fleet_tests::{Answer, Booked, Town};
use http::Request;
use paidonce_core::venue::BUILT_IN;
use serde_json::{Value, json};

/// The start of [`quick_town`]: Saturday 11 July 2026, two hours before 20:00 in London.
pub const EVENING: &str = "2026-07-11T17:00:00Z";

/// Every table that a request to the intake could write to.
pub const WRITTEN_TABLES: [&str; 5] = [
    "bdc-bookings",
    "bdc-slots",
    "bdc-audit",
    "bdc-outbox",
    "bdc-idempotency",
];

/// The built-in venue, changed.
pub fn venue(change: impl FnOnce(&mut Value)) -> Value {
    let mut venue = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut venue);
    venue
}

/// A venue in whose policy a life takes an evening: the deposit is due after 30 minutes, reminded
/// 10 before, and settled at the end of the appointment.
pub fn quick_venue() -> Value {
    venue(|venue| {
        let policy = &mut venue["policy"];
        policy["pay_within"] = json!(30);
        policy["pay_time_min"] = json!(5);
        policy["remind_before"] = json!(10);
        policy["start_buffer"] = json!(0);
        policy["settle_after"] = json!(0);
        policy["free_cancellation"] = json!(60);
    })
}

/// A town with [`quick_venue`], in the [`EVENING`].
pub fn quick_town() -> Town {
    town_with(EVENING, &quick_venue())
}

/// A [`quick_town`] with so many unpaid bookings, overdue since a minute, that no sweep has seen
/// since: the sweeps of the schedule were 2 minutes ago and will be in 3.
pub async fn overdue_town(bookings: usize) -> (Town, Vec<Booked>) {
    let town = quick_town();
    town.advance(Duration::minutes(1)).await;
    let mut booked = Vec::new();
    for day in 0..bookings {
        let starts_at = format!("2026-08-{:02}T20:00", day + 1);
        booked.push(book(&town, &json!({"starts_at": starts_at})).await);
    }
    town.settle().await;
    town.advance(Duration::minutes(31)).await;
    (town, booked)
}

/// A town that starts at an instant, with a venue of the story's own.
pub fn town_with(start: &str, venue: &Value) -> Town {
    let mut options = FleetOptions::starting(start.parse().unwrap());
    options.venue = Some(venue.to_string());
    Town::with(options)
}

/// A wish with some fields changed; null takes a field out.
pub fn wish(town: &Town, changes: &Value) -> Value {
    let mut wish = town.wish();
    for (field, value) in changes.as_object().unwrap() {
        wish[field] = value.clone();
    }
    wish.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    wish
}

/// The phone of one of up to a thousand customers: numbers that are nobody's.
pub fn phone_of(customer: usize) -> String {
    assert!(customer < 1000, "there are no more of these");
    format!("07700 900{customer:03}")
}

/// A changed wish of one of many customers, each with a phone of their own.
pub fn wish_of(town: &Town, customer: usize, changes: &Value) -> Value {
    let mut wish = wish(town, changes);
    wish["phone"] = json!(phone_of(customer));
    wish
}

/// The tokens that are taken of the limits on unpaid bookings, each as the booking that has it.
pub fn tokens(town: &Town) -> Vec<String> {
    let rows = town.rows("bdc-idempotency").into_iter();
    let tokens = rows.filter(|row| row["scope_key"].as_str().unwrap().starts_with("hold#"));
    tokens
        .map(|row| row["booking_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether an answer says that it was given before.
pub fn is_replayed(answer: &Answer) -> bool {
    let header = answer.headers.get("idempotent-replayed");
    header.map(String::as_str) == Some("true")
}

/// Takes the booking of a changed wish.
pub async fn book(town: &Town, changes: &Value) -> Booked {
    town.book(&wish(town, changes)).await
}

/// Posts to the intake with headers and a body of the story's own.
pub async fn post(town: &Town, headers: &[(&str, &[u8])], body: impl Into<Bytes>) -> Answer {
    let mut request = Request::post("/bookings").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    town.request("bdc-intake", request.body(body.into()).unwrap())
        .await
}

/// Posts a wish as the staff.
pub async fn post_as_staff(town: &Town, wish: &Value, key: &str) -> Answer {
    let bearer = format!("Bearer {}", town.fleet.tokens().staff);
    let headers: [(&str, &[u8]); 2] = [
        ("authorization", bearer.as_bytes()),
        ("idempotency-key", key.as_bytes()),
    ];
    post(town, &headers, wish.to_string()).await
}

/// GET from the intake, as the staff.
pub async fn get_as_staff(town: &Town, path: &str) -> Answer {
    let bearer = format!("Bearer {}", town.fleet.tokens().staff);
    let request = Request::get(path).header("authorization", bearer);
    town.request("bdc-intake", request.body(Bytes::new()).unwrap())
        .await
}

/// Runs one sweep now, without its schedule; returns what it did.
pub async fn sweep(town: &Town, function: &str) -> Value {
    let event = json!({"kind": "sweep"});
    town.fleet.cloud.invoke(function, event).await.unwrap()
}

/// Reads the secrets that the intake keeps in memory.
pub async fn warm_up(town: &Town) {
    assert_eq!(town.get("/bookings/none").await.status, 404);
    let taken = wish(
        town,
        &json!({"resource": "table-5", "starts_at": "2026-12-01T12:00"}),
    );
    assert_eq!(town.post_booking(&taken, None).await.status, 201);
    town.settle().await;
    town.forget_calls();
}

/// The texts of one booking's customer by kind, in order.
pub fn kinds_of(town: &Town, booked: &Booked) -> Vec<String> {
    let rows = town.rows("bdc-audit").into_iter();
    let sent = rows.filter(|row| row["booking_id"] == booked.id.as_str());
    let mut sent: Vec<Value> = sent
        .filter(|row| row["what"] == "message sent, by text")
        .collect();
    sent.sort_by_key(|row| row["at"].as_str().unwrap_or_default().to_owned());
    let occasion = |row: &Value| {
        row["ts"]
            .as_str()
            .unwrap()
            .split('#')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    sent.iter().map(occasion).collect()
}

/// Nothing is left in a queue, a dead-letter queue or the outbox.
pub fn assert_nothing_is_under_way(town: &Town) {
    assert_nothing_will_come_again(town);
    let queues = town.fleet.cloud.queues();
    for (name, messages) in queues.as_object().unwrap() {
        assert_eq!(messages, &json!([]), "{name}");
    }
}

/// Nothing is left in a queue or the outbox; a person may find something in a dead-letter queue.
pub fn assert_nothing_will_come_again(town: &Town) {
    let queues = town.fleet.cloud.queues();
    for (name, messages) in queues.as_object().unwrap() {
        assert!(name.ends_with("-dlq") || messages == &json!([]), "{name}");
    }
    for row in town.rows("bdc-outbox") {
        assert_eq!(row["status"], "PUBLISHED", "{row}");
    }
}

/// The calendar and the bookings agree: a live booking holds all its cells and nobody else has any.
pub fn assert_calendar_is_sound(town: &Town) {
    let mut owners = BTreeMap::new();
    for booking in town.rows("bdc-bookings") {
        if !matches!(booking["state"].as_str(), Some("PENDING" | "CONFIRMED")) {
            continue;
        }
        for key in booking["place"]["slot_keys"].as_array().unwrap() {
            let owner = booking["booking_id"].as_str().unwrap().to_owned();
            let other = owners.insert(key.as_str().unwrap().to_owned(), owner);
            assert_eq!(other, None, "{key} has two owners");
        }
    }
    let held: BTreeMap<String, String> = town
        .rows("bdc-slots")
        .into_iter()
        .map(|slot| {
            let text = |name: &str| slot[name].as_str().unwrap().to_owned();
            (text("slot_key"), text("booking_id"))
        })
        .collect();
    let settled: BTreeSet<String> = town
        .rows("bdc-bookings")
        .into_iter()
        .filter(|booking| matches!(booking["state"].as_str(), Some("APPLIED" | "FORFEITED")))
        .map(|booking| booking["booking_id"].as_str().unwrap().to_owned())
        .collect();
    let live: BTreeMap<String, String> = held
        .into_iter()
        .filter(|(_, owner)| !settled.contains(owner))
        .collect();
    assert_eq!(live, owners);
}

/// The start of each free slot in a range, in local time.
pub async fn free(town: &Town, resource: &str, party: u32, from: &str, to: &str) -> Vec<String> {
    let path = format!("/slots?resource={resource}&party={party}&from={from}&to={to}");
    let answer = town.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let slots = answer.json()["slots"].as_array().unwrap().clone();
    let local = |slot: &Value| slot["local_time"].as_str().unwrap().to_owned();
    slots.iter().map(local).collect()
}

/// How a [`stall`] went.
pub struct Stalled<S, F> {
    pub slow: S,
    pub fast: F,
    /// Whether the slow one was still running when the fast one began.
    pub was_under_way: bool,
}

/// Lets `slow`, an invocation of `function`, make so many calls and stop; runs `fast` from start to
/// end; then lets `slow` go on.
pub async fn stall<S: Future, F: Future>(
    town: &Town,
    function: &str,
    calls: usize,
    slow: S,
    fast: F,
) -> Stalled<S::Output, F::Output> {
    let mut slow = pin!(slow);
    let made = || town.calls(function).len();
    let until = made() + calls;
    while made() < until {
        if let Poll::Ready(slow) = futures::poll!(slow.as_mut()) {
            return Stalled {
                slow,
                fast: fast.await,
                was_under_way: false,
            };
        }
        tokio::task::yield_now().await;
    }
    let fast = fast.await;
    Stalled {
        slow: slow.await,
        fast,
        was_under_way: true,
    }
}

/// Puts a row into a table behind the fleet's back.
pub async fn plant(town: &Town, table: &str, row: &[(&str, &str)]) {
    let item = row
        .iter()
        .map(|(name, value)| ((*name).to_owned(), AttributeValue::S((*value).to_owned())))
        .collect();
    #[expect(
        clippy::disallowed_methods,
        reason = "no step of ours writes such a row"
    )]
    let put = town.fleet.cloud.dynamodb().put_item();
    put.table_name(table)
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}

/// Changes one attribute of a row behind the fleet's back.
pub async fn tamper(town: &Town, table: &str, key: (&str, &str), name: &str, to: AttributeValue) {
    #[expect(
        clippy::disallowed_methods,
        reason = "no step of ours writes such a row"
    )]
    let update = town.fleet.cloud.dynamodb().update_item();
    update
        .table_name(table)
        .key(key.0, AttributeValue::S(key.1.to_owned()))
        .update_expression("SET #name = :to")
        .expression_attribute_names("#name", name)
        .expression_attribute_values(":to", to)
        .send()
        .await
        .unwrap();
}
