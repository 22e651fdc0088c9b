//! Races for one failed invoice.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::errand::Errand;
use super::texts::order;
use super::{Contest, Race, Raced};
use crate::action::{Action, System};
use crate::promises::{Broken, require};
use crate::world::{Subscriber, World, card_link, members, request};

pub(super) static RACES: &[Race] = &[
    Race {
        name: "a charge and the customer's own payment",
        system: System::Dunning,
        prepare: |world| Box::pin(charged_while_paid(world)),
        promise: |world, _| taken_once(world),
    },
    Race {
        name: "a charge and the event that the customer has paid",
        system: System::Dunning,
        prepare: |world| Box::pin(charged_after_paid(world)),
        promise: |world, _| taken_once(world),
    },
    Race {
        name: "a schedule that fires twice",
        system: System::Dunning,
        prepare: |world| Box::pin(fired_twice(world)),
        promise: charged_once,
    },
    Race {
        name: "a charge and the event of a new card",
        system: System::Dunning,
        prepare: |world| Box::pin(charged_while_card_is_new(world)),
        promise: asked_once,
    },
    Race {
        name: "one order to plan twice",
        system: System::Dunning,
        prepare: |world| Box::pin(planned_twice(world)),
        promise: one_plan,
    },
    Race {
        name: "one failure that is reported twice",
        system: System::Dunning,
        prepare: |world| Box::pin(failed_twice(world)),
        promise: one_plan,
    },
    Race {
        name: "an operator's word and the event of a payment",
        system: System::Dunning,
        prepare: |world| Box::pin(ordered_while_paid(world)),
        promise: |world, _| both_are_heard(world),
    },
    Race {
        name: "the page of another card and the event of a payment",
        system: System::Dunning,
        prepare: |world| Box::pin(page_while_paid(world)),
        promise: |world, _| taken_once(world),
    },
];

const PAID: &str = "invoice.paid";
const FAILED: &str = "invoice.payment_failed";
const GOOD_CARD: &str = "4242424242424242";
const RETRIER: &str = "dunr-retrier";
/// So early a schedule may fire by hand.
const JUST_BEFORE: TimeDelta = TimeDelta::seconds(30);

/// A renewal fails once: the next charge works. Nobody has heard of it yet.
async fn fail(world: &mut World) {
    let failure = Action::FailRenewal {
        nth: 0,
        decline: 0,
        times: 0,
    };
    world.carry_out(failure).await;
}

fn row(world: &World) -> Option<Value> {
    world.rows("dunr-dunning").into_iter().next()
}

/// Just before the first charge of a failed invoice; returns what its schedule says.
async fn before_the_charge(world: &mut World) -> Option<Errand> {
    fail(world).await;
    world.fleet.cloud.advance(TimeDelta::minutes(5)).await;
    let row = row(world)?;
    let plan = &row["plan"];
    (plan["purpose"] == "charge").then_some(())?;
    let at = plan["at"].as_str()?.parse::<DateTime<Utc>>().ok()?;
    world.wait(at - JUST_BEFORE - world.now()).await;
    let job = json!({"subscription_id": row["subscription_id"], "n": plan["n"]});
    Some(Errand::Invoke(RETRIER, job))
}

fn pay(world: &World) -> Option<Errand> {
    let path = format!("invoices/{}/pay", world.invoices.first()?);
    Some(Errand::AtProvider(path, json!({ "card": GOOD_CARD })))
}

fn paid_already(world: &World) -> Option<()> {
    let path = format!("invoices/{}/pay", world.invoices.first()?);
    (world.control(&path, &json!({ "card": GOOD_CARD })) == "200").then_some(())
}

async fn charged_while_paid(world: &mut World) -> Option<Contest> {
    let fired = before_the_charge(world).await?;
    Some(Contest {
        first: vec![fired],
        second: vec![pay(world)?, Errand::Hear(PAID)],
    })
}

async fn charged_after_paid(world: &mut World) -> Option<Contest> {
    let fired = before_the_charge(world).await?;
    paid_already(world)?;
    Some(Contest {
        first: vec![fired],
        second: vec![Errand::Hear(PAID)],
    })
}

async fn fired_twice(world: &mut World) -> Option<Contest> {
    let fired = before_the_charge(world).await?;
    Some(Contest {
        first: vec![fired.clone()],
        second: vec![fired],
    })
}

fn subscriber(world: &World) -> Option<&Subscriber> {
    world.subscribers.first()
}

async fn charged_while_card_is_new(world: &mut World) -> Option<Contest> {
    let fired = before_the_charge(world).await?;
    let path = format!("customers/{}/card", subscriber(world)?.customer_id);
    let card = json!({"card": "5555555555554444", "where": "customer"});
    Some(Contest {
        first: vec![fired],
        second: vec![
            Errand::AtProvider(path, card),
            Errand::Hear("customer.updated"),
        ],
    })
}

