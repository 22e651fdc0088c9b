//! The money: paying at the provider, and what became of every penny, judged by its own ledger.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use crate::{Booked, Town};

/// A card that is good for everything.
pub const CARD: &str = "4242424242424242";
/// So late that no story lives to see it, in seconds.
const NEVER_S: u32 = 300 * 86_400;
/// Deliveries later than this are ones that a story withheld.
const WITHHELD_DAYS: i64 = 200;

/// One charge that the provider took for a booking, and where its money is.
struct Account {
    payment_ref: String,
    booking_id: String,
    captured: i64,
    /// Given back, or on its way back.
    refunded: i64,
    /// What the booking says that it has of it.
    kept: i64,
    /// The booking gave its slot back, so it may keep nothing without a person.
    must_not_keep: bool,
    named_by_a_case: bool,
}

impl Town {
    /// The rows of the provider's events.
    pub fn events(&self) -> Vec<Value> {
        let mut rows = self.rows("bdc-payments");
        rows.retain(|row| row["outcome"].is_string());
        rows
    }

    /// The rows of the payments' money.
    pub fn payments(&self) -> Vec<Value> {
        let mut rows = self.rows("bdc-payments");
        rows.retain(|row| row["outcome"].is_null());
        rows
    }

    /// The row of one payment's money; null if there is none.
    pub fn payment(&self, payment_ref: &str) -> Value {
        let rows = self.payments().into_iter();
        let mut own = rows.filter(|row| row["payment_ref"] == payment_ref);
        own.next().unwrap_or_default()
    }

    /// Pays by the booking's own link. Returns the provider's id of the payment; nothing that
    /// follows from it has run.
    pub async fn pay(&self, booked: &Booked, card: &str) -> String {
        let led = self.press_pay(booked.pay_url()).await;
        assert_eq!(led.status, 303, "{}", led.text);
        let (status, session) = self.pay_session(&led, card);
        assert_eq!(status, 200, "{session}");
        session["payment_intent"].as_str().unwrap().to_owned()
    }

    /// A booking whose deposit is paid at the provider, and all that follows has run.
    pub async fn paid(&self) -> Booked {
        let booked = self.pending().await;
        self.pay(&booked, CARD).await;
        self.settle().await;
        assert_eq!(self.state(&booked), "CONFIRMED");
        booked
    }

    /// A page for a booking that somebody made at the provider by hand, on terms of their own.
    /// Returns its id.
    pub fn page_by_hand(&self, booked: &Booked, minor: i64, currency: &str) -> String {
        let expires_at = self.now().timestamp() + 7_200;
        let id = &booked.id;
        let form = format!(
            "mode=payment&success_url=https%3A%2F%2Fvenue.example%2Fpaid&client_reference_id={id}\
             &metadata[booking_id]={id}&payment_intent_data[metadata][booking_id]={id}\
             &expires_at={expires_at}&line_items[0][quantity]=1\
             &line_items[0][price_data][currency]={currency}\
             &line_items[0][price_data][unit_amount]={minor}\
             &line_items[0][price_data][product_data][name]=Deposit"
        );
        let (status, session) = self.post_form("/v1/checkout/sessions", &form);
        assert_eq!(status, 200, "{session}");
        session["id"].as_str().unwrap().to_owned()
    }

    /// Pays on a page by its id; returns the provider's id of the payment.
    pub fn pay_page(&self, session_id: &str, card: &str) -> String {
        let path = format!("/_sandbox/sessions/{session_id}/pay");
        let (status, session) = self.provider("POST", &path, &json!({"card": card}));
        assert_eq!(status, 200, "{session}");
        session["payment_intent"].as_str().unwrap().to_owned()
    }

    /// Pays so much on a page made by hand, of which no event will come by itself: the story posts
    /// it. Returns the provider's id of the payment.
    pub fn pay_quietly(&self, booked: &Booked, minor: i64) -> String {
        self.withhold_events(true);
        let page = self.page_by_hand(booked, minor, "gbp");
        let payment_ref = self.pay_page(&page, CARD);
        self.withhold_events(false);
        payment_ref
    }

