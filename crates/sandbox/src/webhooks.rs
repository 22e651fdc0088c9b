//! The delivery of events: at least once, with back-off, and worse on demand.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::events::Event;
use crate::mischief::Rule;
use crate::signing;
use crate::state::State;
use crate::{Delivery, Endpoint, Options, WebhookCounts};

/// An endpoint that has not answered by then has failed.
const ANSWER_TIME: TimeDelta = TimeDelta::seconds(30);
const GIVE_UP_AFTER: TimeDelta = TimeDelta::days(3);
/// Waits after the first failures, in seconds; later ones wait as long as the last.
const BACK_OFF_S: [i64; 7] = [60, 300, 1_800, 7_200, 18_000, 36_000, 43_200];

/// All events, and the deliveries of each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Webhooks {
    pub(crate) events: BTreeMap<String, Event>,
    pub(crate) deliveries: BTreeMap<String, Sending>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) counts: WebhookCounts,
    /// When, in which order, and which delivery is to be looked at next.
    queue: BTreeSet<(DateTime<Utc>, i64, String)>,
}

/// One delivery of one event, over all its attempts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sending {
    id: String,
    event: String,
    /// The function that it goes to; the first endpoint's if it is empty.
    #[serde(default)]
    endpoint: String,
    #[serde(rename = "type")]
    kind: String,
    rank: i64,
    first_due: DateTime<Utc>,
    /// The next attempt, or the end of the present one; nothing once it is over.
    due: Option<DateTime<Utc>>,
    state: SendingState,
    /// How many more attempts get lost on the way.
    lose: u32,
    /// Until then no attempt arrives.
    #[serde(default)]
    lose_until: Option<DateTime<Utc>>,
    attempts: Vec<Attempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SendingState {
    Waiting,
    InFlight,
    Delivered,
    GivenUp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Attempt {
    at: DateTime<Utc>,
    /// Nothing if there was no answer.
    status: Option<u16>,
}

/// Queues one delivery of an event that is known to each endpoint that takes it, and returns their
/// ids.
pub(crate) fn queue_all(
    state: &mut State,
    event: &str,
    rule: &Rule,
    now: DateTime<Utc>,
) -> Vec<String> {
    let known = state.webhooks.events.get(event);
    let kind = known.map(|event| event.kind.clone()).unwrap_or_default();
    let endpoints = state.options.endpoints().filter(|it| it.takes(&kind));
    let functions: Vec<String> = endpoints.map(|it| it.function).collect();
    functions
        .into_iter()
        .map(|function| queue(state, event, function, rule, now))
        .collect()
}

fn queue(
    state: &mut State,
    event: &str,
    endpoint: String,
    rule: &Rule,
    now: DateTime<Utc>,
) -> String {
    let id = state.ids.next("whd_");
    let order = i64::try_from(state.ids.count()).unwrap_or(i64::MAX);
    let known = state.webhooks.events.get(event);
    let due = now + rule.delay();
    let sending = Sending {
        id: id.clone(),
        event: event.to_owned(),
        endpoint,
        kind: known.map(|event| event.kind.clone()).unwrap_or_default(),
        rank: if rule.reorder { -order } else { order },
        first_due: due,
        due: None,
        state: SendingState::Waiting,
        lose: rule.lose,
        lose_until: Some(due + rule.lost_for()).filter(|until| *until > due),
        attempts: Vec::new(),
    };
    state.webhooks.put(sending, due);
    id
}

impl Webhooks {
    pub(crate) fn due_at(&self) -> Option<DateTime<Utc>> {
        self.queue.first().map(|(due, _, _)| *due)
    }

    /// Returns what is to be posted now; each attempt is to be answered by [`Self::answered`].
    pub(crate) fn take_due(&mut self, options: &Options, now: DateTime<Utc>) -> Vec<Delivery> {
        let mut taken = Vec::new();
        while let Some((due, _, _)) = self.queue.first()
            && *due <= now
        {
            let Some((_, _, id)) = self.queue.pop_first() else {
                break;
            };
            if let Some(sending) = self.deliveries.remove(&id) {
                taken.extend(self.attempt(sending, options, now));
            }
        }
        taken
    }

    fn attempt(
        &mut self,
        mut sending: Sending,
        options: &Options,
        now: DateTime<Utc>,
    ) -> Option<Delivery> {
        if sending.state == SendingState::InFlight {
            self.failed(sending, None, now);
            return None;
        }
        self.counts.attempts += 1;
        if sending.lose > 0 || sending.lose_until.is_some_and(|until| now < until) {
            sending.lose = sending.lose.saturating_sub(1);
            self.counts.lost += 1;
            self.failed(sending, None, now);
            return None;
        }
        let body = self.events.get(&sending.event)?.body.clone();
        let is_for = |it: &Endpoint| sending.endpoint.is_empty() || it.function == sending.endpoint;
        let Some(endpoint) = options.endpoints().find(is_for) else {
            // It was there when the event was made, and is not any more.
            self.failed(sending, None, now);
            return None;
        };
        let delivery = Delivery {
            id: sending.attempt_id(),
            request: signing::request(&body, &endpoint.signing_secrets, now),
            function: endpoint.function,
        };
        sending.state = SendingState::InFlight;
        self.put(sending, now + ANSWER_TIME);
        Some(delivery)
    }

    /// Notes the answer to an attempt. One that comes after its time has no effect.
    pub(crate) fn answered(&mut self, attempt: &str, status: u16, now: DateTime<Utc>) {
        let id = attempt.split('.').next().unwrap_or(attempt);
        let is_open = |sending: &&Sending| {
            sending.state == SendingState::InFlight && sending.attempt_id() == attempt
        };
        if self.deliveries.get(id).filter(is_open).is_none() {
            return;
        }
        let Some(mut sending) = self.deliveries.remove(id) else {
            return;
        };
        if let Some(due) = sending.due.take() {
            self.queue.remove(&(due, sending.rank, sending.id.clone()));
        }
        if (200..300).contains(&status) {
            self.counts.delivered += 1;
            sending.state = SendingState::Delivered;
            sending.note(Some(status), now);
            self.deliveries.insert(sending.id.clone(), sending);
        } else {
            self.failed(sending, Some(status), now);
        }
    }

    fn failed(&mut self, mut sending: Sending, status: Option<u16>, now: DateTime<Utc>) {
        self.counts.failed += 1;
        sending.note(status, now);
        let last = BACK_OFF_S.len() - 1;
        let step = (sending.attempts.len() - 1).min(last);
        let due = now + TimeDelta::seconds(BACK_OFF_S[step]);
        if due - sending.first_due > GIVE_UP_AFTER {
            self.counts.given_up += 1;
            sending.state = SendingState::GivenUp;
            sending.due = None;
            self.deliveries.insert(sending.id.clone(), sending);
        } else {
            sending.state = SendingState::Waiting;
            self.put(sending, due);
        }
    }

    fn put(&mut self, mut sending: Sending, due: DateTime<Utc>) {
        sending.due = Some(due);
        self.queue.insert((due, sending.rank, sending.id.clone()));
        self.deliveries.insert(sending.id.clone(), sending);
    }
}

impl Sending {
    /// The delivery's id and the number of the attempt that is now in flight.
    fn attempt_id(&self) -> String {
        format!("{}.{}", self.id, self.attempts.len() + 1)
    }

    fn note(&mut self, status: Option<u16>, at: DateTime<Utc>) {
        self.attempts.push(Attempt { at, status });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Town, types};

    fn paid() -> Town {
        let town = Town::default();
        let id = town.session();
        town.pay(&id, "4242424242424242");
        town
    }

    #[test]
    fn a_delivery_that_fails_comes_again_ever_later_for_three_days() {
        let town = Town::default();
        let id = town.session();
        town.post(&format!("/v1/checkout/sessions/{id}/expire"), "");
        let start = town.now();
        let mut waits = Vec::new();
        while let Some(due) = town.sandbox.due_at() {
            let waited = (due - town.now()).num_seconds();
            town.wait(waited);
            waits.push(waited);
            assert_eq!(town.deliver(500).len(), 1);
        }
        assert_eq!(
            waits[..8],
            [0, 60, 300, 1_800, 7_200, 18_000, 36_000, 43_200]
        );
        assert!(
            (town.now() - start) > TimeDelta::days(2) && (town.now() - start) <= TimeDelta::days(3)
        );
        let counts = town.sandbox.webhook_counts();
        assert_eq!((counts.given_up, counts.delivered), (1, 0));
        assert_eq!(
            town.get("/_sandbox/deliveries").1["deliveries"][0]["state"],
            "given_up"
        );
    }

    #[test]
    fn an_answer_that_never_comes_is_a_failure_and_one_that_is_late_is_nothing() {
        let town = paid();
        let due = town.sandbox.take_due(town.now());
        assert_eq!((due.len(), town.sandbox.take_due(town.now()).len()), (3, 0));
        town.wait(30);
        assert_eq!(town.sandbox.take_due(town.now()).len(), 0);
        town.sandbox.delivered(&due[0].id, 200, town.now());
        town.wait(60);
        assert_eq!(town.deliver(200).len(), 3);
        assert_eq!(town.sandbox.due_at(), None);
    }

    fn paid_under(rules: &str) -> Town {
        let town = Town::default();
        town.rules(rules);
        let id = town.session();
        town.pay(&id, "4242424242424242");
        town
    }

    #[test]
    fn mischief_loses_delays_doubles_and_reorders() {
        let town = paid_under(r#"{"type":"checkout.session.completed","lose":2,"duplicates":1}"#);
        assert_eq!(
            types(&town.deliver(200)),
            ["payment_intent.succeeded", "charge.succeeded"]
        );
        town.wait(60);
        assert_eq!(town.deliver(200).len(), 0);
        town.wait(300);
        let events = town.deliver(200);
        assert_eq!(types(&events), ["checkout.session.completed"; 2]);
        assert_eq!(events[0]["id"], events[1]["id"]);

        let town = paid_under(r#"{"reorder":true,"delay_s":90}"#);
        assert_eq!(town.deliver(200).len(), 0);
        town.wait(90);
        let expected = [
            "checkout.session.completed",
            "charge.succeeded",
            "payment_intent.succeeded",
        ];
        assert_eq!(types(&town.deliver(200)), expected);
    }

    #[test]
    fn one_fact_may_come_as_two_events_and_an_event_may_be_sent_again() {
        let town = paid_under(r#"{"type":"checkout.session.completed","new_id":true}"#);
        let events = town.deliver(200);
        assert_eq!(types(&events)[2..], ["checkout.session.completed"; 2]);
        assert_ne!(events[2]["id"], events[3]["id"]);
        assert_eq!(events[2]["data"], events[3]["data"]);
        let id = crate::testing::text(&events[0]["id"]);
        assert_eq!(
            town.post(&format!("/_sandbox/events/{id}/resend"), "").0,
            200
        );
        assert_eq!(town.deliver(200), [events[0].clone()]);
    }
}
