//! Sending a text: intent, call, outcome.

use aws_sdk_sns::Client;
use aws_sdk_sns::config::Builder;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sns::operation::publish::PublishError;
use aws_sdk_sns::types::MessageAttributeValue;
use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::booking::Booking;
use paidonce_core::phone::Phone;

use crate::ledger::{Channel, End, Intended};
use crate::way::Obstacle;
use crate::{Composer, Job, Wording};

/// The client of the SMS service. It never repeats a call by itself: a repeated publish is a second
/// text.
pub(crate) fn client(aws: &lambda_kit::SdkConfig) -> Client {
    Client::from_conf(
        Builder::from(aws)
            .retry_config(RetryConfig::disabled())
            .build(),
    )
}

/// What became of a text.
pub(crate) enum Texted {
    Done,
    /// It was not sent, for this reason; and what the next attempt is.
    Not(Obstacle, u32),
}

impl Composer {
    pub(crate) async fn text(
        &self,
        job: &Job,
        booking: &Booking,
        phone: &Phone,
        wording: &Wording,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<Texted, Failure> {
        if self.carrier_says_opted_out(phone).await {
            return Ok(Texted::Not(Obstacle::OptedOut, attempt));
        }
        let link = wording.link.as_deref();
        let (kind, language) = (job.order.kind, wording.language);
        let text = copywriter::fit(&wording.words, kind, language, &wording.facts, link)?;
        let parts = text.size.parts;
        let channel = Channel::Text { phone, parts };
        if let Intended::No(obstacle) = self.intend(job, channel, attempt, now).await? {
            if obstacle == Obstacle::SpendCap {
                count(Self::NAME, "sms_spend_cap", 1);
            }
            return Ok(Texted::Not(obstacle, attempt));
        }
        match self.publish(job, phone, &text.text).await {
            Ok(()) => {
                let id = &job.order.booking_id;
                tracing::info!(booking.id = %id, kind = kind.as_str(), "Texted the customer of booking `{id}`");
                self.end(job, channel, (attempt, End::Sent), now).await?;
                Ok(Texted::Done)
            }
            // There is another way, so it is not tried again by this one.
            Err(error) if will_never_be_taken(&error) && booking.email.is_some() => {
                self.end(job, channel, (attempt, End::Refused), now).await?;
                Ok(Texted::Not(Obstacle::Refused, attempt + 1))
            }
            Err(error) if was_refused(&error) => {
                self.end(job, channel, (attempt, End::Failed), now).await?;
                Err(discreet(&error).into())
            }
            // Whether it went out is not known. A later delivery of this job makes a case of it.
            Err(error) => Err(discreet(&error).into()),
        }
    }

    /// Whether the phone opted out at the carrier, where we don't hear of it. SNS takes a text to
    /// such a phone, and then delivers nothing.
    ///
    /// No answer holds up no text.
    async fn carrier_says_opted_out(&self, phone: &Phone) -> bool {
        let asked = self.sns.check_if_phone_number_is_opted_out();
        match asked.phone_number(phone.e164()).send().await {
            Ok(answer) => answer.is_opted_out(),
            Err(error) => {
                let code = error.code().unwrap_or("no answer");
                tracing::warn!(code, "The carrier's opt-outs are not known");
                false
            }
        }
    }

    async fn publish(
        &self,
        job: &Job,
        phone: &Phone,
        text: &str,
    ) -> Result<(), Box<SdkError<PublishError>>> {
        let attribute = |value: &str| {
            MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value)
                .build()
                .map_err(|error| Box::new(SdkError::construction_failure(error)))
        };
        let mut request = self
            .sns
            .publish()
            .phone_number(phone.e164())
            .message(text)
            .message_attributes("AWS.SNS.SMS.SMSType", attribute("Transactional")?)
            .message_attributes("kind", attribute(job.order.kind.as_str())?);
        if let Some(sender) = &self.sender_id {
            request = request.message_attributes("AWS.SNS.SMS.SenderID", attribute(sender)?);
        }
        request.send().await.map(|_| ()).map_err(Box::new)
    }
}

/// Whether the service refused the text for what it is: to this number it will never go.
fn will_never_be_taken(error: &SdkError<PublishError>) -> bool {
    matches!(
        error.code(),
        Some("OptedOut" | "InvalidParameter" | "InvalidParameterValue" | "ValidationException")
    )
}

/// Whether the service itself said that it did not send it.
fn was_refused<E>(error: &SdkError<E>) -> bool {
    let status = error.raw_response().map(|raw| raw.status().as_u16());
    let built = !matches!(error, SdkError::ConstructionFailure(_));
    !built || status.is_some_and(|status| (400..500).contains(&status))
}

/// The service's own words repeat the phone or the address, so only the code of its answer is kept.
fn discreet<E: ProvideErrorMetadata>(error: &SdkError<E>) -> String {
    not_sent_for_sure(error.code().unwrap_or("no answer"))
}

pub(crate) fn not_sent_for_sure(code: &str) -> String {
    format!("the message was not sent for sure: {code}")
}
