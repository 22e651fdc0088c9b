//! `/_local/…`: the clock, and a look inside. For people and scripts on this machine.
//!
//! | path | does |
//! |---|---|
//! | `GET health` | whether it runs, the time, the functions, whether nothing is due |
//! | `GET clock`, `POST clock` `{"advance_s": 3600}` or `{"to": "2026-07-11T20:00:00Z"}` | tells or moves the time; everything due on the way happens in order; over more than two days, sweeps of every few minutes run once an hour |
//! | `POST settle` | delivers what is due now |
//! | `GET messages`, `tables`, `tables/{name}`, `queues`, `calls`, `secrets` | shows |
//! | `POST sms` `{"from", "text"}` | a text from a customer, such as STOP |
//! | `GET`, `POST`, `DELETE faults` | the plan of faults: `{"function", "operation", "nth", "times", "fault"}` |

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::Problem;
use local_cloud::{CloudError, Settled};
use paidonce_core::local_time::stamp;
use paidonce_core::phone::Phone;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, json, read_json};
use super::{Shared, console, fault_plan};

/// Over more than this the sweeps of every few minutes run once an hour: a month takes seconds then.
const LONG_MOVE: TimeDelta = TimeDelta::days(2);
const RATES_IN_LONG_MOVE: TimeDelta = TimeDelta::hours(1);
/// How far one request may move the clock.
const MOVE_MAX: TimeDelta = TimeDelta::days(366);
const SMS_CHARACTERS_MAX: usize = 1_600;

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/health", get(health))
        .route("/clock", get(clock).post(move_clock))
        .route("/settle", post(settle))
        .route("/messages", get(messages))
        .route("/tables", get(tables))
        .route("/tables/{table}", get(table))
        .route("/queues", get(queues))
        .route("/secrets", get(secrets))
        .route("/calls", get(calls))
        .route("/sms", post(sms))
        .route("/faults", fault_plan::routes())
        .nest("/console", console::router())
}

async fn health(State(dev): State<Shared>) -> Answered {
    let cloud = &dev.fleet.cloud;
    let now = cloud.clock().now();
    let is_quiet = cloud.next_due().is_none_or(|due| due > now);
    json(&json!({
        "ok": true,
        "now": stamp(now),
        "functions": cloud.functions(),
        "quiet": is_quiet,
    }))
}

