//! Which messages were sent: rows of the audit under keys of their own, written once each.
//!
//! `message#{occasion}#{attempt}#1-intent`, then `…#2-sent`, `…#2-failed` or `…#2-unanswered`; or
//! `message#{occasion}#suppressed` for a phone that opted out.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::audit::{Audit, history};
use paidonce_core::booking::{Booking, Reason};
use paidonce_core::step::{Step, Written, write};
use serde_json::json;

use crate::{Composer, Job};

/// How often a message may be refused by the service before its job is left to the dead letters.
const ATTEMPTS_MAX: u32 = 5;

/// What is known of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ledger {
    /// It was sent, or must not be.
    Finished,
    /// This attempt was begun and its end is not known.
    Unanswered(u32),
    /// It may be sent, as this attempt.
    Open(u32),
}

/// How an attempt ended.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Sent,
    /// The service said that it did not send it.
    Failed,
    Unanswered,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
        }
    }
}

impl Composer {
    pub(crate) async fn ledger(&self, job: &Job) -> Result<Ledger, Failure> {
        let prefix = format!("message#{}#", job.order.occasion);
        let rows = history(
            &self.dynamodb,
            &self.tables.audit,
            &job.order.booking_id,
            &prefix,
        )
        .await?;
        let keys = rows.iter().filter_map(|row| row.ts.strip_prefix(&prefix));
        read(keys).map_err(Failure::from)
    }

    /// Writes that a send begins, unless the phone opted out. `false`: it did.
    pub(crate) async fn intend(
        &self,
        job: &Job,
        booking: &Booking,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<bool, Failure> {
        let step = Step::new(
            self.entropy.ulid(now),
            format!("{}:{attempt}", job.event_id),
            now,
        )
        .unless_opted_out(&self.optout_table, &booking.phone);
        let step = self.row(
            step,
            job,
            &format!("{attempt}#1-intent"),
            "message intended",
        );
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(true),
            Written::Stale(found) if found.iter().any(|found| found.name == "optout") => Ok(false),
            Written::Stale(_) => Err("another delivery of this job is sending".into()),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    pub(crate) async fn suppressed(&self, job: &Job, now: DateTime<Utc>) -> Result<(), Failure> {
        count(Self::NAME, "message_suppressed", 1);
        let step = Step::new(
            self.entropy.ulid(now),
            format!("{}:suppressed", job.event_id),
            now,
        );
        let step = self.row(step, job, "suppressed", "message suppressed: opted out");
        written_once(write(&self.dynamodb, &step).await?)
    }

    pub(crate) async fn end(
        &self,
        job: &Job,
        attempt: u32,
        end: End,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let step = Step::new(
            self.entropy.ulid(now),
            format!("{}:{attempt}:{}", job.event_id, end.as_str()),
            now,
        );
        let key = format!("{attempt}#2-{}", end.as_str());
        let step = self.row(step, job, &key, &format!("message {}", end.as_str()));
        written_once(write(&self.dynamodb, &step).await?)
    }

    /// Nobody knows whether the customer got it: a person decides, no second text.
    pub(crate) async fn escalate(
        &self,
        job: &Job,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let booking_id = &job.order.booking_id;
        tracing::warn!(booking.id = %booking_id, "A message of booking `{booking_id}` was not answered");
        let facts = json!({"kind": job.order.kind, "occasion": job.order.occasion});
        let step = Step::new(
            self.entropy.ulid(now),
            format!("{}:{attempt}:unanswered", job.event_id),
            now,
        );
        let key = format!("{attempt}#2-{}", End::Unanswered.as_str());
        let step = self.row(step, job, &key, "message unanswered").hand_over(
            &self.tables,
            booking_id,
            Reason::UnansweredSend,
            facts,
        );
        written_once(write(&self.dynamodb, &step).await?)
    }

    fn row(&self, step: Step, job: &Job, key: &str, what: &str) -> Step {
        let audit = Audit {
            subject: &job.order.booking_id,
            who: Self::NAME,
            what,
            before: None,
            after: None,
            why: job.order.occasion.clone(),
            correlation_id: &job.event_id,
        };
        step.audit_at(
            &self.tables.audit,
            format!("message#{}#{key}", job.order.occasion),
            audit,
        )
    }
}

fn written_once(written: Written) -> Result<(), Failure> {
    match written {
        Written::Applied | Written::Stale(_) => Ok(()),
        Written::Contended => Err("others kept writing".into()),
    }
}

/// Reads the keys of one message's rows, in order.
fn read<'a>(keys: impl Iterator<Item = &'a str>) -> Result<Ledger, String> {
    let mut ledger = Ledger::Open(1);
    for key in keys {
        let (attempt, end) = key.split_once('#').unwrap_or((key, ""));
        let attempt: u32 = attempt.parse().unwrap_or_default();
        ledger = match end {
            "1-intent" => Ledger::Unanswered(attempt),
            "2-failed" => Ledger::Open(attempt + 1),
            _ => return Ok(Ledger::Finished),
        };
    }
    match ledger {
        Ledger::Open(attempt) if attempt > ATTEMPTS_MAX => {
            Err(format!("refused {ATTEMPTS_MAX} times"))
        }
        ledger @ (Ledger::Open(_) | Ledger::Unanswered(_) | Ledger::Finished) => Ok(ledger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_says_whether_a_message_may_be_sent() {
        let said = |keys: &[&str]| read(keys.iter().copied());
        assert_eq!(said(&[]), Ok(Ledger::Open(1)));
        assert_eq!(said(&["1#1-intent"]), Ok(Ledger::Unanswered(1)));
        assert_eq!(said(&["1#1-intent", "1#2-sent"]), Ok(Ledger::Finished));
        assert_eq!(said(&["1#1-intent", "1#2-failed"]), Ok(Ledger::Open(2)));
        assert_eq!(
            said(&["1#1-intent", "1#2-failed", "2#1-intent"]),
            Ok(Ledger::Unanswered(2))
        );
        assert_eq!(
            said(&["1#1-intent", "1#2-unanswered"]),
            Ok(Ledger::Finished)
        );
        assert_eq!(said(&["suppressed"]), Ok(Ledger::Finished));
        assert_eq!(
            said(&["5#1-intent", "5#2-failed"]),
            Err("refused 5 times".to_owned())
        );
    }
}
