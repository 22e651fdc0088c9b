//! Subscribers, their banks, the merchant's dashboard and the app around dunning.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an action belongs to one part of the world: the others pass it on"
)]

use std::collections::BTreeSet;

use chrono::TimeDelta;
use local_cloud::MailFate;
use serde_json::{Value, json};

use super::{Answer, World, members, nth_of, text};
use crate::action::Action;

/// How long the longest course takes: its business days and banks' holidays, the looks after a charge
/// that nobody answered, and some days more.
pub(super) fn rest(is_quick: bool) -> TimeDelta {
    TimeDelta::days(if is_quick { 6 } else { 21 })
}

const NAMES: [&str; 2] = ["Perpetua Featherstone", "Cornelius Bramble"];
const DECLINES: [&str; 5] = [
    "insufficient_funds",
    "do_not_honor",
    "lost_card",
    "processing_error",
    "authentication_required",
];
/// Cards that pay, that are declined for want of funds, and that are lost.
const CARDS: [&str; 4] = [
    "4242424242424242",
    "5555555555554444",
    "4000000000009995",
    "4000000000009987",
];
/// How a call to pay may end, beside yes and no.
const ODD_ANSWERS: [&str; 6] = [
    "500",
    "500_after_paying",
    "answer_lost",
    "lock_timeout",
    "rate_limit",
    "paid_by_customer",
];

/// Somebody whose first period is paid.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) customer_id: String,
    pub(crate) subscription_id: String,
}

impl World {
    pub(super) async fn subscribe_everybody(&mut self, count: usize, shared: bool) {
        for number in 0..count {
            let mut wish = json!({
                "name": NAMES[number % NAMES.len()],
                "email": format!("subscriber.{number}@mail.example"),
                "amount": 2_000,
                "card": CARDS[0],
            });
            // One customer may have two subscriptions.
            if let Some(first) = self.subscribers.first().filter(|_| shared) {
                wish = json!({"customer": first.customer_id, "amount": 1_500, "card": CARDS[0]});
            }
            let made = self.at_provider("/_sandbox/subscriptions", &wish).body;
            self.subscribers.push(Subscriber {
                customer_id: text(&made, "customer").to_owned(),
                subscription_id: text(&made, "subscription").to_owned(),
            });
        }
        self.fleet.cloud.settle().await;
    }

    pub(super) async fn act_in_dunning(&mut self, action: Action) -> String {
        match action {
            Action::FailRenewal {
                nth,
                decline,
                times,
            } => self.fail_renewal(nth, decline, times),
            Action::SaveCard {
                nth,
                card,
                on_subscription,
            } => {
                let place = if on_subscription {
                    "subscription"
                } else {
                    "customer"
                };
                let body = json!({"card": nth_of(&CARDS, card), "where": place});
                let now = self.now();
                let who = nth_of(&self.subscribers, nth).map(|who| who.customer_id.clone());
                let pays = card % 4 < 2;
                match who.filter(|_| pays) {
                    Some(who) => self.deeds.good_cards.insert(who, now),
                    None => nth_of(&self.subscribers, nth)
                        .and_then(|who| self.deeds.good_cards.remove(&who.customer_id)),
                };
                self.of_subscriber(nth, |who| {
                    self.control(&format!("customers/{}/card", who.customer_id), &body)
                })
            }
            Action::LeaveCustomer { nth } => {
                let now = self.now();
                if let Some(who) = nth_of(&self.subscribers, nth) {
                    self.deeds
                        .left
                        .entry(who.subscription_id.clone())
                        .or_insert(now);
                }
                self.of_subscriber(nth, |who| {
                    let path = format!("subscriptions/{}/cancel", who.subscription_id);
                    self.control(&path, &json!({}))
                })
            }
            Action::NextPay { how } => {
                self.deeds.is_pay_upset = true;
                let outcome = nth_of(&ODD_ANSWERS, how).copied();
                self.deeds.is_paid_beside |= outcome == Some("paid_by_customer");
                self.control("next-pay", &json!({ "outcome": outcome }))
            }
            Action::OpenCardLink { nth, press } => self.open_card_link(nth, press).await,
            Action::OrderAccess { nth, order } => self.order_access(nth, order).await,
            Action::MailFate { nth, complaint } => self.decide_mail(nth, complaint),
            Action::Schedule { nth, how } => self.upset_schedule(nth, how),
            _ => {
                if let Action::EndInvoice { nth, .. } = action {
                    let ended = nth_of(&self.invoices, nth).cloned();
                    self.deeds.ended.extend(ended);
                }
                let before = self.charges();
                let outcome = self.act_on_invoice(action);
                self.deeds
                    .charged_by_others
                    .extend(&self.charges() - &before);
                outcome
            }
        }
    }

    fn of_subscriber(&self, nth: u32, act: impl FnOnce(&Subscriber) -> String) -> String {
        nth_of(&self.subscribers, nth).map_or_else(|| "nobody".to_owned(), act)
    }

