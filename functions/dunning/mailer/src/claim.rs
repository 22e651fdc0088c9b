//! Claiming a mail, in one step with the customer's mail of the day.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use lambda_kit::Failure;
use paidonce_core::dunning::mail::{MailJob, MailKind, MailState, claimed_facts};
use paidonce_core::dunning::seen::{Seen, mail_of_day_key};
use paidonce_core::dunning::{Carried, Command, Dunning, Rejection};
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::{Found, Row, Step, from_item, read};

use crate::Mailer;

pub(crate) enum Claimed {
    /// It is this delivery's to send, as the row now stands.
    Ours(Box<Dunning>),
    /// The customer got another mail today, or it is night. The order stays owed, and the sweep gives it again.
    NotToday,
    /// It was sent or dropped meanwhile.
    Settled,
    /// Another delivery may be sending it.
    Busy,
}

impl Mailer {
    pub(crate) async fn claim(
        &self,
        job: &MailJob,
        row: Dunning,
        kind: MailKind,
        now: DateTime<Utc>,
    ) -> Result<Claimed, Failure> {
        // At night nobody is asked for money: the morning's sweep gives the order again.
        if kind.is_dunning() && !row.terms.window.has(now, row.terms.zone) {
            return Ok(Claimed::NotToday);
        }
        let day = mail_of_day(&row, job, kind, now);
        let new_id = || self.entropy.ulid(now);
        let order = self.order(job, Command::ClaimMail { no: job.no }, now, &new_id);
        let guard = |step: Step| match &day {
            Some(day) => step.create_or_replace_expired(&self.dedupe_table, day),
            None => step,
        };
        let carried = match (order.carry_out_on(row.clone(), &guard).await?, &day) {
            (Carried::Guarded(found), Some(day)) => {
                let Some(held) = self.free_day(&found, job).await? else {
                    return Ok(Claimed::NotToday);
                };
                let take_over =
                    |step: Step| step.put(&self.dedupe_table, day, STILL_HELD, &operands(&held));
                order.carry_out_on(row, &take_over).await?
            }
            (carried, _) => carried,
        };
        match carried {
            Carried::Moved(to) if claimed_facts(&to.after, job.no).is_ok() => {
                Ok(Claimed::Ours(Box::new(to.after)))
            }
            Carried::Moved(_)
            | Carried::Rejected(
                Rejection::Already | Rejection::Stale | Rejection::TooEarly(_) | Rejection::Nothing,
                _,
            ) => Ok(Claimed::Settled),
            Carried::Rejected(Rejection::InFlight(_), _) => Ok(Claimed::Busy),
            Carried::Missing | Carried::Guarded(_) | Carried::Contended => {
                Err("others kept writing".into())
            }
        }
    }

    /// The day's row, if the customer got no mail by it: it is this mail's own from an earlier try, or
    /// that of one that came back or was dropped.
    async fn free_day(&self, found: &[Found], job: &MailJob) -> Result<Option<Seen>, Failure> {
        let held = found.iter().find(|found| found.name == Seen::NAME);
        let Some(item) = held.and_then(|found| found.row.clone()) else {
            return Ok(None);
        };
        let held: Seen = from_item(item)?;
        let holder = held.subscription_id.clone().unwrap_or_default();
        let no = held.outcome.parse().unwrap_or_default();
        if (holder.as_str(), no) == (job.subscription_id.as_str(), job.no) {
            return Ok(Some(held));
        }
        let holder = read::<Dunning>(&self.dynamodb, &self.tables.dunning, &holder).await?;
        let mail = holder.as_ref().and_then(|row| row.mails.items.get(&no));
        Ok(match mail.map(|mail| &mail.state) {
            Some(MailState::Returned | MailState::Dropped { .. }) => Some(held),
            Some(
                MailState::Owed
                | MailState::Claimed { .. }
                | MailState::Sent { .. }
                | MailState::Unanswered,
            )
            | None => None,
        })
    }
}

/// The row of the one mail that a customer gets on a day; nothing where there is no such limit.
fn mail_of_day(row: &Dunning, job: &MailJob, kind: MailKind, now: DateTime<Utc>) -> Option<Seen> {
    let is_limited = kind.is_dunning() && row.terms.one_mail_per_day;
    let is_limited = is_limited && !planted::is(Defect::TwoMailsADay);
    let day = now.with_timezone(&row.terms.zone).date_naive();
    is_limited.then(|| {
        let key = mail_of_day_key(&row.customer_id, day);
        Seen {
            subscription_id: Some(job.subscription_id.clone()),
            ..Seen::new(key, "mail_of_day", &job.no.to_string(), now)
        }
    })
}

/// The day's row is still the one that was seen.
const STILL_HELD: &str =
    "attribute_exists(#key) AND #outcome = :outcome AND #subscription = :subscription";

fn operands(held: &Seen) -> [(&'static str, &'static str, &'static str, AttributeValue); 2] {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let subscription = held.subscription_id.as_deref().unwrap_or_default();
    [
        ("#outcome", "outcome", ":outcome", text(&held.outcome)),
        (
            "#subscription",
            "subscription_id",
            ":subscription",
            text(subscription),
        ),
    ]
}
