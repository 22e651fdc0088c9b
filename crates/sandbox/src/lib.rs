//! A payment provider in this process: Stripe's API as far as the fleet uses it.
//!
//! [`Sandbox`] is a value with time passed in. It has no clock, no network and no randomness: ids
//! are counted from a seed, so the same calls at the same times give the same bytes. Three doors
//! lead in, [`Sandbox::call`] for the API and for `/_sandbox/…`, which plays the customer, and
//! [`Sandbox::page`] for the hosted page. One leads out: [`Sandbox::take_due`] hands over the
//! signed webhooks, and whoever posts them says by [`Sandbox::delivered`] what became of each.
//! There may be several endpoints, each with its own secrets and event types:
//! [`Options::more_endpoints`].
//!
//! What happens by itself (a session expires, a bank debit arrives, a refund fails, a webhook is due)
//! happens at the next call at or after its time; [`Sandbox::due_at`] says when that will be.
//!
//! | control | does |
//! |---|---|
//! | `POST /_sandbox/sessions/{id}/pay` `{"card", "authenticated"?}` | pays by a test card, or by `bank` whatever the session offers; answers the session, or 402 with the card error |
//! | `POST /_sandbox/sessions/{id}/settle` `{"succeeded"}` | ends a bank debit before its three days |
//! | `POST /_sandbox/payments/{id}/refund` `{"amount"?}` | refunds a PaymentIntent or charge as the dashboard does: no metadata, no request; all that is left if no amount is given |
//! | `POST /_sandbox/refunds/next` `{"status"}` | answers the next refund as `pending`, `requires_action`, `succeeded` or `failed`; it stays so until it is moved |
//! | `POST /_sandbox/refunds/{id}/move` `{"status", "failure_reason"?}` | makes a refund succeed, fail (also one that had succeeded) or be `canceled`; what fails goes back to the charge |
//! | `POST /_sandbox/payments/{id}/dispute` `{"reason"?, "amount"?, "inquiry"?}` | the bank disputes a PaymentIntent or charge, all of it as `fraudulent` unless told otherwise; an inquiry moves no money |
//! | `POST /_sandbox/disputes/{id}/move` `{"status"}` | `under_review`, `won`, `lost`, `prevented`; of an inquiry `warning_under_review`, `warning_closed`, `prevented`, or `needs_response`, which makes it a dispute |
//! | `GET /_sandbox/ledger` | all money: sessions, charges with fees and dispute status, refunds, disputes, invoices with `successful_charges` and `failed_charges`, subscriptions with `canceled_by`, and totals per currency: `captured`, `refunded`, `disputed`, `fees` |
//! | `POST /_sandbox/webhooks` `{"rules": […]}` | mischief for events made from now on: `type`, `lose` (attempts), `lose_for_s`, `delay_s`, `duplicates`, `reorder`, `new_id` |
//! | `POST /_sandbox/events/{id}/resend` | delivers an event once more |
//! | `GET /_sandbox/deliveries` | every delivery with its attempts, and counters |
//! | `POST /_sandbox/next-call` `{"call", "outcome", "times"?}` | how the next `POST`s to paths like `call` (`POST /v1/checkout/sessions/*/expire`) end, if their key has no answer yet: `500`, `500_after_doing` (keys keep both), `answer_lost_after_doing`, `answer_lost_before` (504 with no body, done or not), `409` (in flight), `429`, `event_before_answer`; rules wait in line, `null` takes all back |
//! | `POST /_sandbox/outage` `{"from", "to", "status"}` | the API answers everything with 503, or 504 with no body, and does nothing; `null` ends it |
//! | `POST /_sandbox/forget-keys` | forgets every answer of an idempotency key, as a day does by itself |
//!
//! Billing has customers, payment methods, products, prices, subscriptions, invoices and the
//! portal. The provider's own retries are off, so nothing is charged by itself; these make it
//! happen. Bodies in brackets may be left out; a card is a test card's number, its name such as
//! `pm_card_visa`, or one of `cashapp`, `amazon_pay`, `sepa_debit`.
//!
//! | control | does |
//! |---|---|
//! | `POST /_sandbox/subscriptions` `{"name"?, "email"?, "card"?, "amount"?, "currency"?, "interval"?, "product"?, "metadata"?, "where"?, "customer"?}` | subscribes a new or known customer and charges the first period; `where` is `customer` or `subscription`, and says whose default the card is; answers the ids |
//! | `POST /_sandbox/subscriptions/{id}/fail-renewal` `[{"decline"?, "advice_code"?, "network_decline_code"?, "network_advice_code"?, "times"?}]` | makes the next invoice now and declines its first charge, and every later charge of that card for the subscription: all, or `times` more |
//! | `POST /_sandbox/subscriptions/{id}/renew` | makes the next invoice now and charges it once, whatever its card says |
//! | `POST /_sandbox/subscriptions/{id}/prorate` `{"amount"}` | makes a second invoice, for a change of plan, that nobody has tried to pay |
//! | `POST /_sandbox/subscriptions/{id}/cancel` `[{"by"?}]` | ends it as the `customer` (or `provider`, `api`) does; its invoices stay |
//! | `POST /_sandbox/subscriptions/{id}/unpaid` | what the provider calls it when its own retries are over |
//! | `POST /_sandbox/invoices/{id}/pay` `[{"card"?, "authenticated"?}]` | the customer pays on the hosted page |
//! | `POST /_sandbox/invoices/{id}/provider-retry` | the provider tries again by itself, without a key: counts in `attempt_count` |
//! | `POST /_sandbox/invoices/{id}/void`, `/uncollectible`, `/paid-out-of-band` | the merchant ends it in the dashboard |
//! | `POST /_sandbox/invoices/{id}/credit` `{"amount"}` | a credit note: less is owed; nothing left is paid |
//! | `POST /_sandbox/invoices/{id}/prorate` `{"amount"}` | gives an open invoice another total |
//! | `POST /_sandbox/customers/{id}/card` `{"card", "where"?}` | saves a card as the portal does, as the default of the `customer`, or of each live `subscription` |
//! | `POST /_sandbox/payment_methods/{id}/replace` `{"card"}` | a bank has sent a new card: the network puts it behind the same id |
//! | `POST /_sandbox/payment_intents/{id}/authenticate` `[{"approved"?}]` | answers a bank that asks |
//! | `POST /_sandbox/next-pay` `{"outcome", "advice_code"?, "network_decline_code"?, "network_advice_code"?}` | how the next `POST /v1/invoices/{id}/pay` ends: a decline code, `requires_action`, `500`, `500_after_paying`, `answer_lost` (504 with no body, though done), `hold`, `rate_limit`, `lock_timeout`, `paid_by_customer` (just before); `null` takes it back |
//! | `POST /_sandbox/next-pay/release` | does what `hold` has kept in flight (its caller got a 504 with no body, its key answers 409 until now, other keys 429 `lock_timeout`) and answers `{"status", "body"}` |

