//! Notes of what ended before its failure was reported here: events come in any order.

use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck};
use chrono::{DateTime, Utc};
use paidonce_core::dunning::seen::{Seen, ended_invoice_key, ended_subscription_key};
use paidonce_core::step::{Row, Step};

use crate::Webhook;
use crate::event::{Fact, InvoiceEnd, Report};

/// The kind of a note in the table of what was seen.
const NOTE: &str = "ended";

impl Webhook {
    /// Leaves a note for a failure that is reported later. One that is there already is as good, and
    /// is kept from now on anew.
    pub(crate) fn noted(&self, step: Step, note: &Seen) -> Step {
        let kind = AttributeValue::S(NOTE.to_owned());
        let condition = "attribute_not_exists(#key) OR #kind = :kind";
        let operands = [("#kind", "kind", ":kind", kind)];
        step.put(&self.dedupe_table, note, condition, &operands)
    }

    /// Requires of a failure that there is no note: an expired one may still be there, and is none.
    pub(crate) fn unless_ended(&self, step: Step, report: &Report, now: DateTime<Utc>) -> Step {
        let (Fact::Failed(invoice) | Fact::ActionRequired(invoice)) = &report.fact else {
            return step;
        };
        let keys = [
            ended_invoice_key(&invoice.invoice_id),
            ended_subscription_key(&report.subscription_id),
        ];
        let now = AttributeValue::N(now.timestamp().to_string());
        keys.iter().fold(step, |step, key| {
            let check = ConditionCheck::builder()
                .condition_expression("attribute_not_exists(#key) OR #expires_at < :now")
                .expression_attribute_names("#key", Seen::KEY)
                .expression_attribute_names("#expires_at", "expires_at")
                .expression_attribute_values(":now", now.clone());
            step.check(Seen::NAME, Seen::KEY, &self.dedupe_table, key, check)
        })
    }
}

/// What is remembered of the end of something that nothing was known of.
pub(crate) fn note_of(report: &Report, now: DateTime<Utc>) -> Option<Seen> {
    let (key, outcome) = match &report.fact {
        Fact::Ended { invoice_id, end } => (ended_invoice_key(invoice_id), end.outlasts()?),
        Fact::Cancelled => (ended_subscription_key(&report.subscription_id), "cancelled"),
        Fact::Failed(_) | Fact::ActionRequired(_) | Fact::Updated(_) | Fact::Card { .. } => {
            return None;
        }
    };
    Some(Seen {
        subscription_id: Some(report.subscription_id.clone()),
        invoice_id: report.fact.invoice_id().map(str::to_owned),
        ..Seen::new(key, NOTE, outcome, now)
    })
}

impl InvoiceEnd {
    /// The name of an end that no failure can follow: an open invoice without an amount may get one.
    fn outlasts(self) -> Option<&'static str> {
        match self {
            Self::Paid { .. } => Some("paid"),
            Self::OutOfBand => Some("out_of_band"),
            Self::Voided => Some("voided"),
            Self::Uncollectible => Some("uncollectible"),
            Self::Covered => None,
        }
    }
}
