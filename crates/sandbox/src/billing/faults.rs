//! What goes wrong with the next request to pay an invoice, on demand.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::form::Form;
use crate::state::{LastError, State};

use super::declines;

/// How the next `POST /v1/invoices/{id}/pay` ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The bank declines, whatever the card.
    Decline(LastError),
    /// The bank asks its customer, whatever the card.
    RequiresAction,
    /// 500, and nothing was charged. The key keeps it.
    ServerError,
    /// 500 although it was done. The key keeps the 500.
    ServerErrorAfterPaying,
    /// It is done, and the answer never arrives. The key keeps the answer.
    AnswerLost,
    /// It is not done before it is released, and the answer never arrives.
    Hold,
    /// 429: too many requests. No key keeps it.
    RateLimit,
    /// 429: something else works on the invoice. No key keeps it.
    LockTimeout,
    /// The customer pays on the hosted page just before.
    PaidByCustomer,
}

impl Fault {
    /// Reads the name of an outcome: one of the above, `500`, or a decline code.
    ///
    /// # Errors
    /// It is none of them.
    pub(crate) fn named(outcome: &str) -> Result<Self, ApiError> {
        match outcome {
            "requires_action" => Ok(Self::RequiresAction),
            "500" => Ok(Self::ServerError),
            "500_after_paying" => Ok(Self::ServerErrorAfterPaying),
            "answer_lost" => Ok(Self::AnswerLost),
            "hold" => Ok(Self::Hold),
            "rate_limit" => Ok(Self::RateLimit),
            "lock_timeout" => Ok(Self::LockTimeout),
            "paid_by_customer" => Ok(Self::PaidByCustomer),
            decline_code => declines::refusal(decline_code).map(Self::Decline),
        }
    }
}

/// A request whose execution has begun and not ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) path: String,
    pub(crate) form: Form,
    pub(crate) key: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) request_id: String,
    pub(crate) at: DateTime<Utc>,
}

/// Whether a request to that path is still being done: the provider locks what it works on.
pub(crate) fn is_locked(state: &State, path: &str) -> bool {
    let held = state.billing.held.as_ref();
    held.is_some_and(|held| held.path == path)
}

/// Returns what is to go wrong with this request, once. What the bank is to say stays for the bank.
pub(crate) fn take(state: &mut State, path: &[&str]) -> Option<Fault> {
    if !matches!(path, ["v1", "invoices", _, "pay"]) {
        return None;
    }
    let next = &mut state.billing.next_pay;
    match next {
        None | Some(Fault::Decline(_) | Fault::RequiresAction) => None,
        Some(
            Fault::ServerError
            | Fault::ServerErrorAfterPaying
            | Fault::AnswerLost
            | Fault::Hold
            | Fault::RateLimit
            | Fault::LockTimeout
            | Fault::PaidByCustomer,
        ) => next.take(),
    }
}
