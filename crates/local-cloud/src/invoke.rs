//! Invocations: the instance, its clients, and how its handler ends.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use lambda_kit::{Entropy, Environment, FUNCTION_NAME, Failure, Setup};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cloud::Cloud;
use crate::error::InvokeError;
use crate::functions::{Deployed, Handler};
use crate::invocation::{Ending, Invocation, Running, Step, VirtualSleep};
use crate::messages::Happening;
use crate::router::Router;
use crate::template::REGION;

/// An invocation that is being worked on, or is paused.
pub(crate) struct Work {
    function: String,
    number: u64,
    deployed: Arc<Deployed>,
    instance: Arc<dyn Handler>,
    running: Running<Handled>,
}

/// What a handler answers, or the panic that it ended in.
type Handled = Result<Result<Value, Failure>, Box<dyn std::any::Any + Send>>;

impl Cloud {
    /// Invokes a function and waits for its answer.
    ///
    /// # Errors
    /// How the invocation failed.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        function: &str,
        event: Value,
    ) -> Result<Value, InvokeError> {
        let number = self
            .invocations
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        let at = self.clock.now();
        let name = function.to_owned();
        self.tell(Happening::InvocationStarted {
            at,
            function: name.clone(),
            invocation: number,
        });
        let result = self.run(function, event, number).await;
        let problem = result.as_ref().err().map(ToString::to_string);
        if let Some(problem) = &problem {
            tracing::debug!(function, invocation = number, error = %problem, "An invocation of `{function}` failed");
        }
        let at = self.clock.now();
        self.tell(Happening::InvocationEnded {
            at,
            function: name,
            invocation: number,
            problem,
        });
        result
    }

    pub(crate) async fn run_well(
        self: &Arc<Self>,
        function: &str,
        event: Value,
        number: u64,
    ) -> Result<Value, InvokeError> {
        let deployed = self
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(function)
            .cloned();
        let deployed = deployed.ok_or_else(|| InvokeError::NotInstalled(function.to_owned()))?;
        let instance = deployed
            .instance(|made| self.setup(function, made))
            .map_err(|error| InvokeError::Init {
                function: function.to_owned(),
                problem: error.to_string(),
            })?;
        let handler = Arc::clone(&instance).handle(event, self.now_of(function));
        let handling = std::panic::AssertUnwindSafe(handler).catch_unwind();
        let work = Work {
            function: function.to_owned(),
            number,
            deployed,
            instance,
            running: Invocation::new(number).start(handling),
        };
        self.go_on(work).await
    }

    /// The present instant by the clock of a function.
    fn now_of(&self, function: &str) -> DateTime<Utc> {
        let skew = self.mischief.skews.of(function);
        if !skew.is_zero() {
            self.faults.count("skewed_clock");
        }
        self.clock.now() + skew
    }

    /// Runs the handler until it answers, dies or is paused.
    async fn go_on(&self, work: Work) -> Result<Value, InvokeError> {
        let (deployed, instance) = (work.deployed, work.instance);
        match work.running.go_on().await {
            Step::Answered(Ok(Ok(answer))) => Ok(answer),
            Step::Answered(Ok(Err(failure))) => Err(InvokeError::Failed(chain(failure.as_ref()))),
            Step::Answered(Err(panic)) => Err(InvokeError::Panicked(panic_text(panic.as_ref()))),
            Step::Ended(ending) => {
                deployed.throw_away(&instance);
                Err(match ending {
                    Ending::Crash => InvokeError::Crashed,
                    Ending::TimeOut => InvokeError::TimedOut,
                })
            }
            Step::Paused(running, until) => {
                // It lives on, but nobody else gets it.
                deployed.throw_away(&instance);
                let work = Work {
                    running,
                    deployed,
                    instance,
                    ..work
                };
                self.mischief.paused.put(until, work);
                Err(InvokeError::TimedOut)
            }
        }
    }

    /// Lets a paused invocation go on. Whoever waited for its answer has given it up.
    pub(crate) async fn wake(&self, work: Work) {
        let (function, invocation) = (work.function.clone(), work.number);
        let at = self.clock.now();
        self.tell(Happening::InvocationStarted {
            at,
            function: function.clone(),
            invocation,
        });
        let result = self.go_on(work).await;
        self.tell(Happening::InvocationEnded {
            at,
            function,
            invocation,
            problem: result.err().map(|error| error.to_string()),
        });
    }

    /// What the `made`th instance of a function is made from.
    pub(crate) fn setup(self: &Arc<Self>, function: &str, made: u64) -> Setup {
        let spec = self.stack.functions.get(function);
        let mut environment = spec
            .map(|spec| spec.environment.clone())
            .unwrap_or_default();
        environment.insert(FUNCTION_NAME.to_owned(), function.to_owned());
        // Instances are counted from the start of each process, and must not repeat what those of an
        // earlier one drew: an id that comes again is taken for a repeated order.
        let openings = self.store.look(|state| state.openings);
        let digest = Sha256::digest(format!("{} {openings} {function} {made}", self.seed));
        let seed = digest
            .iter()
            .take(8)
            .fold(0_u64, |seed, byte| (seed << 8) | u64::from(*byte));
        Setup {
            environment: Environment::new(environment),
            aws: self.sdk_config(function, Router::of_function(self, function)),
            entropy: Entropy::seeded(seed),
        }
    }

    pub(crate) fn sdk_config(&self, caller: &str, router: Router) -> SdkConfig {
        // The SDK's jitter has no seed, so it is off; its waits are too short to decide whether a
        // time-out comes.
        let retries = RetryConfig::standard()
            .with_max_attempts(3)
            .with_initial_backoff(Duration::from_millis(1))
            .with_use_static_exponential_base(true);
        let credentials = Credentials::new(caller, "local", None, None, "local-cloud");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(router)
            .sleep_impl(VirtualSleep)
            .time_source(self.clock.clone())
            .retry_config(retries)
            // The credentials are a value: to keep them costs more than to make them.
            .identity_cache(IdentityCache::no_cache())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build()
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}
