//! SNS: text messages to phones, carriers' opt-outs, and topics that invoke their functions.

use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::messages::Message;
use crate::wire::{Answer, AwsRequest};

/// What a text message to a phone is checked against: it has no ARN, so only `*` covers it.
const PHONE: &str = "sms";
const OPTED_OUT: &str = "CheckIfPhoneNumberIsOptedOut";

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    let topic = request.body["TopicArn"].as_str().unwrap_or(PHONE);
    match request.operation.as_str() {
        "Publish" => Some(vec![Access::new("sns:Publish", topic)]),
        OPTED_OUT => Some(vec![Access::new(format!("sns:{OPTED_OUT}"), PHONE)]),
        _ => None,
    }
}

pub(super) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    if request.operation == OPTED_OUT {
        let phone = request.body["phoneNumber"].as_str().unwrap_or_default();
        let is_opted_out = cloud.carrier_opted_out(phone);
        return request.answer_xml(&format!("<isOptedOut>{is_opted_out}</isOptedOut>"));
    }
    if request.operation != "Publish" {
        return request.unknown_operation();
    }
    let member = |name: &str| request.body[name].as_str().unwrap_or_default();
    let text = member("Message");
    if text.is_empty() {
        return request.error(400, "InvalidParameter", "Invalid parameter: Empty message");
    }
    let id = match request.body["TopicArn"].as_str() {
        Some(topic) => match publish(cloud, topic, text) {
            Some(id) => id,
            None => return request.error(404, "NotFound", "Topic does not exist"),
        },
        None => {
            let phone = member("PhoneNumber");
            if !is_e164(phone) || cloud.refuses_phone(phone) {
                return request.error(400, "InvalidParameter", "Invalid parameter: PhoneNumber");
            }
            let id = cloud.new_id("sms");
            // As SNS does: it takes the text, and the phone never gets it.
            if cloud.carrier_opted_out(phone) {
                return request.answer_xml(&format!("<MessageId>{id}</MessageId>"));
            }
            cloud.sent(Message {
                channel: "sms".to_owned(),
                to: phone.to_owned(),
                kind: attribute(&request.body, "kind"),
                subject: String::new(),
                text: text.to_owned(),
                at: cloud.clock.now(),
                function: caller.to_owned(),
                id: id.clone(),
                mail: None,
            });
            id
        }
    };
    request.answer_xml(&format!("<MessageId>{id}</MessageId>"))
}

fn is_e164(phone: &str) -> bool {
    let digits = phone.strip_prefix('+').unwrap_or_default();
    (7..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// The text of a message attribute of the query protocol's numbered form.
fn attribute(form: &Value, wanted: &str) -> String {
    let members = form.as_object().into_iter().flatten();
    let names = members.filter(|(key, value)| {
        key.starts_with("MessageAttributes.entry.") && key.ends_with(".Name") && *value == wanted
    });
    let value = |(key, _): (&String, &Value)| {
        let key = key.replace(".Name", ".Value.StringValue");
        form[key].as_str().map(str::to_owned)
    };
    names.filter_map(value).next().unwrap_or_default()
}

/// Publishes to a topic: each subscribed function is invoked asynchronously.
///
/// Returns the message's id, or `None` when there is no such topic.
pub(crate) fn publish(cloud: &Cloud, topic_arn: &str, text: &str) -> Option<String> {
    let name = topic_arn.rsplit(':').next().unwrap_or(topic_arn);
    let functions = cloud.stack.topics.get(name)?;
    let id = cloud.new_id("notification");
    let event = json!({"Records": [{
        "EventVersion": "1.0",
        "EventSource": "aws:sns",
        "EventSubscriptionArn": format!("{topic_arn}:local"),
        "Sns": {
            "Type": "Notification",
            "MessageId": id,
            "TopicArn": topic_arn,
            "Subject": null,
            "Message": text,
            "Timestamp": cloud.clock.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            "SignatureVersion": "1",
            "Signature": "local",
            "SigningCertUrl": "https://local.invalid/cert.pem",
            "UnsubscribeUrl": "https://local.invalid/unsubscribe",
            "MessageAttributes": {},
        },
    }]});
    for function in functions {
        cloud.invoke_later(function, event.clone());
    }
    Some(id)
}
