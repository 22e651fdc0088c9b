//! What becomes of a mail, published to the topics of its configuration set in the shape of SES's
//! event publishing: <https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html>.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{address, arn};
use crate::cloud::Cloud;
use crate::messages::{Mail, Message};
use crate::services::publish;
use crate::template::ACCOUNT;

/// How a mail ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailFate {
    Delivered,
    /// The address does not exist: a permanent bounce.
    BouncedForGood,
    /// The mailbox is full: a transient bounce, after SES has given up trying.
    BouncedForNow,
    /// The recipient called it spam.
    Complained,
}

/// Tells that a mail was taken.
pub(super) fn tell_sent(cloud: &Cloud, id: &str) {
    tell(cloud, id, |_, _| ("Send", "send", json!({})));
}

/// Tells how a mail ended; returns how many topics were told.
pub(crate) fn tell_fate(cloud: &Cloud, id: &str, fate: MailFate) -> usize {
    tell(cloud, id, |at, mail| match fate {
        MailFate::Delivered => ("Delivery", "delivery", delivery(at, mail)),
        MailFate::BouncedForGood => {
            let bounce = bounce(cloud, at, mail, ["Permanent", "General", "5.1.1"]);
            ("Bounce", "bounce", bounce)
        }
        MailFate::BouncedForNow => {
            let bounce = bounce(cloud, at, mail, ["Transient", "MailboxFull", "5.2.2"]);
            ("Bounce", "bounce", bounce)
        }
        MailFate::Complained => ("Complaint", "complaint", complaint(cloud, at, mail)),
    })
}

/// Publishes an event of a mail, which has a type, a field of its own, and what is in that.
fn tell(
    cloud: &Cloud,
    id: &str,
    event: impl Fn(&str, &Mail) -> (&'static str, &'static str, Value),
) -> usize {
    let sent = cloud.store.look(|state| {
        let mut messages = state.messages.iter().rev();
        messages
            .find(|message| message.id == id && message.mail.is_some())
            .cloned()
    });
    let Some(message) = sent else { return 0 };
    let mail = message.mail.as_deref().cloned().unwrap_or_default();
    let set = mail.configuration_set.as_deref().unwrap_or_default();
    let destinations = cloud.stack.configuration_sets.get(set);
    let at = stamp(cloud.clock.now());
    let (kind, field, what) = event(&at, &mail);
    let body = json!({
        "eventType": kind,
        field: what,
        "mail": described(&message, &mail),
    });
    let told = destinations.into_iter().flatten().filter(|destination| {
        destination.kinds.contains(field)
            && publish(cloud, &destination.topic_arn, &body.to_string()).is_some()
    });
    told.count()
}

fn stamp(at: chrono::DateTime<chrono::Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Everybody whom the mail goes to, with bare addresses.
fn recipients(mail: &Mail) -> Vec<&str> {
    let all = mail.to.iter().chain(&mail.cc).chain(&mail.bcc);
    all.map(|recipient| address(recipient)).collect()
}

fn delivery(at: &str, mail: &Mail) -> Value {
    json!({
        "timestamp": at,
        "processingTimeMillis": 500,
        "recipients": recipients(mail),
        "smtpResponse": "250 ok",
        "reportingMTA": "mta.local.invalid",
    })
}

fn bounce(cloud: &Cloud, at: &str, mail: &Mail, [kind, sub_kind, status]: [&str; 3]) -> Value {
    let bounced = |recipient: &str| {
        json!({
            "emailAddress": recipient,
            "action": "failed",
            "status": status,
            "diagnosticCode": format!("smtp; 550 {status} not delivered"),
        })
    };
    json!({
        "bounceType": kind,
        "bounceSubType": sub_kind,
        "bouncedRecipients": recipients(mail).into_iter().map(bounced).collect::<Vec<_>>(),
        "timestamp": at,
        "feedbackId": cloud.new_id("feedback"),
        "reportingMTA": "dsn; mta.local.invalid",
    })
}

fn complaint(cloud: &Cloud, at: &str, mail: &Mail) -> Value {
    let complained = |recipient: &str| json!({ "emailAddress": recipient });
    json!({
        "complainedRecipients": recipients(mail).into_iter().map(complained).collect::<Vec<_>>(),
        "timestamp": at,
        "feedbackId": cloud.new_id("feedback"),
        "complaintSubType": null,
        "complaintFeedbackType": "abuse",
        "userAgent": "local-cloud",
        "arrivalDate": at,
    })
}

/// The mail itself, as every event describes it.
fn described(message: &Message, mail: &Mail) -> Value {
    let from = address(&mail.from);
    let mut headers = vec![
        ("From".to_owned(), mail.from.clone()),
        ("To".to_owned(), mail.to.join(", ")),
        ("Subject".to_owned(), message.subject.clone()),
    ];
    if mail.raw.is_some() {
        headers.clear();
    }
    headers.extend(mail.headers.clone());
    let headers = headers
        .into_iter()
        .map(|(name, value)| json!({"name": name, "value": value}));
    let mut tags: BTreeMap<&str, [&str; 1]> = BTreeMap::from([
        (
            "ses:configuration-set",
            [mail.configuration_set.as_deref().unwrap_or_default()],
        ),
        ("ses:source-ip", ["192.0.2.0"]),
        (
            "ses:from-domain",
            [from.split('@').nth(1).unwrap_or_default()],
        ),
        ("ses:caller-identity", [message.function.as_str()]),
    ]);
    tags.extend(
        mail.tags
            .iter()
            .map(|(name, value)| (name.as_str(), [value.as_str()])),
    );
    json!({
        "timestamp": stamp(message.at),
        "source": mail.from,
        "sourceArn": arn("identity", from),
        "sendingAccountId": ACCOUNT,
        "messageId": message.id,
        "destination": recipients(mail),
        "headersTruncated": false,
        "headers": headers.collect::<Vec<_>>(),
        "commonHeaders": {
            "from": [mail.from],
            "to": mail.to,
            "messageId": message.id,
            "subject": message.subject,
        },
        "tags": tags,
    })
}
