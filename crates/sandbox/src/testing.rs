//! What the tests of this crate share: a sandbox, and a clock that they turn.

use std::cell::Cell;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::{Request, Response};
use serde_json::Value;

use crate::{Delivery, Options, Sandbox};

/// A session of 20 pounds that is open for an hour from the start.
pub(crate) const SESSION: &str = "mode=payment&success_url=https%3A%2F%2Fshop.example%2Fdone%3Fs%3D{CHECKOUT_SESSION_ID}\
    &cancel_url=https%3A%2F%2Fshop.example%2Fback&client_reference_id=b-1&metadata[booking_id]=b-1\
    &payment_intent_data[metadata][booking_id]=b-1&expires_at=1784037600\
    &payment_method_types[0]=card&line_items[0][quantity]=1\
    &line_items[0][price_data][currency]=gbp&line_items[0][price_data][unit_amount]=2000\
    &line_items[0][price_data][product_data][name]=Deposit%20for%20%3Cb%3ETable%204%3C%2Fb%3E";

/// 2026-07-14T13:00:00Z
const START: i64 = 1_784_034_000;

pub(crate) struct Town {
    pub(crate) sandbox: Sandbox,
    passed_s: Cell<i64>,
}

impl Default for Town {
    fn default() -> Self {
        Self::with(Options::default())
    }
}

impl Town {
    pub(crate) fn with(options: Options) -> Self {
        Self {
            sandbox: Sandbox::new(options),
            passed_s: Cell::new(0),
        }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.after(0)
    }

    pub(crate) fn after(&self, seconds: i64) -> DateTime<Utc> {
        let passed = START + self.passed_s.get() + seconds;
        DateTime::UNIX_EPOCH + TimeDelta::seconds(passed)
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.passed_s.set(self.passed_s.get() + seconds);
    }

    /// Makes the usual session and returns its id.
    pub(crate) fn session(&self) -> String {
        let (status, session) = self.post("/v1/checkout/sessions", SESSION);
        assert_eq!(status, 200, "{session}");
        text(&session["id"])
    }

    pub(crate) fn post(&self, path: &str, form: &str) -> (u16, Value) {
        read(&self.raw("POST", path, form, None))
    }

    pub(crate) fn keyed(&self, path: &str, form: &str, key: &str) -> Response<Bytes> {
        self.raw("POST", path, form, Some(key))
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        read(&self.raw("GET", path, "", None))
    }

    pub(crate) fn delete(&self, path: &str) -> (u16, Value) {
        read(&self.raw("DELETE", path, "", None))
    }

    pub(crate) fn pay(&self, session: &str, card: &str) -> (u16, Value) {
        let body = format!(r#"{{"card":"{card}"}}"#);
        self.post(&format!("/_sandbox/sessions/{session}/pay"), &body)
    }

    /// Pays a new session, forgets the events of that, and returns its PaymentIntent.
    pub(crate) fn paid(&self, card: &str) -> String {
        let id = self.session();
        let (status, session) = self.pay(&id, card);
        assert_eq!(status, 200, "{session}");
        self.deliver(200);
        text(&session["payment_intent"])
    }

    /// The only charge that there is, as the API shows it.
    pub(crate) fn charge(&self) -> Value {
        let (_, charges) = self.get("/v1/charges");
        assert_eq!(charges["data"].as_array().map(Vec::len), Some(1));
        charges["data"][0].clone()
    }

    pub(crate) fn total(&self, name: &str) -> Value {
        self.sandbox.ledger()["totals"]["gbp"][name].clone()
    }

    pub(crate) fn rules(&self, rules: &str) {
        let body = format!(r#"{{"rules":[{rules}]}}"#);
        assert_eq!(self.post("/_sandbox/webhooks", &body).0, 200);
    }

    /// Takes what is due and answers it, and returns the events.
    pub(crate) fn deliver(&self, status: u16) -> Vec<Value> {
        let due = self.sandbox.take_due(self.now());
        let event = |delivery: &Delivery| {
            self.sandbox.delivered(&delivery.id, status, self.now());
            serde_json::from_slice(delivery.request.body()).unwrap()
        };
        due.iter().map(event).collect()
    }

    fn raw(&self, method: &str, path: &str, body: &str, key: Option<&str>) -> Response<Bytes> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", "Bearer rk_test_sandbox")
            .header("stripe-version", "2026-07-29.dahlia");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = Bytes::from(body.to_owned());
        self.sandbox.call(request.body(body).unwrap(), self.now())
    }
}

pub(crate) fn read(response: &Response<Bytes>) -> (u16, Value) {
    let body = serde_json::from_slice(response.body()).unwrap();
    (response.status().as_u16(), body)
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
