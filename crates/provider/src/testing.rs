//! What the tests of this crate share: the sandbox behind the SDK's HTTP client, and its faults.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use paidonce_core::money::Money;
use sandbox::{Options, Sandbox};
use serde_json::Value;

use crate::{Answer, NewSession, Provider, Secret};

/// What goes wrong with one attempt.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It never leaves.
    NotSent,
    /// It is carried out, but the answer is lost.
    AnswerLost,
    /// It is never answered.
    Hangs,
    /// Something else answers: a status, a body and a `Stripe-Should-Retry` header.
    Answers(u16, &'static str, Option<&'static str>),
}

/// The body and the idempotency key of an attempt, whatever became of it.
pub(crate) type Sent = (String, Option<String>);

/// The provider, the sandbox behind it, and what is to go wrong.
#[derive(Clone, Debug)]
pub(crate) struct Town {
    pub(crate) sandbox: Arc<Sandbox>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
    pub(crate) naps: Arc<Mutex<Vec<Duration>>>,
}

/// A subscription at the sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Subscribed {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) invoice: String,
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_784_034_000, 0).unwrap()
}

pub(crate) fn key() -> Secret {
    Secret::new("rk_test_sandbox")
}

pub(crate) fn new_session(idempotency_key: &str) -> NewSession<'_> {
    NewSession {
        booking_id: "b-1",
        description: "Deposit & more, 20 £",
        amount: Money::from_stripe(2000, "gbp").unwrap(),
        expires_at: now() + Duration::from_secs(3600),
        success_url: "https://shop.example/done?s={CHECKOUT_SESSION_ID}",
        cancel_url: Some("https://shop.example/back"),
        metadata: BTreeMap::from([("venue".to_owned(), "v-1".to_owned())]),
        idempotency_key,
    }
}

