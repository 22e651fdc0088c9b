//! Handing a mail to the mail service, and noting what became of it.

use chrono::{DateTime, Utc};
use copywriter::dunning::Letter;
use lambda_kit::{Failure, Function, count};
use paidonce_core::dunning::MailNote;
use paidonce_core::dunning::mail::{MailJob, MailKind};
use postman::{Parcel, Posted, post};

use crate::Mailer;

impl Mailer {
    pub(crate) async fn send(
        &self,
        job: &MailJob,
        kind: MailKind,
        to: &str,
        letter: &Letter,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let support = self.policy.business.support_email.as_str();
        let parcel = Parcel {
            from: &self.sender,
            to,
            reply_to: kind.is_to_customer().then_some(support),
            subject: &letter.subject,
            text: &letter.text,
            html: letter.html.as_deref(),
            headers: headers(kind, support),
            tags: tags(job, kind),
            configuration_set: Some(&self.configuration_set),
        };
        let id = &job.subscription_id;
        match post(&self.ses, &parcel).await {
            Posted::Taken => {
                tracing::info!(subscription.id = %id, mail.no = job.no, kind = kind.as_str(), "Mail {} of `{id}` was sent", job.no);
                self.note(job, MailNote::Sent, now).await
            }
            Posted::NotNow(code) => {
                self.note(job, MailNote::NotSent, now).await?;
                Err(format!("the mail was not sent: {code}").into())
            }
            // A case tells the team of a customer's mail; nobody but the dead letters of the team's.
            Posted::Never(code) if kind.is_to_customer() => {
                count(Self::NAME, "mail_refused", 1);
                tracing::error!(subscription.id = %id, mail.no = job.no, code, "Mail {} of `{id}` will never be taken", job.no);
                self.note(job, MailNote::NobodyToWriteTo, now).await
            }
            Posted::Never(code) => {
                self.note(job, MailNote::NotSent, now).await?;
                Err(format!("the mail to the team was refused: {code}").into())
            }
            // A delivery after the claim's time makes a case of it.
            Posted::Unanswered(code) => {
                Err(format!("it is not known whether the mail was sent: {code}").into())
            }
        }
    }
}

/// Machines must not answer. A reminder is the one mail that a customer may want no more of; the
/// rest is about a contract and can't be unsubscribed from. It is by mail alone: a link that ends
/// reminders at one click would be followed by scanners.
fn headers(kind: MailKind, support: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![("Auto-Submitted", "auto-generated".to_owned())];
    if kind == MailKind::Reminder {
        let unsubscribe = format!("<mailto:{support}?subject=unsubscribe>");
        headers.push(("List-Unsubscribe", unsubscribe));
    }
    headers
}

/// By these a bounce finds its mail.
fn tags(job: &MailJob, kind: MailKind) -> Vec<(&'static str, String)> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.@".contains(letter);
    let mut tags = vec![("kind", kind.as_str().to_owned())];
    if job.subscription_id.chars().all(plain) {
        tags.push(("subscription", job.subscription_id.clone()));
        tags.push(("mail", job.no.to_string()));
    }
    tags
}
