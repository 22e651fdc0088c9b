//! A town for stories: the fleet on the local cloud, a form that books, a customer with a phone and
//! a card, and a member of staff.
//!
//! Everything goes through the handlers, as Lambda would call them. When a town ends it checks what
//! every story promises: no call was denied, no log line had a secret or a personal datum, every
//! penny that the provider took is kept by a booking, went back, or is named in an open case, no
//! invoice was taken twice and no subscription was ended by us.

mod dunning;
mod logs;
mod money;
mod webhook;
mod world;

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet::{Fleet, FleetOptions};
use http::Request;
use paidonce_core::venue::BUILT_IN;
use serde_json::{Value, json};

pub use dunning::{DunningMail, SUBSCRIBER, SUBSCRIBER_EMAIL, Subscriber, dunning_policy};
pub use money::CARD;
pub use webhook::{SIGNING_SECRET_NAME, deposit_paid, session_event};

pub use logs::Lines;

/// The customer, unless a story says otherwise.
pub const NAME: &str = "Philippa Quillfeather";
pub const PHONE: &str = "07700 900123";
pub const PHONE_E164: &str = "+447700900123";
/// Thursday 9 July 2026, noon UTC: the start of every town, unless a story says otherwise. The form
/// books for Saturday 11 July 20:00 in London, so the deposit is due on 10 July, noon UTC.
pub const NOON: &str = "2026-07-09T12:00:00Z";

/// One town. Its clock stands still unless a story moves it.
pub struct Town {
    pub fleet: Fleet,
    first_log_line: usize,
    /// Set by stories in which a denied call or a hidden word is the point.
    pub unchecked: bool,
    /// Set by stories that lose money's trace on purpose.
    pub money_unchecked: bool,
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

impl Answer {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The `code` of a problem document.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A booking that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Booked {
    pub id: String,
    pub answer: Value,
}

impl Booked {
    pub fn pay_url(&self) -> &str {
        self.answer["pay_url"].as_str().unwrap()
    }

    pub fn slot_key(&self) -> &str {
        self.answer["slot_key"].as_str().unwrap()
    }
}

impl Default for Town {
    fn default() -> Self {
        Self::new()
    }
}

impl Town {
    pub fn new() -> Self {
        Self::at(NOON)
    }

    /// A town that starts at an instant.
    pub fn at(start: &str) -> Self {
        Self::with(FleetOptions::starting(start.parse().unwrap()))
    }

    /// A town with another policy of dunning; see [`dunning_policy`].
    pub fn with_dunning_policy(start: &str, policy: String) -> Self {
        let mut options = FleetOptions::starting(start.parse().unwrap());
        options.dunning_policy = Some(policy);
        Self::with(options)
    }

    /// A town in which dunning alone is deployed, where days go by faster.
    pub fn of_dunning(start: &str) -> Self {
        let mut options = FleetOptions::starting(start.parse().unwrap());
        let off = ("Booking".to_owned(), "off".to_owned());
        options.parameters.extend([off]);
        Self::with(options)
    }

    /// A town with another venue.
    pub fn with_venue(venue: &Value) -> Self {
        let mut options = FleetOptions::starting(NOON.parse().unwrap());
        options.venue = Some(venue.to_string());
        Self::with(options)
    }

    pub fn with(mut options: FleetOptions) -> Self {
        let first_log_line = logs::start();
        options.venue = Some(roomy(options.venue.as_deref().unwrap_or(BUILT_IN)));
        let fleet = Fleet::start(options).unwrap();
        Self {
            fleet,
            first_log_line,
            unchecked: false,
            money_unchecked: false,
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.fleet.cloud.clock().now()
    }

    /// Runs all that is due now.
    pub async fn settle(&self) {
        assert!(
            self.fleet.cloud.settle().await.quiet,
            "the fleet never got quiet"
        );
    }

    /// Moves the clock; all that is due on the way runs, in order. In a long move the rates of the
    /// template fire more rarely, up to its last hour: most of their firings would find nothing.
    pub async fn advance(&self, by: Duration) {
        let cloud = &self.fleet.cloud;
        let last = Duration::hours(1);
        if by > Duration::hours(12) {
            cloud.set_rates_at_most((by / 48).max(last));
            self.move_clock(by - last).await;
            cloud.set_rates_at_most(Duration::zero());
            self.move_clock(last).await;
        } else {
            self.move_clock(by).await;
        }
    }

    pub async fn advance_to(&self, to: &str) {
        let to: DateTime<Utc> = to.parse().unwrap();
        self.advance(to - self.now()).await;
    }

    async fn move_clock(&self, by: Duration) {
        assert!(
            self.fleet.cloud.advance(by).await.quiet,
            "the fleet never got quiet"
        );
    }

    /// Sends a request to a function's URL.
    pub async fn request(&self, function: &str, request: Request<Bytes>) -> Answer {
        let answer = self.fleet.cloud.call_url(function, request).await;
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (
                name.to_string(),
                value.to_str().unwrap_or_default().to_owned(),
            )
        };
        Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().iter().map(header).collect(),
            text: String::from_utf8_lossy(answer.body()).into_owned(),
        }
    }

