//! The API's door: the key, the version, idempotency, routes.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::Value;

use crate::billing::{self, Held};
use crate::error::ApiError;
use crate::form::Form;
use crate::idempotency::Saved;
use crate::state::{Cause, State};
use crate::{api_keys, execution, reading, refunds, sessions, trouble};

/// Answers one request to `/v1/…`.
pub(crate) fn answer(
    state: &mut State,
    request: &Request<Bytes>,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    let request_id = state.ids.next("req_");
    let headers = request.headers();
    if let Some(mut response) = state.trouble.outage(now) {
        set(&mut response, "request-id", &request_id);
        return response;
    }
    let checked = api_keys::check(&state.options, request).and_then(|()| check_version(headers));
    let mut response = match checked {
        Err(error) => reply(error.status, &error.body()),
        Ok(()) if request.method() == Method::POST => post(state, request, &request_id, now),
        Ok(()) if request.method() == Method::DELETE => {
            answered(delete(state, request, &request_id, now))
        }
        Ok(()) => answered(get(state, request)),
    };
    set(&mut response, "request-id", &request_id);
    if let Some(version) = text(headers, "stripe-version") {
        set(&mut response, "stripe-version", version);
    }
    response
}

fn answered(result: Result<Value, ApiError>) -> Response<Bytes> {
    match result {
        Ok(body) => reply(StatusCode::OK, &body),
        Err(error) => reply(error.status, &error.body()),
    }
}

/// A version is a date, since 2024 with the name of a release train.
fn check_version(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(version) = text(headers, "stripe-version") else {
        return Ok(());
    };
    let (date, train) = version.split_once('.').unwrap_or((version, "none"));
    let is_date = date.len() == 10 && chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").is_ok();
    if is_date && !train.is_empty() && train.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Ok(());
    }
    let message = format!("Invalid Stripe API version: {version}");
    Err(ApiError::invalid(message))
}

fn post(
    state: &mut State,
    request: &Request<Bytes>,
    request_id: &str,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    let path = request.uri().path();
    let form = Form::parse(request.body());
    let key = text(request.headers(), "idempotency-key").map(str::to_owned);
    let fingerprint = form.fingerprint("POST", path);
    if let Some(key) = &key {
        match state.keys.find(key, &fingerprint, now) {
            Ok(None) => {}
            Ok(Some(saved)) => return replay(saved),
            Err(error) => return reply(error.status, &error.body()),
        }
    }
    if billing::is_locked(state, path) {
        let error = ApiError::locked();
        return reply(error.status, &error.body());
    }
    let fault = billing::take_fault(state, &segments(path));
    let trouble = match fault {
        None => state.trouble.take(&format!("POST {path}")),
        Some(_) => None,
    };
    let request = Held {
        path: path.to_owned(),
        form,
        key,
        fingerprint,
        request_id: request_id.to_owned(),
        at: now,
    };
    match (fault, trouble) {
        (None, None) => execution::execute(state, &request, now),
        (None, Some(outcome)) => trouble::suffer(state, &request, outcome, now),
        (Some(fault), _) => execution::fail(state, request, &fault, now),
    }
}

fn replay(saved: &Saved) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(saved.body.clone()));
    *response.status_mut() = StatusCode::from_u16(saved.status).unwrap_or_default();
    set(&mut response, "content-type", "application/json");
    set(&mut response, "idempotent-replayed", "true");
    set(&mut response, "original-request", &saved.request_id);
    response
}

/// Does what `POST` to a path asks for.
pub(crate) fn change(
    state: &mut State,
    path: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    match segments(path).as_slice() {
        ["v1", "checkout", "sessions"] => sessions::create(state, form, now),
        ["v1", "checkout", "sessions", id, "expire"] => sessions::expire(state, id, form, now),
        ["v1", "refunds"] => refunds::create(state, form, now),
        ["v1", rest @ ..] => billing::change(state, rest, form, now),
        _ => Err(ApiError::no_url("POST", path)),
    }
}

/// Deleting ignores keys: what is gone is gone.
fn delete(
    state: &mut State,
    request: &Request<Bytes>,
    request_id: &str,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let form = Form::parse(if query.is_empty() {
        request.body()
    } else {
        query
    });
    let segments = segments(path);
    let ["v1", rest @ ..] = segments.as_slice() else {
        return Err(ApiError::no_url("DELETE", path));
    };
    state.cause = Some(Cause {
        request_id: request_id.to_owned(),
        idempotency_key: None,
    });
    let result = billing::remove(state, rest, &form, now);
    state.cause = None;
    result
}

