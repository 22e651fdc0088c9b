//! Trouble with the API on demand: what the next requests suffer, and when the provider is down.
//!
//! The rules come from outside, so that whoever makes trouble decides all of it.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderValue, Response, StatusCode};
use serde::{Deserialize, Serialize};

use crate::api::reply;
use crate::billing::Held;
use crate::error::ApiError;
use crate::execution::{execute, keep, no_answer};
use crate::state::State;

/// The header of an answer that its caller is to get after the events that the request made.
pub(crate) const EVENTS_FIRST: &str = "x-events-first";

const RULES_MAX: usize = 1_000;

/// How a request that changes something ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// 500, and nothing was done. The key keeps the 500.
    #[serde(rename = "500")]
    ServerError,
    /// 500 although it was done. The key keeps the 500.
    #[serde(rename = "500_after_doing")]
    ServerErrorAfterDoing,
    /// It is done, and the answer never arrives: 504 with no body. The key keeps the answer.
    #[serde(rename = "answer_lost_after_doing")]
    AnswerLostAfterDoing,
    /// 504 with no body, and nothing was done. No key keeps it.
    #[serde(rename = "answer_lost_before")]
    AnswerLostBefore,
    /// 409: a request of this key is still being done. No key keeps it.
    #[serde(rename = "409")]
    InFlight,
    /// 429: too many requests. No key keeps it.
    #[serde(rename = "429")]
    RateLimit,
    /// It is done, and its events arrive before the answer does, if whoever posts them does as the
    /// answer's header `x-events-first` says.
    #[serde(rename = "event_before_answer")]
    EventBeforeAnswer,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::ServerError => "500",
            Self::ServerErrorAfterDoing => "500_after_doing",
            Self::AnswerLostAfterDoing => "answer_lost_after_doing",
            Self::AnswerLostBefore => "answer_lost_before",
            Self::InFlight => "409",
            Self::RateLimit => "429",
            Self::EventBeforeAnswer => "event_before_answer",
        }
    }
}

/// A rule for the next requests that are made, not for those whose key has its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextCall {
    /// Such as `POST /v1/checkout/sessions/*/expire`, where `*` stands for anything.
    pub call: String,
    pub outcome: Outcome,
    /// How many requests it is for.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// A time in which the provider answers nothing but an error, and does nothing that it is asked for.
/// Events that wait are posted all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    pub from: DateTime<Utc>,
    /// The first instant at which it is over.
    pub to: DateTime<Utc>,
    /// 503 with an error, or 504 with no body.
    pub status: u16,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) next_calls: Vec<NextCall>,
    pub(crate) outages: Vec<Outage>,
    /// How often each was suffered, by its name in a rule, or `outage`.
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Trouble {
    /// Adds a rule behind the others.
    ///
    /// # Errors
    /// There are too many, or it is for no request.
    pub(crate) fn add(&mut self, rule: NextCall) -> Result<(), ApiError> {
        if self.next_calls.len() == RULES_MAX || rule.times == 0 {
            let message = format!("call: at most {RULES_MAX} rules, each for one request or more");
            return Err(ApiError::invalid(message).param("call"));
        }
        self.next_calls.push(rule);
        Ok(())
    }

    /// What the first rule for this call says, once.
    pub(crate) fn take(&mut self, call: &str) -> Option<Outcome> {
        let mut rules = self.next_calls.iter_mut();
        let rule = rules.find(|rule| matches(&rule.call, call))?;
        rule.times -= 1;
        let outcome = rule.outcome;
        self.next_calls.retain(|rule| rule.times > 0);
        self.count(outcome.name());
        Some(outcome)
    }

    /// The answer to everything while the provider is down.
    pub(crate) fn outage(&mut self, now: DateTime<Utc>) -> Option<Response<Bytes>> {
        let mut outages = self.outages.iter();
        let status = outages.find(|it| it.from <= now && now < it.to)?.status;
        self.count("outage");
        if status == StatusCode::GATEWAY_TIMEOUT.as_u16() {
            return Some(no_answer());
        }
        let body = ApiError::internal().body();
        Some(reply(StatusCode::SERVICE_UNAVAILABLE, &body))
    }

    fn count(&mut self, name: &str) {
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }
}