async fn planned_twice(world: &mut World) -> Option<Contest> {
    fail(world).await;
    let mut deliveries = world.fleet.sandbox.take_due(world.now());
    deliveries.retain(|it| String::from_utf8_lossy(it.request.body()).contains(FAILED));
    for delivery in deliveries {
        let answer = world
            .fleet
            .cloud
            .call_url(&delivery.function, delivery.request)
            .await;
        world
            .fleet
            .sandbox
            .delivered(&delivery.id, answer.status().as_u16(), world.now());
    }
    let order = order(world, "dunr-events")?;
    Some(Contest {
        first: vec![order.clone()],
        second: vec![order],
    })
}

async fn failed_twice(world: &mut World) -> Option<Contest> {
    fail(world).await;
    Some(Contest {
        first: vec![Errand::Hear(FAILED)],
        second: vec![Errand::Hear(FAILED)],
    })
}

async fn ordered_while_paid(world: &mut World) -> Option<Contest> {
    fail(world).await;
    world.fleet.cloud.advance(TimeDelta::minutes(5)).await;
    paid_already(world)?;
    let id = subscriber(world)?.subscription_id.clone();
    world.deeds.decided_by_operators.push(id.clone());
    let headers = [
        (
            "authorization",
            format!("Bearer {}", world.fleet.gate_tokens().operator),
        ),
        ("content-type", "application/json".to_owned()),
    ];
    let path = format!("/subscriptions/{id}/pause");
    Some(Contest {
        first: vec![Errand::Ask(
            "dunr-gatekeeper",
            Box::new(request(("POST", &path), &headers, &json!({}))),
        )],
        second: vec![Errand::Hear(PAID)],
    })
}

async fn page_while_paid(world: &mut World) -> Option<Contest> {
    let lost = Action::FailRenewal {
        nth: 0,
        decline: 2,
        times: 0,
    };
    world.carry_out(lost).await;
    world.wait(TimeDelta::days(1)).await;
    let mails = world.fleet.cloud.messages();
    let link = mails.iter().find_map(|mail| card_link(&mail.text))?;
    let path = format!("/{}", link.strip_prefix(&world.fleet.url("dunr-portal"))?);
    paid_already(world)?;
    Some(Contest {
        first: vec![Errand::Ask(
            "dunr-portal",
            Box::new(request(("POST", &path), &[], &Value::Null)),
        )],
        second: vec![Errand::Hear(PAID)],
    })
}

/// The invoice is paid, once, by whomever, and its customer hears of it once.
fn taken_once(world: &World) -> Result<(), Broken> {
    const PROMISE: &str = "an invoice is taken once";
    let ledger = world.fleet.sandbox.ledger();
    let id = world
        .invoices
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let mut invoices = members(&ledger["invoices"]);
    let taken = invoices
        .find(|it| it["id"] == id)
        .map(|it| members(&it["successful_charges"]).count());
    require(taken == Some(1), PROMISE, || format!("{id}: {taken:?}"))?;
    let messages = world.fleet.cloud.messages();
    let receipts = messages.iter().filter(|it| it.kind == "receipt").count();
    require(receipts <= 1, PROMISE, || format!("{receipts} receipts"))?;
    let row = row(world).unwrap_or_default();
    let has_ended = !row["invoices"][id]["end"].is_null();
    require(
        has_ended && row["plan"].is_null(),
        "a debt that is paid is over",
        || row.to_string(),
    )
}

/// Two runs never ask for money for one claim beside each other.
fn charged_once(world: &World, raced: &Raced) -> Result<(), Broken> {
    taken_once(world)?;
    asked_once(world, raced)
}

/// A charge that a new card has put off comes later.
fn asked_once(_: &World, raced: &Raced) -> Result<(), Broken> {
    let is_charge = |operation: &str| operation.starts_with("POST ") && operation.ends_with("/pay");
    let asked = raced
        .calls
        .iter()
        .filter(|(_, call)| is_charge(&call.operation))
        .count();
    require(asked <= 1, "a claim charges once", || {
        format!("it was asked for {asked} times")
    })
}

fn one_plan(world: &World, raced: &Raced) -> Result<(), Broken> {
    const PROMISE: &str = "one plan at a time";
    let row = row(world).unwrap_or_default();
    let n = row["plan"]["n"].as_u64().unwrap_or_default();
    // Where it came again after two minutes, the first plan was carried out and the next one made.
    let is_right = n == if raced.has_died { 2 } else { 1 };
    require(is_right, PROMISE, || row.to_string())?;
    let schedules = world.fleet.cloud.schedules();
    let made: Vec<String> = schedules
        .into_iter()
        .filter(|it| !it.of_template)
        .map(|it| it.name)
        .collect();
    let is_one = made.len() == 1 && made.iter().all(|name| name.ends_with(&format!("-{n}")));
    require(is_one, PROMISE, || format!("{made:?}"))
}

fn both_are_heard(world: &World) -> Result<(), Broken> {
    taken_once(world)?;
    let row = row(world).unwrap_or_default();
    require(
        row["access_by"] == "operator",
        "an operator's word stays",
        || row.to_string(),
    )
}
