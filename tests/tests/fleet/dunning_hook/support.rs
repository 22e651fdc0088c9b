//! The dunning webhook, the relay and the scheduler, and nothing else of the fleet: what the others
//! would do with their orders is left where it is, so that it can be looked at.

use std::collections::BTreeMap;

use aws_sdk_scheduler::Client;
use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet_tests::{Answer, Lines};
use http::Request;
use local_cloud::{LocalCloud, Options};
use paidonce_core::signature::sign;
use serde_json::{Value, json};

const TEMPLATE: &str = include_str!("../../../../template.yaml");
pub(crate) const WEBHOOK: &str = "dunr-webhook";
pub(crate) const SCHEDULER: &str = "dunr-scheduler";
pub(crate) const SECRET_NAME: &str = "dunr/stripe/webhook-secret";
const SECRET: &str = "whsec_dunning_0123456789abcdef";
/// Whom no log line may name.
pub(crate) const NAME: &str = "Maud Ledgerwood";
pub(crate) const EMAIL: &str = "maud.ledgerwood@mail.example";
pub(crate) const SECOND_EMAIL: &str = "ledgerwood.books@mail.example";
/// Monday 2 November 2026, 09:00 in London.
pub(crate) const MORNING: &str = "2026-11-02T09:00:00Z";

pub(crate) struct Hook {
    pub(crate) cloud: LocalCloud,
    lines: Lines,
}

impl Drop for Hook {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        assert_eq!(self.cloud.denied(), [], "a role lacks a permission");
        let secrets = self.cloud.secrets().into_values();
        let mut words: Vec<String> = secrets.filter(|value| value.len() >= 8).collect();
        words.extend([NAME, EMAIL, SECOND_EMAIL].map(str::to_owned));
        self.lines.assert_discreet(&words);
    }
}

impl Hook {
    pub(crate) fn new() -> Self {
        let hook = Self::without_scheduler();
        hook.install_scheduler();
        hook
    }

    pub(crate) fn without_scheduler() -> Self {
        let hook = Self::webhook_alone();
        hook.cloud.install_as::<relay::Relay>("dunr-relay").unwrap();
        hook
    }

