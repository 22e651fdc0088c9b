//! Sending a mail instead of a text: intent, call, outcome.

use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::config::Builder;
use aws_sdk_sesv2::config::retry::RetryConfig;
use aws_sdk_sesv2::error::SdkError;
use aws_sdk_sesv2::operation::send_email::SendEmailError;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageTag};
use chrono::{DateTime, Utc};
use copywriter::mail::{Mail, message_mail};
use lambda_kit::Failure;
use paidonce_core::email::EmailAddress;

use crate::ledger::{Channel, End, Intended};
use crate::send::{discreet, was_refused};
use crate::way::Obstacle;
use crate::{Composer, Job, Wording};

/// The client of the mail service. It never repeats a call by itself: a repeated call is a second
/// mail.
pub(crate) fn client(aws: &lambda_kit::SdkConfig) -> Client {
    Client::from_conf(
        Builder::from(aws)
            .retry_config(RetryConfig::disabled())
            .build(),
    )
}

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
        match self.post(job, to, &mail).await {
            Ok(()) => {
                let id = &job.order.booking_id;
                tracing::info!(booking.id = %id, kind = kind.as_str(), reason = obstacle.as_str(), "Mailed the customer of booking `{id}`");
                self.end(job, channel, (attempt, End::Sent), now).await
            }
            Err(error) if was_refused(&error) => {
                self.end(job, channel, (attempt, End::Failed), now).await?;
                Err(discreet(&error).into())
            }
            // Whether it went out is not known. A later delivery of this job makes a case of it.
            Err(error) => Err(discreet(&error).into()),
        }
    }

    async fn post(
        &self,
        job: &Job,
        to: &EmailAddress,
        mail: &Mail,
    ) -> Result<(), Box<SdkError<SendEmailError>>> {
        let unbuilt = |error| Box::new(SdkError::construction_failure(error));
        let content = |text: &str| {
            let content = Content::builder().data(text).charset("UTF-8");
            content.build().map_err(unbuilt)
        };
        let message = Message::builder()
            .subject(content(&mail.subject)?)
            .body(Body::builder().text(content(&mail.text)?).build())
            .build();
        let tag = MessageTag::builder()
            .name("kind")
            .value(job.order.kind.as_str());
        let request = self
            .ses
            .send_email()
            .from_email_address(&self.sender_email)
            .destination(Destination::builder().to_addresses(to.as_str()).build())
            .content(EmailContent::builder().simple(message).build())
            .email_tags(tag.build().map_err(unbuilt)?);
        request.send().await.map(|_| ()).map_err(Box::new)
    }
}
