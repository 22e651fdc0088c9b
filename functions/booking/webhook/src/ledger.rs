//! The ledger of events: each is written in one step with what it did.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, Problem, count};
use paidonce_core::audit::Audit;
use paidonce_core::money::Money;
use paidonce_core::payment::{EventRow, KEPT_FOR, Outcome};
use paidonce_core::step::{Found, Row, Step, Written, write};

use crate::Webhook;
use crate::event::Event;

/// Whose money an event is about, as far as it says so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'a> {
    pub(crate) booking_id: Option<&'a str>,
    pub(crate) payment_ref: Option<&'a str>,
    pub(crate) amount: Option<Money>,
}

/// What to do after an attempt.
pub(crate) enum Next {
    Finished,
    /// Decide again on the rows as they stand.
    Again(Vec<Found>),
}

impl Webhook {
    /// Keeps an event that is not for this deployment, so that it can be looked up.
    pub(crate) async fn record_only(
        &self,
        event: &Event,
        outcome: Outcome,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        count(Self::NAME, "event_not_for_us", 1);
        let subject = format!("event#{}", event.id);
        let why = outcome.as_str().to_owned();
        let step = self.ledgered(event, About::default(), outcome, now).audit(
            &self.tables.audit,
            audit(&subject, "event ignored", None, why, event),
        );
        match self.write(&step, event).await? {
            Next::Finished => Ok(()),
            Next::Again(_) => Err(Problem::busy(5).into()),
        }
    }

    /// Starts the step of an event with its row in the ledger.
    pub(crate) fn ledgered(
        &self,
        event: &Event,
        about: About<'_>,
        outcome: Outcome,
        now: DateTime<Utc>,
    ) -> Step {
        let row = EventRow {
            event_id: event.id.clone(),
            kind: event.kind.clone(),
            created: event.created(),
            received_at: now,
            booking_id: about.booking_id.map(str::to_owned),
            payment_ref: about.payment_ref.map(str::to_owned),
            amount: about.amount,
            outcome,
            expires_at: (now + KEPT_FOR).timestamp(),
        };
        Step::new(self.entropy.ulid(now), event.id.as_str(), now)
            .create_or_replace_expired(&self.payments_table, &row)
    }

    pub(crate) async fn write(&self, step: &Step, event: &Event) -> Result<Next, Failure> {
        match write(&self.dynamodb, step).await? {
            Written::Applied => {
                tracing::info!(event.id = %event.id, event.kind = %event.kind, "Took event `{}`", event.id);
                Ok(Next::Finished)
            }
            Written::Contended => Err(Problem::busy(5).into()),
            // The ledger has the event: it did what it had to do, in the same step.
            Written::Stale(found) if found.iter().any(|found| found.name == EventRow::NAME) => {
                Ok(Next::Finished)
            }
            Written::Stale(found) => Ok(Next::Again(found)),
        }
    }
}

pub(crate) fn audit<'a>(
    subject: &'a str,
    what: &'a str,
    state: Option<&'a str>,
    why: String,
    event: &'a Event,
) -> Audit<'a> {
    Audit {
        subject,
        who: Webhook::NAME,
        what,
        before: state,
        after: state,
        why,
        correlation_id: &event.id,
    }
}