    fn fail_renewal(&mut self, nth: u32, decline: u32, times: u32) -> String {
        let Some(who) = nth_of(&self.subscribers, nth).cloned() else {
            return "nobody".to_owned();
        };
        let how = json!({"decline": nth_of(&DECLINES, decline), "times": times});
        let path = format!("subscriptions/{}/fail-renewal", who.subscription_id);
        let before = self.charges();
        let status = self.control(&path, &how);
        self.deeds
            .charged_by_others
            .extend(&self.charges() - &before);
        let invoice = self.latest_invoice(&who);
        if let Some(id) = invoice.clone().filter(|id| !self.invoices.contains(id)) {
            self.invoices.push(id);
        }
        let now = self.now();
        self.deeds
            .failed_at
            .entry(who.subscription_id)
            .or_insert(now);
        format!("{status} {}", invoice.unwrap_or_default())
    }

    fn charges(&self) -> BTreeSet<String> {
        let ledger = self.fleet.sandbox.ledger();
        let all = members(&ledger["charges"]);
        all.map(|it| text(it, "id").to_owned()).collect()
    }

    fn latest_invoice(&self, who: &Subscriber) -> Option<String> {
        let ledger = self.fleet.sandbox.ledger();
        let all = ledger["subscriptions"].as_array()?;
        let own = all
            .iter()
            .find(|it| it["id"] == who.subscription_id.as_str())?;
        let invoice = &own["latest_invoice"];
        let id = invoice.as_str().or_else(|| invoice["id"].as_str());
        id.map(str::to_owned)
    }

    fn act_on_invoice(&self, action: Action) -> String {
        let (nth, what, body) = match action {
            Action::PayInvoice { nth, card } => (nth, "pay", json!({"card": nth_of(&CARDS, card)})),
            Action::ProviderRetry { nth } => (nth, "provider-retry", json!({})),
            Action::EndInvoice { nth, how } => {
                let ends = ["void", "uncollectible", "paid-out-of-band", "credit"];
                let what = nth_of(&ends, how).copied().unwrap_or_default();
                (nth, what, json!({"amount": 500}))
            }
            _ => return "not in dunning".to_owned(),
        };
        let body = if what == "credit" || what == "pay" {
            body
        } else {
            json!({})
        };
        match nth_of(&self.invoices, nth) {
            Some(id) => self.control(&format!("invoices/{id}/{what}"), &body),
            None => "no invoice has failed yet".to_owned(),
        }
    }

    async fn open_card_link(&self, nth: u32, press: bool) -> String {
        let mails = self.fleet.cloud.messages();
        let links: Vec<&str> = mails
            .iter()
            .filter_map(|mail| card_link(&mail.text))
            .collect();
        let base = self.fleet.url("dunr-portal");
        let Some(path) = nth_of(&links, nth).and_then(|link| link.strip_prefix(&base)) else {
            return "no mail has a link yet".to_owned();
        };
        let method = if press { "POST" } else { "GET" };
        let path = format!("/{path}");
        let answer = self
            .ask("dunr-portal", (method, &path), &[], &Value::Null)
            .await;
        answer.status.to_string()
    }

    async fn order_access(&mut self, nth: u32, order: u32) -> String {
        let Some(who) = nth_of(&self.subscribers, nth).cloned() else {
            return "nobody".to_owned();
        };
        let order = ["pause", "restore", "release"][usize::try_from(order).unwrap_or(0) % 3];
        let token = self.fleet.gate_tokens().operator;
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
        ];
        let path = format!("/subscriptions/{}/{order}", who.subscription_id);
        let answer = self
            .ask("dunr-gatekeeper", ("POST", &path), &headers, &json!({}))
            .await;
        if answer.status != 404 {
            self.deeds.decided_by_operators.push(who.subscription_id);
        }
        format!("{order}: {}", answer.status)
    }

    /// Asks the gatekeeper, as the app.
    pub(crate) async fn gate(&self, subscription: &str) -> Answer {
        let token = self.fleet.gate_tokens().app;
        let headers = [("authorization", format!("Bearer {token}"))];
        let path = format!("/subscriptions/{subscription}");
        self.ask("dunr-gatekeeper", ("GET", &path), &headers, &Value::Null)
            .await
    }

    fn decide_mail(&self, nth: u32, complaint: bool) -> String {
        let mails = self.fleet.cloud.messages();
        let fate = match complaint {
            true => MailFate::Complained,
            false => MailFate::BouncedForGood,
        };
        match nth_of(&mails, nth) {
            Some(mail) => format!("{} told", self.fleet.cloud.decide_mail(&mail.id, fate)),
            None => "no mail yet".to_owned(),
        }
    }

    fn upset_schedule(&self, nth: u32, how: u32) -> String {
        let cloud = &self.fleet.cloud;
        let mut names = cloud.schedules();
        names.retain(|it| !it.of_template);
        let Some(schedule) = nth_of(&names, nth) else {
            return "no schedule".to_owned();
        };
        let name = &schedule.name;
        let done = match how % 3 {
            0 => ("fired", cloud.fire_schedule(name)),
            1 => ("lost", cloud.drop_schedule(name)),
            _ => ("late", cloud.delay_schedule(name, TimeDelta::hours(5))),
        };
        format!("{name} {} {}", done.0, done.1)
    }
}

/// The link to the page of another card.
pub(crate) fn card_link(mail: &str) -> Option<&str> {
    let mut words = mail.split_whitespace();
    let link = words.find(|word| word.contains("/url/dunr-portal/card/"))?;
    Some(link.trim_end_matches(['.', ',', ')', '>', ']']))
}
