//! SES: mails, as SendEmail of the v2 API takes them; what becomes of them; and the account.

mod content;
mod events;

use chrono::Duration;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::messages::{Mail, Message};
use crate::template::{ACCOUNT, REGION};
use crate::wire::{Answer, AwsRequest};
use content::Content;
pub use events::MailFate;
pub(crate) use events::tell_fate;

const RECIPIENTS_MAX: usize = 50;

/// What SES says of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailAccount {
    /// Out of the sandbox. Only told: a mail from the sandbox is taken all the same.
    pub production_access_enabled: bool,
    /// Without this no mail is taken.
    pub sending_enabled: bool,
}

impl Default for MailAccount {
    fn default() -> Self {
        Self {
            production_access_enabled: true,
            sending_enabled: true,
        }
    }
}

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    match request.operation.as_str() {
        "SendEmail" => Some(needs_to_send(request)),
        "GetAccount" => Some(vec![Access::new("ses:GetAccount", "*")]),
        _ => None,
    }
}

fn needs_to_send(request: &AwsRequest) -> Vec<Access> {
    let sender = content::sender(&request.body);
    let from = address(&sender);
    let domain = from.split('@').nth(1).unwrap_or_default();
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
    needs
}

fn arn(kind: &str, name: &str) -> String {
    format!("arn:aws:ses:{REGION}:{ACCOUNT}:{kind}/{name}")
}

/// The bare address in `Name <address>`.
fn address(text: &str) -> &str {
    match text.rsplit_once('<') {
        Some((_, rest)) => rest.trim_end_matches('>').trim(),
        None => text.trim(),
    }
}

pub(super) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    match request.operation.as_str() {
        "SendEmail" => send(cloud, caller, request),
        "GetAccount" => request.answer(&account(cloud)),
        _ => request.unknown_operation(),
    }
}

fn send(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    let content = match content::read(&request.body) {
        Ok(content) => content,
        Err(message) => return request.error(400, "BadRequestException", &message),
    };
    if let Some(refusal) = refusal(cloud, request, &content.mail) {
        return refusal;
    }
    let Content {
        subject,
        text,
        mail,
    } = content;
    let id = cloud.new_id("mail");
    cloud.sent(Message {
        channel: "mail".to_owned(),
        to: mail.to.join(", "),
        kind: mail.tags.get("kind").cloned().unwrap_or_default(),
        subject,
        text,
        at: cloud.clock.now(),
        function: caller.to_owned(),
        id: id.clone(),
        mail: Some(Box::new(mail)),
    });
    events::tell_sent(cloud, &id);
    request.answer(&json!({ "MessageId": id }))
}

/// Why a mail that can be read is not taken.
fn refusal(cloud: &Cloud, request: &AwsRequest, mail: &Mail) -> Option<Answer> {
    if !cloud.mail_account().sending_enabled {
        let message = "Email sending is disabled for this account.";
        return Some(request.error(400, "SendingPausedException", message));
    }
    if mail.to.len() + mail.cc.len() + mail.bcc.len() > RECIPIENTS_MAX {
        let message = format!("Recipient count exceeds {RECIPIENTS_MAX}.");
        return Some(request.error(400, "BadRequestException", &message));
    }
    let set = mail.configuration_set.as_deref()?;
    if cloud.stack.configuration_sets.contains_key(set) {
        return None;
    }
    let message = format!("Configuration set <{set}> does not exist.");
    Some(request.error(404, "NotFoundException", &message))
}

fn account(cloud: &Cloud) -> Value {
    let account = cloud.mail_account();
    let (per_day, per_second) = match account.production_access_enabled {
        true => (50_000.0, 14.0),
        false => (200.0, 1.0),
    };
    let day_ago = cloud.clock.now() - Duration::days(1);
    let sent = cloud.store.look(|state| {
        let mails = state
            .messages
            .iter()
            .filter(|message| message.channel == "mail" && message.at > day_ago);
        mails.count()
    });
    json!({
        "ProductionAccessEnabled": account.production_access_enabled,
        "SendingEnabled": account.sending_enabled,
        "EnforcementStatus": "HEALTHY",
        "DedicatedIpAutoWarmupEnabled": false,
        "SendQuota": {
            "Max24HourSend": per_day,
            "MaxSendRate": per_second,
            "SentLast24Hours": sent,
        },
    })
}
