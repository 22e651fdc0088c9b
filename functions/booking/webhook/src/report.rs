//! What an event reports of a payment's money: a refund, a sum of refunds, a dispute.

use chrono::{DateTime, Utc};
use lambda_kit::Problem;
use paidonce_core::dispute::{Dispute, DisputeStatus};
use paidonce_core::money::Money;
use paidonce_core::refund::{Command, RefundReport, RefundStatus};
use provider_events::{id_of, is_id};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::event::our_booking_id;

/// A report about one payment.
#[derive(Clone, Debug)]
pub struct Report {
    pub payment_ref: String,
    /// Whose payment it is, where the object itself says so.
    pub booking_id: Option<String>,
    pub amount: Option<Money>,
    pub command: Command,
}

#[derive(Deserialize)]
struct Envelope<T> {
    created: i64,
    data: Data<T>,
}

#[derive(Deserialize)]
struct Data<T> {
    object: T,
}

#[derive(Deserialize)]
struct RefundObject {
    id: String,
    amount: i64,
    currency: String,
    status: RefundStatus,
    created: i64,
    payment_intent: Option<Value>,
    metadata: Option<Metadata>,
    failure_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    booking_id: Option<String>,
    refund_key: Option<String>,
}

#[derive(Deserialize)]
struct ChargeObject {
    payment_intent: Option<Value>,
    currency: String,
    amount_refunded: i64,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct DisputeObject {
    id: String,
    payment_intent: Option<Value>,
    amount: i64,
    currency: String,
    reason: String,
    status: DisputeStatus,
    created: i64,
    evidence_details: Option<EvidenceDetails>,
    #[serde(default)]
    balance_transactions: Vec<BalanceTransaction>,
}

#[derive(Deserialize)]
struct EvidenceDetails {
    due_by: Option<i64>,
}

/// What a dispute did to the account: below zero where money was taken.
#[derive(Deserialize)]
struct BalanceTransaction {
    amount: i64,
    fee: i64,
    currency: String,
    created: Option<i64>,
}

impl Report {
    /// Reads the report from an event of this kind; nothing if it is about no payment of a kind
    /// that we make.
    ///
    /// # Errors
    /// For an object that is not what its type says, or says something that we don't know yet.
    pub(crate) fn read(kind: &str, body: &[u8]) -> Result<Option<Self>, Problem> {
        match kind {
            "charge.refunded" => charge(object(body)?.data.object),
            _ if kind.starts_with("charge.dispute.") => {
                let event = object(body)?;
                dispute(event.data.object, event.created)
            }
            _ => refund(object(body)?.data.object),
        }
    }
}

fn object<T: DeserializeOwned>(body: &[u8]) -> Result<Envelope<T>, Problem> {
    serde_json::from_slice(body).map_err(|_| unreadable())
}

/// It may be news that a newer version of ours can read: the provider sends it again for days.
fn unreadable() -> Problem {
    let detail = "The event's object is not one that we can read.";
    Problem::new(500, "unreadable_report", detail)
}

fn refund(object: RefundObject) -> Result<Option<Report>, Problem> {
    let Some(payment_ref) = payment_ref(object.payment_intent.as_ref()) else {
        return Ok(None);
    };
    let metadata = object.metadata.unwrap_or_default();
    let Ok(amount) = Money::from_stripe(object.amount, &object.currency) else {
        return Ok(None);
    };
    Ok(Some(Report {
        payment_ref,
        booking_id: ours(metadata.booking_id.as_deref()),
        amount: Some(amount),
        command: Command::Report(RefundReport {
            refund_id: named(object.id)?,
            key: metadata.refund_key.filter(|key| is_id(key)),
            amount,
            status: object.status,
            created: instant(object.created)?,
            failure: object.failure_reason,
        }),
    }))
}

fn charge(object: ChargeObject) -> Result<Option<Report>, Problem> {
    let Some(payment_ref) = payment_ref(object.payment_intent.as_ref()) else {
        return Ok(None);
    };
    // What is not in a currency that we take is not ours.
    let Ok(said) = Money::from_stripe(object.amount_refunded, &object.currency) else {
        return Ok(None);
    };
    let metadata = object.metadata.unwrap_or_default();
    Ok(Some(Report {
        payment_ref,
        booking_id: ours(metadata.booking_id.as_deref()),
        amount: Some(said),
        command: Command::SaidRefunded {
            minor: said.minor(),
        },
    }))
}

fn dispute(object: DisputeObject, told_at: i64) -> Result<Option<Report>, Problem> {
    let Some(payment_ref) = payment_ref(object.payment_intent.as_ref()) else {
        return Ok(None);
    };
    let Ok(amount) = Money::from_stripe(object.amount, &object.currency) else {
        return Ok(None);
    };
    let transactions = &object.balance_transactions;
    let currency = transactions.first().map(|it| it.currency.as_str());
    let amounts = |wanted: fn(&i64) -> bool| {
        let amounts = transactions.iter().map(|it| it.amount);
        moved(amounts.filter(wanted), currency)
    };
    let fees = |wanted: fn(&i64) -> bool| {
        let fees = transactions.iter().map(|it| it.fee);
        moved(fees.filter(wanted), currency)
    };
    let moved_at = |wanted: fn(i64) -> bool| {
        let moved = object.balance_transactions.iter();
        let mut moved = moved.filter(|it| wanted(it.amount));
        let at = moved.next().map(|it| it.created.unwrap_or(told_at));
        at.map(instant).transpose()
    };
    let due_by = object.evidence_details.and_then(|it| it.due_by);
    let due_by = due_by.map(instant).transpose()?;
    let opened_at = instant(object.created)?;
    let dispute = Dispute {
        amount,
        reason: object.reason.clone(),
        status: object.status,
        opened_at,
        due_by,
        withdrawn: amounts(|amount| *amount < 0)?,
        reinstated: amounts(|amount| *amount > 0)?,
        fee: fees(|fee| *fee > 0)?,
        fee_returned: fees(|fee| *fee < 0)?,
        withdrawn_at: moved_at(|amount| amount < 0)?,
        reinstated_at: moved_at(|amount| amount > 0)?,
        closed_at: object
            .status
            .is_over()
            .then(|| instant(told_at))
            .transpose()?,
    };
    Ok(Some(Report {
        payment_ref,
        booking_id: None,
        amount: Some(amount),
        command: Command::ReportDispute {
            dispute_id: named(object.id.clone())?,
            dispute,
        },
    }))
}

fn payment_ref(value: Option<&Value>) -> Option<String> {
    value.and_then(id_of).map(str::to_owned)
}

fn ours(booking_id: Option<&str>) -> Option<String> {
    booking_id.and_then(our_booking_id)
}

fn instant(seconds: i64) -> Result<DateTime<Utc>, Problem> {
    provider_events::instant(seconds).ok_or_else(unreadable)
}

/// What moved on the account in one direction: absent if nothing did. A sum that can't be counted is
/// no fact.
fn moved(
    parts: impl Iterator<Item = i64>,
    currency: Option<&str>,
) -> Result<Option<Money>, Problem> {
    let sum = parts
        .into_iter()
        .try_fold(0_i64, i64::checked_add)
        .and_then(i64::checked_abs)
        .ok_or_else(unreadable)?;
    let currency = currency.filter(|_| sum != 0);
    Ok(currency.and_then(|currency| Money::from_stripe(sum, currency).ok()))
}

fn named(id: String) -> Result<String, Problem> {
    match is_id(&id) {
        true => Ok(id),
        false => Err(unreadable()),
    }
}
