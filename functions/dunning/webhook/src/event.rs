//! What an event of the provider means for a subscription.

use chrono::{DateTime, Utc};
use lambda_kit::Problem;
use paidonce_core::dunning::InvoiceReport;
use provider_events::{Door, Event, NotForUs, id_of, is_id};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::invoice;

/// An event of which only the envelope was read: its type says what its object is.
pub type Received = Event<IgnoredAny>;

/// What an event is to us.
pub enum Meaning {
    /// A type that we don't handle, or one that tells nothing that matters here.
    OtherType,
    /// About an invoice of no subscription.
    OtherProduct,
    /// The customer has one more card. Which one is to be charged is told by another event, once the
    /// customer says so: a card may be there for something else.
    CardNotChosen,
    /// Of another mode or another account.
    NotForUs(NotForUs),
    Subscription(Box<Report>),
    Customer(CardReport),
}

/// A fact about one subscription.
pub struct Report {
    pub subscription_id: String,
    pub customer_id: String,
    pub fact: Fact,
}

#[derive(Clone)]
pub enum Fact {
    Failed(InvoiceReport),
    ActionRequired(InvoiceReport),
    /// An open invoice was changed.
    Updated(InvoiceReport),
    Ended {
        invoice_id: String,
        end: InvoiceEnd,
    },
    /// The subscription is charged to another payment method from now on.
    Card {
        payment_method: String,
        renewed: bool,
    },
    Cancelled,
}

/// How an invoice ended, as far as the event says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvoiceEnd {
    Paid { at: DateTime<Utc> },
    OutOfBand,
    Voided,
    Uncollectible,
    Covered,
}

/// The same about each subscription of a customer.
pub struct CardReport {
    pub customer_id: String,
    pub payment_method: String,
    /// It is the same payment method, with a new number or date.
    pub renewed: bool,
}

#[derive(Deserialize)]
struct Subscription {
    id: String,
    customer: Value,
    status: Option<String>,
    default_payment_method: Option<Value>,
}

#[derive(Deserialize)]
struct Customer {
    id: String,
    invoice_settings: Option<InvoiceSettings>,
}

#[derive(Deserialize)]
struct InvoiceSettings {
    default_payment_method: Option<Value>,
}

#[derive(Deserialize)]
struct PaymentMethod {
    id: String,
    customer: Option<Value>,
}

type Reading = fn(&[u8]) -> Result<Meaning, Problem>;

/// The types of events that an endpoint of ours is registered for, each with its reading.
const READINGS: [(&str, Reading); 14] = [
    ("invoice.payment_failed", invoice::meaning),
    ("invoice.payment_action_required", invoice::meaning),
    ("invoice.paid", invoice::meaning),
    ("invoice.payment_succeeded", invoice::meaning),
    ("invoice.voided", invoice::meaning),
    ("invoice.marked_uncollectible", invoice::meaning),
    ("invoice.updated", invoice::meaning),
    ("customer.subscription.deleted", subscription),
    ("customer.subscription.updated", subscription),
    ("customer.updated", customer),
    ("payment_method.automatically_updated", payment_method),
    ("payment_method.updated", payment_method),
    ("payment_method.attached", card_not_chosen),
    ("setup_intent.succeeded", card_not_chosen),
];

/// The types of events to register this function's endpoint for.
pub fn types() -> impl Iterator<Item = &'static str> {
    READINGS.iter().map(|(kind, _)| *kind)
}

/// Says what an event is. `body` is what its envelope was read from: the object is read from it once
/// more, by its own shape.
///
/// # Errors
/// A 400 for an object that is not what its type says: it never can be read.
pub fn meaning(event: &Received, body: &[u8], door: &Door) -> Result<Meaning, Problem> {
    let known = READINGS.iter().find(|(kind, _)| *kind == event.kind);
    let Some((_, read)) = known else {
        return Ok(Meaning::OtherType);
    };
    match door.not_for_us(event) {
        Some(why) => Ok(Meaning::NotForUs(why)),
        None => read(body),
    }
}

