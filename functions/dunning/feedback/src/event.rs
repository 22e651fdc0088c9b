//! What SES publishes about a mail, by way of SNS.
//!
//! Source: Amazon SES, "Contents of event data that Amazon SES publishes to Amazon SNS".

use std::collections::BTreeMap;

use paidonce_core::email::EmailAddress;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Notifications {
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    sns: Notification,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Notification {
    pub(crate) message_id: String,
    message: String,
}

impl Notifications {
    pub(crate) fn all(self) -> impl Iterator<Item = Notification> {
        self.records.into_iter().map(|record| record.sns)
    }
}

/// What a notification says.
pub(crate) struct Feedback {
    pub(crate) verdict: Verdict,
    /// Whom it is about.
    pub(crate) addresses: Vec<EmailAddress>,
    /// Absent if the mail has no tags of ours.
    pub(crate) mail: Option<MailRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The address will never take a mail.
    HardBounce,
    /// It did not take this one now, or nobody knows.
    SoftBounce,
    Complaint,
    /// Another kind of event, such as a delivery.
    Other,
}

/// A mail of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MailRef {
    pub(crate) subscription_id: String,
    pub(crate) no: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SesEvent {
    event_type: String,
    bounce: Option<Bounce>,
    complaint: Option<Complaint>,
    mail: SesMail,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bounce {
    bounce_type: String,
    #[serde(default)]
    bounced_recipients: Vec<Recipient>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Complaint {
    #[serde(default)]
    complained_recipients: Vec<Recipient>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recipient {
    email_address: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SesMail {
    #[serde(default)]
    destination: Vec<String>,
    #[serde(default)]
    tags: BTreeMap<String, Vec<String>>,
}

/// Reads a notification. The error repeats nothing of it: it is full of addresses.
pub(crate) fn read(notification: &Notification) -> Result<Feedback, &'static str> {
    let event: SesEvent = serde_json::from_str(&notification.message)
        .map_err(|_| "the notification is not about a mail")?;
    let (verdict, recipients) = match (event.event_type.as_str(), event.bounce, event.complaint) {
        ("Bounce", Some(bounce), _) => (bounced(&bounce.bounce_type), bounce.bounced_recipients),
        ("Complaint", _, Some(complaint)) => (Verdict::Complaint, complaint.complained_recipients),
        ("Bounce" | "Complaint", _, _) => return Err("the notification is incomplete"),
        (_, _, _) => (Verdict::Other, Vec::new()),
    };
    let named = recipients.iter().map(|it| it.email_address.as_str());
    let mut addresses: Vec<EmailAddress> = named.filter_map(bare).collect();
    if addresses.is_empty() {
        let destination = event.mail.destination.iter();
        addresses = destination.filter_map(|it| bare(it)).collect();
    }
    Ok(Feedback {
        verdict,
        addresses,
        mail: mail(&event.mail.tags),
    })
}

fn bounced(bounce_type: &str) -> Verdict {
    match bounce_type {
        "Permanent" => Verdict::HardBounce,
        _ => Verdict::SoftBounce,
    }
}

/// The address in `Name <address>`.
fn bare(text: &str) -> Option<EmailAddress> {
    let inner = text.rsplit_once('<').map_or(text, |(_, rest)| rest);
    EmailAddress::parse(inner.trim_end_matches('>')).ok()
}

fn mail(tags: &BTreeMap<String, Vec<String>>) -> Option<MailRef> {
    let tag = |name: &str| tags.get(name)?.first();
    Some(MailRef {
        subscription_id: tag("subscription")?.clone(),
        no: tag("mail")?.parse().ok()?,
    })
}
