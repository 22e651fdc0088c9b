//! A function's `main`: logs, clients built once, connections warmed, events handled.

use std::future::Future;
use std::pin::Pin;

use aws_config::BehaviorVersion;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use crate::batch::chain;
use crate::{Entropy, Environment, FUNCTION_NAME, Failure, Function, Setup, init_logs};

/// Runs the function `F` until Lambda ends the process.
///
/// # Errors
/// A bad configuration, or a runtime that can't be reached.
pub async fn run<F: Function>() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::of_process();
    init_logs(
        &environment
            .optional("LOG_FILTER")
            .unwrap_or_else(|| "info".to_owned()),
    );
    let setup = Setup {
        aws: aws_config::load_defaults(BehaviorVersion::latest()).await,
        environment,
        entropy: Entropy::from_os(),
    };
    let name = setup
        .environment
        .optional(FUNCTION_NAME)
        .unwrap_or_else(|| F::NAME.to_owned());
    let function = F::new(&setup).inspect_err(|error| tracing::error!(%error, "Not started"))?;
    function.warm_up().await;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| {
        handle(&function, &name, event)
    }))
    .await
}

async fn handle<F: Function>(
    function: &F,
    name: &str,
    event: LambdaEvent<Value>,
) -> Result<Value, lambda_runtime::Error> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where an invocation gets its time"
    )]
    let now = chrono::Utc::now();
    let request_id = event.context.request_id;
    // Boxed: the SDK's futures nest deeper than the compiler follows.
    let handled: Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + '_>> =
        Box::pin(function.handle(event.payload, now));
    handled.await.inspect_err(|error| {
        tracing::error!(
            request.id = %request_id,
            error = %chain(error.as_ref()),
            "Invocation `{request_id}` of {name} failed"
        );
    })
}
