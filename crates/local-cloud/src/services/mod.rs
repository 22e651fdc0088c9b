//! The AWS services, each a handler of its wire protocol with only the operations that are called.

mod bedrock;
pub(crate) mod dynamodb;
mod dynamodb_access;
mod dynamodb_gaps;
pub(crate) mod index_lag;
mod s3;
mod scheduler;
mod secretsmanager;
mod ses;
mod sns;
pub(crate) mod sqs;
mod sqs_attributes;

pub use bedrock::ModelAnswer;
pub(crate) use bedrock::Script;
pub use index_lag::IndexLag;
pub(crate) use s3::{newest as newest_object, put_directly as put_object};
pub(crate) use secretsmanager::made_up;
pub(crate) use ses::tell_fate;
pub use ses::{MailAccount, MailFate};
pub(crate) use sns::publish;

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::wire::{Answer, AwsRequest};

/// What a call needs permission for; `None` when the operation is not played here.
pub(crate) fn needs(cloud: &Cloud, request: &AwsRequest) -> Option<Vec<Access>> {
    match request.service.as_str() {
        "dynamodb" => dynamodb_access::needs(request),
        "sqs" => sqs::needs(request),
        "secretsmanager" => secretsmanager::needs(cloud, request),
        "sns" => sns::needs(request),
        "ses" => ses::needs(request),
        "bedrock" => bedrock::needs(request),
        "scheduler" => scheduler::needs(request),
        "s3" => s3::needs(cloud, request),
        _ => None,
    }
}

/// Performs a call that is allowed.
pub(crate) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    match request.service.as_str() {
        "dynamodb" => index_lag::perform(cloud, caller, request),
        "sqs" => sqs::perform(cloud, caller, request),
        "secretsmanager" => secretsmanager::perform(cloud, request),
        "sns" => sns::perform(cloud, caller, request),
        "ses" => ses::perform(cloud, caller, request),
        "bedrock" => bedrock::perform(cloud, request),
        "scheduler" => scheduler::perform(cloud, request),
        "s3" => s3::perform(cloud, request),
        _ => request.unknown_operation(),
    }
}

/// The service's throttling error.
pub(crate) fn throttled(request: &AwsRequest) -> Answer {
    let (status, code) = match request.service.as_str() {
        "dynamodb" => (400, "com.amazonaws.dynamodb.v20120810#ThrottlingException"),
        "sqs" => (403, "com.amazonaws.sqs#RequestThrottled"),
        "sns" => (400, "Throttling"),
        "ses" => (429, "TooManyRequestsException"),
        "bedrock" | "scheduler" => (429, "ThrottlingException"),
        "s3" => (503, "SlowDown"),
        _ => (400, "ThrottlingException"),
    };
    request.error(status, code, "Rate exceeded")
}

/// The service's error for its own failure.
pub(crate) fn internal_error(request: &AwsRequest) -> Answer {
    let code = match request.service.as_str() {
        "dynamodb" => "com.amazonaws.dynamodb.v20120810#InternalServerError",
        "secretsmanager" => "InternalServiceError",
        "sns" => "InternalError",
        "bedrock" | "scheduler" => "InternalServerException",
        "s3" => "InternalError",
        _ => "InternalFailure",
    };
    request.error(500, code, "An internal error occurred")
}

/// What a call answers when another transaction is in its way.
pub(crate) fn conflict(request: &AwsRequest) -> Answer {
    match request.service.as_str() {
        "dynamodb" => dynamodb::conflict(request),
        _ => throttled(request),
    }
}

/// `table/bdc-bookings` of an ARN as `bdc-bookings`; anything else as it stands.
pub(crate) fn short_name(arn: &str) -> String {
    let resource = arn.splitn(6, ':').nth(5).unwrap_or(arn);
    let resource = resource
        .strip_prefix("table/")
        .or_else(|| resource.strip_prefix("secret:"))
        .unwrap_or(resource);
    resource
        .strip_suffix("-LoCaL1")
        .unwrap_or(resource)
        .to_owned()
}
