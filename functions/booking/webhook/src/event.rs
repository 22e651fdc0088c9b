//! The provider's event, as far as we read it, and what it orders.

use lambda_kit::Problem;
use paidonce_core::booking::{Command, Payment};
use paidonce_core::money::Money;
use paidonce_core::payment::Outcome;
use paidonce_core::planted::{self, Defect};
use provider_events::{Door, NotForUs, id_of, is_id};
use serde::Deserialize;
use serde_json::Value;

use crate::report::Report;

/// Our booking ids: `bkg_` and a ULID.
const BOOKING_ID_BYTES: usize = 30;

/// An event whose object is read as a session.
pub type Event = provider_events::Event<Session>;

/// The object as far as we read it, in one pass with the event. Objects of other types are read so
/// too, and other products may leave anything here: a field may be of any kind until it is needed.
#[derive(Debug, Deserialize)]
pub struct Session {
    id: Option<Value>,
    client_reference_id: Option<Value>,
    metadata: Option<Value>,
    amount_total: Option<Value>,
    currency: Option<Value>,
    payment_status: Option<Value>,
    /// An id, or the object itself where the account expands it.
    payment_intent: Option<Value>,
}

/// What an event is to us.
#[derive(Debug)]
pub enum Meaning {
    /// A type that we don't handle.
    OtherType,
    /// About an object that another system made on the same account.
    OtherProduct,
    /// Kept in the ledger, and nothing else: another mode or another account.
    NotForUs(Outcome),
    Order(Box<PaymentOrder>),
    /// What became of a payment's money.
    Report(Box<Report>),
}

/// What an event orders.
#[derive(Clone, Debug)]
pub struct PaymentOrder {
    pub booking_id: String,
    pub session_id: String,
    pub payment_ref: String,
    pub amount: Option<Money>,
    pub command: Command,
}

/// Which of our readings a type of event has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Session,
    Report,
}

/// The types of events that an endpoint of ours is registered for, each with its reading.
const FAMILIES: [(&str, Family); 15] = [
    ("checkout.session.completed", Family::Session),
    ("checkout.session.async_payment_succeeded", Family::Session),
    ("checkout.session.async_payment_failed", Family::Session),
    ("checkout.session.expired", Family::Session),
    // A payment, which has the fields that we read of a session.
    ("payment_intent.partially_funded", Family::Session),
    ("charge.refunded", Family::Report),
    ("charge.refund.updated", Family::Report),
    ("refund.created", Family::Report),
    ("refund.updated", Family::Report),
    ("refund.failed", Family::Report),
    ("charge.dispute.created", Family::Report),
    ("charge.dispute.updated", Family::Report),
    ("charge.dispute.closed", Family::Report),
    ("charge.dispute.funds_withdrawn", Family::Report),
    ("charge.dispute.funds_reinstated", Family::Report),
];

/// The types of events to register this function's endpoint for.
pub fn types() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(kind, _)| *kind)
}

fn family(kind: &str) -> Option<Family> {
    let known = FAMILIES.iter().find(|(known, _)| *known == kind);
    // A word about a dispute that is new at the provider: its money is read all the same.
    let is_dispute = kind.starts_with("charge.dispute.");
    known
        .map(|(_, family)| *family)
        .or(is_dispute.then_some(Family::Report))
}

/// Says what an event is to us. `body` is what it was read from: a report is read from it once more,
/// by its own shape.
///
/// # Errors
/// A 400 for an object that is not what its type says; a 500 for a report of money that can't be
/// read, so that it is sent again.
pub fn meaning(event: &Event, body: &[u8], door: &Door) -> Result<Meaning, Problem> {
    let Some(family) = family(&event.kind) else {
        return Ok(Meaning::OtherType);
    };
    match door.not_for_us(event) {
        Some(NotForUs::WrongMode) => return Ok(Meaning::NotForUs(Outcome::WrongMode)),
        Some(NotForUs::ForeignAccount) => return Ok(Meaning::NotForUs(Outcome::ForeignAccount)),
        None => {}
    }
    match family {
        Family::Session => session_meaning(event),
        Family::Report => Ok(match Report::read(&event.kind, body)? {
            Some(report) => Meaning::Report(Box::new(report)),
            // Without a payment it is nothing that we made.
            None => Meaning::OtherProduct,
        }),
    }
}

fn session_meaning(event: &Event) -> Result<Meaning, Problem> {
    let session = &event.data.object;
    let Some(session_id) = text(&session.id).filter(|id| is_id(id)) else {
        let detail = "The event's object is not a session.";
        return Err(Problem::new(400, "not_an_event", detail));
    };
    let Some(booking_id) = session.booking_id() else {
        return Ok(Meaning::OtherProduct);
    };
    Ok(Meaning::Order(Box::new(order(
        event, session, session_id, booking_id,
    ))))
}

fn order(event: &Event, session: &Session, session_id: &str, booking_id: String) -> PaymentOrder {
    let payment_ref = session.payment_ref().unwrap_or(session_id).to_owned();
    let mut payment_status = text(&session.payment_status);
    if planted::is(Defect::CompletedIsPaid) && event.kind == "checkout.session.completed" {
        payment_status = Some("paid");
    }
    let collected =
        payment_status == Some("paid") || event.kind == "checkout.session.async_payment_succeeded";
    // What was not collected has no amount, so that it can't be taken for the deposit.
    let amount = session.amount().filter(|_| collected);
    let command = match (event.kind.as_str(), payment_status) {
        ("checkout.session.expired", _) => Command::CloseSession {
            session_id: session_id.to_owned(),
        },
        ("checkout.session.async_payment_failed", _) => Command::FailFunds {
            payment_ref: payment_ref.clone(),
        },
        ("checkout.session.completed", Some("unpaid")) | ("payment_intent.partially_funded", _) => {
            Command::AwaitFunds {
                payment_ref: payment_ref.clone(),
                collected: false,
            }
        }
        _ => Command::ReceivePayment(Payment {
            payment_ref: payment_ref.clone(),
            session_id: session_id.to_owned(),
            amount,
            paid_at: event.created(),
            hold_again: None,
        }),
    };
    PaymentOrder {
        booking_id,
        session_id: session_id.to_owned(),
        payment_ref,
        amount,
        command,
    }
}

/// A booking's id in metadata, if it has the shape of ours: another product may use the same name.
pub(crate) fn our_booking_id(id: &str) -> Option<String> {
    let ours = id.len() == BOOKING_ID_BYTES
        && id
            .strip_prefix("bkg_")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    ours.then(|| id.to_owned())
}

impl Session {
    /// The booking that the session was made for. Ids of another shape are another product's.
    fn booking_id(&self) -> Option<String> {
        let named = self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("booking_id"));
        let id = match named {
            Some(named) => named.as_str()?,
            None => text(&self.client_reference_id)?,
        };
        our_booking_id(id)
    }

    fn payment_ref(&self) -> Option<&str> {
        self.payment_intent.as_ref().and_then(id_of)
    }

    fn amount(&self) -> Option<Money> {
        let minor = self.amount_total.as_ref()?.as_i64()?;
        Money::from_stripe(minor, text(&self.currency)?).ok()
    }
}

fn text(value: &Option<Value>) -> Option<&str> {
    value.as_ref().and_then(Value::as_str)
}
