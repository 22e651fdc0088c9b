//! What every function needs around its handler: configuration, logs, replies, batches, secrets.
//!
//! A function is a type with [`Function`]: made once from a [`Setup`], then called with the JSON
//! that Lambda sends and the time. [`run()`] is the whole of a function's `main`.

mod batch;
mod entropy;
mod environment;
mod http;
mod logs;
mod metrics;
mod run;
mod secrets;
mod tokens;

use std::future::Future;

pub use aws_types::SdkConfig;
use chrono::{DateTime, Utc};
use serde_json::Value;

pub use batch::{BatchReply, chain, each_record};
pub use entropy::Entropy;
pub use environment::{ConfigError, Environment};
pub use http::{Problem, Reply, Request, bearer_token, decoded, serve};
pub use logs::{EmbeddedMetrics, init_logs};
pub use metrics::count;
pub use run::run;
pub use secrets::{SecretCache, SecretError, SecretVersions};
pub use tokens::{Caller, Tokens, token_holder};

/// The variable in which Lambda tells a function its deployed name.
/// Source: Lambda's developer guide, "Defined runtime environment variables".
pub const FUNCTION_NAME: &str = "AWS_LAMBDA_FUNCTION_NAME";

/// What a function is made from. `aws` carries the HTTP client, the region and the credentials;
/// the payment provider is called through the same HTTP client.
#[derive(Clone, Debug)]
pub struct Setup {
    pub environment: Environment,
    pub aws: SdkConfig,
    pub entropy: Entropy,
}

impl Setup {
    /// The name that the function is deployed under, as Lambda tells it. It differs from
    /// [`Function::NAME`] where one package is deployed for several systems: metrics and logs of such
    /// a function go under this name. A missing one is a complaint for [`Environment::check`].
    pub fn deployed_name(&self) -> String {
        self.environment.text(FUNCTION_NAME)
    }
}

/// A client of a service, such as `client!(aws_sdk_sqs, &setup.aws)`, with a budget of retries of its own.
///
/// The SDK's own is one for all clients of a service in a process. In a Lambda function that is the same;
/// where many functions live in one process, what one of them had to retry would decide what another may.
#[macro_export]
macro_rules! client {
    ($sdk:ident, $aws:expr) => {{
        let budget = $sdk::config::retry::RetryPartition::custom(stringify!($sdk)).build();
        let config = $sdk::config::Builder::from($aws).retry_partition(budget);
        $sdk::Client::from_conf(config.build())
    }};
}

/// Why an invocation failed as a whole: Lambda, the queue or the schedule will try it again.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One Lambda function.
pub trait Function: Sized + Send + Sync + 'static {
    /// The package and the binary. It is the deployed name and the log field too, unless the package
    /// is deployed more than once: see [`Setup::deployed_name`].
    const NAME: &'static str;

    /// Reads the configuration and makes the clients. Makes no network call.
    ///
    /// # Errors
    /// Names every missing or bad variable at once.
    fn new(setup: &Setup) -> Result<Self, ConfigError>;

    /// Opens the connections that the first invocation will need.
    fn warm_up(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Handles one event as Lambda sends it. `now` is the time of the invocation.
    fn handle(
        &self,
        event: Value,
        now: DateTime<Utc>,
    ) -> impl Future<Output = Result<Value, Failure>> + Send;
}