mod amounts;
mod api;
mod api_keys;
mod billing;
mod card_form;
mod cards;
mod control;
mod debits;
mod disputes;
mod endpoint;
mod error;
mod events;
mod execution;
mod form;
mod idempotency;
mod ids;
mod ledger;
mod mischief;
mod new_session;
mod pages;
mod payments;
mod reading;
mod refunds;
mod render;
mod sessions;
mod signing;
mod state;
#[cfg(test)]
mod testing;
mod trouble;
mod webhooks;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Request, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use state::State;

pub use api_keys::{ApiKey, KeyScope};
pub use endpoint::Endpoint;
pub use trouble::{NextCall, Outage, Outcome};

/// Where the double lives and which secrets it knows.
#[derive(Clone)]
pub struct Options {
    /// The address of [`Sandbox::call`], without a slash at the end.
    pub base_url: String,
    /// The address of [`Sandbox::page`], without a slash at the end.
    pub pages_url: String,
    /// The key that may do everything.
    pub api_key: String,
    /// Keys that may do less.
    pub more_keys: Vec<ApiKey>,
    /// Each signs every webhook; there are two while a secret is being rolled.
    pub signing_secrets: Vec<String>,
    /// The function that webhooks are for.
    pub webhook_function: String,
    /// The address of that function, as the API shows it.
    pub webhook_url: String,
    /// The event types that it takes; `*` is all.
    pub webhook_events: Vec<String>,
    /// More functions that take webhooks, each with secrets of its own.
    pub more_endpoints: Vec<Endpoint>,
    /// The version that events are written in.
    pub api_version: String,
    pub livemode: bool,
    /// Where ids start from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8787/stripe".to_owned(),
            pages_url: "http://127.0.0.1:8787/pay".to_owned(),
            api_key: "rk_test_sandbox".to_owned(),
            more_keys: Vec::new(),
            signing_secrets: vec!["whsec_sandbox".to_owned()],
            webhook_function: "bdc-webhook".to_owned(),
            webhook_url: "http://127.0.0.1:8787/url/bdc-webhook/".to_owned(),
            webhook_events: vec!["*".to_owned()],
            more_endpoints: Vec::new(),
            api_version: "2026-07-29.dahlia".to_owned(),
            livemode: false,
            seed: 0,
        }
    }
}

