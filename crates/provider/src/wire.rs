//! Requests and replies over the SDK's HTTP client, with bounded time and Stripe's retry rules.

use std::convert::Infallible;
use std::error::Error as _;
use std::time::Duration;

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, SensitiveOutput};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::retries::{RequestAttempts, RetryStrategy, ShouldAttempt};
use aws_smithy_runtime_api::client::runtime_components::{
    RuntimeComponents, RuntimeComponentsBuilder,
};
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;

use crate::secret::Secret;

const CONNECT_TIME: Duration = Duration::from_secs(2);
/// All attempts and the waits between them.
const WHOLE_TIME: Duration = Duration::from_secs(8);
const RETRIES_MAX: u32 = 2;
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// One request, before it is written. Its debug text shows no key and no parameters.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    /// The parameters of a `POST`, form-encoded; nothing for a `GET`.
    pub(crate) form: Option<Form>,
    pub(crate) key: Secret,
    pub(crate) idempotency_key: Option<String>,
}

/// A form-encoded body.
#[derive(Clone)]
pub(crate) struct Form(pub(crate) String);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Form({} bytes)", self.0.len())
    }
}

/// What came back, whatever it says.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) should_retry: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) request_id: Option<String>,
    /// Whether it is the stored answer to an earlier request under the same key.
    pub(crate) replayed: bool,
}

impl Reply {
    pub(crate) fn should_retry(&self) -> Option<bool> {
        self.should_retry.as_deref()?.parse().ok()
    }
}

/// The way to the provider.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Operation<Call, Reply, Infallible>);

impl Wire {
    pub(crate) fn new(aws: &SdkConfig, base_url: &str, api_version: &str) -> Self {
        let api_version = api_version.to_owned();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIME)
            .operation_timeout(WHOLE_TIME)
            .build();
        let mut config = Layer::new("provider");
        config.store_put(SensitiveOutput);
        let components = RuntimeComponentsBuilder::new("provider")
            .with_http_client(aws.http_client())
            .with_sleep_impl(aws.sleep_impl())
            .with_time_source(aws.time_source())
            .with_retry_strategy(Some(StripeRetries));
        let plugin = StaticRuntimePlugin::new()
            .with_config(config.freeze())
            .with_runtime_components(components);
        let operation = Operation::builder()
            .service_name("provider")
            .operation_name("call")
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(base_url.trim_end_matches('/'))
            .no_auth()
            .timeout_config(timeouts)
            .serializer(move |call: Call| write(&call, &api_version))
            .deserializer(|response: &HttpResponse| Ok(read(response)))
            .runtime_plugin(plugin)
            .build();
        Self(operation)
    }

    /// Sends a request, at most three times, and returns the last reply.
    ///
    /// # Errors
    /// Says why there is no reply. The request may have been carried out.
    pub(crate) async fn send(&self, call: Call) -> Result<Reply, String> {
        self.0.invoke(call).await.map_err(|error| reason(&error))
    }
}

fn write(call: &Call, api_version: &str) -> Result<HttpRequest, BoxError> {
    let method = if call.form.is_some() { "POST" } else { "GET" };
    let mut request = http::Request::builder()
        .method(method)
        .uri(&call.path)
        .header("authorization", format!("Bearer {}", call.key.expose()))
        .header("stripe-version", api_version);
    if let Some(key) = &call.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    let body = match &call.form {
        Some(Form(form)) => {
            request = request.header("content-type", "application/x-www-form-urlencoded");
            SdkBody::from(form.as_str())
        }
        None => SdkBody::empty(),
    };
    Ok(request.body(body)?.try_into()?)
}

fn read(response: &HttpResponse) -> Reply {
    let header = |name: &str| response.headers().get(name).map(str::to_owned);
    let seconds = header("retry-after").and_then(|text| text.parse().ok());
    Reply {
        status: response.status().as_u16(),
        body: response.body().bytes().unwrap_or_default().to_vec(),
        should_retry: header("stripe-should-retry"),
        retry_after: seconds.map(Duration::from_secs),
        request_id: header("request-id"),
        replayed: header("idempotent-replayed").as_deref() == Some("true"),
    }
}

fn reason(error: &SdkError<Infallible, HttpResponse>) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Sends the same request again where that can only repeat the first one's effect.
///
/// The SDK's own strategy draws its waits at random and shares one budget in the whole process;
/// here a call's waits depend on the call alone.
#[derive(Debug)]
struct StripeRetries;

impl RetryStrategy for StripeRetries {
    fn should_attempt_initial_request(
        &self,
        _: &RuntimeComponents,
        _: &ConfigBag,
    ) -> Result<ShouldAttempt, BoxError> {
        Ok(ShouldAttempt::Yes)
    }

    fn should_attempt_retry(
        &self,
        context: &InterceptorContext,
        _: &RuntimeComponents,
        config: &ConfigBag,
    ) -> Result<ShouldAttempt, BoxError> {
        let attempts = config.load::<RequestAttempts>();
        let attempt = attempts.map_or(1, |attempts| attempts.attempts());
        if attempt > RETRIES_MAX || !is_worth_a_retry(context) {
            return Ok(ShouldAttempt::No);
        }
        let wait = FIRST_WAIT * 2_u32.pow(attempt - 1);
        Ok(ShouldAttempt::YesAfterDelay(wait + spread(context)))
    }
}

