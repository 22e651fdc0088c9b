//! How long a call may take here: a question is answered well within the function's time-out of five
//! seconds, whatever AWS does.

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use lambda_kit::SdkConfig;

/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(600);
/// How long a call may take with its repetition. The first question of an instance makes three.
pub(crate) const OPERATION_TIMEOUT: Duration = Duration::from_millis(1300);
/// The longest wait before a repetition, which is by chance up to this.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// What a client is used for.
#[derive(Clone, Copy)]
pub(crate) enum Limits {
    /// An app waits for the answer.
    Question,
    /// A person waits; the step is sent again while others hold the row.
    Order,
}

/// The configuration of a client that gives up in time.
pub(crate) fn within_limits(aws: &SdkConfig, limits: Limits) -> SdkConfig {
    let (attempts, attempt, operation) = match limits {
        Limits::Question => (2, ATTEMPT_TIMEOUT, OPERATION_TIMEOUT),
        Limits::Order => (2, 2 * ATTEMPT_TIMEOUT, 2 * OPERATION_TIMEOUT),
    };
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(attempt)
        .operation_timeout(operation)
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(attempts)
        .with_initial_backoff(FIRST_WAIT);
    aws.to_builder()
        .timeout_config(timeouts)
        .retry_config(retries)
        .build()
}
