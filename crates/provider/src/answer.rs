//! What came of a call: done, refused, or not known.

use std::time::Duration;

use paidonce_core::planted::{self, Defect};
use serde::Deserialize;

use crate::failure::{FailureWire, PaymentFailure};
use crate::wire::Reply;

/// The outcome of one call to the provider.
///
/// It is no `Result`, so `?` can't make a failure of an answer that did not come. Every caller
/// says what it does with [`Answer::Unknown`]: ask again, later, under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an unknown answer must be resolved"]
pub enum Answer<T> {
    Done(T),
    /// It was not done, and the same request will never be.
    Refused(Refusal),
    /// It may have been done.
    Unknown(Doubt),
}

/// Why the provider did not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status; nothing if it was refused here, before it was sent.
    pub status: Option<u16>,
    /// The error's type, such as `invalid_request_error` or `idempotency_error`.
    pub kind: String,
    /// A stable code, such as `resource_missing` or `amount_too_small`.
    pub code: Option<String>,
    /// The parameter that is at fault.
    pub param: Option<String>,
    /// A sentence for developers. It may repeat what was sent.
    pub message: String,
    /// Of a payment that was tried: why it failed.
    pub failure: Option<Box<PaymentFailure>>,
    /// Whether this is the stored answer to an earlier request under the same key.
    pub replayed: bool,
}

/// Why it is not known what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub reason: Reason,
    /// Whether the provider says that the same request may, or must not, be sent again.
    pub retry: Option<bool>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's own id of the request, for its support.
    pub request_id: Option<String>,
}

/// What was seen instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The time was up, or the connection broke.
    NoAnswer(String),
    /// 409: another request with the same key is still running.
    InFlight,
    /// 429: too many requests.
    Throttled,
    /// A status that says neither yes nor no: 5xx, or one that the API does not use.
    Status(u16),
    /// An answer that can't be read.
    Unreadable(String),
    /// 400: the key was used for another request, which may have been carried out.
    KeyReused,
}

impl<T> Answer<T> {
    /// Turns what was done into something else. The rest stays.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Done(done) => Answer::Done(map(done)),
            Self::Refused(refusal) => Answer::Refused(refusal),
            Self::Unknown(doubt) => Answer::Unknown(doubt),
        }
    }

    /// Reads a reply, or says why there is none.
    pub(crate) fn read(
        reply: Result<Reply, String>,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Self {
        let reply = match reply {
            Ok(reply) => reply,
            Err(reason) => return Self::Unknown(Doubt::new(Reason::NoAnswer(reason), None)),
        };
        let doubt = |reason| Self::Unknown(Doubt::new(reason, Some(&reply)));
        match reply.status {
            200..=299 => match parse(&reply.body) {
                Ok(done) => Self::Done(done),
                Err(reason) => doubt(Reason::Unreadable(reason)),
            },
            // The first request with this key is still running: that is not a refusal.
            409 => doubt(Reason::InFlight),
            429 => doubt(Reason::Throttled),
            400..=499 => match Refusal::parse(&reply) {
                Ok(refusal) => Self::Refused(refusal),
                Err(reason) => doubt(Reason::Unreadable(reason)),
            },
            500.. if planted::is(Defect::ServerErrorRefused) => match Refusal::parse(&reply) {
                Ok(refusal) => Self::Refused(refusal),
                Err(reason) => doubt(Reason::Unreadable(reason)),
            },
            status => doubt(Reason::Status(status)),
        }
    }
}

impl Doubt {
    pub(crate) fn new(reason: Reason, reply: Option<&Reply>) -> Self {
        Self {
            reason,
            retry: reply.and_then(Reply::should_retry),
            retry_after: reply.and_then(|reply| reply.retry_after),
            request_id: reply.and_then(|reply| reply.request_id.clone()),
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    error: ErrorObject,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(rename = "type")]
    kind: String,
    code: Option<String>,
    param: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct FailureEnvelope {
    error: FailureWire,
}

impl Refusal {
    /// A request that isn't worth sending.
    pub(crate) fn here(param: &str, message: String) -> Self {
        Self {
            status: None,
            kind: "invalid_request_error".to_owned(),
            code: None,
            param: Some(param.to_owned()),
            message,
            failure: None,
            replayed: false,
        }
    }

    fn parse(reply: &Reply) -> Result<Self, String> {
        let Envelope { error } =
            serde_json::from_slice(&reply.body).map_err(|error| error.to_string())?;
        // 402 says that the parameters were good and the payment failed, of whatever kind it is.
        let failed = reply.status == 402 || error.kind == "card_error";
        Ok(Self {
            status: Some(reply.status),
            kind: error.kind,
            code: error.code,
            param: error.param,
            message: error.message.unwrap_or_default(),
            failure: failed.then(|| Self::failure(&reply.body)).transpose()?,
            replayed: reply.replayed,
        })
    }

    fn failure(body: &[u8]) -> Result<Box<PaymentFailure>, String> {
        let FailureEnvelope { error } =
            serde_json::from_slice(body).map_err(|error| error.to_string())?;
        Ok(Box::new(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Answer<String> {
        let reply = Reply {
            status,
            body: body.as_bytes().to_vec(),
            ..Reply::default()
        };
        Answer::read(Ok(reply), |body| {
            serde_json::from_slice(body).map_err(|error| error.to_string())
        })
    }

    #[test]
    fn only_a_clear_no_is_a_refusal() {
        let no = r#"{"error":{"type":"invalid_request_error","param":"mode"}}"#;
        for status in [400, 401, 402, 403, 404] {
            let Answer::Refused(refusal) = read(status, no) else {
                panic!("{status}");
            };
            assert_eq!(refusal.param.as_deref(), Some("mode"));
        }
        for status in [301, 409, 429, 500, 502, 503, 504] {
            assert!(matches!(read(status, no), Answer::Unknown(_)), "{status}");
        }
    }

    #[test]
    fn only_a_payment_that_was_tried_has_a_failure() {
        let declined = r#"{"error":{"type":"card_error","code":"expired_card","charge":"ch_1"}}"#;
        let Answer::Refused(refusal) = read(402, declined) else {
            panic!();
        };
        let failure = refusal.failure.unwrap();
        assert_eq!(failure.code.as_deref(), Some("expired_card"));
        assert_eq!(failure.charge.as_deref(), Some("ch_1"));
        let wrong = r#"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#;
        let Answer::Refused(refusal) = read(404, wrong) else {
            panic!();
        };
        assert_eq!((refusal.failure, refusal.replayed), (None, false));
        let odd = r#"{"error":{"type":"card_error","decline_code":51}}"#;
        assert!(matches!(read(402, odd), Answer::Unknown(_)));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_unknown() {
        assert_eq!(read(200, r#""ok""#), Answer::Done("ok".to_owned()));
        for (status, body) in [(200, "<html>"), (200, ""), (400, "<html>")] {
            let Answer::Unknown(doubt) = read(status, body) else {
                panic!("{body}");
            };
            assert!(matches!(doubt.reason, Reason::Unreadable(_)));
        }
    }
}