async fn clock(State(dev): State<Shared>) -> Answered {
    json(&json!({ "now": stamp(dev.fleet.cloud.clock().now()) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    advance_s: Option<Value>,
    to: Option<Value>,
}

async fn move_clock(State(dev): State<Shared>, body: Body) -> Answered {
    let wanted: Move = read_json(body).await?;
    let to = destination(&wanted, dev.fleet.cloud.clock().now())?;
    dev.terminal
        .fact("clock", &format!("moves to {}", stamp(to)));
    let cloud = &dev.fleet.cloud;
    if to - cloud.clock().now() > LONG_MOVE {
        cloud.set_rates_at_most(RATES_IN_LONG_MOVE);
    }
    let settled = dev.move_clock(to).await;
    cloud.set_rates_at_most(TimeDelta::zero());
    json(&moved(dev.fleet.cloud.clock().now(), settled))
}

fn moved(now: DateTime<Utc>, settled: Settled) -> Value {
    json!({ "now": stamp(now), "ran": settled })
}

/// Where a move leads.
fn destination(wanted: &Move, now: DateTime<Utc>) -> Result<DateTime<Utc>, Problem> {
    let too_far = |field| {
        let detail = "The clock moves by at most 366 days at a time.";
        Problem::field(field, "too_far", detail)
    };
    match (&wanted.advance_s, &wanted.to) {
        (Some(seconds), None) => {
            let detail = "`advance_s` must be a whole number of seconds, 0 or more.";
            let seconds = seconds
                .as_i64()
                .filter(|seconds| *seconds >= 0)
                .ok_or_else(|| Problem::field("advance_s", "out_of_range", detail))?;
            TimeDelta::try_seconds(seconds)
                .filter(|by| *by <= MOVE_MAX)
                .map(|by| now + by)
                .ok_or_else(|| too_far("advance_s"))
        }
        (None, Some(to)) => {
            let detail = "`to` must be an instant such as `2026-07-11T20:00:00Z`.";
            let to = to
                .as_str()
                .and_then(|to| DateTime::parse_from_rfc3339(to).ok())
                .ok_or_else(|| Problem::field("to", "unreadable_time", detail))?
                .to_utc();
            match to - now {
                by if by < TimeDelta::zero() => {
                    let detail = format!("`to` has passed: it is {}.", stamp(now));
                    Err(Problem::field("to", "past", &detail))
                }
                by if by > MOVE_MAX => Err(too_far("to")),
                _ => Ok(to),
            }
        }
        (Some(_), Some(_)) => {
            let detail = "Give `advance_s` or `to`, not both.";
            Err(Problem::field("to", "too_much", detail))
        }
        (None, None) => {
            let detail = "Give `advance_s` or `to`.";
            Err(Problem::field("advance_s", "missing", detail))
        }
    }
}

async fn settle(State(dev): State<Shared>) -> Answered {
    let now = dev.fleet.cloud.clock().now();
    let settled = dev.move_clock(now).await;
    json(&moved(dev.fleet.cloud.clock().now(), settled))
}

async fn messages(State(dev): State<Shared>) -> Answered {
    json(&json!({ "messages": dev.fleet.cloud.messages() }))
}

async fn tables(State(dev): State<Shared>) -> Answered {
    let listed = dev.fleet.cloud.dynamodb().list_tables().send().await;
    let listed = listed.map_err(|error| {
        Problem::new(
            500,
            "no_tables",
            &format!("The tables can't be listed: {error}."),
        )
    })?;
    json(&json!({ "tables": listed.table_names() }))
}

async fn table(State(dev): State<Shared>, Path(name): Path<String>) -> Answered {
    let rows = dev.fleet.cloud.table(&name).map_err(|error| match error {
        CloudError::UnknownTable(_) => {
            let detail = "There is no such table; /_local/tables lists them.";
            Problem {
                field: Some("table"),
                ..Problem::new(404, "unknown_table", detail)
            }
        }
        error @ (CloudError::Template(_)
        | CloudError::Resource { .. }
        | CloudError::UnknownFunction(_)
        | CloudError::Configuration { .. }
        | CloudError::DynamoDb(_)
        | CloudError::State { .. }) => Problem::new(500, "unreadable_table", &error.to_string()),
    })?;
    json(&json!({ "table": name, "rows": rows }))
}

async fn queues(State(dev): State<Shared>) -> Answered {
    json(&json!({ "queues": dev.fleet.cloud.queues() }))
}

async fn secrets(State(dev): State<Shared>) -> Answered {
    json(&json!({ "secrets": dev.fleet.cloud.secrets() }))
}

async fn calls(State(dev): State<Shared>) -> Answered {
    json(&json!({
        "functions": dev.fleet.cloud.calls_by_function(),
        "denied": dev.fleet.cloud.denied(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InboundSms {
    from: String,
    text: String,
}

async fn sms(State(dev): State<Shared>, body: Body) -> Answered {
    let sms: InboundSms = read_json(body).await?;
    let from = Phone::parse(&sms.from, &dev.venue.phone_region)
        .map_err(|error| Problem::field("from", "bad_phone", &format!("`from`: {error}.")))?;
    if sms.text.chars().count() > SMS_CHARACTERS_MAX {
        let detail = format!("`text` has more than {SMS_CHARACTERS_MAX} characters.");
        return Err(Problem::field("text", "too_long", &detail).into());
    }
    dev.fleet.cloud.reply_by_sms(from.e164(), &sms.text);
    let now = dev.fleet.cloud.clock().now();
    let settled = dev.move_clock(now).await;
    json(&moved(dev.fleet.cloud.clock().now(), settled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-06-01T12:00:00Z".parse().unwrap()
    }

    fn lead(body: Value) -> Result<DateTime<Utc>, (&'static str, Option<&'static str>)> {
        let wanted: Move = serde_json::from_value(body).unwrap();
        destination(&wanted, now()).map_err(|problem| (problem.code, problem.field))
    }

    #[test]
    fn the_clock_moves_by_seconds_or_to_an_instant() {
        assert_eq!(
            lead(json!({"advance_s": 60})),
            Ok(now() + TimeDelta::minutes(1))
        );
        assert_eq!(
            lead(json!({"to": "2026-06-01T14:00:00+01:00"})),
            Ok(now() + TimeDelta::hours(1))
        );
    }

    #[test]
    fn a_move_that_makes_no_sense_names_its_field() {
        let refused = |body| lead(body).unwrap_err();
        assert_eq!(refused(json!({})), ("missing", Some("advance_s")));
        let both = json!({"advance_s": 1, "to": "2026-06-02T00:00:00Z"});
        assert_eq!(refused(both), ("too_much", Some("to")));
        for odd in [json!(-1), json!("1"), json!(1.5)] {
            assert_eq!(
                refused(json!({"advance_s": odd})),
                ("out_of_range", Some("advance_s"))
            );
        }
        assert_eq!(
            refused(json!({"advance_s": i64::MAX})),
            ("too_far", Some("advance_s"))
        );
        assert_eq!(
            refused(json!({"to": "2026-06-01T11:59:59Z"})),
            ("past", Some("to"))
        );
        assert_eq!(
            refused(json!({"to": "2030-01-01T00:00:00Z"})),
            ("too_far", Some("to"))
        );
        assert_eq!(
            refused(json!({"to": "tomorrow"})),
            ("unreadable_time", Some("to"))
        );
    }
}
