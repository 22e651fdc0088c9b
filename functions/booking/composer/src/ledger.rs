//! Which messages were sent: rows of the audit under keys of their own, written once each.
//!
//! `message#{occasion}#{attempt}#1-intent`, then `…#2-sent`, `…#2-failed` or `…#2-unanswered`; or
//! `message#{occasion}#suppressed` for a phone that opted out.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::audit::{Audit, history};
use paidonce_core::booking::Reason;
use paidonce_core::optout::OptoutRow;
use paidonce_core::phone::Phone;
use paidonce_core::step::{Row, Step, Written, write};
use serde_json::json;

use crate::{Composer, Job};

/// How long a send may be under way: longer than this function's time-out.
const SENDING_FOR: TimeDelta = TimeDelta::seconds(60);

/// What is known of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ledger {
    /// It was sent, or must not be.
    Finished,
    /// This attempt is being made, perhaps: it was begun a moment ago.
    UnderWay,
    /// This attempt was begun and will never say how it ended.
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
    pub(crate) async fn ledger(&self, job: &Job, now: DateTime<Utc>) -> Result<Ledger, Failure> {
        let prefix = format!("message#{}#", job.order.occasion);
        let audit_table = &self.tables.audit;
        let rows = history(&self.dynamodb, audit_table, &job.order.booking_id, &prefix).await?;
        let keys = rows
            .iter()
            .filter_map(|row| Some((row.ts.strip_prefix(&prefix)?, row.at.unwrap_or_default())));
        Ok(read(keys, now))
    }

    /// Writes that a send begins, unless the phone opted out. `false`: it did.
    ///
    /// The command is this delivery's own: an intent that another delivery of the same job wrote is
    /// not ours to act on.
    pub(crate) async fn intend(
        &self,
        job: &Job,
        phone: &Phone,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<bool, Failure> {
        let id = self.entropy.ulid(now);
        let salt = self.privacy_salt.get(now).await?;
        let step = Step::new(id, format!("{}:{attempt}:{id}", job.event_id), now).unless_opted_out(
            &self.optout_table,
            phone,
            salt.current(),
        );
        let key = format!("{attempt:03}#1-intent");
        let step = self.row(step, job, &key, "message intended");
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(true),
            Written::Stale(found) if found.iter().any(|found| found.name == OptoutRow::NAME) => {
                Ok(false)
            }
            Written::Stale(_) => Err("another delivery of this job is sending".into()),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    pub(crate) async fn suppressed(&self, job: &Job, now: DateTime<Utc>) -> Result<(), Failure> {
        count(Self::NAME, "message_suppressed", 1);
        let step = self.step(job, "suppressed", now);
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
        let key = format!("{attempt:03}#2-{}", end.as_str());
        let step = self.step(job, &key, now);
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
        let key = format!("{attempt:03}#2-{}", End::Unanswered.as_str());
        let step = self.step(job, &key, now);
        let step = self.row(step, job, &key, "message unanswered").hand_over(
            &self.tables,
            booking_id,
            Reason::UnansweredSend,
            facts,
        );
        written_once(write(&self.dynamodb, &step).await?)
    }

    fn step(&self, job: &Job, key: &str, now: DateTime<Utc>) -> Step {
        Step::new(
            self.entropy.ulid(now),
            format!("{}:{key}", job.event_id),
            now,
        )
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
        let ts = format!("message#{}#{key}", job.order.occasion);
        step.audit_at(&self.tables.audit, ts, audit)
    }
}

fn written_once(written: Written) -> Result<(), Failure> {
    match written {
        Written::Applied | Written::Stale(_) => Ok(()),
        Written::Contended => Err("others kept writing".into()),
    }
}

/// Reads the keys of one message's rows, in order, each with its time.
fn read<'a>(rows: impl Iterator<Item = (&'a str, DateTime<Utc>)>, now: DateTime<Utc>) -> Ledger {
    let mut ledger = Ledger::Open(1);
    for (key, at) in rows {
        let (attempt, end) = key.split_once('#').unwrap_or((key, ""));
        let attempt: u32 = attempt.parse().unwrap_or_default();
        ledger = match end {
            "1-intent" if now - at < SENDING_FOR => Ledger::UnderWay,
            "1-intent" => Ledger::Unanswered(attempt),
            "2-failed" => Ledger::Open(attempt + 1),
            _ => return Ledger::Finished,
        };
    }
    ledger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_says_whether_a_message_may_be_sent() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let said = |keys: &[&str]| read(keys.iter().map(|key| (*key, now - SENDING_FOR)), now);
        assert_eq!(said(&[]), Ledger::Open(1));
        assert_eq!(said(&["001#1-intent"]), Ledger::Unanswered(1));
        assert_eq!(said(&["001#1-intent", "001#2-sent"]), Ledger::Finished);
        assert_eq!(said(&["001#1-intent", "001#2-failed"]), Ledger::Open(2));
        assert_eq!(
            said(&["001#1-intent", "001#2-failed", "002#1-intent"]),
            Ledger::Unanswered(2)
        );
        assert_eq!(
            said(&["001#1-intent", "001#2-unanswered"]),
            Ledger::Finished
        );
        assert_eq!(said(&["suppressed"]), Ledger::Finished);
        assert_eq!(said(&["011#1-intent", "011#2-failed"]), Ledger::Open(12));
        let young = [("001#1-intent", now - TimeDelta::seconds(59))];
        assert_eq!(read(young.into_iter(), now), Ledger::UnderWay);
    }
}
