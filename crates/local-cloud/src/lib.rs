//! AWS in this process, built from `template.yaml`, on a virtual clock.
//!
//! For `paidonce dev`, tests and simulation. Functions run as they are: same handlers, same SDK
//! clients. Only the HTTP client below the SDK is ours, so everything that a function does passes
//! one place.
//!
//! # How it works
//!
//! - `template` reads the SAM template: tables, queues, secrets, topics, schedules, event source
//!   mappings, functions with their environment and role.
//! - `router` is that HTTP client. It sends a call to a [`Neighbour`] by base URL, or to a service
//!   by the scope of its signature. On the way the call meets the [`Faults`] plan, the role of its
//!   caller (`iam`) and the `meter`.
//! - `services` play the wire protocols, only as far as they are used; the rest answers
//!   `UnknownOperationException`. DynamoDB and its streams are dynoxide, embedded.
//! - `pump` delivers: stream records, queue messages, schedules, asynchronous invocations and what
//!   neighbours send. It is the only thing that moves the [`Clock`], from due instant to due
//!   instant. Nothing happens while nobody calls [`LocalCloud::settle`] or
//!   [`LocalCloud::advance`], except what handlers do inside [`LocalCloud::call_url`].
//! - `store` is all state beside the rows, as one value; with [`Options::state`] it is in a file.
//!   The bytes of objects are kept beside it, by their digest (`blobs`).
//!
//! # What can be relied on
//!
//! Used from one thread it is deterministic: no wall clock, no operating system randomness, no
//! real sleep. Handlers may also race on many threads: each call first yields. At least once is
//! meant: a failed batch comes back after its visibility time-out, at most as often as the redrive
//! policy says.
//!
//! # What can go wrong
//!
//! Nothing, until it is asked for. All of it comes from seeds and the virtual clock, and
//! [`Faults::injected`] counts what was played, by the names in the last column.
//!
//! | asked for by | what happens | counted as |
//! |---|---|---|
//! | [`Faults::add`], [`Faults::set_random`], [`Faults::set_script`] | a call goes wrong in one of the ways of [`FaultKind`]; by chance or by script never in one that does not fit it ([`FaultKind::fits`]) | the kind's name |
//! | [`FaultKind::Late`] | the request is applied when it is due, as any call then, whatever has happened meanwhile; its permission is checked then | `late`, `late_arrived` |
//! | [`FaultKind::Paused`] | the delivery has timed out; a new instance serves others; the handler goes on with its next call when it is due, with its old `now`, and its answer is nobody's. A handler's sleeps stand still meanwhile | `paused`, `paused_woken` |
//! | [`LocalCloud::set_disorder`] | deliveries out of order, doubled, late, and again long after; schedules twice, late, or after they were deleted: see [`Disorder`] | `duplicate_message`, `duplicate_batch`, `duplicate_invocation`, `reordered_queue`, `redelivered_late`, `delayed_message`, `delayed_stream`, `delayed_invocation`, `visibility_expired`, `schedule_fired_twice`, `schedule_late`, `schedule_fired_after_delete` |
//! | [`LocalCloud::set_index_lag`] | a function's query or scan of a global secondary index misses the last writes; the table itself is never behind, and neither are operators | `index_behind` |
//! | [`LocalCloud::set_ttl_lag`] | rows stay readable past their time, for as long as is asked and up to an hour more | |
//! | [`LocalCloud::set_clock_skew`] | a handler's `now` is ahead or behind; the SDK's own clock is right, as nobody here checks when a call was signed | `skewed_clock` |
//! | [`LocalCloud::break_function`] | a function panics at some events, in a batch at some records, until it is healed | `bad_deploy` |
//! | a neighbour's header `x-events-first` | what it has to send arrives before its answer does | `events_first` |
//!
//! What waits (late requests, paused invocations, redelivered streams, firings of deleted schedules)
//! is in memory only, and [`LocalCloud::unfinished`] tells how much it is.
//!
//! # What differs from AWS
//!
//! The SDK's retry quota is one per service and process, as in Lambda, but here all functions share
//! the process. A `ClientRequestToken` is remembered for ten minutes of real time. With a state
//! folder the stamps on stream records are real time too. Lambda scales to one instance that takes
//! all invocations, and the pump delivers one batch at a time.
//!
//! A one-off schedule is deleted as it fires, not some minutes later; Scheduler's own retries are
//! not needed, as handing an event to Lambda does not fail, so only their limits are checked. What
//! Lambda does with a failing target is played. Policies of buckets, topics and queues are read by
//! nobody: only the caller's role decides. A mail bounces when a test says so, and SES's sandbox and
//! suppression list refuse nothing.

