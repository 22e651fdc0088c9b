//! What queues, topics, streams and schedules bring: a kind on the first line, then JSON.

use chrono::DateTime;
use lambda_kit::{Failure, Function};
use paidonce_core::booking_step::{CashierJob, Handover, MessageJob};
use paidonce_core::dunning::SchedulerJob;
use paidonce_core::dunning::mail::MailJob;
use paidonce_core::outbox::{Envelope, from_stream};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::input::line_and_text;
use crate::personal::Personal;
use crate::world::World;

pub(crate) fn run(input: &[u8]) {
    let Some((kind, text)) = line_and_text(input) else {
        return;
    };
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    match kind {
        "message" => check::<MessageJob>(&value),
        "cashier" => check::<CashierJob>(&value),
        "handover" => check::<Handover>(&value),
        "scheduler" => check::<SchedulerJob>(&value),
        "mail" => check::<MailJob>(&value),
        "sms" => inbound_sms(value),
        "feedback" => feedback(value),
        "stream" => stream(value),
        _ => {}
    }
}

/// A payload that is read can be sent again and is then the same.
fn check<P: DeserializeOwned + Serialize>(value: &Value) {
    let envelope = |payload: &Value| {
        json!({"event_id": "e-1", "type": "t", "schema_version": 1, "aggregate": "a",
            "occurred_at": "2026-07-09T12:00:00Z", "payload": payload})
    };
    match Envelope::read::<P>(envelope(value)) {
        Ok((id, payload)) => {
            assert_eq!(id, "e-1");
            let written = serde_json::to_value(&payload).expect("a payload is JSON");
            let (_, again) = Envelope::read::<P>(envelope(&written)).expect("it can be read again");
            assert_eq!(serde_json::to_value(&again).ok(), Some(written));
        }
        Err(error) => Personal::of_value(value).is_not_in(&error.to_string()),
    }
}

/// An outbox row as the stream brings it is one message, with everything that the row says.
fn stream(value: Value) {
    let sent = from_stream(&value).and_then(|row| Ok((row.envelope()?, row)));
    if let Ok((envelope, row)) = sent {
        assert_eq!(envelope.event_id, row.event_id);
        let body = serde_json::to_value(&envelope).expect("an event is JSON");
        let read = Envelope::read::<Value>(body).expect("a consumer reads what is sent");
        assert_eq!(read.1, envelope.payload);
    }
    thread_local!(static WORLD: World<relay::Relay> = World::of(false));
    let record = json!({"dynamodb": {"SequenceNumber": "s-1", "NewImage": value}});
    let event = json!({"Records": [record.clone(), record]});
    WORLD.with(|world| {
        let (answer, _) = world.handle(event);
        // The queue of this world takes nothing, so each record comes back by its name.
        let failed = answer.expect("one bad record stops none behind it");
        assert_eq!(
            failed["batchItemFailures"].as_array().map(Vec::len),
            Some(2)
        );
    });
}

fn inbound_sms(value: Value) {
    thread_local!(static WORLD: World<bdc_optout::Optout> = World::of(false));
    WORLD.with(|world| notified(world, value));
}

fn feedback(value: Value) {
    thread_local!(static WORLD: World<dunr_feedback::Feedback> = World::of(false));
    WORLD.with(|world| notified(world, value));
}

/// The value is what the notification says: as the text of one, and as the whole event.
fn notified<F: Function>(world: &World<F>, value: Value) {
    let at = DateTime::from_timestamp(1_783_599_990, 0).unwrap_or_default();
    let record =
        json!({"Sns": {"MessageId": "m-1", "Message": value.to_string(), "Timestamp": at}});
    let personal = Personal::of_value(&value);
    for event in [json!({"Records": [record]}), value] {
        let (answer, _) = world.handle(event);
        if let Err(failure) = answer {
            let failure: &Failure = &failure;
            personal.is_not_in(&lambda_kit::chain(&**failure));
        }
    }
}