    /// A wish that the form sends; stories change what matters to them.
    pub fn wish(&self) -> Value {
        json!({"resource": "table-4", "starts_at": "2026-07-11T20:00", "party": 2, "name": NAME,
            "phone": PHONE, "source": "form"})
    }

    /// Posts a wish as the form, under an `Idempotency-Key` if one is given.
    pub async fn post_booking(&self, wish: &Value, key: Option<&str>) -> Answer {
        let token = self.fleet.tokens().form;
        let mut request = Request::post("/bookings")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        self.request(
            "bdc-intake",
            request.body(Bytes::from(wish.to_string())).unwrap(),
        )
        .await
    }

    /// Takes the booking of a wish that must succeed. Nothing that follows from it has run yet.
    pub async fn book(&self, wish: &Value) -> Booked {
        let answer = self.post_booking(wish, None).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let answer = answer.json();
        Booked {
            id: answer["booking_id"].as_str().unwrap().to_owned(),
            answer,
        }
    }

    /// A booking whose deposit request has been texted.
    pub async fn pending(&self) -> Booked {
        let booked = self.book(&self.wish()).await;
        self.settle().await;
        booked
    }

    /// A booking whose deposit is paid, and all that follows has run.
    pub async fn confirmed(&self) -> Booked {
        let booked = self.pending().await;
        let event = deposit_paid(self, &booked, "evt_confirmed", "pi_confirmed");
        assert_eq!(self.webhook(&event).await.status, 200);
        self.settle().await;
        assert_eq!(self.state(&booked), "CONFIRMED");
        booked
    }

    /// An order of the staff, such as `attendance`.
    pub async fn staff(&self, booked: &Booked, order: &str, body: &Value) -> Answer {
        let token = self.fleet.tokens().staff;
        let request = Request::post(format!("/bookings/{}/{order}", booked.id))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Bytes::from(body.to_string()))
            .unwrap();
        self.request("bdc-intake", request).await
    }

    /// Asks the intake for anything, as the staff.
    pub async fn as_staff(&self, method: &str, path: &str, body: &Value) -> Answer {
        let token = self.fleet.tokens().staff;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .body(Bytes::from(body.to_string()))
            .unwrap();
        self.request("bdc-intake", request).await
    }

    /// GET from the intake, as the form.
    pub async fn get(&self, path: &str) -> Answer {
        let token = self.fleet.tokens().form;
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.request("bdc-intake", request.body(Bytes::new()).unwrap())
            .await
    }
}

/// A venue in which one customer and one form may hold as much as they like, unless it says how much:
/// stories book for one customer, and the limits have stories of their own.
fn roomy(venue: &str) -> String {
    let Ok(Value::Object(mut venue)) = serde_json::from_str(venue) else {
        return venue.to_owned();
    };
    let holds = json!({"per_phone": 1000, "per_source": 1000});
    venue.entry("holds").or_insert(holds);
    Value::Object(venue).to_string()
}

impl Drop for Town {
    fn drop(&mut self) {
        if self.unchecked || std::thread::panicking() {
            return;
        }
        assert_eq!(self.fleet.cloud.denied(), [], "a role lacks a permission");
        logs::assert_discreet(self.first_log_line, &self.hidden_words());
        self.assert_dunning_did_no_harm();
        if !self.money_unchecked && self.fleet.has("bdc-intake") {
            self.assert_no_money_is_lost();
        }
    }
}
