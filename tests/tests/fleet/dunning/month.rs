//! A month in which anything may happen, in any order, doubled and with lost answers. The provider's
//! books say whether it ended well.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use fleet_tests::{Subscriber, Town};
use lambda_kit::Entropy;
use local_cloud::{Disorder, FaultKind, RandomFaults};
use serde_json::{Value, json};

use crate::dunning::support::{GOOD_CARD, MONDAY, OTHER_CARD};

const SUBSCRIBERS: usize = 4;
const HAPPENINGS: usize = 60;
/// What must have happened in these months, or they prove nothing.
const SEEN: [&str; 9] = [
    "charge_failed",
    "retry_attempted",
    "retry_failed",
    "retry_succeeded",
    "retry_unanswered",
    "retry_skipped",
    "invoice_ended",
    "access_paused",
    "card_updated",
];
/// Cards that pay, that are declined for want of funds, and that are lost.
const CARDS: [&str; 4] = [
    GOOD_CARD,
    OTHER_CARD,
    "4000000000009995",
    "4000000000009987",
];
const DECLINES: [&str; 5] = [
    "insufficient_funds",
    "do_not_honor",
    "lost_card",
    "processing_error",
    "authentication_required",
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

struct Month {
    town: Town,
    dice: Entropy,
    subscribers: Vec<Subscriber>,
    invoices: Vec<String>,
}

impl Month {
    async fn begin(seed: u64) -> Self {
        let town = Town::of_dunning(MONDAY);
        town.fleet.cloud.set_rates_at_most(TimeDelta::hours(3));
        let mut subscribers = Vec::new();
        for _ in 0..SUBSCRIBERS {
            subscribers.push(town.subscriber(GOOD_CARD).await);
        }
        let faults = RandomFaults {
            seed,
            per_mille: 60,
            kinds: FaultKind::ALL.map(|kind| (kind, 1)).to_vec(),
        };
        town.fleet.cloud.faults().set_random(Some(faults));
        town.fleet.cloud.set_disorder(Some(Disorder {
            seed,
            duplicates_per_mille: 150,
            shuffle: true,
            ..Disorder::default()
        }));
        let mischief = json!({"rules": [
            {"duplicates": 1, "reorder": true, "new_id": true},
        ]});
        town.control("webhooks", &mischief);
        Self {
            town,
            dice: Entropy::seeded(seed),
            subscribers,
            invoices: Vec::new(),
        }
    }

    fn roll(&self, sides: usize) -> usize {
        let mut bytes = [0; 4];
        self.dice.fill(&mut bytes);
        usize::try_from(u32::from_le_bytes(bytes)).unwrap() % sides
    }

    fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// A control that the provider may refuse: an invoice may have ended by now.
    fn may(&self, path: &str, body: &Value) {
        let _ = self.town.may_control(path, body);
    }

    fn something_happens(&mut self) {
        let who = self.one(&self.subscribers).clone();
        let which = self.roll(12);
        if which < 3 || self.invoices.is_empty() {
            let decline = self.one(&DECLINES);
            let times = self.roll(6);
            let how = json!({"decline": decline, "times": times});
            let invoice = self.town.fail_renewal_with(&who, &how);
            self.invoices.push(invoice);
            return;
        }
        let invoice = self.one(&self.invoices).clone();
        let of_invoice = |what: &str| format!("invoices/{invoice}/{what}");
        match which {
            3 | 4 => {
                let card = self.one(&CARDS);
                let wheres = ["customer", "subscription"][self.roll(2)];
                let path = format!("customers/{}/card", who.customer_id);
                self.may(&path, &json!({"card": card, "where": wheres}));
            }
            5 => self.may(&of_invoice("pay"), &json!({"card": self.one(&CARDS)})),
            6 => self.may(&of_invoice("provider-retry"), &json!({})),
            7 => self.may("next-pay", &json!({"outcome": self.one(&ODD_ANSWERS)})),
            8 => self.may(
                &of_invoice(["void", "uncollectible"][self.roll(2)]),
                &json!({}),
            ),
            9 => self.may(&of_invoice("paid-out-of-band"), &json!({})),
            10 => self.may(&of_invoice("credit"), &json!({"amount": 500})),
            _ => {
                let names: Vec<_> = self
                    .town
                    .schedules()
                    .into_iter()
                    .map(|it| it.name)
                    .collect();
                if !names.is_empty() {
                    let name = self.one(&names);
                    let cloud = &self.town.fleet.cloud;
                    let _ = match self.roll(3) {
                        0 => cloud.fire_schedule(name),
                        1 => cloud.drop_schedule(name),
                        _ => cloud.delay_schedule(name, TimeDelta::hours(5)),
                    };
                }
            }
        }
    }

    async fn goes_by(&mut self) {
        for _ in 0..HAPPENINGS {
            self.something_happens();
            let hours = i64::try_from(self.roll(24)).unwrap();
            self.town.advance(TimeDelta::hours(hours)).await;
        }
    }

    /// Nothing goes wrong any more, and all that is still under way comes to its end.
    async fn comes_to_rest(&self) {
        let cloud = &self.town.fleet.cloud;
        cloud.faults().clear();
        cloud.set_disorder(None);
        self.town.control("webhooks", &json!({"rules": []}));
        self.may("next-pay", &json!({"outcome": null}));
        self.town.advance(TimeDelta::days(16)).await;
    }

    fn assert_it_ended_well(&self, seed: u64) {
        for invoice in &self.invoices {
            let invoice = self.town.at_provider("invoices", invoice);
            let taken = invoice["successful_charges"].as_array().unwrap().len();
            assert!(taken <= 1, "seed {seed}: {invoice}");
        }
        for who in &self.subscribers {
            let subscription = self.town.at_provider("subscriptions", &who.subscription_id);
            assert_eq!(subscription["canceled_by"], Value::Null, "seed {seed}");
            let row = self.town.dunning(who);
            assert_eq!(
                row["attempt"],
                Value::Null,
                "seed {seed}: a charge is open: {row}"
            );
            for (id, debt) in row["invoices"].as_object().into_iter().flatten() {
                let at_provider = self.town.at_provider("invoices", id);
                let is_open = at_provider["status"] == "open";
                assert_eq!(
                    debt["end"].is_null(),
                    is_open,
                    "seed {seed}: {debt} {at_provider}"
                );
            }
            let debts = row["invoices"].as_object().into_iter().flatten();
            let is_open = debts.filter(|(_, debt)| debt["end"].is_null()).count() > 0;
            let expected = match is_open {
                false => ["active", "recovered", "paused"].as_slice(),
                true => ["retrying", "paused"].as_slice(),
            };
            if !row.is_null() {
                let status = row["status"].as_str().unwrap();
                assert!(expected.contains(&status), "seed {seed}: {row}");
            }
        }
    }
}

/// Returns what happened in it, by the log.
async fn a_month(seed: u64) -> BTreeSet<String> {
    let mut month = Month::begin(seed).await;
    month.goes_by().await;
    month.comes_to_rest().await;
    month.assert_it_ended_well(seed);
    let logs = month
        .subscribers
        .iter()
        .map(|who| month.town.dunning_log(who));
    logs.flatten().collect()
}

#[tokio::test]
async fn a_month_of_anything_never_takes_an_invoice_twice_and_never_ends_a_subscription() {
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        seen.extend(a_month(seed).await);
    }
    for event in SEEN {
        assert!(seen.contains(event), "{event} never happened: {seen:?}");
    }
}
