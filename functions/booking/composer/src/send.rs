//! Sending a text: intent, call, outcome.

use aws_sdk_sns::Client;
use aws_sdk_sns::config::Builder;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sns::operation::publish::PublishError;
use aws_sdk_sns::types::MessageAttributeValue;
use chrono::{DateTime, Utc};
use lambda_kit::Failure;
use paidonce_core::phone::Phone;

use crate::ledger::End;
use crate::{Composer, Job};

/// The client of the SMS service. It never repeats a call by itself: a repeated publish is a second
/// text.
pub(crate) fn client(aws: &lambda_kit::SdkConfig) -> Client {
    Client::from_conf(
        Builder::from(aws)
            .retry_config(RetryConfig::disabled())
            .build(),
    )
}

impl Composer {
    pub(crate) async fn send(
        &self,
        job: &Job,
        phone: &Phone,
        text: &str,
        attempt: u32,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        if !self.intend(job, phone, attempt, now).await? {
            return self.suppressed(job, now).await;
        }
        match self.publish(job, phone, text).await {
            Ok(()) => {
                let id = &job.order.booking_id;
                tracing::info!(booking.id = %id, kind = job.order.kind.as_str(), "Texted the customer of booking `{id}`");
                self.end(job, attempt, End::Sent, now).await
            }
            Err(error) if was_refused(&error) => {
                self.end(job, attempt, End::Failed, now).await?;
                Err(discreet(&error).into())
            }
            // Whether it went out is not known. A later delivery of this job makes a case of it.
            Err(error) => Err(discreet(&error).into()),
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

/// Whether the service itself said that it did not send the text.
fn was_refused(error: &SdkError<PublishError>) -> bool {
    let status = error.raw_response().map(|raw| raw.status().as_u16());
    let built = !matches!(error, SdkError::ConstructionFailure(_));
    !built || status.is_some_and(|status| (400..500).contains(&status))
}

/// The service's own words repeat the phone, so only the code of its answer is kept.
fn discreet(error: &SdkError<PublishError>) -> String {
    let code = error.code().unwrap_or("no answer");
    format!("the text was not sent for sure: {code}")
}
