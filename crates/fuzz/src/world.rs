//! Where handlers run: a cloud of canned answers that takes every write, and looks at what it is
//! asked to write as DynamoDB would.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use chrono::{DateTime, Utc};
use lambda_kit::{Entropy, Environment, FUNCTION_NAME, Failure, Function, Setup};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::rows;

/// DynamoDB's limits: a partition key, a sort key, and an item, in bytes; parts of a transaction.
const KEY_BYTES_MAX: usize = 2048;
const SORT_BYTES_MAX: usize = 1024;
const ITEM_BYTES_MAX: usize = 400 * 1024;
const PARTS_MAX: usize = 100;

/// The attributes that are keys of a table or of an index.
const KEYS: [&str; 14] = [
    "event_id",
    "slot_key",
    "scope_key",
    "case_id",
    "address",
    "state_shard",
    "pending_shard",
    "booking_id",
    "subscription_id",
    "phone",
    "id",
    "subject",
    "month",
    "open_shard",
];
const SORTS: [&str; 4] = ["ts", "due_at", "created_at", "since"];

/// The clock of every handler here.
pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_783_600_000, 0).unwrap_or_default()
}

pub(crate) const SIGNING_SECRET: &str = "whsec_current_0123456789abcdef";
pub(crate) const LINK_SECRET: &str = "link-key-of-this-world-0123456789";
pub(crate) const STAFF_TOKEN: &str = "staff-token-of-this-world";

/// One function, warm, and what it asked for.
pub(crate) struct World<F> {
    function: F,
    cloud: Cloud,
    runtime: Runtime,
}

impl<F: Function> World<F> {
    /// A function in a cloud whose rows are known, or in one that knows nothing.
    pub(crate) fn of(knows_rows: bool) -> Self {
        let cloud = Cloud {
            knows_rows,
            written: Arc::default(),
        };
        let function = F::new(&setup(cloud.clone())).expect("the configuration is complete");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a thread of its own needs nothing");
        Self {
            function,
            cloud,
            runtime,
        }
    }

    /// Handles an event, and returns the answer with the transactions that it wrote.
    pub(crate) fn handle(&self, event: Value) -> (Result<Value, Failure>, Vec<Value>) {
        let answer = self.runtime.block_on(self.function.handle(event, now()));
        (answer, std::mem::take(&mut *self.cloud.written()))
    }
}

fn setup(cloud: Cloud) -> Setup {
    let lower = |name: &str| (name.to_owned(), name.to_lowercase().replace('_', "-"));
    let mut variables: BTreeMap<String, String> = VARIABLES.map(lower).into();
    for (name, value) in [
        ("LIVEMODE", "false"),
        ("PROVIDER_API_VERSION", "2026-07-29.dahlia"),
        ("PROVIDER_ACCOUNT", "acct_1"),
        ("PAY_URL", "https://pay.example/"),
        (FUNCTION_NAME, "relay"),
    ] {
        variables.insert(name.to_owned(), value.to_owned());
    }
    let credentials = Credentials::new("fuzz", "local", None, None, "fuzz");
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-2"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(cloud)
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Setup {
        environment: Environment::new(variables),
        aws: aws.build(),
        entropy: Entropy::seeded(0),
    }
}

const VARIABLES: [&str; 25] = [
    "AUDIT_TABLE",
    "BOOKINGS_TABLE",
    "CASES_TABLE",
    "CASHIER_QUEUE",
    "DEDUPE_TABLE",
    "DUNNING_TABLE",
    "EVENTS_QUEUE",
    "HANDOVERS_QUEUE",
    "IDEMPOTENCY_TABLE",
    "JOBS_QUEUE",
    "LINK_SECRET",
    "LOG_TABLE",
    "MAIL_QUEUE",
    "MANAGE_URL",
    "OPTOUT_TABLE",
    "OUTBOX_TABLE",
    "PAYMENTS_TABLE",
    "PRIVACY_SECRET",
    "RETURN_URL",
    "SENDER",
    "SIGNING_SECRET",
    "SLOTS_TABLE",
    "SUPPRESSION_TABLE",
    "TEAM_EMAIL",
    "TOKENS_SECRET",
];

#[derive(Clone, Debug)]
struct Cloud {
    knows_rows: bool,
    written: Arc<Mutex<Vec<Value>>>,
}

impl Cloud {
    fn written(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, target: &str, body: &Value) -> Value {
        let (_, operation) = target.rsplit_once('.').unwrap_or_default();
        match operation {
            "GetSecretValue" => secret(body),
            "GetItem" if self.knows_rows => {
                rows::row(&body["TableName"]).map_or_else(|| json!({}), |row| json!({"Item": row}))
            }
            "BatchGetItem" => json!({"Responses": {}, "UnprocessedKeys": {}}),
            "Query" => json!({"Items": [], "Count": 0}),
            "TransactWriteItems" => {
                check_transaction(body);
                self.written().push(body.clone());
                json!({})
            }
            "SendMessageBatch" => {
                self.written().push(body.clone());
                json!({"Successful": [], "Failed": []})
            }
            _ => json!({}),
        }
    }
}

impl HttpConnector for Cloud {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        let body = serde_json::from_slice(body).unwrap_or_default();
        let answer = self.answer(target, &body).to_string();
        let response = http::Response::builder()
            .header("content-type", "application/x-amz-json-1.0")
            .body(SdkBody::from(answer))
            .expect("it is a response");
        HttpConnectorFuture::ready(Ok(response.try_into().expect("it is a response")))
    }
}

impl HttpClient for Cloud {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn secret(asked: &Value) -> Value {
    let text = match asked["SecretId"].as_str() {
        Some("signing-secret") => SIGNING_SECRET.to_owned(),
        Some("tokens-secret") => json!({"staff": {"till": STAFF_TOKEN}}).to_string(),
        Some("link-secret") => LINK_SECRET.to_owned(),
        _ => "another-secret-of-this-world-0123456789".to_owned(),
    };
    json!({"SecretString": text, "VersionId": "v-1"})
}

/// What DynamoDB would refuse, and what would not sort.
fn check_transaction(body: &Value) {
    let parts = body["TransactItems"].as_array().expect("it has parts");
    assert!(
        (1..=PARTS_MAX).contains(&parts.len()),
        "{} parts",
        parts.len()
    );
    for part in parts {
        for (kind, operation) in part.as_object().into_iter().flatten() {
            assert!(
                operation.to_string().len() <= ITEM_BYTES_MAX,
                "a part is too large"
            );
            let key = operation["Key"].as_object();
            for (name, value) in key.into_iter().flatten() {
                let text = value["S"].as_str().unwrap_or_default();
                assert!(
                    (1..=KEY_BYTES_MAX).contains(&text.len()),
                    "key {name} of a {kind}"
                );
            }
            check_attributes(operation["Item"].as_object());
        }
    }
}

fn check_attributes(attributes: Option<&serde_json::Map<String, Value>>) {
    for (name, value) in attributes.into_iter().flatten() {
        let Some(text) = value["S"].as_str() else {
            continue;
        };
        if KEYS.contains(&name.as_str()) {
            assert!(
                (1..=KEY_BYTES_MAX).contains(&text.len()),
                "{name} has {} bytes",
                text.len()
            );
        }
        if SORTS.contains(&name.as_str()) {
            assert!(
                (1..=SORT_BYTES_MAX).contains(&text.len()),
                "{name} has {} bytes",
                text.len()
            );
            assert!(
                text.starts_with(|first: char| first.is_ascii_digit()),
                "{name}: {text}"
            );
        }
    }
}