fn is_worth_a_retry(context: &InterceptorContext) -> bool {
    let reply = match (context.response(), context.output_or_error()) {
        (Some(response), Some(Ok(_))) => read(response),
        // Nothing came back, or not all of it.
        (Some(_) | None, _) => return true,
    };
    if let Some(verdict) = reply.should_retry() {
        return verdict;
    }
    match reply.status {
        409 => true,
        429 => is_lock_timeout(&reply.body),
        status => status >= 500,
    }
}

/// Of the 429s this one passes at once: another request held the same object.
fn is_lock_timeout(body: &[u8]) -> bool {
    let body: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    body.is_some_and(|body| body["error"]["code"] == "lock_timeout")
}

/// Up to a quarter of a second that differs from key to key, so that calls that failed together
/// do not come back together.
fn spread(context: &InterceptorContext) -> Duration {
    let key = context
        .request()
        .and_then(|request| request.headers().get("idempotency-key"));
    let mix = |sum: u64, byte: u8| (sum * 31 + u64::from(byte)) % 250;
    Duration::from_millis(key.unwrap_or_default().bytes().fold(0, mix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fault, Town, error_body, key, new_session};
    use crate::{Answer, Reason};

    async fn outcome(town: &Town) -> Answer<String> {
        let provider = town.provider();
        let answer = provider.create_session(&key(), &new_session("k")).await;
        answer.map(|session| session.id)
    }

    #[tokio::test]
    async fn a_lost_answer_is_asked_for_again_with_the_same_key_and_body() {
        for fault in [Fault::AnswerLost, Fault::NotSent] {
            let town = Town::with([fault.clone(), fault]);
            assert!(matches!(outcome(&town).await, Answer::Done(_)));
            assert_eq!(town.sessions(), 1);
            let sent = town.sent();
            assert_eq!(sent.len(), 3);
            assert!(sent.iter().all(|attempt| *attempt == sent[0]));
            assert_eq!(sent[0].1.as_deref(), Some("k"));
        }
    }

    #[tokio::test]
    async fn waits_grow_and_depend_on_the_key_alone() {
        let naps = async || {
            let town = Town::with([Fault::NotSent, Fault::NotSent, Fault::NotSent]);
            assert!(matches!(outcome(&town).await, Answer::Unknown(_)));
            town.naps.lock().unwrap().clone()
        };
        let waits = naps().await;
        assert_eq!(waits[0], WHOLE_TIME);
        assert_eq!(waits[2] - waits[1], FIRST_WAIT);
        assert_eq!(waits.len(), 3);
        assert_eq!(naps().await, waits);
    }

    #[tokio::test]
    async fn a_call_that_is_never_answered_ends_unknown() {
        let town = Town::with([Fault::Hangs]);
        let Answer::Unknown(doubt) = outcome(&town).await else {
            panic!();
        };
        assert!(matches!(doubt.reason, Reason::NoAnswer(_)));
        assert_eq!(town.naps.lock().unwrap()[0], WHOLE_TIME);
    }

    #[tokio::test]
    async fn what_is_sent_again_follows_the_providers_rules() {
        let in_use = error_body("idempotency_error", "idempotency_key_in_use");
        let limited = error_body("invalid_request_error", "rate_limit");
        let locked = error_body("invalid_request_error", "lock_timeout");
        let cases = [
            (409, in_use, None, 3, Reason::InFlight),
            (429, locked, None, 3, Reason::Throttled),
            (429, limited, None, 1, Reason::Throttled),
            (429, limited, Some("true"), 3, Reason::Throttled),
            (500, "", None, 3, Reason::Status(500)),
            (500, "", Some("false"), 1, Reason::Status(500)),
            (503, "<html>", None, 3, Reason::Status(503)),
            (302, "", None, 1, Reason::Status(302)),
        ];
        for (status, body, should_retry, attempts, reason) in cases {
            let fault = Fault::Answers(status, body, should_retry);
            let town = Town::with(vec![fault; 3]);
            let Answer::Unknown(doubt) = outcome(&town).await else {
                panic!("{status}");
            };
            assert_eq!(
                (town.sent().len(), doubt.reason),
                (attempts, reason),
                "{status} {body}"
            );
            assert_eq!(
                doubt.retry.map(|retry| retry.to_string()).as_deref(),
                should_retry
            );
        }
    }

    #[tokio::test]
    async fn a_refusal_is_sent_once() {
        let body = error_body("invalid_request_error", "amount_too_small");
        let town = Town::with([Fault::Answers(400, body, None)]);
        assert!(matches!(outcome(&town).await, Answer::Refused(_)));
        assert_eq!(town.sent().len(), 1);
    }

    #[test]
    fn no_key_or_parameter_is_in_a_debug_text() {
        let call = Call {
            path: "/v1/x".to_owned(),
            form: Some(Form("name=Ada".to_owned())),
            key: key(),
            idempotency_key: None,
        };
        let text = format!("{call:?}");
        assert!(!text.contains("Ada") && !text.contains("rk_test"), "{text}");
    }
}
