//! Answers over HTTP: JSON, or a problem document.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use lambda_kit::{Problem, Reply};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest body that the command itself reads, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A problem document as an answer, so that `?` carries it out of a handler.
pub(crate) struct Refusal(Problem);

pub(crate) type Answered = Result<Response, Refusal>;

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let reply = Reply::from(self.0);
        answer(reply.status, reply.content_type, reply.body)
    }
}

/// 200 with JSON.
pub(crate) fn json(body: &impl Serialize) -> Answered {
    let body = serde_json::to_string_pretty(body).map_err(|error| {
        Problem::new(
            500,
            "unwritable",
            &format!("The answer is no JSON: {error}."),
        )
    })?;
    Ok(answer(200, "application/json", body + "\n"))
}

/// A page of our own. Only the script that carries `nonce` runs, and nothing is loaded.
pub(crate) fn html(status: u16, body: String, nonce: &str) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let mut response = answer(status, "text/html; charset=utf-8", body);
    if let Ok(policy) = policy.try_into() {
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

pub(crate) fn not_found() -> Problem {
    Problem::new(404, "not_found", "There is nothing here.")
}

/// Reads a body up to a limit, whatever its length header says.
///
/// # Errors
/// 413 over the limit, 400 if the sender gave up.
pub(crate) async fn bytes_of(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let read = axum::body::to_bytes(body, bytes_max).await;
    read.map_err(|error| {
        let is_limit = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
            error.source()
        })
        .any(|error| error.to_string().contains("limit exceeded"));
        if is_limit {
            let detail = format!("The body is larger than {bytes_max} bytes.");
            Problem::new(413, "body_too_large", &detail)
        } else {
            Problem::new(400, "unreadable_body", "The body did not arrive in full.")
        }
    })
}

/// Reads JSON.
///
/// # Errors
/// 400 with the place, or with what does not fit.
pub(crate) async fn read_json<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let bytes = bytes_of(body, BODY_BYTES_MAX).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let code = match error.is_data() {
            true => "invalid_field",
            false => "invalid_json",
        };
        Problem::new(400, code, &format!("The body can't be read: {error}."))
    })
}

fn answer(status: u16, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status.try_into().unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
