//! The mail to the team about a case: the booking, the payment, the outcome, the reason, what is
//! known of a dispute, and the history.

use copywriter::mail::{CaseFacts, Mail, case_mail};
use lambda_kit::Failure;
use paidonce_core::audit::{AuditRow, history};
use paidonce_core::booking::{Booking, Reason};
use paidonce_core::case::Case;
use paidonce_core::dispute::Dispute;
use paidonce_core::local_time::{human, stamp};
use paidonce_core::refund::{PaymentRow, payment_key};
use paidonce_core::step::read;
use postman::{Parcel, Posted};
use serde_json::Value;

use crate::Escalator;

/// Of how many payments of one booking the disputes are told.
const DISPUTED_PAYMENTS_MAX: usize = 5;

impl Escalator {
    pub(crate) async fn mail(&self, case: &Case) -> Result<(), Failure> {
        let mail = case_mail(&self.facts(case).await?);
        self.send(&mail, "case").await.map_err(Failure::from)
    }

    /// Sends a mail to the team.
    ///
    /// # Errors
    /// The code with which the service did not take it, or did not say so. The team may be told twice.
    pub(crate) async fn send(&self, mail: &Mail, kind: &str) -> Result<(), String> {
        let parcel = Parcel {
            from: &self.sender_email,
            to: &self.team_email,
            subject: &mail.subject,
            text: &mail.text,
            tags: vec![("kind", kind.to_owned())],
            ..Parcel::default()
        };
        match postman::post(&self.ses, &parcel).await {
            Posted::Taken => Ok(()),
            Posted::NotNow(code) | Posted::Never(code) | Posted::Unanswered(code) => {
                Err(format!("the mail was not taken: {code}"))
            }
        }
    }

    async fn facts(&self, case: &Case) -> Result<CaseFacts, Failure> {
        let booking = read::<Booking>(&self.dynamodb, &self.bookings_table, &case.subject).await?;
        let mut rows = history(&self.dynamodb, &self.audit_table, &case.subject, "").await?;
        rows.sort_by_key(|row| row.at);
        let evidence = rows.iter().map(evidence).collect();
        Ok(CaseFacts {
            booking_id: case.subject.clone(),
            reason: case.reason.as_str().to_owned(),
            what: format!("{} {}", sentence(case.reason), described(booking.as_ref())),
            payment: payment(case),
            outcome: outcome(case.reason).to_owned(),
            dispute: self.dispute(case).await?,
            evidence,
            at: stamp(case.opened_at),
        })
    }
}

impl Escalator {
    /// What the team must know to answer the bank: nothing unless the case is about a dispute.
    async fn dispute(&self, case: &Case) -> Result<Vec<String>, Failure> {
        if case.reason != Reason::Disputed {
            return Ok(Vec::new());
        }
        let mut lines = Vec::new();
        let newest_first = case.entries.iter().rev();
        let payments = newest_first.filter_map(|entry| entry.facts.get("payment_ref")?.as_str());
        for payment_ref in payments.take(DISPUTED_PAYMENTS_MAX) {
            let key = payment_key(payment_ref);
            let row = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key).await?;
            let disputes = row.into_iter().flat_map(|row| row.disputes);
            lines.extend(disputes.map(|(id, dispute)| described_dispute(&id, &dispute)));
        }
        let pack = format!("GET /bookings/{}/evidence", case.subject);
        lines.push(format!(
            "The evidence pack is at {pack}, with a staff token"
        ));
        Ok(lines)
    }
}

fn described_dispute(id: &str, dispute: &Dispute) -> String {
    let until = match (dispute.status.is_over(), dispute.due_by) {
        (true, _) => "it is over".to_owned(),
        (false, Some(due_by)) => format!("hand in the evidence until {}", stamp(due_by)),
        (false, None) => "until when evidence can be handed in is not known yet".to_owned(),
    };
    format!(
        "{id}, {} for the reason {}, {}: {until}",
        dispute.amount.display(),
        dispute.reason,
        dispute.status.as_str()
    )
}

/// One line of the history.
fn evidence(row: &AuditRow) -> String {
    let states = match (&row.before, &row.after) {
        (Some(before), Some(after)) if before != after => format!(", {before} to {after}"),
        (Some(_) | None, Some(_) | None) => String::new(),
    };
    let at = row.at.map(stamp).unwrap_or_default();
    format!("{at} {}: {}{states} ({})", row.who, row.what, row.why)
}