fn get(state: &State, request: &Request<Bytes>) -> Result<Value, ApiError> {
    let path = request.uri().path();
    if request.method() != Method::GET {
        return Err(ApiError::no_url(request.method().as_str(), path));
    }
    let mut query = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
    let expanded = query.take_list("expand");
    let segments = segments(path);
    let ["v1", rest @ ..] = segments.as_slice() else {
        return Err(ApiError::no_url("GET", path));
    };
    let mut answer = read(state, rest, &query)?;
    billing::expand(state, &mut answer, &expanded)?;
    Ok(answer)
}

fn read(state: &State, path: &[&str], query: &Form) -> Result<Value, ApiError> {
    match path {
        ["checkout", "sessions"]
        | ["charges" | "payment_intents" | "refunds" | "disputes" | "events"] => {
            reading::list(state, path, query)
        }
        ["checkout", "sessions", id] => only_path(query).and_then(|()| sessions::show(state, id)),
        [
            collection @ ("charges" | "payment_intents" | "refunds" | "disputes" | "events"),
            id,
        ] => only_path(query).and_then(|()| reading::one(state, collection, id)),
        _ => billing::read(state, path, query),
    }
}

fn only_path(query: &Form) -> Result<(), ApiError> {
    query.only(&[])
}

pub(crate) fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// Makes a JSON answer, indented as the provider does.
pub(crate) fn reply(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(format!("{body:#}")));
    *response.status_mut() = status;
    set(&mut response, "content-type", "application/json");
    response
}

fn set(response: &mut Response<Bytes>, name: &'static str, value: &str) {
    // Ids and versions that came in as headers are header values.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SESSION, Town, read};

    #[test]
    fn the_same_key_answers_the_same_and_charges_nothing_twice() {
        let town = Town::default();
        let first = town.keyed("/v1/checkout/sessions", SESSION, "k");
        let again = town.keyed("/v1/checkout/sessions", SESSION, "k");
        assert_eq!(first.body(), again.body());
        assert!(first.headers().get("idempotent-replayed").is_none());
        assert_eq!(again.headers()["idempotent-replayed"], "true");
        assert_eq!(
            again.headers()["original-request"],
            first.headers()["request-id"]
        );
        assert_eq!(
            town.get("/v1/checkout/sessions").1["data"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        let other = town.keyed(
            "/v1/checkout/sessions",
            &SESSION.replace("2000", "2001"),
            "k",
        );
        let (status, body) = read(&other);
        assert_eq!(
            (status, &body["error"]["type"]),
            (400, &"idempotency_error".into())
        );
        town.wait(86_400);
        let next_day = SESSION.replace("1784037600", "1784124000");
        assert_eq!(
            town.keyed("/v1/checkout/sessions", &next_day, "k").status(),
            200
        );
    }

    #[test]
    fn a_key_keeps_a_refusal_only_if_execution_had_begun() {
        let town = Town::default();
        let bad = SESSION.replace("gbp", "GBP");
        assert_eq!(town.keyed("/v1/checkout/sessions", &bad, "a").status(), 400);
        assert_eq!(
            town.keyed("/v1/checkout/sessions", SESSION, "a").status(),
            200
        );
        let id = town.session();
        let path = format!("/v1/checkout/sessions/{id}/expire");
        town.post(&path, "");
        assert_eq!(town.keyed(&path, "", "b").status(), 400);
        let again = town.keyed(&path, "", "b");
        assert_eq!(again.headers()["idempotent-replayed"], "true");
    }

    #[test]
    fn a_wrong_key_or_version_gets_nowhere() {
        let town = Town::default();
        let call = |key: &str, version: &str| {
            let request = Request::get("/v1/events")
                .header("authorization", key)
                .header("stripe-version", version);
            let request = request.body(Bytes::new()).unwrap();
            town.sandbox.call(request, town.now()).status().as_u16()
        };
        assert_eq!(call("Bearer rk_test_sandbox", "2026-07-29.dahlia"), 200);
        assert_eq!(call("Bearer rk_test_sandbox", "2023-10-16"), 200);
        assert_eq!(call("Bearer rk_test_sandbox", "latest"), 400);
        assert_eq!(call("Bearer rk_test_other", "2026-07-29.dahlia"), 401);
        assert_eq!(call("", "2026-07-29.dahlia"), 401);
    }

    #[test]
    fn what_is_not_there_is_404() {
        let town = Town::default();
        for path in [
            "/v1/checkout/sessions/cs_none",
            "/v1/charges/ch_none",
            "/v1/events/evt_none",
        ] {
            let (status, body) = town.get(path);
            assert_eq!(
                (status, &body["error"]["code"]),
                (404, &"resource_missing".into())
            );
        }
        assert_eq!(town.get("/v1/nothing/x").0, 404);
        assert_eq!(town.post("/v1/charges", "").0, 404);
    }
}
