//! Mails through SES, each handed over once: what the service said decides what may be tried again.

use std::fmt;
use std::time::Duration;

use aws_sdk_sesv2::config::Builder;
use aws_sdk_sesv2::config::retry::RetryConfig;
use aws_sdk_sesv2::config::timeout::TimeoutConfig;
use aws_sdk_sesv2::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sesv2::operation::send_email::SendEmailError;
use aws_sdk_sesv2::types::{
    Body, Content, Destination, EmailContent, Message, MessageHeader, MessageTag,
};
use aws_types::SdkConfig;

pub use aws_sdk_sesv2::Client;

/// How long the service may take, in seconds. After that it is not known what became of a mail.
const OPERATION_TIMEOUT_S: u64 = 10;

/// A mail. `Debug` shows its tags only.
#[derive(Clone, Default)]
pub struct Parcel<'a> {
    /// An address, or `Name <address>`.
    pub from: &'a str,
    pub to: &'a str,
    pub reply_to: Option<&'a str>,
    pub subject: &'a str,
    pub text: &'a str,
    pub html: Option<&'a str>,
    pub headers: Vec<(&'a str, String)>,
    /// Letters, digits, `_`, `-`, `.` and `@`; they come back with a bounce, so none is personal.
    pub tags: Vec<(&'a str, String)>,
    pub configuration_set: Option<&'a str>,
}

impl fmt::Debug for Parcel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel")
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

/// What became of a mail. The service's own words repeat the address, so only its code is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a mail without an answer must not be sent again"]
pub enum Posted {
    /// The service has it.
    Taken,
    /// It was not sent, and the same mail may be tried again.
    NotNow(String),
    /// It was not sent, and the service will never take it: for its address or what it says.
    Never(String),
    /// It may have been sent.
    Unanswered(String),
}

/// The client of the mail service. It never repeats a call by itself: a repeated call is a second
/// mail.
pub fn client(aws: &SdkConfig) -> Client {
    let timeouts = TimeoutConfig::builder()
        .operation_timeout(Duration::from_secs(OPERATION_TIMEOUT_S))
        .build();
    Client::from_conf(
        Builder::from(aws)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build(),
    )
}

/// Hands a mail to the service, once.
pub async fn post(client: &Client, parcel: &Parcel<'_>) -> Posted {
    let content = match content(parcel) {
        Ok(content) => content,
        Err(error) => return Posted::Never(error.to_string()),
    };
    let mut request = client
        .send_email()
        .from_email_address(parcel.from)
        .destination(Destination::builder().to_addresses(parcel.to).build())
        .set_reply_to_addresses(parcel.reply_to.map(|address| vec![address.to_owned()]))
        .set_configuration_set_name(parcel.configuration_set.map(str::to_owned))
        .content(content);
    for (name, value) in &parcel.tags {
        match MessageTag::builder().name(*name).value(value).build() {
            Ok(tag) => request = request.email_tags(tag),
            Err(error) => return Posted::Never(error.to_string()),
        }
    }
    match request.send().await {
        Ok(_) => Posted::Taken,
        Err(error) => what_became(&error),
    }
}

fn content(parcel: &Parcel<'_>) -> Result<EmailContent, BuildError> {
    let content = |text: &str| Content::builder().data(text).charset("UTF-8").build();
    let mut body = Body::builder().text(content(parcel.text)?);
    if let Some(html) = parcel.html {
        body = body.html(content(html)?);
    }
    let mut message = Message::builder()
        .subject(content(parcel.subject)?)
        .body(body.build());
    for (name, value) in &parcel.headers {
        message = message.headers(MessageHeader::builder().name(*name).value(value).build()?);
    }
    Ok(EmailContent::builder().simple(message.build()).build())
}

fn what_became(error: &SdkError<SendEmailError>) -> Posted {
    let code = error.code().unwrap_or("no answer").to_owned();
    let status = error.raw_response().map(|raw| raw.status().as_u16());
    let was_sent_off = !matches!(error, SdkError::ConstructionFailure(_));
    match (was_sent_off, status, code.as_str()) {
        (false, _, _) => Posted::NotNow(code),
        (true, Some(400..=499), "MessageRejected" | "BadRequestException") => Posted::Never(code),
        (true, Some(400..=499), _) => Posted::NotNow(code),
        (true, Some(_) | None, _) => Posted::Unanswered(code),
    }
}