mod bad_deploy;
mod blobs;
mod clock;
mod cloud;
mod disorder;
mod disturb;
mod door;
mod error;
mod faults;
mod filter;
mod functions;
mod iam;
mod in_part;
mod invocation;
mod invoke;
mod mails;
mod messages;
mod meter;
mod mischief;
mod neighbour;
mod objects;
mod observe;
mod open;
mod planned;
mod pump;
mod queue;
mod rest;
mod roll;
mod router;
mod schedule;
mod services;
mod store;
mod template;
mod trip;
mod url_event;
mod wire;

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use http::{Request, Response, StatusCode};
use lambda_kit::{Function, Setup};
use serde_json::{Value, json};

pub use clock::Clock;
pub use disorder::Disorder;
pub use error::{CloudError, InvokeError};
pub use faults::{FaultKind, FaultRule, Faults, RandomFaults, Struck};
pub use messages::{Happening, Mail, Message};
pub use meter::{Call, Denied};
pub use neighbour::{Delivery, Neighbour};
pub use objects::Object;
pub use open::Options;
pub use planned::Planned;
pub use pump::Settled;
pub use services::{IndexLag, MailAccount, MailFate, ModelAnswer};

use cloud::Cloud;
use functions::Deployed;
use router::Router;

/// The topic that inbound text messages are published to.
const INBOUND_SMS_TOPIC: &str = "bdc-inbound-sms";

/// The cloud. Clones are handles to the same one.
#[derive(Clone)]
pub struct LocalCloud(Arc<Cloud>);

impl LocalCloud {
    /// Builds everything that the template describes, or opens what [`Options::state`] holds.
    ///
    /// # Errors
    /// The first resource that can't be understood or made.
    pub fn from_template(template: &str, options: Options) -> Result<Self, CloudError> {
        open::open(template, options).map(|cloud| Self(Arc::new(cloud)))
    }

    /// Deploys a function under its own name.
    ///
    /// # Errors
    /// See [`LocalCloud::install_as`].
    pub fn install<F: Function>(&self) -> Result<(), CloudError> {
        self.install_as::<F>(F::NAME)
    }

    /// Deploys a function under a name of the template, and makes a first instance.
    ///
    /// # Errors
    /// A name that the template does not have, or a configuration that the function refuses.
    pub fn install_as<F: Function>(&self, deployed_name: &str) -> Result<(), CloudError> {
        if !self.0.stack.functions.contains_key(deployed_name) {
            return Err(CloudError::UnknownFunction(deployed_name.to_owned()));
        }
        let deployed = Deployed::of::<F>();
        let made = deployed.instance(|made| self.0.setup(deployed_name, made));
        made.map_err(|source| CloudError::Configuration {
            function: deployed_name.to_owned(),
            source,
        })?;
        let mut functions = self
            .0
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        functions.insert(deployed_name.to_owned(), Arc::new(deployed));
        Ok(())
    }

    /// What an instance of a function would be made from, for tests that need its clients.
    ///
    /// # Errors
    /// A name that the template does not have.
    pub fn setup(&self, function: &str) -> Result<Setup, CloudError> {
        if !self.0.stack.functions.contains_key(function) {
            return Err(CloudError::UnknownFunction(function.to_owned()));
        }
        Ok(self.0.setup(function, u64::MAX))
    }

    pub fn clock(&self) -> Clock {
        self.0.clock.clone()
    }

    /// Sends a request to a function's URL. Its path starts after the URL.
    ///
    /// A failed, crashed or panicked invocation is 502 with AWS's own body.
    pub async fn call_url(&self, function: &str, request: Request<Bytes>) -> Response<Bytes> {
        call_url(&self.0, function, request).await
    }

    /// Invokes a function and waits for its answer.
    ///
    /// # Errors
    /// How the invocation failed.
    pub async fn invoke(&self, function: &str, event: Value) -> Result<Value, InvokeError> {
        self.0.invoke(function, event).await
    }

    /// Delivers until nothing is due now. The clock stands still.
    pub async fn settle(&self) -> Settled {
        let _pump = self.0.pump.lock().await;
        pump::settle(&self.0).await
    }

    /// Moves the clock to `to`, delivering at every due instant on the way.
    pub async fn advance_to(&self, to: DateTime<Utc>) -> Settled {
        let _pump = self.0.pump.lock().await;
        pump::advance_to(&self.0, to).await
    }