fn card_not_chosen(_: &[u8]) -> Result<Meaning, Problem> {
    Ok(Meaning::CardNotChosen)
}

fn subscription(body: &[u8]) -> Result<Meaning, Problem> {
    let event: Event<Subscription, Value> = read(body)?;
    let is_deleted = event.kind == "customer.subscription.deleted";
    let moved = changed(&event, &["default_payment_method"]);
    let object = event.data.object;
    let has_ended = matches!(
        object.status.as_deref(),
        Some("canceled" | "incomplete_expired")
    );
    let chosen = object.default_payment_method.as_ref().and_then(id_of);
    let fact = match chosen.filter(|_| moved) {
        _ if is_deleted || has_ended => Fact::Cancelled,
        Some(payment_method) => Fact::Card {
            payment_method: id(payment_method)?,
            renewed: false,
        },
        None => return Ok(Meaning::OtherType),
    };
    Ok(Meaning::Subscription(Box::new(Report {
        subscription_id: id(&object.id)?,
        customer_id: named(Some(&object.customer))?,
        fact,
    })))
}

fn customer(body: &[u8]) -> Result<Meaning, Problem> {
    let event: Event<Customer, Value> = read(body)?;
    let moved = changed(&event, &["invoice_settings", "default_payment_method"]);
    let object = event.data.object;
    let settings = object.invoice_settings;
    let chosen = settings.and_then(|settings| settings.default_payment_method);
    match chosen.as_ref().and_then(id_of).filter(|_| moved) {
        Some(payment_method) => Ok(Meaning::Customer(CardReport {
            customer_id: id(&object.id)?,
            payment_method: id(payment_method)?,
            renewed: false,
        })),
        None => Ok(Meaning::OtherType),
    }
}

fn payment_method(body: &[u8]) -> Result<Meaning, Problem> {
    let event: Event<PaymentMethod, Value> = read(body)?;
    // An address or a note may have changed as well, and the bank's answer will be the same.
    let renewed =
        event.kind == "payment_method.automatically_updated" || changed(&event, &["card"]);
    let object = event.data.object;
    match object.customer.as_ref().and_then(id_of).filter(|_| renewed) {
        Some(customer_id) => Ok(Meaning::Customer(CardReport {
            customer_id: id(customer_id)?,
            payment_method: id(&object.id)?,
            renewed: true,
        })),
        None => Ok(Meaning::OtherType),
    }
}

/// Whether the event tells of a change of this field. Its old value may have been nothing.
fn changed<T>(event: &Event<T, Value>, path: &[&str]) -> bool {
    let before = event.data.previous_attributes.as_ref();
    before.is_some_and(|before| {
        let mut path = path.iter();
        path.try_fold(before, |value, name| value.get(*name))
            .is_some()
    })
}

/// Reads an event's object by the shape of its type.
pub(crate) fn read<T: DeserializeOwned, P: DeserializeOwned>(
    body: &[u8],
) -> Result<Event<T, P>, Problem> {
    Event::read(body).map_err(|_| unreadable())
}

/// The id of an object that is named or expanded, and must be there.
pub(crate) fn named(value: Option<&Value>) -> Result<String, Problem> {
    id(value.and_then(id_of).unwrap_or_default())
}

/// An id that may be a key.
pub(crate) fn id(text: &str) -> Result<String, Problem> {
    match is_id(text) {
        true => Ok(text.to_owned()),
        false => Err(unreadable()),
    }
}

pub(crate) fn unreadable() -> Problem {
    let detail = "The event's object is not one that we can read.";
    Problem::new(400, "unreadable_event", detail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use paidonce_core::dunning::events::HANDLED;

    use super::*;

    #[test]
    fn the_endpoint_is_registered_for_what_is_read_and_for_nothing_else() {
        assert_eq!(types().collect::<BTreeSet<_>>(), HANDLED.into());
    }
}