pub(crate) fn sentence(reason: Reason) -> &'static str {
    match reason {
        Reason::LatePayment => "A payment came after the slot was given back.",
        Reason::SecondPayment => {
            "A second payment came for one booking, of an amount that is not known."
        }
        Reason::AmountMismatch => "A payment is not the deposit that was asked for.",
        Reason::UnknownReference => "A payment names a booking that does not exist.",
        Reason::FundsUnseen => {
            "The customer was done at the provider, and no event said whether the money came."
        }
        Reason::AttendanceUnmarked => "Nobody marked whether the customer came.",
        Reason::RefundDue => "The booking is over and its deposit goes back, but it is disputed.",
        Reason::RefundFailed => "A refund was refused by the provider, or it failed afterwards.",
        Reason::RefundUnanswered => "The provider has not said for a day what became of a refund.",
        Reason::RefundedElsewhere => "The whole deposit went back by hand at the provider.",
        Reason::Disputed => "The customer's bank disputes a payment.",
        Reason::Unreachable => "There is no way left to reach the customer.",
        Reason::UnansweredSend => "A message may or may not have reached the customer.",
    }
}

fn outcome(reason: Reason) -> &'static str {
    match reason {
        Reason::LatePayment => {
            "What is known to have come goes back by itself, and the customer was told. Offer another time."
        }
        Reason::SecondPayment | Reason::UnknownReference => {
            "The money is with the provider. Nothing was refunded; decide and refund it there."
        }
        Reason::AmountMismatch => {
            "The booking is not confirmed, and its slot stays held for now. Waive the rest, refund the payment, or let the customer pay what is missing; what is known to have come goes back by itself if the hold ends."
        }
        Reason::FundsUnseen => {
            "The slot was given back. Look the payment up at the provider; if its event comes, it goes back by itself."
        }
        Reason::AttendanceUnmarked => "The deposit stays as it is until you mark the attendance.",
        Reason::RefundDue => "Nothing was refunded: the bank may take the money back by itself.",
        Reason::RefundFailed => "The money is still with the provider. Pay it back by other means.",
        Reason::RefundUnanswered => {
            "It is asked for again under the same key. Look it up at the provider."
        }
        Reason::RefundedElsewhere => {
            "The booking stands, and its deposit is not settled. Cancel it, or let the customer come."
        }
        Reason::Disputed => {
            "The deposit is neither applied nor forfeited, and must not be refunded. Hand in the evidence in time."
        }
        Reason::Unreachable => "Call or write by other means.",
        Reason::UnansweredSend => "It is not sent again. Call the customer if it matters.",
    }
}

/// The booking in a line, without the customer: whoever handles the case looks it up by its id.
fn described(booking: Option<&Booking>) -> String {
    booking.map_or_else(
        || "There is no such booking.".to_owned(),
        |booking| {
            let starts = human(booking.place.starts_at, booking.place.zone);
            let state = booking.state.as_str();
            format!(
                "It is {state}: {} for {} on {starts}, deposit {}.",
                booking.place.resource,
                booking.party,
                booking.deposit.display()
            )
        },
    )
}

fn payment(case: &Case) -> Option<String> {
    // The newest first: a long line is cut at its end.
    let payments: Vec<String> = case
        .entries
        .iter()
        .rev()
        .filter_map(|entry| {
            let reference = entry.facts.get("payment_ref").and_then(Value::as_str)?;
            let amount = |name: &str| match entry.facts.get(name) {
                Some(Value::Object(money)) => {
                    let part = |key: &str| {
                        money
                            .get(key)
                            .map(|value| value.to_string().replace('"', ""))
                            .unwrap_or_default()
                    };
                    format!("{} {} (minor units)", part("currency"), part("amount"))
                }
                Some(
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_),
                )
                | None => "unknown".to_owned(),
            };
            Some(match entry.facts.get("paid") {
                Some(_) => format!(
                    "{reference}: paid {}, asked for {}",
                    amount("paid"),
                    amount("wanted")
                ),
                None => reference.to_owned(),
            })
        })
        .collect();
    (!payments.is_empty()).then(|| payments.join("; "))
}
