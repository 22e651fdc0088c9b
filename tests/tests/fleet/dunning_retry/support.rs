//! A subscriber whose renewal failed, up to the first date of the calendar.

use chrono::{DateTime, Duration, Utc};
use fleet_tests::{Subscriber, Town};
use local_cloud::{FaultKind, FaultRule, InvokeError};
use serde_json::{Value, json};

/// Monday 30 November 2026, 23:00 in London: the next business days are plain ones, and the first
/// date is eleven hours away.
pub const MONDAY: &str = "2026-11-30T23:00:00Z";
pub const GOOD_CARD: &str = "4242424242424242";
pub const OTHER_CARD: &str = "4000056655665556";
pub const PAY: &str = "POST /v1/invoices/*/pay";

/// A town in which the renewal of a subscriber failed.
pub struct Story {
    pub town: Town,
    pub who: Subscriber,
    pub invoice: String,
}

impl Story {
    /// The renewal failed as the sandbox's words say, the live invoice was looked at, and the first
    /// date is planned: Tuesday, 10:00.
    pub async fn with(subscribes: Value, fails: Value) -> Self {
        let town = Town::of_dunning(MONDAY);
        let who = town.subscriber_with(subscribes).await;
        let invoice = town.fail_renewal_with(&who, &fails);
        town.settle().await;
        town.advance_to_retry(&who).await;
        Self { town, who, invoice }
    }

    /// The renewal is declined once; the next charge of the card works.
    pub async fn once() -> Self {
        Self::with(
            json!({}),
            json!({"decline": "insufficient_funds", "times": 0}),
        )
        .await
    }

    /// As long as the card is this one, the bank says this.
    pub async fn always(decline: &str) -> Self {
        Self::with(json!({}), json!({ "decline": decline })).await
    }

    pub fn row(&self) -> Value {
        self.town.dunning(&self.who)
    }

    pub fn plan(&self) -> Value {
        self.row()["plan"].clone()
    }

    pub fn plan_no(&self) -> u64 {
        self.row()["plan_no"].as_u64().unwrap()
    }

    pub fn debt(&self) -> Value {
        self.row()["invoices"][&self.invoice].clone()
    }

    pub fn ended(&self) -> Value {
        self.debt()["end"]["how"].clone()
    }

    /// What the provider took of the invoice, and how often a charge of it failed.
    pub fn charges(&self) -> (usize, usize) {
        let invoice = self.town.at_provider("invoices", &self.invoice);
        let count = |name: &str| invoice[name].as_array().unwrap().len();
        (count("successful_charges"), count("failed_charges"))
    }

    /// The mails that were ordered, by kind.
    pub fn mails(&self) -> Vec<String> {
        let row = self.row();
        let items = row["mails"]["items"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let mut mails: Vec<(u32, String)> = items
            .into_iter()
            .map(|(no, mail)| {
                let kind = &mail["kind"];
                let kind = kind
                    .as_str()
                    .map_or_else(|| kind.to_string(), str::to_owned);
                (no.parse().unwrap(), kind)
            })
            .collect();
        mails.sort();
        mails.into_iter().map(|(_, kind)| kind).collect()
    }

    /// The next schedule fires, and all that follows at once has run.
    pub async fn fires(&self) {
        self.town.advance_to_retry(&self.who).await;
    }

    pub fn due(&self) -> DateTime<Utc> {
        self.town.next_retry(&self.who).unwrap()
    }

    /// Just before the schedule fires: what happens now is not heard of yet.
    pub async fn wait_for_the_moment(&self) {
        let just_before = self.due() - Duration::seconds(30);
        self.town.advance(just_before - self.town.now()).await;
    }

    /// Fires plan `n` by hand, as a schedule that fires once more does.
    pub async fn fire(&self, n: u64) -> Result<String, InvokeError> {
        let event = json!({"subscription_id": self.who.subscription_id, "n": n});
        let answer = self.town.fleet.cloud.invoke("dunr-retrier", event).await?;
        Ok(answer["did"].as_str().unwrap().to_owned())
    }

    /// After a plan was carried out by hand just before its schedule, the schedule fires, too.
    pub async fn its_own_schedule_fires(&self) {
        self.town.advance(Duration::minutes(1)).await;
    }

    /// What the log says of the schedules that fired for nothing, sorted.
    pub fn idle_firings(&self) -> Vec<String> {
        let rows = self.town.rows("dunr-log").into_iter();
        let idle = rows.filter(|row| row["event"] == "retry_skipped" && row["set"] == json!({}));
        let mut results: Vec<String> = idle
            .map(|row| row["result"].as_str().unwrap().to_owned())
            .collect();
        results.sort();
        results
    }

    pub fn fault(&self, operation: &str, fault: FaultKind, times: u32) {
        let rule = FaultRule::once("dunr-retrier", operation, fault).times(times);
        self.town.fleet.cloud.faults().add(rule);
    }

    pub fn next_pay(&self, outcome: &str) {
        self.town
            .control("next-pay", &json!({ "outcome": outcome }));
    }

    pub fn counted(&self, metric: &str) -> i64 {
        self.town.counted("dunr-retrier", metric)
    }

    pub fn invoice_control(&self, deed: &str, body: &Value) {
        self.town
            .control(&format!("invoices/{}/{deed}", self.invoice), body);
    }

    pub fn new_card(&self, card: &str) -> String {
        let path = format!("customers/{}/card", self.who.customer_id);
        let method = self.town.control(&path, &json!({ "card": card }));
        method["id"].as_str().unwrap().to_owned()
    }
}
