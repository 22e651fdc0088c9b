//! The other side of the double: what a test, the simulator or a person makes happen.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{reply, segments};
use crate::error::ApiError;
use crate::mischief::{DUPLICATES_MAX, Rule};
use crate::state::{RefundStatus, State};
use crate::{debits, payments, refunds, render, sessions, webhooks};

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
        (true, ["payments", _, _] | ["refunds", ..]) => {
            after_payment(state, request, &segments, now)
        }
        (true, ["webhooks"]) => set_rules(state, request),
        (true, ["events", id, "resend"]) => resend(state, id, now),
        (false, ["ledger"]) => Ok(ledger(state)),
        (false, ["deliveries"]) => Ok(deliveries(state)),
        _ => Err(ApiError::no_url(request.method().as_str(), path)),
    }
}

/// What happens to money that has arrived: refunds that are not ours, or not done.
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
        ["refunds", "next"] => {
            let next: NextRefund = body(request)?;
            refunds::set_next(state, next.status)?;
            Ok(json!({ "status": next.status }))
        }
        ["refunds", id, "move"] => {
            let to: MoveRefund = body(request)?;
            refunds::change(state, id, to.status, to.failure_reason.as_deref(), now)
        }
        _ => Err(ApiError::no_url("POST", request.uri().path())),
    }
}

fn body<T: DeserializeOwned>(request: &Request<Bytes>) -> Result<T, ApiError> {
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
    let delivery = webhooks::queue(state, id, &Rule::default(), now);
    Ok(json!({ "delivery": delivery }))
}

fn deliveries(state: &State) -> Value {
    let deliveries: Vec<_> = state.webhooks.deliveries.values().collect();
    json!({ "deliveries": deliveries, "counts": state.webhooks.counts })
}

/// Lists all money that moved. Totals are per currency, in its smallest unit.
pub(crate) fn ledger(state: &State) -> Value {
    let options = &state.options;
    let mut totals: BTreeMap<&str, (i64, i64, i64)> = BTreeMap::new();
    for charge in state.charges.values() {
        let total = totals.entry(&charge.currency).or_default();
        total.0 += charge.amount_captured;
        total.2 += charge.fee;
    }
    for refund in state.refunds.values().filter(|it| it.status.is_live()) {
        totals.entry(&refund.currency).or_default().1 += refund.amount;
    }
    let totals: BTreeMap<_, _> = totals
        .into_iter()
        .map(|(currency, (captured, refunded, fees))| {
            let total = json!({ "captured": captured, "refunded": refunded, "fees": fees });
            (currency, total)
        })
        .collect();
    let charges = state.charges.values().map(|charge| {
        let mut shown = render::charge(charge, options);
        shown["fee"] = charge.fee.into();
        shown
    });
    let sessions = state.sessions.values();
    let intents = state.intents.values();
    json!({
        "sessions": sessions.map(|it| render::session(it, options)).collect::<Vec<_>>(),
        "payment_intents": intents.map(|it| render::intent(it, options)).collect::<Vec<_>>(),
        "charges": charges.collect::<Vec<_>>(),
        "refunds": state.refunds.values().map(render::refund).collect::<Vec<_>>(),
        "totals": totals,
    })
}
