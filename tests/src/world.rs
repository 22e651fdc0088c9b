//! What can be seen from outside: the calendar, the phone, the ledger, the cases, the calls.

use bytes::Bytes;
use http::Request;
use local_cloud::Message;
use serde_json::{Value, json};

use crate::{Answer, Booked, NAME, Town, logs};

/// What the phone of any customer begins with, however it is written: they have the numbers that
/// are nobody's.
const PHONES: [&str; 3] = ["7700 900", "07700900", "447700900"];

impl Town {
    pub fn rows(&self, table: &str) -> Vec<Value> {
        self.fleet.cloud.table(table).unwrap()
    }

    pub fn row(&self, booked: &Booked) -> Value {
        let rows = self.rows("bdc-bookings");
        rows.into_iter()
            .find(|row| row["booking_id"] == booked.id.as_str())
            .unwrap_or_default()
    }

    pub fn state(&self, booked: &Booked) -> String {
        self.row(booked)["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The answers that are kept under an `Idempotency-Key`, without the keys of forms and the tokens
    /// of limits beside them.
    pub fn kept_answers(&self) -> Vec<Value> {
        let rows = self.rows("bdc-idempotency").into_iter();
        rows.filter(|row| {
            row["scope_key"]
                .as_str()
                .unwrap()
                .contains("#POST /bookings#")
        })
        .collect()
    }

    /// Who holds a slot; nobody if it is on sale.
    pub fn holder(&self, slot_key: &str) -> Option<String> {
        let slot = self
            .rows("bdc-slots")
            .into_iter()
            .find(|slot| slot["slot_key"] == slot_key)?;
        Some(slot["booking_id"].as_str()?.to_owned())
    }

    /// The history of a booking as `what` of each row, in order, but for the send ledger.
    pub fn history(&self, booked: &Booked) -> Vec<String> {
        let rows = self
            .rows("bdc-audit")
            .into_iter()
            .filter(|row| row["booking_id"] == booked.id.as_str());
        rows.filter(|row| !row["ts"].as_str().unwrap().starts_with("message#"))
            .map(|row| row["what"].as_str().unwrap().to_owned())
            .collect()
    }

    pub fn texts(&self) -> Vec<Message> {
        self.fleet
            .cloud
            .messages()
            .into_iter()
            .filter(|message| message.channel == "sms")
            .collect()
    }

    pub fn mails(&self) -> Vec<Message> {
        self.fleet
            .cloud
            .messages()
            .into_iter()
            .filter(|message| message.channel == "mail")
            .collect()
    }

    /// The kinds of the texts that were sent, in order.
    pub fn kinds(&self) -> Vec<String> {
        self.texts().into_iter().map(|text| text.kind).collect()
    }

    /// The reasons of the open cases, sorted.
    pub fn cases(&self) -> Vec<String> {
        let cases = self
            .rows("bdc-cases")
            .into_iter()
            .filter(|case| case["status"] == "OPEN");
        let mut reasons: Vec<String> = cases
            .map(|case| case["reason"].as_str().unwrap().to_owned())
            .collect();
        reasons.sort();
        reasons
    }

    /// The calls of one function since the last [`Town::forget_calls`], as operations.
    pub fn calls(&self, function: &str) -> Vec<String> {
        let calls = self
            .fleet
            .cloud
            .calls()
            .into_iter()
            .filter(|call| call.function == function);
        calls.map(|call| call.operation).collect()
    }

    pub fn forget_calls(&self) {
        self.fleet.cloud.clear_calls();
    }

    /// What a function counted on one of its metrics. For stories on a runtime of one thread.
    pub fn counted(&self, function: &str, metric: &str) -> i64 {
        logs::counted(self.first_log_line, function, metric)
    }

    /// Presses the button of the pay page; returns the cashier's answer, which leads to the provider.
    pub async fn press_pay(&self, pay_url: &str) -> Answer {
        self.cashier("POST", pay_url).await
    }

    /// Asks the cashier for a link, by any method.
    pub async fn cashier(&self, method: &str, url: &str) -> Answer {
        let path = url.strip_prefix(&self.fleet.url("bdc-cashier")).unwrap();
        let request = Request::builder().method(method).uri(format!("/{path}"));
        self.request("bdc-cashier", request.body(Bytes::new()).unwrap())
            .await
    }

    /// Pays the session that the cashier led to, at the provider, with a card.
    pub fn pay_session(&self, cashier: &Answer, card: &str) -> (u16, Value) {
        let page = cashier
            .headers
            .get("location")
            .expect("the cashier leads to the provider");
        let session = page.rsplit('/').next().unwrap();
        self.provider(
            "POST",
            &format!("/_sandbox/sessions/{session}/pay"),
            &json!({"card": card}),
        )
    }

    /// Asks the provider's sandbox for something.
    pub fn provider(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Bytes::from(body.to_string()))
            .unwrap();
        let answer = self.fleet.sandbox.call(request, self.now());
        (
            answer.status().as_u16(),
            serde_json::from_slice(answer.body()).unwrap_or_default(),
        )
    }

    /// What the provider took in all, in minor units of the pound.
    pub fn captured(&self) -> i64 {
        self.fleet.sandbox.ledger()["totals"]["gbp"]["captured"]
            .as_i64()
            .unwrap_or_default()
    }

    /// Words that no log line may have.
    pub(crate) fn hidden_words(&self) -> Vec<String> {
        let tokens = self.fleet.tokens();
        let mut words = vec![NAME.to_owned(), tokens.form, tokens.staff];
        words.extend(PHONES.map(str::to_owned));
        words.extend(
            self.fleet
                .cloud
                .secrets()
                .into_values()
                .filter(|value| value.len() >= 8),
        );
        for message in self.fleet.cloud.messages() {
            words.push(message.to);
            words.extend(
                message
                    .text
                    .lines()
                    .filter(|line| line.len() >= 12)
                    .map(str::to_owned),
            );
        }
        let has_booking = self.fleet.has("bdc-intake");
        let bookings = has_booking.then(|| self.rows("bdc-bookings"));
        for row in bookings.into_iter().flatten() {
            for field in ["name", "email", "notes"] {
                words.extend(
                    row[field]
                        .as_str()
                        .filter(|text| text.len() >= 4)
                        .map(str::to_owned),
                );
            }
        }
        words.extend(self.subscribers_words());
        words.sort();
        words.dedup();
        words
    }
}