    /// Moves the clock by `by`, delivering at every due instant on the way.
    pub async fn advance(&self, by: Duration) -> Settled {
        let _pump = self.0.pump.lock().await;
        let to = self.0.clock.now() + by;
        pump::advance_to(&self.0, to).await
    }

    /// When something will next be due; now, if something is.
    pub fn next_due(&self) -> Option<DateTime<Utc>> {
        pump::next_due(&self.0)
    }

    /// Makes another party reachable.
    pub fn attach(&self, neighbour: Arc<dyn Neighbour>) {
        self.0
            .neighbours
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(neighbour);
    }

    /// Gives a secret a new value; the old one becomes its previous version.
    pub fn set_secret(&self, name: &str, value: &str) {
        let version = store::SecretVersion {
            id: self.0.new_id("secret"),
            value: value.to_owned(),
            created_at: self.0.clock.now(),
        };
        self.0
            .store
            .change(|state| match state.secrets.get_mut(name) {
                Some(secret) => {
                    secret.previous = Some(std::mem::replace(&mut secret.current, version))
                }
                None => {
                    let secret = store::Secret {
                        current: version,
                        previous: None,
                    };
                    state.secrets.insert(name.to_owned(), secret);
                }
            });
    }

    /// Forgets the previous version of a secret.
    pub fn remove_previous(&self, name: &str) {
        self.0.store.change(|state| {
            if let Some(secret) = state.secrets.get_mut(name) {
                secret.previous = None;
            }
        });
    }

    /// The plan of faults.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// A DynamoDB client that may do everything and is not counted.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        lambda_kit::client!(aws_sdk_dynamodb, &self.operator())
    }

    /// The configuration of an operator, for any SDK client.
    pub fn operator(&self) -> aws_types::SdkConfig {
        self.0.sdk_config("operator", Router::of_operator(&self.0))
    }

    /// Tells what the model does with its next calls; after that it is polite again.
    pub fn script_model(&self, answers: Vec<ModelAnswer>) {
        self.0.next_model_answer(|script| script.add(answers));
    }

    /// A text message from a phone. Its function runs at the next settlement.
    pub fn reply_by_sms(&self, from: &str, text: &str) {
        let id = self.0.new_id("inbound");
        let message = json!({
            "originationNumber": from,
            "destinationNumber": "+447700900000",
            "messageKeyword": "KEYWORD_LOCAL",
            "messageBody": text,
            "inboundMessageId": id,
            "previousPublishedMessageId": self.last_sms_to(from),
        });
        let topic = template::topic_arn(INBOUND_SMS_TOPIC);
        if services::publish(&self.0, &topic, &message.to_string()).is_none() {
            tracing::warn!("Nobody listens to inbound text messages");
        }
    }

    /// A phone that says STOP to its carrier, as with a toll-free number: no function hears of it,
    /// and texts to it are taken and not delivered.
    pub fn opt_out_at_carrier(&self, phone: &str) {
        self.0
            .carrier_optouts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(phone.to_owned());
    }

    /// A phone that the SMS service takes no text for, as it does with a kind of number that it can't
    /// reach.
    pub fn refuse_texts_to(&self, phone: &str) {
        self.0
            .refused_phones
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(phone.to_owned());
    }

    fn last_sms_to(&self, phone: &str) -> Option<String> {
        let last = |messages: &Vec<Message>| {
            let to_phone = |message: &&Message| message.channel == "sms" && message.to == phone;
            messages
                .iter()
                .rev()
                .find(to_phone)
                .map(|message| message.id.clone())
        };
        self.0.store.look(|state| last(&state.messages))
    }

    /// The deployed names in the template.
    pub fn functions(&self) -> Vec<String> {
        self.0.stack.functions.keys().cloned().collect()
    }
}

/// A request to a function's URL, from outside or from a neighbour.
async fn call_url(cloud: &Arc<Cloud>, function: &str, request: Request<Bytes>) -> Response<Bytes> {
    match cloud.stack.functions.get(function) {
        Some(spec) if spec.has_url => {}
        Some(_) => return url_event::refusal(StatusCode::FORBIDDEN, "Forbidden"),
        None => return url_event::refusal(StatusCode::NOT_FOUND, "Not Found"),
    }
    if request.body().len() > url_event::BODY_BYTES_MAX {
        return url_event::refusal(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
    }
    let id = cloud.new_id("request");
    let event = url_event::event(function, &request, &id, cloud.clock.now());
    match cloud.invoke(function, event).await {
        Ok(reply) => url_event::response(&reply),
        Err(_) => url_event::internal_error(),
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the cloud is tested with plain SDK calls, not with steps"
)]
mod tests;