    /// Whether events that the provider makes from now on stay there, for the story to post.
    pub fn withhold_events(&self, withhold: bool) {
        let rules = match withhold {
            true => json!([{"delay_s": NEVER_S}]),
            false => json!([]),
        };
        let (status, answer) =
            self.provider("POST", "/_sandbox/webhooks", &json!({"rules": rules}));
        assert_eq!(status, 200, "{answer}");
    }

    /// Every event that the provider made, in order.
    pub fn told_by_provider(&self) -> Vec<Value> {
        let snapshot = self.fleet.sandbox.snapshot().unwrap();
        let events = snapshot["webhooks"]["events"].as_object().unwrap();
        events.values().map(|event| event["body"].clone()).collect()
    }

    /// The refunds that the provider has.
    pub fn refunds(&self) -> Vec<Value> {
        let ledger = self.fleet.sandbox.ledger();
        ledger["refunds"].as_array().unwrap().clone()
    }

    /// What the provider gave back in all, in minor units of the pound.
    pub fn refunded(&self) -> i64 {
        self.fleet.sandbox.ledger()["totals"]["gbp"]["refunded"]
            .as_i64()
            .unwrap_or_default()
    }

    /// Refunds a payment as somebody in the provider's dashboard does; all of it without an amount.
    pub fn refund_by_hand(&self, payment_ref: &str, minor: Option<i64>) -> Value {
        let path = format!("/_sandbox/payments/{payment_ref}/refund");
        let body = minor.map_or_else(|| json!({}), |minor| json!({"amount": minor}));
        let (status, refund) = self.provider("POST", &path, &body);
        assert_eq!(status, 200, "{refund}");
        refund
    }

    /// Has the customer's bank dispute a payment; returns the dispute's id.
    pub fn dispute(&self, payment_ref: &str, inquiry: bool) -> String {
        let path = format!("/_sandbox/payments/{payment_ref}/dispute");
        let (status, dispute) = self.provider("POST", &path, &json!({"inquiry": inquiry}));
        assert_eq!(status, 200, "{dispute}");
        dispute["id"].as_str().unwrap().to_owned()
    }

    /// Has a dispute become something else.
    pub fn move_dispute(&self, dispute_id: &str, status: &str) {
        let path = format!("/_sandbox/disputes/{dispute_id}/move");
        let (code, answer) = self.provider("POST", &path, &json!({"status": status}));
        assert_eq!(code, 200, "{answer}");
    }

    /// Fails unless every penny that the provider took for a booking is kept by it, went back, or is
    /// named in an open case. For a town in which nothing is under way.
    pub fn assert_money_is_accounted_for(&self) {
        let under_way = self.money_under_way();
        assert_eq!(under_way, Vec::<String>::new(), "money is under way");
        for account in self.accounts() {
            account.assert_whole();
        }
    }

    /// What every town must leave behind, also one in which something is still under way: then no
    /// more went back or is kept than came.
    pub(crate) fn assert_no_money_is_lost(&self) {
        let is_quiet = self.money_under_way().is_empty();
        for account in self.accounts() {
            match is_quiet {
                true => account.assert_whole(),
                false => account.assert_not_more(),
            }
        }
    }

    fn post_form(&self, path: &str, form: &str) -> (u16, Value) {
        let secrets = self.fleet.cloud.secrets();
        let key = secrets["bdc-provider-key"].as_str();
        let request = Request::post(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Bytes::from(form.to_owned()))
            .unwrap();
        let answer = self.fleet.sandbox.call(request, self.now());
        let body = serde_json::from_slice(answer.body()).unwrap_or_default();
        (answer.status().as_u16(), body)
    }

