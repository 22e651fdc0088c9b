//! The other side of the double: what a test, the simulator or a person makes happen.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{reply, segments};
use crate::disputes::{self, Claim};
use crate::error::ApiError;
use crate::ledger::ledger;
use crate::mischief::{DUPLICATES_MAX, Rule};
use crate::state::{DisputeStatus, RefundStatus, State};
use crate::trouble::{NextCall, Outage};
use crate::{billing, debits, payments, refunds, sessions, webhooks};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pay {
    card: String,
    authenticated: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settle {
    succeeded: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByHand {
    amount: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NextRefund {
    status: RefundStatus,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveRefund {
    status: RefundStatus,
    failure_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Complaint {
    #[serde(default = "fraudulent")]
    reason: String,
    amount: Option<i64>,
    #[serde(default)]
    inquiry: bool,
}

fn fraudulent() -> String {
    "fraudulent".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveDispute {
    status: DisputeStatus,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mischief {
    rules: Vec<Rule>,
}

/// Answers one request to `/_sandbox/…`.
pub(crate) fn answer(
    state: &mut State,
    request: &Request<Bytes>,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    match control(state, request, now) {
        Ok(body) => reply(StatusCode::OK, &body),
        Err(error) => reply(error.status, &error.body()),
    }
}

fn control(
    state: &mut State,
    request: &Request<Bytes>,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let path = request.uri().path();
    let segments = segments(path);
    let is_post = request.method() == Method::POST;
    match (is_post, segments.get(1..).unwrap_or_default()) {
        (true, ["sessions", id, "pay"]) => {
            let pay: Pay = body(request)?;
            payments::pay(state, id, &pay.card, pay.authenticated, now)?;
            sessions::show(state, id)
        }
        (true, ["sessions", id, "settle"]) => {
            let settle: Settle = body(request)?;
            debits::settle(state, id, settle.succeeded, now)?;
            sessions::show(state, id)
        }
        (true, ["payments", _, _] | ["refunds" | "disputes", ..]) => {
            after_payment(state, request, &segments, now)
        }
        (true, ["webhooks"]) => set_rules(state, request),
        (true, ["next-call" | "outage" | "forget-keys"]) => make_trouble(state, request, &segments),
        (true, ["events", id, "resend"]) => resend(state, id, now),
        (false, ["ledger"]) => Ok(ledger(state)),
        (false, ["deliveries"]) => Ok(deliveries(state)),
        (true, rest) => billing::control::answer(state, request, rest, now),
        (false, _) => Err(ApiError::no_url(request.method().as_str(), path)),
    }
}

/// What happens to money that has arrived: refunds that are not ours, and disputes.
fn after_payment(
    state: &mut State,
    request: &Request<Bytes>,
    segments: &[&str],
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    match segments.get(1..).unwrap_or_default() {
        ["payments", id, "refund"] => {
            let by_hand: ByHand = body(request)?;
            refunds::by_hand(state, id, by_hand.amount, now)
        }
        ["payments", id, "dispute"] => {
            let complaint: Complaint = body(request)?;
            let claim = Claim {
                reason: &complaint.reason,
                amount: complaint.amount,
                inquiry: complaint.inquiry,
            };
            disputes::open(state, id, &claim, now)
        }
        ["refunds", "next"] => {
            let next: NextRefund = body(request)?;
            refunds::set_next(state, next.status)?;
            Ok(json!({ "status": next.status }))
        }
        ["refunds", id, "move"] => {
            let to: MoveRefund = body(request)?;
            refunds::change(state, id, to.status, to.failure_reason.as_deref(), now)
        }
        ["disputes", id, "move"] => {
            let to: MoveDispute = body(request)?;
            disputes::change(state, id, to.status, now)
        }
        _ => Err(ApiError::no_url("POST", request.uri().path())),
    }
}

/// What goes wrong with the API itself.
fn make_trouble(
    state: &mut State,
    request: &Request<Bytes>,
    segments: &[&str],
) -> Result<Value, ApiError> {
    match segments.get(1..).unwrap_or_default() {
        ["next-call"] => {
            match body::<Option<NextCall>>(request)? {
                Some(rule) => state.trouble.add(rule)?,
                None => state.trouble.next_calls.clear(),
            }
            Ok(json!({ "next_calls": state.trouble.next_calls }))
        }
        ["outage"] => {
            let outage: Option<Outage> = body(request)?;
            if outage.is_some_and(|outage| !matches!(outage.status, 503 | 504)) {
                return Err(ApiError::invalid("status: 503 or 504").param("status"));
            }
            state.trouble.outages = outage.into_iter().collect();
            Ok(json!({ "outage": outage }))
        }
        _ => Ok(json!({ "forgotten": state.keys.forget_all() })),
    }
}

pub(crate) fn body<T: DeserializeOwned>(request: &Request<Bytes>) -> Result<T, ApiError> {
    serde_json::from_slice(request.body()).map_err(|error| ApiError::invalid(error.to_string()))
}

fn set_rules(state: &mut State, request: &Request<Bytes>) -> Result<Value, ApiError> {
    let mischief: Mischief = body(request)?;
    if mischief
        .rules
        .iter()
        .any(|rule| rule.duplicates > DUPLICATES_MAX)
    {
        let message = format!("duplicates: at most {DUPLICATES_MAX}");
        return Err(ApiError::invalid(message).param("duplicates"));
    }
    state.webhooks.rules = mischief.rules;
    Ok(json!({ "rules": state.webhooks.rules }))
}

fn resend(state: &mut State, id: &str, now: DateTime<Utc>) -> Result<Value, ApiError> {
    if !state.webhooks.events.contains_key(id) {
        return Err(ApiError::no_such("event", id, "id"));
    }
    let deliveries = webhooks::queue_all(state, id, &Rule::default(), now);
    Ok(json!({ "delivery": deliveries.first(), "deliveries": deliveries }))
}

fn deliveries(state: &State) -> Value {
    let deliveries: Vec<_> = state.webhooks.deliveries.values().collect();
    json!({ "deliveries": deliveries, "counts": state.webhooks.counts })
}