    pub(crate) fn webhook_alone() -> Self {
        let lines = Lines::start();
        let parameters = [
            ("Stage", "dev"),
            ("TeamEmail", "team@example.com"),
            ("SenderEmail", "no-reply@example.com"),
            ("ProviderUrl", "https://provider.example"),
            ("ReturnUrl", "https://return.example"),
            ("Livemode", "false"),
            ("Venue", ""),
            ("Dunning", "on"),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options {
            parameters: BTreeMap::from(parameters),
            base_url: "http://127.0.0.1:8787".to_owned(),
            start: MORNING.parse().unwrap(),
            seed: 0,
            state: None,
        };
        let cloud = LocalCloud::from_template(TEMPLATE, options).unwrap();
        cloud.install::<dunr_webhook::Webhook>().unwrap();
        cloud.set_secret(SECRET_NAME, SECRET);
        // What stood there before the first real one.
        cloud.remove_previous(SECRET_NAME);
        Self { cloud, lines }
    }

    pub(crate) fn install_scheduler(&self) {
        self.cloud.install::<dunr_scheduler::Scheduler>().unwrap();
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.cloud.clock().now()
    }

    /// Runs all that is due now.
    pub(crate) async fn settle(&self) {
        assert!(self.cloud.settle().await.quiet, "it never got quiet");
    }

    /// Moves the clock; all that is due on the way runs, in order.
    pub(crate) async fn advance(&self, by: Duration) {
        assert!(self.cloud.advance(by).await.quiet, "it never got quiet");
    }

    pub(crate) fn rows(&self, table: &str) -> Vec<Value> {
        self.cloud.table(table).unwrap()
    }

    pub(crate) fn counted(&self, function: &str, metric: &str) -> i64 {
        self.lines.counted(function, metric)
    }

    /// Posts an event, signed now with the current secret.
    pub(crate) async fn post(&self, event: &Value) -> Answer {
        let body = event.to_string();
        let secret = self.cloud.secrets()[SECRET_NAME].clone();
        let header = sign(body.as_bytes(), &[&secret], self.now());
        self.post_signed(body.as_bytes(), &header).await
    }

    pub(crate) async fn post_signed(&self, body: &[u8], header: &str) -> Answer {
        let request = Request::post("/")
            .header("stripe-signature", header)
            .body(Bytes::copy_from_slice(body))
            .unwrap();
        let answer = self.cloud.call_url(WEBHOOK, request).await;
        Answer {
            status: answer.status().as_u16(),
            headers: BTreeMap::new(),
            text: String::from_utf8_lossy(answer.body()).into_owned(),
        }
    }

    /// Posts an event that must be taken.
    pub(crate) async fn take(&self, event: &Value) {
        let answer = self.post(event).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// An event made now.
    pub(crate) fn event(&self, kind: &str, id: &str, object: Value) -> Value {
        json!({
            "id": id, "object": "event", "type": kind, "api_version": "2026-07-29.dahlia",
            "created": self.now().timestamp(), "livemode": false, "pending_webhooks": 1,
            "data": {"object": object}, "request": {"id": null, "idempotency_key": null},
        })
    }

    /// An event that tells what was there before.
    pub(crate) fn change(&self, kind: &str, id: &str, object: Value, before: Value) -> Value {
        let mut event = self.event(kind, id, object);
        event["data"]["previous_attributes"] = before;
        event
    }

    /// A failed renewal of 20 pounds.
    pub(crate) fn failed(&self, id: &str) -> Value {
        self.event("invoice.payment_failed", id, invoice(&json!({})))
    }

    pub(crate) fn paid(&self, id: &str) -> Value {
        let invoice = invoice(&json!({"status": "paid", "amount_remaining": 0,
            "status_transitions": {"paid_at": self.now().timestamp()}}));
        self.event("invoice.paid", id, invoice)
    }

    pub(crate) fn cancelled(&self, id: &str) -> Value {
        let subscription = subscription(&json!({"status": "canceled"}));
        self.event("customer.subscription.deleted", id, subscription)
    }

    /// The row of `sub_1`; null if there is none.
    pub(crate) fn sub(&self) -> Value {
        self.sub_of("sub_1")
    }

    pub(crate) fn sub_of(&self, id: &str) -> Value {
        let rows = self.rows("dunr-dunning").into_iter();
        rows.into_iter()
            .find(|row| row["subscription_id"] == id)
            .unwrap_or_default()
    }

    pub(crate) fn debt(&self) -> Value {
        self.sub()["invoices"]["in_1"].clone()
    }

    /// What the log says, in order.
    pub(crate) fn story(&self) -> Vec<String> {
        let rows = self.rows("dunr-log").into_iter();
        rows.map(|row| row["event"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What became of an event.
    pub(crate) fn outcome(&self, event_id: &str) -> String {
        let rows = self.rows("dunr-dedupe").into_iter();
        let mut rows = rows.filter(|row| row["event_id"] == event_id);
        let row = rows.next().unwrap_or_default();
        row["outcome"].as_str().unwrap_or_default().to_owned()
    }

    /// The orders of a type that left, or are to leave.
    pub(crate) fn orders(&self, kind: &str) -> usize {
        let rows = self.rows("dunr-outbox").into_iter();
        rows.filter(|row| row["type"] == kind).count()
    }

    pub(crate) fn scheduler(&self) -> Client {
        lambda_kit::client!(aws_sdk_scheduler, &self.cloud.operator())
    }

    /// The one-off schedules: name, expression, input.
    pub(crate) async fn schedules(&self) -> Vec<(String, String, Value)> {
        let client = self.scheduler();
        let listed = client.list_schedules().group_name("dunr").send().await;
        let mut schedules = Vec::new();
        for summary in listed.unwrap().schedules() {
            let name = summary.name().unwrap();
            let one = client.get_schedule().group_name("dunr").name(name);
            let one = one.send().await.unwrap();
            let input = one.target().unwrap().input().unwrap();
            schedules.push((
                name.to_owned(),
                one.schedule_expression().unwrap().to_owned(),
                serde_json::from_str(input).unwrap(),
            ));
        }
        schedules.sort_by(|left, right| left.0.cmp(&right.0));
        schedules
    }

    pub(crate) async fn schedule_names(&self) -> Vec<String> {
        let schedules = self.schedules().await.into_iter();
        schedules.map(|(name, _, _)| name).collect()
    }

    /// Hands jobs to the scheduler as its queue does; returns the ids of those that failed.
    pub(crate) async fn jobs(&self, payloads: &[Value]) -> Vec<String> {
        let bodies = payloads.iter().map(|payload| {
            json!({"event_id": "01", "type": "dunning", "schema_version": 1,
                "aggregate": "subscription#sub_1", "occurred_at": MORNING, "payload": payload})
            .to_string()
        });
        self.messages_of(bodies.collect()).await
    }

    pub(crate) async fn messages_of(&self, bodies: Vec<String>) -> Vec<String> {
        let records: Vec<Value> = bodies
            .into_iter()
            .enumerate()
            .map(|(n, body)| json!({"messageId": format!("m-{n}"), "body": body}))
            .collect();
        let event = json!({ "Records": records });
        let reply = self.cloud.invoke(SCHEDULER, event).await.unwrap();
        let failures = reply["batchItemFailures"].as_array().unwrap();
        failures
            .iter()
            .map(|it| it["itemIdentifier"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn plan_job() -> Value {
    json!({"order": "plan", "subscription_id": "sub_1"})
}

pub(crate) fn tidy_job(names: &[&str]) -> Value {
    json!({"order": "tidy", "subscription_id": "sub_1", "schedule_names": names})
}

/// An open invoice of `sub_1` as events have it; `more` replaces the fields that matter.
pub(crate) fn invoice(more: &Value) -> Value {
    with(
        json!({
            "id": "in_1", "object": "invoice", "status": "open", "created": 1_793_600_000,
            "currency": "gbp", "amount_due": 2000, "amount_remaining": 2000, "livemode": false,
            "customer": "cus_1", "customer_email": EMAIL,
            "customer_name": NAME, "collection_method": "charge_automatically",
            "hosted_invoice_url": "https://pay.example/in_1", "next_payment_attempt": null,
            "amount_paid_off_stripe": 0, "attempt_count": 1,
            "parent": {"type": "subscription_details", "subscription_details": {
                "subscription": "sub_1", "metadata": {}}},
        }),
        more,
    )
}

pub(crate) fn subscription(more: &Value) -> Value {
    with(
        json!({"id": "sub_1", "object": "subscription", "status": "past_due", "customer": "cus_1",
            "default_payment_method": null}),
        more,
    )
}

/// An invoice of another subscription.
pub(crate) fn of_subscription(subscription_id: &str) -> Value {
    json!({"subscription_details": {"subscription": subscription_id, "metadata": {}}})
}

fn with(mut object: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}
