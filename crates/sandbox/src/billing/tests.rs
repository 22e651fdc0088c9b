//! Billing through its doors.

mod keys;
mod pages;
mod paying;
mod reading;

use serde_json::{Value, json};

use crate::testing::{Town, text, types};

/// A subscription of 20 pounds a month whose first month is paid.
pub(crate) struct Member {
    pub(crate) town: Town,
    pub(crate) customer: String,
    pub(crate) subscription: String,
    pub(crate) payment_method: String,
}

impl Member {
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    pub(crate) fn with(wish: &Value) -> Self {
        let town = Town::default();
        let made = control(&town, "subscriptions", wish);
        town.deliver(200);
        Self {
            customer: text(&made["customer"]),
            subscription: text(&made["subscription"]),
            payment_method: text(&made["payment_method"]),
            town,
        }
    }

    /// Makes the next month's invoice and lets its first charge fail; returns the invoice's id.
    pub(crate) fn failed(&self, wish: &Value) -> String {
        let path = format!("subscriptions/{}/fail-renewal", self.subscription);
        text(&control(&self.town, &path, wish)["id"])
    }

    pub(crate) fn invoice(&self, id: &str) -> Value {
        self.town.get(&format!("/v1/invoices/{id}")).1
    }

    pub(crate) fn pay(&self, id: &str, form: &str) -> (u16, Value) {
        self.town.post(&format!("/v1/invoices/{id}/pay"), form)
    }

    pub(crate) fn status(&self) -> Value {
        let path = format!("/v1/subscriptions/{}", self.subscription);
        self.town.get(&path).1["status"].clone()
    }

    /// How many charges of an invoice succeeded, and how many did not.
    pub(crate) fn charges(&self, invoice: &str) -> (usize, usize) {
        let ledger = self.town.sandbox.ledger();
        let invoices = ledger["invoices"].as_array().unwrap();
        let found = invoices.iter().find(|it| it["id"] == invoice).unwrap();
        let count = |name: &str| found[name].as_array().unwrap().len();
        (count("successful_charges"), count("failed_charges"))
    }
}

/// Does something by a control that must succeed.
pub(crate) fn control(town: &Town, path: &str, body: &Value) -> Value {
    let (status, answer) = town.post(&format!("/_sandbox/{path}"), &body.to_string());
    assert_eq!(status, 200, "{answer}");
    answer
}

#[test]
fn a_failed_renewal_leaves_an_open_invoice_and_a_subscription_that_is_past_due() {
    let member = Member::new();
    assert_eq!(member.status(), "active");
    let id = member.failed(&json!({"decline": "insufficient_funds", "network_decline_code": "51"}));
    let invoice = member.invoice(&id);
    assert_eq!(
        (&invoice["status"], &invoice["attempt_count"]),
        (&json!("open"), &json!(1))
    );
    assert_eq!(
        invoice["parent"]["subscription_details"]["subscription"],
        member.subscription
    );
    assert_eq!(member.status(), "past_due");
    let events = member.town.deliver(200);
    let told = [
        "invoice.created",
        "invoice.finalized",
        "charge.failed",
        "payment_intent.payment_failed",
        "invoice.updated",
        "invoice.payment_failed",
        "customer.subscription.updated",
    ];
    assert_eq!(types(&events), told);
    assert_eq!(
        events[2]["data"]["object"]["outcome"]["network_decline_code"],
        "51"
    );
    assert_eq!(events[4]["data"]["previous_attributes"]["attempt_count"], 0);
    assert_eq!(
        events[6]["data"]["previous_attributes"],
        json!({"status": "active"})
    );
}

#[test]
fn events_go_to_the_endpoints_that_take_their_type_signed_with_their_own_secret() {
    let options = crate::Options {
        webhook_events: vec!["checkout.session.completed".to_owned()],
        more_endpoints: vec![crate::Endpoint {
            function: "dunr-webhook".to_owned(),
            url: "http://127.0.0.1:8787/url/dunr-webhook/".to_owned(),
            signing_secrets: vec!["whsec_dunning".to_owned()],
            enabled_events: vec![
                "invoice.payment_failed".to_owned(),
                "invoice.paid".to_owned(),
            ],
        }],
        ..crate::Options::default()
    };
    let town = Town::with(options);
    let made = control(&town, "subscriptions", &json!({}));
    control(
        &town,
        &format!("subscriptions/{}/fail-renewal", text(&made["subscription"])),
        &json!({}),
    );
    let due = town.sandbox.take_due(town.now());
    let functions: Vec<&str> = due.iter().map(|it| it.function.as_str()).collect();
    assert_eq!(functions, ["dunr-webhook"; 2]);
    let signature = |town: &Town| {
        town.sandbox.take_due(town.now())[0].request.headers()["stripe-signature"].clone()
    };
    for delivery in &due {
        town.sandbox.delivered(&delivery.id, 500, town.now());
    }
    town.sandbox
        .set_endpoint_secrets("dunr-webhook", vec!["a".to_owned(), "b".to_owned()]);
    town.wait(60);
    assert_eq!(signature(&town).to_str().unwrap().matches("v1=").count(), 2);
    let (_, endpoints) = town.get("/v1/webhook_endpoints");
    assert_eq!(
        endpoints["data"][1]["enabled_events"],
        json!(["invoice.payment_failed", "invoice.paid"])
    );
}

#[test]
fn a_snapshot_keeps_billing_and_one_from_before_it_is_taken() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let snapshot = member.town.sandbox.snapshot().unwrap();
    let other = Town::default();
    other.sandbox.restore(snapshot.clone()).unwrap();
    assert_eq!(
        other.get(&format!("/v1/invoices/{id}")).1,
        member.invoice(&id)
    );
    let mut old = Town::default().sandbox.snapshot().unwrap();
    old.as_object_mut().unwrap().remove("billing");
    other.sandbox.restore(old).unwrap();
    assert_eq!(other.sandbox.ledger()["invoices"], json!([]));
}

#[test]
fn the_latest_invoice_that_was_tried_decides_how_a_subscription_stands() {
    let member = Member::new();
    let old = member.failed(&json!({"times": 0}));
    let more = format!("subscriptions/{}/prorate", member.subscription);
    control(&member.town, &more, &json!({"amount": 700}));
    assert_eq!(member.status(), "past_due", "nobody has tried the second");
    assert_eq!(member.pay(&old, "").0, 200);
    assert_eq!(member.status(), "active");
    let path = format!("subscriptions/{}", member.subscription);
    control(&member.town, &format!("{path}/fail-renewal"), &json!({}));
    control(&member.town, &format!("{path}/unpaid"), &json!({}));
    assert_eq!(member.status(), "unpaid");
}