    /// What may still move money, or tell of it.
    fn money_under_way(&self) -> Vec<String> {
        let mut found = Vec::new();
        let queues = self.fleet.cloud.queues();
        for (name, messages) in queues.as_object().unwrap() {
            let waiting = messages.as_array().unwrap().len();
            if waiting > 0 && (name.contains("cashier") || name.contains("handovers")) {
                found.push(format!("{waiting} in {name}"));
            }
        }
        for row in self.rows("bdc-outbox") {
            if row["status"] != "PUBLISHED" {
                found.push(format!("{} is not sent", row["type"]));
            }
        }
        for row in self.payments() {
            if row["due_at"].is_string() {
                found.push(format!("{} is to be looked up", row["event_id"]));
            }
        }
        let snapshot = self.fleet.sandbox.snapshot().unwrap();
        for (_, delivery) in snapshot["webhooks"]["deliveries"].as_object().unwrap() {
            let due = delivery["due"].as_str().and_then(|due| due.parse().ok());
            let withheld_from = self.now() + chrono::Duration::days(WITHHELD_DAYS);
            if due.is_some_and(|due: chrono::DateTime<chrono::Utc>| due < withheld_from) {
                found.push(format!("{} is still to come", delivery["type"]));
            }
        }
        found
    }

    /// The accounts of every charge that was made for a booking of ours.
    fn accounts(&self) -> Vec<Account> {
        let ledger = self.fleet.sandbox.ledger();
        let bookings = self.rows("bdc-bookings");
        let cases = self.rows("bdc-cases");
        let charges = ledger["charges"].as_array().unwrap().iter();
        let account = |charge: &Value| {
            let captured = charge["amount_captured"].as_i64().unwrap();
            let payment_ref = charge["payment_intent"].as_str()?;
            let sessions = ledger["sessions"].as_array().unwrap();
            let session = sessions
                .iter()
                .find(|it| it["payment_intent"] == payment_ref)?;
            let booking_id = session["metadata"]["booking_id"].as_str()?;
            if !booking_id.starts_with("bkg_") {
                return None;
            }
            let booking = bookings
                .iter()
                .find(|row| row["booking_id"] == booking_id)
                .unwrap_or(&Value::Null);
            let account = Account {
                payment_ref: payment_ref.to_owned(),
                booking_id: booking_id.to_owned(),
                captured,
                refunded: live_refunds(&ledger, payment_ref),
                kept: kept(booking, payment_ref),
                must_not_keep: booking["state"] == "RELEASED",
                named_by_a_case: cases.iter().any(|case| names(case, payment_ref)),
            };
            Some(account).filter(|_| captured > 0)
        };
        charges.filter_map(account).collect()
    }
}

impl Account {
    fn assert_not_more(&self) {
        assert!(self.refunded <= self.captured, "{}", self.described());
    }

    fn assert_whole(&self) {
        self.assert_not_more();
        let known = self.refunded + self.kept;
        assert!(known <= self.captured, "{}", self.described());
        let well = known == self.captured && !(self.must_not_keep && self.kept > 0);
        assert!(well || self.named_by_a_case, "{}", self.described());
    }

    fn described(&self) -> String {
        format!(
            "{} of {}: {} came, {} went back, {} is kept{}{}",
            self.payment_ref,
            self.booking_id,
            self.captured,
            self.refunded,
            self.kept,
            if self.must_not_keep {
                " after the release"
            } else {
                ""
            },
            if self.named_by_a_case {
                ", and there is a case"
            } else {
                ""
            },
        )
    }
}

/// What the provider gave back of a payment, or is giving back.
fn live_refunds(ledger: &Value, payment_ref: &str) -> i64 {
    let refunds = ledger["refunds"].as_array().unwrap().iter();
    let live = refunds.filter(|refund| {
        let status = refund["status"].as_str().unwrap();
        refund["payment_intent"] == payment_ref && !matches!(status, "failed" | "canceled")
    });
    live.map(|refund| refund["amount"].as_i64().unwrap()).sum()
}

/// What a booking says that it has of a payment.
fn kept(booking: &Value, payment_ref: &str) -> i64 {
    let payments = booking["payments"].as_array().into_iter().flatten();
    let own = payments.filter(|paid| paid["payment_ref"] == payment_ref);
    let amount = |money: &Value| money["amount"].as_i64().unwrap_or_default();
    own.map(|paid| (amount(&paid["amount"]) - amount(&paid["returned"])).max(0))
        .sum()
}

fn names(case: &Value, payment_ref: &str) -> bool {
    let entries = case["entries"].as_array().into_iter().flatten();
    let mut about = entries.map(|entry| &entry["facts"]["payment_ref"]);
    case["status"] == "OPEN" && about.any(|about| about == payment_ref)
}
