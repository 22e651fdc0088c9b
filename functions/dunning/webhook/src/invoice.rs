//! What an event says of an invoice.
//!
//! An invoice's own status counts more than the event's type: events are late and out of order, and
//! an invoice that is paid, void or given up has no failure to tell of.

use chrono::{DateTime, Utc};
use lambda_kit::{Function, Problem, count};
use paidonce_core::dunning::InvoiceReport;
use paidonce_core::email::EmailAddress;
use paidonce_core::money::Money;
use provider_events::Event;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::Webhook;
use crate::event::{Fact, InvoiceEnd, Meaning, Report, id, named, read, unreadable};

/// Where a subscription's metadata has the address of who else gets the bills.
const SECOND_CONTACT: &str = "billing_contact_email";

/// An invoice as an event has it, in the shape of `2026-07-29.dahlia`; before 2025 the subscription
/// stood on the invoice itself.
#[derive(Deserialize)]
struct Invoice {
    id: String,
    status: Option<String>,
    created: i64,
    currency: String,
    amount_remaining: i64,
    customer: Option<Value>,
    customer_email: Option<String>,
    customer_name: Option<String>,
    hosted_invoice_url: Option<String>,
    next_payment_attempt: Option<i64>,
    parent: Option<Parent>,
    subscription: Option<Value>,
    subscription_details: Option<Details>,
    status_transitions: Option<Transitions>,
    amount_paid: Option<i64>,
    amount_paid_off_stripe: Option<i64>,
    paid_out_of_band: Option<bool>,
}

#[derive(Deserialize)]
struct Parent {
    subscription_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    subscription: Option<Value>,
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Transitions {
    paid_at: Option<i64>,
}

/// What is known of an invoice by its status and the type of the event.
enum Standing {
    Ended(InvoiceEnd),
    Failed,
    ActionRequired,
    Updated,
    /// Not final yet: nothing was charged.
    Draft,
}

/// Says what an event about an invoice is.
///
/// # Errors
/// A 400 for an object that is no invoice.
pub(crate) fn meaning(body: &[u8]) -> Result<Meaning, Problem> {
    let event: Event<Invoice, IgnoredAny> = read(body)?;
    let invoice = &event.data.object;
    let Some(subscription) = invoice.subscription() else {
        return Ok(Meaning::OtherProduct);
    };
    let subscription_id = named(Some(subscription))?;
    let report = || invoice.report(event.created());
    let fact = match invoice.standing(&event.kind, event.created()) {
        Standing::Ended(end) => Fact::Ended {
            invoice_id: id(&invoice.id)?,
            end,
        },
        Standing::Failed => Fact::Failed(report()?),
        Standing::ActionRequired => Fact::ActionRequired(report()?),
        Standing::Updated => Fact::Updated(report()?),
        Standing::Draft => return Ok(Meaning::OtherType),
    };
    Ok(Meaning::Subscription(Box::new(Report {
        subscription_id,
        customer_id: named(invoice.customer.as_ref())?,
        fact,
    })))
}

impl Invoice {
    fn details(&self) -> Option<&Details> {
        let parent = self.parent.as_ref();
        parent.and_then(|parent| parent.subscription_details.as_ref())
    }

    /// The subscription that it is for, named or expanded.
    fn subscription(&self) -> Option<&Value> {
        let named = self.details().and_then(|it| it.subscription.as_ref());
        named.or(self.subscription.as_ref())
    }

    fn standing(&self, kind: &str, reported_at: DateTime<Utc>) -> Standing {
        let paid = || {
            let elsewhere = self.amount_paid_off_stripe.unwrap_or_default();
            let off_provider = elsewhere > 0 && elsewhere >= self.amount_paid.unwrap_or_default();
            if off_provider || self.paid_out_of_band == Some(true) {
                return InvoiceEnd::OutOfBand;
            }
            let transitions = self.status_transitions.as_ref();
            let paid_at = transitions.and_then(|it| instant(it.paid_at));
            InvoiceEnd::Paid {
                at: paid_at.unwrap_or(reported_at),
            }
        };
        match (self.status.as_deref(), kind) {
            (Some("paid"), _) | (_, "invoice.paid" | "invoice.payment_succeeded") => {
                Standing::Ended(paid())
            }
            (Some("void"), _) | (_, "invoice.voided") => Standing::Ended(InvoiceEnd::Voided),
            (Some("uncollectible"), _) | (_, "invoice.marked_uncollectible") => {
                Standing::Ended(InvoiceEnd::Uncollectible)
            }
            (Some("draft"), _) => Standing::Draft,
            _ if self.amount_remaining == 0 => Standing::Ended(InvoiceEnd::Covered),
            (_, "invoice.payment_failed") => Standing::Failed,
            (_, "invoice.payment_action_required") => Standing::ActionRequired,
            _ => Standing::Updated,
        }
    }

    fn report(&self, reported_at: DateTime<Utc>) -> Result<InvoiceReport, Problem> {
        let email = self.customer_email.as_deref();
        if self.next_payment_attempt.is_some() {
            // Two engines would charge one card, each by a calendar of its own.
            count(Webhook::NAME, "provider_retries_on", 1);
        }
        Ok(InvoiceReport {
            invoice_id: id(&self.id)?,
            amount: Money::from_stripe(self.amount_remaining, &self.currency)
                .map_err(|_| unreadable())?,
            created: instant(Some(self.created)).ok_or_else(unreadable)?,
            reported_at,
            hosted_url: self.hosted_invoice_url.clone(),
            provider_retries_at: instant(self.next_payment_attempt),
            email: email.and_then(|text| address(text, "customer_email_unreadable")),
            second_email: self.second_email(),
            name: self.customer_name.clone(),
        })
    }

    /// Who else gets the bills. What a person typed into metadata may be no address.
    fn second_email(&self) -> Option<EmailAddress> {
        let details = self.details().or(self.subscription_details.as_ref())?;
        let text = details.metadata.as_ref()?.get(SECOND_CONTACT)?.as_str()?;
        address(text, "billing_contact_unreadable")
    }
}

fn address(text: &str, otherwise: &'static str) -> Option<EmailAddress> {
    let address = EmailAddress::parse(text);
    if address.is_err() && !text.is_empty() {
        count(Webhook::NAME, otherwise, 1);
    }
    address.ok()
}

fn instant(seconds: Option<i64>) -> Option<DateTime<Utc>> {
    provider_events::instant(seconds?)
}
