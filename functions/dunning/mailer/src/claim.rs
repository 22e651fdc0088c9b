//! Claiming a mail, in one step with the customer's mail of the day.

use chrono::{DateTime, Utc};
use lambda_kit::Failure;
use paidonce_core::dunning::mail::{MailJob, MailKind, claimed_facts};
use paidonce_core::dunning::seen::{Seen, mail_of_day_key};
use paidonce_core::dunning::{Carried, Command, Dunning, Rejection};
use paidonce_core::step::{Found, Row, Step, from_item};

use crate::Mailer;

pub(crate) enum Claimed {
    /// It is this delivery's to send, as the row now stands.
    Ours(Box<Dunning>),
    /// The customer got another mail today. The order stays owed, and the sweep gives it again.
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
        let day = mail_of_day(&row, job, kind, now);
        let guard = |step: Step| match &day {
            Some(day) => step.create_or_replace_expired(&self.dedupe_table, day),
            None => step,
        };
        let new_id = || self.entropy.ulid(now);
        let order = self.order(job, Command::ClaimMail { no: job.no }, now, &new_id);
        let carried = order.carry_out_on(row.clone(), &guard).await?;
        let carried = match (carried, &day) {
            (Carried::Guarded(found), Some(day)) if is_held_by_another(&found, day)? => {
                return Ok(Claimed::NotToday);
            }
            // An earlier try of this very mail took the day, and was not sent.
            (Carried::Guarded(_), _) => order.carry_out_on(row, &|step| step).await?,
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
}

/// The row of the one mail that a customer gets on a day; nothing where there is no such limit.
fn mail_of_day(row: &Dunning, job: &MailJob, kind: MailKind, now: DateTime<Utc>) -> Option<Seen> {
    let is_limited = kind.is_dunning() && row.terms.one_mail_per_day;
    let day = now.with_timezone(&row.terms.zone).date_naive();
    is_limited.then(|| {
        let key = mail_of_day_key(&row.customer_id, day);
        Seen {
            subscription_id: Some(job.subscription_id.clone()),
            ..Seen::new(key, "mail_of_day", &job.no.to_string(), now)
        }
    })
}

fn is_held_by_another(found: &[Found], ours: &Seen) -> Result<bool, Failure> {
    let held = found.iter().find(|found| found.name == Seen::NAME);
    let Some(item) = held.and_then(|found| found.row.clone()) else {
        return Ok(true);
    };
    let held: Seen = from_item(item)?;
    Ok(
        (held.subscription_id, held.outcome)
            != (ours.subscription_id.clone(), ours.outcome.clone()),
    )
}
