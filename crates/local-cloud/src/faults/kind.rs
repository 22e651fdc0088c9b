//! How a call goes wrong, and which calls it can happen to.

use serde::{Deserialize, Serialize};

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The request never left.
    NotSent,
    /// The request was applied, its answer was lost.
    AnswerLost,
    /// The service's throttling error; nothing was applied.
    Throttled,
    /// Another transaction was in the way; nothing was applied.
    Conflict,
    /// An internal error of the service; nothing was applied.
    InternalError,
    /// The request was applied, but the answer came after the invocation's time-out.
    Slow,
    /// The process died before the request left.
    CrashBefore,
    /// The process died after the request was applied.
    CrashAfter,
    /// The answer was lost and nothing was applied, but the very same request is applied later, in a
    /// second to ten minutes, whatever has happened meanwhile.
    Late,
    /// Some entries of a batch, or all, are refused in an answer that is 200, and were not applied.
    FailedEntries,
    /// The invocation stops before the request leaves, and has timed out for whoever waits for it. In
    /// a second to fifteen minutes it goes on from there, with the `now` that it had.
    Paused,
    /// This call and the next four of that function to that operation are throttled, more than the
    /// SDK tries.
    ThrottledThrough,
}

/// How many calls [`FaultKind::ThrottledThrough`] is about, with the one that it strikes.
pub(super) const THROTTLED_CALLS: u32 = 5;

impl FaultKind {
    /// The kinds that any call can suffer and that are over with it, for tests that try them all.
    pub const ALL: [Self; 8] = [
        Self::NotSent,
        Self::AnswerLost,
        Self::Throttled,
        Self::Conflict,
        Self::InternalError,
        Self::Slow,
        Self::CrashBefore,
        Self::CrashAfter,
    ];

    /// Every kind.
    pub const EVERY: [Self; 12] = [
        Self::NotSent,
        Self::AnswerLost,
        Self::Throttled,
        Self::Conflict,
        Self::InternalError,
        Self::Slow,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Late,
        Self::FailedEntries,
        Self::Paused,
        Self::ThrottledThrough,
    ];

    /// The name that it is counted under, as it is written in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::AnswerLost => "answer_lost",
            Self::Throttled => "throttled",
            Self::Conflict => "conflict",
            Self::InternalError => "internal_error",
            Self::Slow => "slow",
            Self::CrashBefore => "crash_before",
            Self::CrashAfter => "crash_after",
            Self::Late => "late",
            Self::FailedEntries => "failed_entries",
            Self::Paused => "paused",
            Self::ThrottledThrough => "throttled_through",
        }
    }

    /// Whether this can happen to a call at all: a conflict needs a transaction in its way, what comes
    /// late must change something, and only a batch has entries.
    pub fn fits(self, service: &str, operation: &str) -> bool {
        match self {
            Self::Conflict if is_neighbour(service) => changes(service, operation),
            Self::Conflict => {
                service == "dynamodb"
                    && matches!(
                        operation,
                        "PutItem" | "UpdateItem" | "DeleteItem" | "TransactWriteItems"
                    )
            }
            Self::Late => changes(service, operation),
            Self::FailedEntries => matches!(
                (service, operation),
                ("sqs", "SendMessageBatch") | ("dynamodb", "BatchWriteItem")
            ),
            Self::NotSent
            | Self::AnswerLost
            | Self::Throttled
            | Self::InternalError
            | Self::Slow
            | Self::CrashBefore
            | Self::CrashAfter
            | Self::Paused
            | Self::ThrottledThrough => true,
        }
    }

    /// Whether a rule of the plan lets it happen to a call. A rule may ask for a conflict anywhere; a
    /// service that knows none throttles then.
    pub(super) fn can_be_planned(self, service: &str, operation: &str) -> bool {
        self == Self::Conflict || self.fits(service, operation)
    }
}

fn is_neighbour(service: &str) -> bool {
    service.contains("://")
}

fn changes(service: &str, operation: &str) -> bool {
    if is_neighbour(service) {
        return !operation.starts_with("GET ") && !operation.starts_with("HEAD ");
    }
    let reads = [
        "Get",
        "List",
        "Describe",
        "Query",
        "Scan",
        "BatchGet",
        "TransactGet",
        "Check",
        "Head",
        "InvokeModel",
    ];
    !reads.iter().any(|read| operation.starts_with(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_counted_under_the_name_that_json_has_for_it() {
        for kind in FaultKind::EVERY {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_kind_fits_only_what_can_suffer_it() {
        let provider = "http://127.0.0.1:8787/stripe";
        for (kind, service, operation, fits) in [
            (FaultKind::Conflict, "dynamodb", "TransactWriteItems", true),
            (FaultKind::Conflict, "dynamodb", "GetItem", false),
            (FaultKind::Conflict, "sqs", "SendMessage", false),
            (FaultKind::Conflict, provider, "POST /v1/refunds", true),
            (FaultKind::Conflict, provider, "GET /v1/refunds", false),
            (FaultKind::Late, "sqs", "SendMessage", true),
            (FaultKind::Late, "dynamodb", "Query", false),
            (FaultKind::Late, provider, "POST /v1/refunds", true),
            (FaultKind::Late, provider, "GET /v1/refunds/re_1", false),
            (FaultKind::FailedEntries, "sqs", "SendMessageBatch", true),
            (FaultKind::FailedEntries, "sqs", "SendMessage", false),
            (FaultKind::FailedEntries, "dynamodb", "BatchWriteItem", true),
            (FaultKind::NotSent, "dynamodb", "GetItem", true),
        ] {
            assert_eq!(kind.fits(service, operation), fits, "{kind:?} {operation}");
        }
    }
}
