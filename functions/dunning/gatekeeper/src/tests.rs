//! What a store that never answers does to an answer, on a clock that jumps.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use lambda_kit::{Entropy, Environment, Function, SdkConfig, Setup};
use serde_json::{Value, json};

use crate::Gatekeeper;

/// What the template gives the function.
const TIME_OUT: Duration = Duration::from_secs(5);
const SECRET: &str = r#"{"apps": {"app": "app-token-0123456789"}, "operators": {"ops": "ops-token-0123456789"},
    "entitlement_key": "0123456789abcdef0123456789abcdef"}"#;

/// AWS as it is on a bad day: the table never answers, and the secret only if it is well.
#[derive(Clone, Debug)]
struct BadDay {
    secret_answers: bool,
}

impl HttpConnector for BadDay {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if !(self.secret_answers && target.ends_with("GetSecretValue")) {
            return HttpConnectorFuture::new(std::future::pending());
        }
        let body = json!({"SecretString": SECRET, "VersionId": "v"}).to_string();
        let status = 200_u16.try_into().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
    }
}

impl HttpClient for BadDay {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn gatekeeper(secret_answers: bool) -> Gatekeeper {
    let credentials = Credentials::new("id", "key", None, None, "test");
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-2"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .http_client(BadDay { secret_answers })
        .build();
    let names = ["DUNNING_TABLE", "LOG_TABLE", "TOKENS_SECRET"];
    let variables = names.map(|name| (name.to_owned(), name.to_lowercase()));
    Gatekeeper::new(&Setup {
        environment: Environment::new(BTreeMap::from(variables)),
        aws,
        entropy: Entropy::seeded(0),
    })
    .unwrap()
}

async fn answer(secret_answers: bool, method: &str, path: &str, token: &str) -> Value {
    let event = json!({"rawPath": path, "headers": {"authorization": format!("Bearer {token}")},
        "requestContext": {"http": {"method": method}}});
    let now = "2026-11-30T09:00:00Z".parse().unwrap();
    let started = tokio::time::Instant::now();
    let answer = gatekeeper(secret_answers).handle(event, now).await.unwrap();
    assert!(started.elapsed() < TIME_OUT, "it would have been ended");
    answer
}

#[tokio::test(start_paused = true)]
async fn a_silent_store_is_given_up_in_time_and_nobody_is_shut_out() {
    for secret_answers in [true, false] {
        let path = "/subscriptions/sub_1";
        let answer = answer(secret_answers, "GET", path, "app-token-0123456789").await;
        let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        assert_eq!(answer["statusCode"], 200);
        assert_eq!(
            (&body["access"], &body["degraded"]),
            (&json!("granted"), &json!(true))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_is_told_in_time_that_it_was_not_carried_out() {
    for secret_answers in [true, false] {
        let path = "/subscriptions/sub_1/pause";
        let answer = answer(secret_answers, "POST", path, "ops-token-0123456789").await;
        assert_eq!(answer["statusCode"], 503);
    }
}
