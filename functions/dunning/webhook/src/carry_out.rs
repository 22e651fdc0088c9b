//! One event as one step: what was seen, the change, its log and what follows.

use aws_sdk_dynamodb::types::ConditionCheck;
use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, Problem};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::dunning::seen::Seen;
use paidonce_core::dunning::{
    Command, Dunning, Ending, Rejection, create_step, decide, dunning_step,
};
use paidonce_core::step::{Found, Row, Step, Written, from_item, read, write};

use crate::Webhook;
use crate::event::{Fact, InvoiceEnd, Received, Report};
use crate::notes::note_of;

/// What is known of the world, to decide on.
#[derive(Default)]
struct Known {
    row: Option<Box<Dunning>>,
    /// There is a note that the invoice or its subscription has ended.
    noted: bool,
}

impl Webhook {
    /// Carries out what an event says of one subscription.
    pub(crate) async fn carry_out(
        &self,
        event: &Received,
        report: &Report,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        self.carry_out_as(&event.id, event, report, now).await
    }

    /// The same under another name than the event's own: an event about a customer is carried out
    /// once for each subscription.
    pub(crate) async fn carry_out_as(
        &self,
        seen_as: &str,
        event: &Received,
        report: &Report,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let (client, table) = (&self.dynamodb, &self.tables.dunning);
        let mut known = Known {
            row: read(client, table, &report.subscription_id)
                .await?
                .map(Box::new),
            noted: false,
        };
        for _ in 0..DECISIONS_MAX {
            let Some(step) = self.step(seen_as, event, report, &known, now) else {
                return Ok(());
            };
            match write(client, &step).await? {
                Written::Applied => {
                    tracing::info!(event.id = %event.id, event.kind = %event.kind, "Took event `{}`", event.id);
                    return Ok(());
                }
                Written::Contended => return Err(Problem::busy(5).into()),
                Written::Stale(found) if found.iter().any(|found| found.key == seen_as) => {
                    return Ok(());
                }
                Written::Stale(found) => known.learn(found)?,
            }
        }
        Err(Problem::busy(5).into())
    }

    /// Decides, and builds what is to be written; nothing where there is nothing to remember.
    fn step(
        &self,
        seen_as: &str,
        event: &Received,
        report: &Report,
        known: &Known,
        now: DateTime<Utc>,
    ) -> Option<Step> {
        let begun = |outcome: &str| self.begun(seen_as, event, report, outcome, now);
        if known.noted {
            return Some(begun("ended_before"));
        }
        let new;
        let row = match &known.row {
            Some(row) => row.as_ref(),
            None => {
                let terms = self.terms.clone();
                new = Dunning::new(&report.subscription_id, &report.customer_id, terms, now);
                &new
            }
        };
        let decided = match self.command(report, row) {
            Some(command) => decide(row, command, now),
            None => Err(Rejection::Nothing),
        };
        let transition = match decided {
            Ok(transition) => transition,
            Err(rejection) => return self.refused(begun, report, known, rejection, now),
        };
        let step = self.unless_ended(begun(transition.event.as_str()), report, now);
        let origin = Origin {
            who: Self::NAME,
            correlation_id: &event.id,
        };
        let tables = &self.tables;
        Some(match row.version {
            0 => create_step(step, tables, row, &transition, origin),
            _ => dunning_step(step, tables, row, &transition, origin),
        })
    }

    /// An event that changes nothing: what it was decided on must still be so.
    fn refused(
        &self,
        begun: impl Fn(&str) -> Step,
        report: &Report,
        known: &Known,
        rejection: Rejection,
        now: DateTime<Utc>,
    ) -> Option<Step> {
        let step = match rejection {
            Rejection::Nothing => self.noted(begun("noted"), &note_of(report, now)?),
            Rejection::Already => begun("already"),
            Rejection::Stale => begun("overtaken"),
            Rejection::TooEarly(_) | Rejection::InFlight(_) => begun("nothing"),
        };
        Some(self.still(step, report, known))
    }

