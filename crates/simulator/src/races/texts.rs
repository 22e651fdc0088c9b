//! Races of an order on its way from the outbox to one text.

use paidonce_core::outbox::OutboxRow;
use serde_json::{Map, Value, json};

use super::booking::{book, later, sweep, told_once};
use super::errand::Errand;
use super::orders::Side;
use super::{Contest, Race, Raced};
use crate::action::{Action, System};
use crate::promises::{Broken, require};
use crate::world::{World, phone_e164, text};

pub(super) static RACES: &[Race] = &[
    Race {
        name: "the outbox's stream and its sweep",
        system: System::Booking,
        prepare: |world| Box::pin(relayed_twice(world)),
        promise: |world, _| told_once(world, "deposit_request"),
    },
    Race {
        name: "one order of a text twice",
        system: System::Booking,
        prepare: |world| Box::pin(composed_twice(world)),
        promise: told_unless_it_died,
    },
    Race {
        name: "a text and the customer's STOP",
        system: System::Booking,
        prepare: |world| Box::pin(stopped_while_composed(world)),
        promise: no_text_is_begun_after_stop,
    },
];

/// The newest order in an outbox that is for a queue and has not left yet, as its consumer gets it.
pub(super) fn order(world: &World, queue: &'static str) -> Option<Errand> {
    let (outbox, function) = match queue {
        "bdc-cashier" => ("bdc-outbox", "bdc-cashier"),
        "bdc-jobs" => ("bdc-outbox", "bdc-composer"),
        _ => ("dunr-outbox", "dunr-scheduler"),
    };
    let mut rows = world.rows(outbox).into_iter();
    let wanted = rows.rfind(|row| {
        text(row, "status") == "PENDING" && text(row, "target").ends_with(&format!("/{queue}"))
    });
    let row: OutboxRow = serde_json::from_value(wanted?).ok()?;
    let body = serde_json::to_string(&row.envelope().ok()?).ok()?;
    let record = json!({"messageId": "message-1", "receiptHandle": "handle-1", "body": body,
        "attributes": {"ApproximateReceiveCount": "1"}, "messageAttributes": {},
        "eventSource": "aws:sqs", "eventSourceARN": format!("arn:aws:sqs:eu-west-2:000000000000:{queue}"),
        "awsRegion": "eu-west-2"});
    Some(Errand::Invoke(function, json!({ "Records": [record] })))
}

/// What the outbox's stream tells of the newest row that has not left yet.
fn stream_record(world: &World) -> Option<Value> {
    let mut rows = world.rows("bdc-outbox").into_iter();
    let row = rows.rfind(|row| text(row, "status") == "PENDING")?;
    let typed = |value: &Value| match value {
        Value::Number(number) => json!({ "N": number.to_string() }),
        Value::String(text) => json!({ "S": text }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            json!({ "NULL": true })
        }
    };
    let fields = row.as_object()?.iter();
    let image: Map<String, Value> = fields
        .map(|(name, value)| (name.clone(), typed(value)))
        .collect();
    let change = json!({ "SequenceNumber": "1", "NewImage": image });
    Some(json!({ "Records": [{ "dynamodb": change }] }))
}

/// A row of the outbox that the stream has for longer than the sweep waits.
async fn relayed_twice(world: &mut World) -> Option<Contest> {
    let cloud = world.fleet.cloud.clone();
    // Every event has a quotation mark.
    cloud.break_function("bdc-relay", "\"");
    book(world, 1, 0, 1).await?;
    later(world, 2).await;
    cloud.heal_function("bdc-relay");
    Some(Contest {
        first: vec![Errand::Invoke("bdc-relay", stream_record(world)?)],
        second: vec![sweep("bdc-relay")],
    })
}

async fn take_booking(world: &mut World) {
    let wish = Action::Book {
        customer: 1,
        place: 0,
        when: 1,
        party: 2,
        keyed: false,
    };
    world.carry_out(wish).await;
}

async fn composed_twice(world: &mut World) -> Option<Contest> {
    take_booking(world).await;
    let order = order(world, "bdc-jobs")?;
    Some(Contest {
        first: vec![order.clone()],
        second: vec![order],
    })
}

/// The second text to a customer, who says STOP to the first.
async fn stopped_while_composed(world: &mut World) -> Option<Contest> {
    book(world, 1, 0, 1).await?;
    world
        .carry_out(Action::Cancel {
            nth: 0,
            by_business: true,
        })
        .await;
    let sms = json!({"originationNumber": phone_e164(1), "messageBody": "STOP"}).to_string();
    let notification = json!({"MessageId": "inbound-1", "Message": sms, "Timestamp": world.now()});
    let event = json!({ "Records": [{ "Sns": notification }] });
    Some(Contest {
        first: vec![order(world, "bdc-jobs")?],
        second: vec![Errand::Invoke("bdc-optout", event)],
    })
}

/// A text whose sender died may be with the customer or not: then a person decides.
fn told_unless_it_died(world: &World, raced: &Raced) -> Result<(), Broken> {
    match raced.has_died {
        true => super::booking::no_more_than(world, "deposit_request", 1),
        false => told_once(world, "deposit_request"),
    }
}

/// Whoever said STOP before a text was claimed does not get it. One that was claimed before is on its
/// way.
fn no_text_is_begun_after_stop(world: &World, raced: &Raced) -> Result<(), Broken> {
    let written = |side: Side| {
        let is_write = move |(who, call): &(Side, local_cloud::Call)| {
            *who == side && call.operation == "TransactWriteItems" && call.outcome == "ok"
        };
        raced.calls.iter().position(is_write)
    };
    let (claimed, stopped) = (written(Side::First), written(Side::Second));
    let sent = super::booking::texts(world, "cancelled");
    let is_late = stopped.is_some_and(|stopped| claimed.is_none_or(|claimed| stopped < claimed));
    require(
        sent == 0 || raced.has_died || !is_late,
        "nothing after STOP",
        || "a text was claimed after STOP, and sent".to_owned(),
    )
}