impl Town {
    pub(crate) fn with(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            sandbox: Arc::new(Sandbox::new(Options::default())),
            faults: Arc::new(Mutex::new(faults.into_iter().collect())),
            sent: Arc::default(),
            naps: Arc::default(),
        }
    }

    pub(crate) fn provider(&self) -> Provider {
        let aws = SdkConfig::builder()
            .http_client(SharedHttpClient::new(self.clone()))
            .sleep_impl(SharedAsyncSleep::new(self.clone()))
            .build();
        Provider::new(&aws, "http://127.0.0.1:8787/stripe", "2026-07-29.dahlia")
    }

    pub(crate) fn break_next(&self, fault: Fault) {
        self.faults.lock().unwrap().push_back(fault);
    }

    pub(crate) fn sessions(&self) -> usize {
        self.sandbox.ledger()["sessions"]
            .as_array()
            .map_or(0, Vec::len)
    }

    pub(crate) fn pay(&self, session: &str) {
        let path = format!("sessions/{session}/pay");
        self.control(&path, r#"{"card":"4242424242424242"}"#);
    }

    /// Opens and pays one more session, and returns its PaymentIntent.
    pub(crate) async fn paid(&self) -> String {
        let key_of_session = format!("k-{}", self.sessions());
        let session = new_session(&key_of_session);
        let answer = self.provider().create_session(&key(), &session).await;
        let Answer::Done(session) = answer else {
            panic!("{answer:?}");
        };
        self.pay(&session.id);
        let answer = self.provider().session(&key(), &session.id).await;
        let Answer::Done(session) = answer else {
            panic!("{answer:?}");
        };
        session.payment_intent.unwrap()
    }

    /// Makes something happen at the sandbox, and returns what it shows of it.
    pub(crate) fn control(&self, path: &str, body: &str) -> Value {
        let request = http::Request::post(format!("/_sandbox/{path}"));
        let request = request.body(Bytes::from(body.to_owned())).unwrap();
        let response = self.sandbox.call(request, now());
        assert_eq!(response.status(), 200, "{response:?}");
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Posts to the API as something other than the fleet, and returns what it answers.
    pub(crate) fn api(&self, path: &str, form: &[(&str, &str)]) -> Value {
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = http::Request::post(format!("/v1/{path}"))
            .header("authorization", format!("Bearer {}", key().expose()))
            .header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Bytes::from(form)).unwrap();
        let response = self.sandbox.call(request, now());
        assert_eq!(response.status(), 200, "{response:?}");
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Subscribes a new customer, whose card is one of the provider's test cards, to something for
    /// 2000 pence a month. Its first invoice is open and was not tried.
    pub(crate) fn subscribed(&self, card: &str) -> Subscribed {
        let customer = self.customer(card);
        let price = |name: &str| format!("items[0][price_data]{name}");
        let subscription = self.api(
            "subscriptions",
            &[
                ("customer", &customer),
                ("payment_behavior", "default_incomplete"),
                (&price("[currency]"), "gbp"),
                (&price("[unit_amount]"), "2000"),
                (&price("[product_data][name]"), "Tea"),
                (&price("[recurring][interval]"), "month"),
            ],
        );
        let text = |name: &str| subscription[name].as_str().unwrap().to_owned();
        Subscribed {
            customer,
            id: text("id"),
            invoice: text("latest_invoice"),
        }
    }

    /// Makes a customer who has a test card, and returns the id.
    pub(crate) fn customer(&self, card: &str) -> String {
        let customer = self.api("customers", &[("name", "Ada")]);
        let customer = customer["id"].as_str().unwrap().to_owned();
        let method = self.attached(&customer, card);
        let default = [("invoice_settings[default_payment_method]", method.as_str())];
        self.api(&format!("customers/{customer}"), &default);
        customer
    }

    /// Saves one more test card for a customer, and returns the payment method's id.
    pub(crate) fn attached(&self, customer: &str, card: &str) -> String {
        let path = format!("payment_methods/{card}/attach");
        let method = self.api(&path, &[("customer", customer)]);
        method["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    fn carry_out(&self, request: HttpRequest) -> HttpResponse {
        let (mut parts, body) = request.try_into_http1x().unwrap().into_parts();
        let path = parts.uri.path_and_query().unwrap().as_str();
        parts.uri = path.strip_prefix("/stripe").unwrap().parse().unwrap();
        let body = Bytes::copy_from_slice(body.bytes().unwrap());
        let response = self
            .sandbox
            .call(http::Request::from_parts(parts, body), now());
        response.map(SdkBody::from).try_into().unwrap()
    }
}

impl HttpConnector for Town {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8(request.body().bytes().unwrap().to_vec()).unwrap();
        let sent_key = request.headers().get("idempotency-key").map(str::to_owned);
        self.sent.lock().unwrap().push((body, sent_key));
        let broken = || Err(ConnectorError::io("the connection was reset".into()));
        let fault = self.faults.lock().unwrap().pop_front();
        match fault {
            None => HttpConnectorFuture::ready(Ok(self.carry_out(request))),
            Some(Fault::NotSent) => HttpConnectorFuture::ready(broken()),
            Some(Fault::AnswerLost) => {
                drop(self.carry_out(request));
                HttpConnectorFuture::ready(broken())
            }
            Some(Fault::Hangs) => HttpConnectorFuture::new(std::future::pending()),
            Some(Fault::Answers(status, body, should_retry)) => {
                let mut response = http::Response::builder().status(status);
                if let Some(should_retry) = should_retry {
                    response = response.header("stripe-should-retry", should_retry);
                }
                let response = response.body(SdkBody::from(body)).unwrap();
                HttpConnectorFuture::ready(Ok(response.try_into().unwrap()))
            }
        }
    }
}

impl HttpClient for Town {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        assert_eq!(settings.connect_timeout(), Some(Duration::from_secs(2)));
        SharedHttpConnector::new(self.clone())
    }
}

/// Every wait is over at once; only what never answers is overtaken by its time-out.
impl AsyncSleep for Town {
    fn sleep(&self, duration: Duration) -> Sleep {
        self.naps.lock().unwrap().push(duration);
        Sleep::new(std::future::ready(()))
    }
}

pub(crate) fn error_body(kind: &str, code: &str) -> &'static str {
    let body: Value = serde_json::json!({ "error": { "type": kind, "code": code } });
    Box::leak(body.to_string().into_boxed_str())
}
