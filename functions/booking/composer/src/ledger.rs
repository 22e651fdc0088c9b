//! Which messages were sent: rows of the audit under keys of their own, written once each.
//!
//! `message#{occasion}#{attempt}#1-intent`, then `…#2-sent`, `…#2-failed`, `…#2-refused` or
//! `…#2-unanswered`; or `message#{occasion}#suppressed` if no way is left. Texts and mails share
//! the attempts, so a message goes out once over both.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::audit::{Audit, AuditRow, history};
use paidonce_core::booking::{MessageKind, Reason};
use paidonce_core::optout::OptoutRow;
use paidonce_core::phone::Phone;
use paidonce_core::planted::{self, Defect};
use paidonce_core::sms::SmsSpent;
use paidonce_core::step::{Found, Row, Step, Written, write};
use serde_json::json;

use crate::way::Obstacle;
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
    /// It may be sent, as this attempt, but not as a text.
    Refused(u32),
}

/// What an attempt goes by.
#[derive(Clone, Copy)]
pub(crate) enum Channel<'a> {
    Text {
        phone: &'a Phone,
        parts: usize,
    },
    /// As a mail, since there was something in the way of a text.
    Mail(Obstacle),
}

impl Channel<'_> {
    fn described(self) -> String {
        match self {
            Self::Text { .. } => "by text".to_owned(),
            Self::Mail(obstacle) => format!("by mail: {}", obstacle.as_str()),
        }
    }
}

/// Whether an attempt may be made.
pub(crate) enum Intended {
    Yes,
    No(Obstacle),
}

/// How an attempt ended.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Sent,
    /// The service said that it did not send it.
    Failed,
    /// The service said that it will never send this text to this phone.
    Refused,
    Unanswered,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Refused => "refused",
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

    /// Writes that a send begins, unless it is a text and the phone opted out, or the day's texts
    /// are spent.
    ///
    /// The command is this delivery's own: an intent that another delivery of the same job wrote is
    /// not ours to act on.
    pub(crate) async fn intend(
        &self,
        job: &Job,
        channel: Channel<'_>,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<Intended, Failure> {
        let id = self.entropy.ulid(now);
        let step = Step::new(id, format!("{}:{attempt}:{id}", job.event_id), now);
        let step = match channel {
            Channel::Text { phone, parts } => {
                let salt = self.privacy_salt.get(now).await?;
                let max = self.venue.sms.parts_per_day_max;
                let step = match planted::is(Defect::OptoutCheckedEarly) {
                    // It was asked when the booking was made.
                    true if job.order.kind != MessageKind::DepositRequest => step,
                    _ => step.unless_opted_out(&self.optout_table, phone, salt.current()),
                };
                step.spend_sms(&self.idempotency_table, parts, max)
            }
            Channel::Mail(_) => step,
        };
        let key = format!("{attempt:03}#1-intent");
        let what = format!("message intended, {}", channel.described());
        let step = match channel {
            // Its end will say that it was sent.
            Channel::Text { .. } if planted::is(Defect::ClaimedAfterSend) => step,
            Channel::Text { .. } | Channel::Mail(_) => self.row(step, job, &key, &what),
        };
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(Intended::Yes),
            Written::Stale(found) => obstacle_among(&found).map(Intended::No),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    /// Writes that there is no way to send it. A deposit request that can't be sent is a case: the
    /// slot would be lost without a word.
    pub(crate) async fn suppressed(
        &self,
        job: &Job,
        obstacle: Obstacle,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        count(Self::NAME, "message_suppressed", 1);
        let what = format!("message suppressed: {}", obstacle.as_str());
        let step = self.step(job, "suppressed", now);
        let step = self.row(step, job, "suppressed", &what);
        let step = match job.order.kind {
            MessageKind::DepositRequest if obstacle.is_lasting() => {
                let facts = json!({
                    "kind": job.order.kind,
                    "occasion": job.order.occasion,
                    "obstacle": obstacle.as_str(),
                });
                let subject = &job.order.booking_id;
                step.hand_over(&self.tables, subject, Reason::Unreachable, facts)
            }
            MessageKind::DepositRequest
            | MessageKind::Reminder
            | MessageKind::Confirmation
            | MessageKind::Released
            | MessageKind::Cancelled
            | MessageKind::Rescheduled
            | MessageKind::PaymentChecked
            | MessageKind::LateRefund
            | MessageKind::SecondRefund => step,
        };
        written_once(write(&self.dynamodb, &step).await?)
    }

    pub(crate) async fn end(
        &self,
        job: &Job,
        channel: Channel<'_>,
        (attempt, end): (u32, End),
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let key = format!("{attempt:03}#2-{}", end.as_str());
        let step = self.step(job, &key, now);
        let what = format!("message {}, {}", end.as_str(), channel.described());
        let step = self.row(step, job, &key, &what);
        written_once(write(&self.dynamodb, &step).await?)
    }

    /// Nobody knows whether the customer got it: a person decides, no second message.
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

/// What stood in the way of an intent.
fn obstacle_among(found: &[Found]) -> Result<Obstacle, Failure> {
    let has = |name: &str| found.iter().any(|found| found.name == name);
    match (
        has(AuditRow::NAME),
        has(OptoutRow::NAME),
        has(SmsSpent::NAME),
    ) {
        (false, true, _) => Ok(Obstacle::OptedOut),
        (false, false, true) => Ok(Obstacle::SpendCap),
        (true, _, _) | (false, false, false) => {
            Err("another delivery of this job is sending".into())
        }
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
            "2-refused" => Ledger::Refused(attempt + 1),
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
        assert_eq!(said(&["001#1-intent", "001#2-refused"]), Ledger::Refused(2));
        assert_eq!(
            said(&[
                "001#1-intent",
                "001#2-refused",
                "002#1-intent",
                "002#2-sent"
            ]),
            Ledger::Finished
        );
        assert_eq!(said(&["011#1-intent", "011#2-failed"]), Ledger::Open(12));
        let young = [("001#1-intent", now - TimeDelta::seconds(59))];
        assert_eq!(read(young.into_iter(), now), Ledger::UnderWay);
    }
}
