//! SES: simple mails, as SendEmail of the v2 API takes them.

use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::messages::Message;
use crate::template::{ACCOUNT, REGION};
use crate::wire::{Answer, AwsRequest};

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    if request.operation != "SendEmail" {
        return None;
    }
    let from = address(
        request.body["FromEmailAddress"]
            .as_str()
            .unwrap_or_default(),
    );
    let domain = from.split('@').nth(1).unwrap_or_default();
    let arn = |kind: &str, name: &str| format!("arn:aws:ses:{REGION}:{ACCOUNT}:{kind}/{name}");
    let mut identity = Access::new("ses:SendEmail", arn("identity", from));
    // The address or its domain may be the verified identity.
    identity.resources.push(arn("identity", domain));
    identity
        .context
        .insert("ses:FromAddress".to_owned(), [from.to_owned()].into());
    let mut needs = vec![identity];
    if let Some(set) = request.body["ConfigurationSetName"].as_str() {
        needs.push(Access::new("ses:SendEmail", arn("configuration-set", set)));
    }
    Some(needs)
}

/// The bare address in `Name <address>`.
fn address(text: &str) -> &str {
    match text.rsplit_once('<') {
        Some((_, rest)) => rest.trim_end_matches('>').trim(),
        None => text.trim(),
    }
}

pub(super) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    let body = &request.body;
    let to: Vec<&str> = body["Destination"]["ToAddresses"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let content = &body["Content"]["Simple"];
    let subject = content["Subject"]["Data"].as_str().unwrap_or_default();
    let parts = [
        &content["Body"]["Text"]["Data"],
        &content["Body"]["Html"]["Data"],
    ];
    let text = parts.into_iter().find_map(Value::as_str);
    let (Some(text), false) = (text, to.is_empty() || subject.is_empty()) else {
        let message = "a mail needs a recipient, a subject and a simple body";
        return request.error(400, "BadRequestException", message);
    };
    let tags = body["EmailTags"].as_array().into_iter().flatten();
    let kind = tags
        .filter(|tag| tag["Name"] == "kind")
        .find_map(|tag| tag["Value"].as_str());
    let id = cloud.new_id("mail");
    cloud.sent(Message {
        channel: "mail".to_owned(),
        to: to.join(", "),
        kind: kind.unwrap_or_default().to_owned(),
        subject: subject.to_owned(),
        text: text.to_owned(),
        at: cloud.clock.now(),
        function: caller.to_owned(),
        id: id.clone(),
    });
    request.answer(&json!({ "MessageId": id }))
}
