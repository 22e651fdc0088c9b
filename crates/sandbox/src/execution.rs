//! What becomes of a request that changes something: done, kept for its key, or gone wrong on demand.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::api::{change, reply};
use crate::billing::{self, Fault, Held};
use crate::error::ApiError;
use crate::idempotency::Saved;
use crate::state::{Cause, State};

/// Does what a request asks for, and keeps the answer for its key.
pub(crate) fn execute(state: &mut State, request: &Held, now: DateTime<Utc>) -> Response<Bytes> {
    state.cause = Some(Cause {
        request_id: request.request_id.clone(),
        idempotency_key: request.key.clone(),
    });
    let mut form = request.form.clone();
    let expanded = form.take_list("expand");
    let result = change(state, &request.path, &form, now).and_then(|mut body| {
        billing::expand(state, &mut body, &expanded)?;
        Ok(body)
    });
    state.cause = None;
    keep(state, request, result)
}

/// Answers a request, and keeps the answer for its key if execution had begun.
pub(crate) fn keep(
    state: &mut State,
    request: &Held,
    result: Result<Value, ApiError>,
) -> Response<Bytes> {
    let (status, body, began) = match result {
        Ok(body) => (StatusCode::OK, body, true),
        Err(error) => (error.status, error.body(), error.began),
    };
    if let Some(key) = request.key.as_ref().filter(|_| began) {
        let saved = saved(request, status.as_u16(), format!("{body:#}"));
        state.keys.save(key, saved);
    } else if let Some(key) = &request.key {
        state.keys.forget(key);
    }
    reply(status, &body)
}

fn saved(request: &Held, status: u16, body: String) -> Saved {
    let fingerprint = request.fingerprint.clone();
    let mut saved = Saved::new(fingerprint, request.at, request.request_id.clone());
    saved.status = status;
    saved.body = body;
    saved
}

/// Answers a request with what was to go wrong with it.
pub(crate) fn fail(
    state: &mut State,
    request: Held,
    fault: &Fault,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    match fault {
        Fault::ServerError => keep(state, &request, Err(ApiError::internal())),
        Fault::ServerErrorAfterPaying => {
            drop(execute(state, &request, now));
            keep(state, &request, Err(ApiError::internal()))
        }
        Fault::AnswerLost => {
            drop(execute(state, &request, now));
            no_answer()
        }
        Fault::Hold => {
            hold(state, request);
            no_answer()
        }
        Fault::RateLimit => {
            let message = "Too many requests hit the API too quickly.";
            keep(
                state,
                &request,
                Err(ApiError::too_many("rate_limit", message)),
            )
        }
        Fault::LockTimeout => keep(state, &request, Err(ApiError::locked())),
        Fault::PaidByCustomer => {
            billing::paid_by_customer(state, &request.path, now);
            execute(state, &request, now)
        }
        // The bank says these, and so does whoever asks the bank.
        Fault::Decline(_) | Fault::RequiresAction => execute(state, &request, now),
    }
}

fn hold(state: &mut State, mut request: Held) {
    billing::settle_method(state, &mut request);
    if let Some(key) = &request.key {
        let mut saved = saved(&request, 0, String::new());
        saved.in_flight = true;
        state.keys.save(key, saved);
    }
    state.billing.held = Some(request);
}

/// Does what was held, and returns the answer that its key keeps.
///
/// # Errors
/// Nothing is held.
pub(crate) fn release(state: &mut State, now: DateTime<Utc>) -> Result<Value, ApiError> {
    let held = state.billing.held.take();
    let held = held.ok_or_else(|| ApiError::invalid("No request is being held."))?;
    let response = execute(state, &held, now);
    let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    Ok(json!({ "status": response.status().as_u16(), "body": body }))
}

/// What a caller gets whose connection ends before there is an answer.
pub(crate) fn no_answer() -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    response
}