/// Answers a request with what was to become of it.
pub(crate) fn suffer(
    state: &mut State,
    request: &Held,
    outcome: Outcome,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    match outcome {
        Outcome::ServerError => keep(state, request, Err(ApiError::internal())),
        Outcome::ServerErrorAfterDoing => {
            drop(execute(state, request, now));
            keep(state, request, Err(ApiError::internal()))
        }
        Outcome::AnswerLostAfterDoing => {
            drop(execute(state, request, now));
            no_answer()
        }
        Outcome::AnswerLostBefore => no_answer(),
        Outcome::InFlight => {
            let error = ApiError::in_use(request.key.as_deref().unwrap_or_default());
            reply(error.status, &error.body())
        }
        Outcome::RateLimit => {
            let message = "Too many requests hit the API too quickly.";
            let error = ApiError::too_many("rate_limit", message);
            reply(error.status, &error.body())
        }
        Outcome::EventBeforeAnswer => {
            let mut response = execute(state, request, now);
            let yes = HeaderValue::from_static("true");
            response.headers_mut().insert(EVENTS_FIRST, yes);
            response
        }
    }
}

/// Whether `text` is like `pattern`, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::testing::{SESSION, Town, read, types};

    const SESSIONS: &str = "/v1/checkout/sessions";

    fn next(town: &Town, call: &str, outcome: &str) {
        let rule = json!({"call": call, "outcome": outcome}).to_string();
        let (status, answer) = town.post("/_sandbox/next-call", &rule);
        assert_eq!(status, 200, "{answer}");
    }

    fn sessions(town: &Town) -> usize {
        let sessions = &town.get(SESSIONS).1["data"];
        sessions.as_array().unwrap().len()
    }

    #[test]
    fn each_outcome_is_as_it_says_for_its_request_and_for_the_same_key_after_it() {
        for (outcome, first, again, made) in [
            ("500", 500, 500, 0),
            ("500_after_doing", 500, 500, 1),
            ("answer_lost_after_doing", 504, 200, 1),
            ("answer_lost_before", 504, 200, 1),
            ("409", 409, 200, 1),
            ("429", 429, 200, 1),
            ("event_before_answer", 200, 200, 1),
        ] {
            let town = Town::default();
            next(&town, "POST /v1/checkout/*", outcome);
            let first_answer = town.keyed(SESSIONS, SESSION, "k");
            let made_at_once = sessions(&town);
            let second_answer = town.keyed(SESSIONS, SESSION, "k");
            let statuses = [first_answer.status(), second_answer.status()];
            assert_eq!(statuses.map(|it| it.as_u16()), [first, again], "{outcome}");
            assert_eq!(sessions(&town), made, "{outcome}");
            let before = ["answer_lost_before", "409", "429", "500"].contains(&outcome);
            assert_eq!(made_at_once, usize::from(!before), "{outcome}");
            let events_first = first_answer.headers().contains_key(EVENTS_FIRST);
            assert_eq!(events_first, outcome == "event_before_answer");
            let counts = BTreeMap::from([(outcome.to_owned(), 1)]);
            assert_eq!(town.sandbox.troubles(), counts);
        }
    }

    #[test]
    fn a_rule_waits_for_its_call_and_is_for_as_many_as_it_says() {
        let town = Town::default();
        let id = town.session();
        let rule =
            json!({"call": "POST /v1/checkout/sessions/*/expire", "outcome": "429", "times": 2});
        town.post("/_sandbox/next-call", &rule.to_string());
        town.session();
        let expire = || town.post(&format!("{SESSIONS}/{id}/expire"), "").0;
        assert_eq!([expire(), expire(), expire()], [429, 429, 200]);
    }

    #[test]
    fn a_refund_may_be_made_although_its_answer_was_lost() {
        let town = Town::default();
        let intent = town.paid("4242424242424242");
        next(&town, "POST /v1/refunds", "answer_lost_after_doing");
        let form = format!("payment_intent={intent}");
        assert_eq!(town.keyed("/v1/refunds", &form, "r").status(), 504);
        let (status, refund) = read(&town.keyed("/v1/refunds", &form, "r"));
        assert_eq!((status, &refund["status"]), (200, &json!("succeeded")));
        assert_eq!(town.sandbox.ledger()["totals"]["gbp"]["refunded"], 2_000);
    }

    #[test]
    fn while_it_is_down_it_does_nothing_and_then_all_is_as_before() {
        let town = Town::default();
        let outage = |status| {
            let to = town.after(600);
            json!({"from": town.now(), "to": to, "status": status}).to_string()
        };
        assert_eq!(town.post("/_sandbox/outage", &outage(503)).0, 200);
        let down = [town.post(SESSIONS, SESSION).0, town.get(SESSIONS).0];
        assert_eq!(down, [503, 503]);
        town.post("/_sandbox/outage", &outage(504));
        assert_eq!(town.keyed(SESSIONS, SESSION, "k").status(), 504);
        town.wait(600);
        assert_eq!(sessions(&town), 0);
        assert_eq!(town.keyed(SESSIONS, SESSION, "k").status(), 200);
        assert_eq!(
            town.sandbox.troubles(),
            BTreeMap::from([("outage".to_owned(), 3)])
        );
        let bad = json!({"from": town.now(), "to": town.after(1), "status": 200});
        assert_eq!(town.post("/_sandbox/outage", &bad.to_string()).0, 400);
    }

    #[test]
    fn forgotten_keys_make_a_second_session() {
        let town = Town::default();
        town.keyed(SESSIONS, SESSION, "k");
        let forgotten = town.post("/_sandbox/forget-keys", "").1;
        assert_eq!(forgotten, json!({"forgotten": 1}));
        let again = town.keyed(SESSIONS, SESSION, "k");
        assert!(!again.headers().contains_key("idempotent-replayed"));
        assert_eq!(sessions(&town), 2);
    }

    #[test]
    fn an_event_may_come_a_month_late_or_not_while_it_is_lost() {
        let town = Town::default();
        town.rules(
            r#"{"type":"checkout.session.completed","delay_s":2592000},{"lose_for_s":7200}"#,
        );
        let id = town.session();
        town.pay(&id, "4242424242424242");
        let mut lost = 0;
        while town
            .sandbox
            .due_at()
            .is_some_and(|due| due < town.after(0) + TimeDelta::days(20))
        {
            let due = town.sandbox.due_at().unwrap_or_default();
            town.wait((due - town.now()).num_seconds());
            let events = town.deliver(200);
            lost += usize::from(events.is_empty());
            if !events.is_empty() {
                let expected = ["payment_intent.succeeded", "charge.succeeded"];
                assert_eq!(types(&events), expected);
            }
        }
        assert!(lost >= 3, "at once, after one minute, after five, ...");
        town.wait(2_592_000);
        assert_eq!(types(&town.deliver(200)), ["checkout.session.completed"]);
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, like) in [
            ("POST /v1/refunds", "POST /v1/refunds", true),
            ("POST /v1/refunds", "POST /v1/refunds/re_1", false),
            (
                "POST /v1/*/expire",
                "POST /v1/checkout/sessions/cs_1/expire",
                true,
            ),
            ("POST /v1/*/expire", "POST /v1/checkout/sessions", false),
            ("*", "POST /v1/customers", true),
            (
                "POST /v1/invoices/*/pay",
                "POST /v1/invoices/in_1/void",
                false,
            ),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
        ] {
            assert_eq!(matches(pattern, text), like, "{pattern} {text}");
        }
    }
}