/// Without the secrets.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("base_url", &self.base_url)
            .field("pages_url", &self.pages_url)
            .field("webhook_function", &self.webhook_function)
            .field("webhook_events", &self.webhook_events)
            .field("more_endpoints", &self.more_endpoints)
            .field("api_version", &self.api_version)
            .field("livemode", &self.livemode)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// A webhook to be posted to `function` now.
#[derive(Debug)]
pub struct Delivery {
    /// Names this attempt, for [`Sandbox::delivered`].
    pub id: String,
    pub function: String,
    /// `POST /` with the signature header; the body is JSON.
    pub request: Request<Bytes>,
}

/// Counts attempts to deliver. An attempt is lost, answered well, or failed (which lost ones are
/// too); `given_up` counts deliveries, not attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookCounts {
    pub attempts: u64,
    pub lost: u64,
    pub delivered: u64,
    pub failed: u64,
    pub given_up: u64,
}

/// The provider. Cheap to share by reference; one call at a time goes through.
#[derive(Debug)]
pub struct Sandbox(Mutex<State>);

impl Sandbox {
    pub fn new(options: Options) -> Self {
        Self(Mutex::new(State::new(options)))
    }

    /// Answers a request whose path is relative to the base URL: `/v1/…` or `/_sandbox/…`.
    pub fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        let mut state = self.at(now);
        if request.uri().path().starts_with("/_sandbox/") {
            control::answer(&mut state, &request, now)
        } else {
            api::answer(&mut state, &request, now)
        }
    }

    /// Answers a browser. The last part of the path is the id of what the page is of: a session, an
    /// invoice, or a portal session.
    pub fn page(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        pages::answer(&mut self.at(now), &request, now)
    }

    /// Returns when something will happen by itself, if nothing else does.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        self.lock().due_at()
    }

    /// Returns the webhooks to post now, in order. One that is not answered within 30 seconds by
    /// [`Sandbox::delivered`] has failed and comes again.
    pub fn take_due(&self, now: DateTime<Utc>) -> Vec<Delivery> {
        let state = &mut *self.at(now);
        state.webhooks.take_due(&state.options, now)
    }

    /// Notes how an attempt was answered. Anything but 2xx makes it come again, ever later, for
    /// three days. An unknown or late id has no effect.
    pub fn delivered(&self, id: &str, status: u16, now: DateTime<Utc>) {
        self.at(now).webhooks.answered(id, status, now);
    }

    /// Replaces the secrets that sign the webhooks of [`Options::webhook_function`] from now on,
    /// also those that wait.
    pub fn set_signing_secrets(&self, secrets: Vec<String>) {
        self.lock().options.signing_secrets = secrets;
    }

    /// Replaces the secrets that sign the webhooks of one of [`Options::more_endpoints`] from now
    /// on, also those that wait. A function that is none of them has no effect.
    pub fn set_endpoint_secrets(&self, function: &str, secrets: Vec<String>) {
        let endpoints = &mut self.lock().options.more_endpoints;
        if let Some(endpoint) = endpoints.iter_mut().find(|it| it.function == function) {
            endpoint.signing_secrets = secrets;
        }
    }

    pub fn webhook_counts(&self) -> WebhookCounts {
        self.lock().webhooks.counts
    }

    /// Adds a rule for requests to come, behind the others.
    ///
    /// # Errors
    /// Why the rule can't be taken: there are a thousand, or it is for no request.
    pub fn add_next_call(&self, rule: NextCall) -> Result<(), String> {
        let added = self.lock().trouble.add(rule);
        added.map_err(|error| error.message)
    }

    /// Takes back all rules for requests to come.
    pub fn clear_next_calls(&self) {
        self.lock().trouble.next_calls.clear();
    }

    /// Replaces the times in which the provider is down.
    pub fn set_outages(&self, outages: Vec<Outage>) {
        self.lock().trouble.outages = outages;
    }

    /// Forgets every answer of an idempotency key, as a day does by itself; returns how many.
    pub fn forget_keys(&self) -> usize {
        self.lock().keys.forget_all()
    }

    /// How often requests suffered what rules and outages said, by the name of the outcome, or
    /// `outage`.
    pub fn troubles(&self) -> BTreeMap<String, u64> {
        self.lock().trouble.counts.clone()
    }

    /// Returns what `GET /_sandbox/ledger` answers, as of the last call.
    pub fn ledger(&self) -> Value {
        ledger::ledger(&self.lock())
    }

    /// Returns all state but the options, and so no secret.
    ///
    /// # Errors
    /// None that this state can cause.
    pub fn snapshot(&self) -> serde_json::Result<Value> {
        serde_json::to_value(&*self.lock())
    }

    /// Goes back to a snapshot, keeping its own options.
    ///
    /// # Errors
    /// The value is no snapshot of this version; nothing has changed then.
    pub fn restore(&self, snapshot: Value) -> serde_json::Result<()> {
        let mut restored: State = serde_json::from_value(snapshot)?;
        let mut state = self.lock();
        restored.options = state.options.clone();
        *state = restored;
        Ok(())
    }

    fn at(&self, now: DateTime<Utc>) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.advance(now);
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in one request must not close the account for the others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{SESSION, Town};

    #[test]
    fn a_restored_sandbox_goes_on_as_the_first_would_have() {
        let town = Town::default();
        let id = town.session();
        let other = Town::default();
        other
            .sandbox
            .restore(town.sandbox.snapshot().unwrap())
            .unwrap();
        assert_eq!(
            town.pay(&id, "4242424242424242").1,
            other.pay(&id, "4242424242424242").1
        );
        let next = |town: &Town| town.post("/v1/checkout/sessions", SESSION).1["id"].clone();
        assert_eq!(next(&town), next(&other));
        assert_eq!(
            town.sandbox.snapshot().unwrap(),
            other.sandbox.snapshot().unwrap()
        );
    }

    #[test]
    fn a_snapshot_from_before_there_were_disputes_is_taken() {
        let town = Town::default();
        let intent = town.paid("4242424242424242");
        town.post(
            "/v1/refunds",
            &format!("payment_intent={intent}&amount=500"),
        );
        let mut old = town.sandbox.snapshot().unwrap();
        let remove = |object: &mut serde_json::Value, fields: &[&str]| {
            let object = object.as_object_mut().unwrap();
            object.retain(|field, _| !fields.contains(&field.as_str()));
        };
        remove(&mut old, &["disputes", "next_refund"]);
        for charge in old["charges"].as_object_mut().unwrap().values_mut() {
            remove(charge, &["disputed", "refund_course"]);
        }
        let refund_fields = ["status", "failure_reason", "failure_balance_transaction"];
        for refund in old["refunds"].as_object_mut().unwrap().values_mut() {
            remove(refund, &refund_fields);
        }
        let other = Town::default();
        other.sandbox.restore(old).unwrap();
        assert_eq!(other.sandbox.ledger(), town.sandbox.ledger());
    }

    #[test]
    fn no_secret_is_in_a_snapshot_or_a_debug_text() {
        let town = Town::default();
        town.session();
        let texts = [
            town.sandbox.snapshot().unwrap().to_string(),
            format!("{:?}", town.sandbox),
        ];
        for text in texts {
            assert!(!text.contains("whsec_sandbox") && !text.contains("rk_test_sandbox"));
        }
    }

    #[test]
    fn due_at_names_the_next_thing_that_happens_by_itself() {
        let town = Town::default();
        assert_eq!(town.sandbox.due_at(), None);
        let id = town.session();
        assert_eq!(town.sandbox.due_at(), Some(town.after(3600)));
        town.pay(&id, "4242424242424242");
        assert_eq!(town.sandbox.due_at(), Some(town.now()), "three webhooks");
    }
}
