//! Whether the team was mailed the summary of a month: one row, claimed before the mail leaves.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::Failure;
use paidonce_core::dunning::seen::{Seen, summary_key};
use paidonce_core::step::{Step, Written, read, write};

use crate::MonthlySummary;

const SENDING: &str = "sending";
pub(crate) const SENT: &str = "sent";
pub(crate) const NOT_SENT: &str = "not_sent";
pub(crate) const UNANSWERED: &str = "unanswered";

/// Of a claim that is open.
const CLOSES: &str = "attribute_exists(#key) AND #outcome = :before";
/// How long a start may be at it: longer than this function's time-out.
const SENDING_FOR: TimeDelta = TimeDelta::seconds(180);
/// How long it is remembered: an operator may want an old month again, without a mail.
const KEPT_FOR: TimeDelta = TimeDelta::days(800);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    NotYet,
    /// It was mailed, or perhaps was: it is not mailed again.
    Done,
}

impl MonthlySummary {
    /// Reads what is known. A claim that nobody closed is closed as unanswered.
    pub(crate) async fn told(&self, month: &str, now: DateTime<Utc>) -> Result<Told, Failure> {
        let row = read::<Seen>(&self.dynamodb, &self.dedupe_table, &summary_key(month)).await?;
        let Some(row) = row else {
            return Ok(Told::NotYet);
        };
        match row.outcome.as_str() {
            NOT_SENT => Ok(Told::NotYet),
            SENDING if now - row.seen_at < SENDING_FOR => {
                Err("another start is mailing the summary".into())
            }
            SENDING => {
                self.note(month, UNANSWERED, now).await?;
                cry_unanswered(month, "the start that mailed it ended");
                Ok(Told::Done)
            }
            _ => Ok(Told::Done),
        }
    }

    /// Claims the mail of a month. `false`: another start did, or has mailed it.
    pub(crate) async fn claim(&self, month: &str, now: DateTime<Utc>) -> Result<bool, Failure> {
        let condition = "attribute_not_exists(#key) OR #outcome = :before";
        self.write(month, SENDING, (condition, NOT_SENT), now).await
    }

    /// Notes how the claimed mail ended.
    pub(crate) async fn note(
        &self,
        month: &str,
        outcome: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        // If it is closed already, what was noted first stands.
        self.write(month, outcome, (CLOSES, SENDING), now)
            .await
            .map(|_| ())
    }

    async fn write(
        &self,
        month: &str,
        outcome: &str,
        (condition, before): (&str, &str),
        now: DateTime<Utc>,
    ) -> Result<bool, Failure> {
        let mut row = Seen::new(summary_key(month), "summary", outcome, now);
        row.expires_at = (now + KEPT_FOR).timestamp();
        let id = self.entropy.ulid(now);
        // The command is this start's own: a claim that another one wrote is not ours.
        let step = Step::new(id, format!("summary:{month}:{outcome}:{id}"), now);
        let before = AttributeValue::S(before.to_owned());
        let operands = [("#outcome", "outcome", ":before", before)];
        let step = step.put(&self.dedupe_table, &row, condition, &operands);
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(true),
            Written::Stale(_) => Ok(false),
            Written::Contended => Err("others kept writing".into()),
        }
    }
}

/// Somebody must look whether the mail came; the report is there in any case.
pub(crate) fn cry_unanswered(month: &str, why: &str) {
    tracing::error!(
        month,
        why,
        "Nobody knows whether the summary of `{month}` was mailed: it is in the bucket"
    );
}
