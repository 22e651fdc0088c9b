//! What the payments' tests share.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet::FleetOptions;
use fleet_tests::{Answer, Booked, NOON, Town};
use http::{Request, Response};
use local_cloud::{Delivery, FaultKind, Neighbour};
use sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) use fleet_tests::CARD;

pub(crate) const WEBHOOK: &str = "bdc-webhook";
pub(crate) const CASHIER: &str = "bdc-cashier";
pub(crate) const SWEEP: &str = "bdc-release-sweep";
/// As often as the SDK, the provider's client and our own retries ask in one invocation.
pub(crate) const ALL_TRIES: u32 = 12;

const TABLES: [&str; 7] = [
    "bdc-bookings",
    "bdc-slots",
    "bdc-payments",
    "bdc-audit",
    "bdc-outbox",
    "bdc-cases",
    "bdc-idempotency",
];

/// Every row of every table: for stories in which nothing may change.
pub(crate) fn everything(town: &Town) -> BTreeMap<&'static str, Vec<Value>> {
    TABLES
        .into_iter()
        .map(|table| (table, town.rows(table)))
        .collect()
}

/// The built-in venue, but for these numbers of its policy.
fn venue_with(policy: &[(&str, u32)]) -> Value {
    let mut venue: Value = serde_json::from_str(paidonce_core::venue::BUILT_IN).unwrap();
    for (name, minutes) in policy {
        venue["policy"][*name] = json!(minutes);
    }
    venue
}

/// Every booking comes so late that its deposit is due after ten minutes: each sweep of virtual
/// time costs real time.
pub(crate) fn hasty_venue() -> Value {
    venue_with(&[("start_buffer", 20_160), ("pay_time_min", 10)])
}

/// A deposit is due after half an hour, and money that takes days may take its time.
pub(crate) fn patient_venue(funds_within: u32) -> Value {
    venue_with(&[
        ("pay_within", 30),
        ("remind_before", 10),
        ("funds_within", funds_within),
    ])
}

/// A town with that venue, between two sweeps: a deadline of one is never the time of the other.
pub(crate) async fn hasty_town() -> Town {
    let town = Town::with_venue(&hasty_venue());
    town.advance(Duration::minutes(1)).await;
    town
}

/// Past the deadline of what was booked just now, and before the sweep that would release it.
pub(crate) async fn pass_the_deadline(town: &Town) {
    town.advance(Duration::minutes(10) + Duration::seconds(10))
        .await;
}

/// The deadline has passed and a sweep has run.
pub(crate) async fn let_it_lapse(town: &Town, booked: &Booked) {
    town.advance(Duration::minutes(15)).await;
    assert_eq!(town.state(booked), "RELEASED");
}

/// The deadline has passed, a sweep has run, and whatever is paid from now on is too late.
pub(crate) async fn let_the_grace_pass(town: &Town, booked: &Booked) {
    let_it_lapse(town, booked).await;
    town.advance(Duration::minutes(15)).await;
}

/// The one refund of a payment at the provider, which has succeeded.
pub(crate) fn assert_refunded_once(town: &Town, payment_ref: &str, minor: i64) {
    let mut refunds = town.refunds();
    refunds.retain(|refund| refund["payment_intent"] == payment_ref);
    let seen: Vec<(&Value, &Value)> = refunds
        .iter()
        .map(|refund| (&refund["amount"], &refund["status"]))
        .collect();
    assert_eq!(seen, [(&json!(minor), &json!("succeeded"))]);
}

/// What Lambda sends for a request to the webhook's URL. `base64` absent: no flag at all.
pub(crate) fn raw_event(body: &str, base64: Option<bool>, headers: &[(&str, &str)]) -> Value {
    let headers: BTreeMap<&str, &str> = headers.iter().copied().collect();
    let mut event = json!({
        "version": "2.0", "rawPath": "/", "rawQueryString": "", "headers": headers, "body": body,
        "requestContext": {"domainName": "webhook.example", "http": {"method": "POST", "path": "/"}},
    });
    if let Some(base64) = base64 {
        event["isBase64Encoded"] = json!(base64);
    }
    event
}

/// Invokes the webhook with Lambda's own JSON; returns the status and the problem's code.
pub(crate) async fn invoke(town: &Town, event: Value) -> (u64, String) {
    let answer = town.fleet.cloud.invoke(WEBHOOK, event).await.unwrap();
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    let code = body["code"].as_str().unwrap_or_default().to_owned();
    (answer["statusCode"].as_u64().unwrap(), code)
}

/// Posts an event as the provider does: again, until it is taken. Returns what each try came to.
pub(crate) async fn redeliver(town: &Town, event: &Value) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..16 {
        let status = town.webhook(event).await.status;
        statuses.push(status);
        if (200..300).contains(&status) {
            return statuses;
        }
        assert!(
            status >= 500,
            "only our own failures are sent again: {statuses:?}"
        );
    }
    panic!("never taken: {statuses:?}");
}