    /// The order that a report is to a row, if it can be one.
    fn command(&self, report: &Report, row: &Dunning) -> Option<Command> {
        let terms = || Box::new(self.terms.clone());
        let is_known = row.version > 0;
        match &report.fact {
            Fact::Failed(invoice) => Some(Command::ReportFailed {
                report: invoice.clone(),
                terms: terms(),
            }),
            Fact::ActionRequired(invoice) => Some(Command::ReportActionRequired {
                report: invoice.clone(),
                terms: terms(),
            }),
            // What did not fail is no debt.
            Fact::Updated(invoice) => {
                row.invoices
                    .contains_key(&invoice.invoice_id)
                    .then(|| Command::ReportFailed {
                        report: invoice.clone(),
                        terms: terms(),
                    })
            }
            Fact::Ended { invoice_id, end } => Some(Command::ReportEnded {
                invoice_id: invoice_id.clone(),
                ending: ending(*end, invoice_id, row),
            }),
            Fact::Card {
                payment_method,
                renewed,
            } => Some(Command::ReportCard {
                payment_method: payment_method.clone(),
                renewed: *renewed,
            }),
            Fact::Cancelled => is_known.then_some(Command::ReportCancelled),
        }
    }

    /// Starts the step of an event with the row that says that it was seen.
    fn begun(
        &self,
        seen_as: &str,
        event: &Received,
        report: &Report,
        outcome: &str,
        now: DateTime<Utc>,
    ) -> Step {
        let seen = Seen {
            subscription_id: Some(report.subscription_id.clone()),
            invoice_id: report.fact.invoice_id().map(str::to_owned),
            ..Seen::new(seen_as, &event.kind, outcome, now)
        };
        Step::new(self.entropy.ulid(now), seen_as, now)
            .create_or_replace_expired(&self.dedupe_table, &seen)
    }

    /// Keeps an event that is not for this deployment, so that it can be looked up.
    pub(crate) async fn record_only(
        &self,
        event: &Received,
        outcome: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let seen = Seen::new(event.id.as_str(), &event.kind, outcome, now);
        let step = Step::new(self.entropy.ulid(now), event.id.as_str(), now)
            .create_or_replace_expired(&self.dedupe_table, &seen);
        match write(&self.dynamodb, &step).await? {
            Written::Applied | Written::Stale(_) => Ok(()),
            Written::Contended => Err(Problem::busy(5).into()),
        }
    }

    /// Requires that what was found of the subscription, or that nothing was, is still so.
    fn still(&self, step: Step, report: &Report, known: &Known) -> Step {
        let (table, key) = (&self.tables.dunning, &report.subscription_id);
        match &known.row {
            Some(row) => step.unchanged::<Dunning>(table, key, row.version),
            None => {
                let check = ConditionCheck::builder()
                    .condition_expression("attribute_not_exists(#key)")
                    .expression_attribute_names("#key", Dunning::KEY);
                step.check(Dunning::NAME, Dunning::KEY, table, key, check)
            }
        }
    }
}

impl Known {
    fn learn(&mut self, found: Vec<Found>) -> Result<(), Failure> {
        for found in found {
            match (found.name, found.row) {
                (Dunning::NAME, row) => self.row = row.map(from_item).transpose()?.map(Box::new),
                (Seen::NAME, Some(_)) => self.noted = true,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Fact {
    pub(crate) fn invoice_id(&self) -> Option<&str> {
        match self {
            Self::Failed(report) | Self::ActionRequired(report) | Self::Updated(report) => {
                Some(&report.invoice_id)
            }
            Self::Ended { invoice_id, .. } => Some(invoice_id),
            Self::Card { .. } | Self::Cancelled => None,
        }
    }
}

fn ending(end: InvoiceEnd, invoice_id: &str, row: &Dunning) -> Ending {
    match end {
        InvoiceEnd::Paid { at } => {
            let debt = row.invoices.get(invoice_id);
            let announced = debt.and_then(|debt| debt.provider_retries_at);
            Ending::payer(announced, Some(at))
        }
        InvoiceEnd::OutOfBand => Ending::OutOfBand,
        InvoiceEnd::Voided => Ending::Voided,
        InvoiceEnd::Uncollectible => Ending::Uncollectible,
        InvoiceEnd::Covered => Ending::Covered,
    }
}
