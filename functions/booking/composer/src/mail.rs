//! Sending a mail instead of a text: intent, call, outcome.

use chrono::{DateTime, Utc};
use copywriter::mail::message_mail;
use lambda_kit::Failure;
use paidonce_core::email::EmailAddress;
use postman::{Parcel, Posted};

use crate::ledger::{Channel, End, Intended};
use crate::send::not_sent_for_sure;
use crate::way::Obstacle;
use crate::{Composer, Job, Wording};

impl Composer {
    pub(crate) async fn mail(
        &self,
        job: &Job,
        to: &EmailAddress,
        wording: &Wording,
        (obstacle, attempt): (Obstacle, u32),
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let (kind, language) = (job.order.kind, wording.language);
        let link = wording.link.as_deref();
        let mail = message_mail(&wording.words, kind, language, &wording.facts, link);
        let channel = Channel::Mail(obstacle);
        if let Intended::No(_) = self.intend(job, channel, attempt, now).await? {
            return Err("nothing but another delivery stands in the way of a mail".into());
        }
        let parcel = Parcel {
            from: &self.sender_email,
            to: to.as_str(),
            subject: &mail.subject,
            text: &mail.text,
            tags: vec![("kind", kind.as_str().to_owned())],
            ..Parcel::default()
        };
        match postman::post(&self.ses, &parcel).await {
            Posted::Taken => {
                let id = &job.order.booking_id;
                tracing::info!(booking.id = %id, kind = kind.as_str(), reason = obstacle.as_str(), "Mailed the customer of booking `{id}`");
                self.end(job, channel, (attempt, End::Sent), now).await
            }
            Posted::NotNow(code) | Posted::Never(code) => {
                self.end(job, channel, (attempt, End::Failed), now).await?;
                Err(not_sent_for_sure(&code).into())
            }
            // A later delivery of this job makes a case of it.
            Posted::Unanswered(code) => Err(not_sent_for_sure(&code).into()),
        }
    }
}