/// How often something stands in a list.
pub(crate) fn times<T: PartialEq<str>>(list: &[T], what: &str) -> usize {
    list.iter().filter(|one| **one == *what).count()
}

/// How many confirmations were texted.
pub(crate) fn confirmations(town: &Town) -> usize {
    times(&town.kinds(), "confirmation")
}

/// The rows of the provider's events, as event and outcome.
pub(crate) fn ledger(town: &Town) -> Vec<(String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    town.events()
        .iter()
        .map(|row| (text(row, "event_id"), text(row, "outcome")))
        .collect()
}

/// One open case, by its reason.
pub(crate) fn case(town: &Town, reason: &str) -> Value {
    let mut cases = town.rows("bdc-cases");
    cases.retain(|case| case["reason"] == reason && case["status"] == "OPEN");
    assert_eq!(cases.len(), 1, "one open case of {reason}");
    cases.remove(0)
}

/// All that must hold once a deposit was paid, however often the event came.
pub(crate) fn assert_confirmed_once(town: &Town, booked: &Booked) {
    assert_eq!(town.state(booked), "CONFIRMED");
    assert_eq!(confirmations(town), 1, "one text: {:?}", town.kinds());
    assert_eq!(times(&town.history(booked), "deposit paid"), 1);
    assert_eq!(town.holder(booked.slot_key()).as_ref(), Some(&booked.id));
    assert_eq!(town.cases(), Vec::<String>::new());
}

/// Runs `future` until `function` has made so many calls, and not an await further. Returns the
/// output if it ended before.
pub(crate) async fn until_calls<F: Future + Unpin>(
    town: &Town,
    function: &str,
    calls: usize,
    future: &mut F,
) -> Option<F::Output> {
    loop {
        if town.calls(function).len() >= calls {
            return None;
        }
        if let Poll::Ready(output) = futures::poll!(&mut *future) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
}

/// What a function's fault-free run calls, as operations with their count so far: what a fault
/// rule needs to strike each of them.
pub(crate) fn numbered(calls: &[String]) -> Vec<(String, u32)> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let number = |call: &String| {
        let count = seen
            .entry(calls.iter().find(|it| *it == call).unwrap())
            .or_default();
        *count += 1;
        (call.clone(), *count)
    };
    calls.iter().map(number).collect()
}

/// How often a fault is tried in a row: once, which the SDK's own retries may hide, and as often as
/// anything is tried in one invocation. What ends the invocation is not tried again in it.
pub(crate) fn runs_of(fault: FaultKind) -> &'static [u32] {
    match fault {
        FaultKind::NotSent
        | FaultKind::AnswerLost
        | FaultKind::Throttled
        | FaultKind::Conflict
        | FaultKind::InternalError => &[1, ALL_TRIES],
        FaultKind::Slow
        | FaultKind::CrashBefore
        | FaultKind::CrashAfter
        | FaultKind::Late
        | FaultKind::FailedEntries
        | FaultKind::Paused
        | FaultKind::ThrottledThrough => &[1],
    }
}

/// The provider, with a record of what it was asked.
pub(crate) struct Recorder {
    sandbox: Arc<Sandbox>,
    asked: Mutex<Vec<(String, String)>>,
}

const RECORDER_URL: &str = "http://provider.example/recorded";

impl Recorder {
    /// A town whose functions reach the provider through the recorder.
    pub(crate) fn town(venue: Option<Value>) -> (Town, Arc<Self>) {
        let mut options = FleetOptions::starting(NOON.parse().unwrap());
        options.venue = venue.map(|venue| venue.to_string());
        let url = ("ProviderUrl".to_owned(), RECORDER_URL.to_owned());
        options.parameters.extend([url]);
        let town = Town::with(options);
        let recorder = Arc::new(Self {
            sandbox: Arc::clone(&town.fleet.sandbox),
            asked: Mutex::default(),
        });
        town.fleet
            .cloud
            .attach(Arc::clone(&recorder) as Arc<dyn Neighbour>);
        (town, recorder)
    }

    /// The idempotency key and the body of every request that arrived.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Neighbour for Recorder {
    fn base_url(&self) -> &str {
        RECORDER_URL
    }

    fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        let key = request.headers().get("idempotency-key");
        let key = key.map_or("", |key| key.to_str().unwrap()).to_owned();
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        self.asked.lock().unwrap().push((key, body));
        self.sandbox.call(request, now)
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        None
    }

    fn take_due(&self, _: DateTime<Utc>) -> Vec<Delivery> {
        Vec::new()
    }

    fn delivered(&self, _: &str, _: u16, _: DateTime<Utc>) {}
}

/// The sessions that the provider has.
pub(crate) fn sessions(town: &Town) -> Vec<Value> {
    town.fleet.sandbox.ledger()["sessions"]
        .as_array()
        .unwrap()
        .clone()
}

/// Where an answer sends the customer.
pub(crate) fn location(answer: &Answer) -> &str {
    answer.headers.get("location").map_or("", String::as_str)
}
