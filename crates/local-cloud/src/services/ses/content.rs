//! What a mail says: simple, in parts, or raw, as it goes over the wire.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mail_parser::{Address, MessageParser, PartType};
use serde_json::Value;

use crate::messages::Mail;

pub(super) struct Content {
    pub(super) subject: String,
    /// The plain text, or the HTML if there is nothing else.
    pub(super) text: String,
    pub(super) mail: Mail,
}

/// Reads the body of SendEmail.
///
/// # Errors
/// What SES would refuse, as a sentence.
pub(super) fn read(body: &Value) -> Result<Content, String> {
    let destination = &body["Destination"];
    let mail = Mail {
        from: sender(body),
        to: texts(&destination["ToAddresses"]),
        cc: texts(&destination["CcAddresses"]),
        bcc: texts(&destination["BccAddresses"]),
        reply_to: texts(&body["ReplyToAddresses"]),
        tags: list(&body["EmailTags"]).filter_map(pair).collect(),
        configuration_set: body["ConfigurationSetName"].as_str().map(str::to_owned),
        ..Mail::default()
    };
    let content = match (&body["Content"]["Simple"], raw(body)) {
        (_, Some(raw)) => raw_content(raw, mail)?,
        (Value::Null, None) => return Err("a mail needs a simple or a raw content".to_owned()),
        (simple, None) => simple_content(simple, mail)?,
    };
    let mail = &content.mail;
    if mail.to.is_empty() && mail.cc.is_empty() && mail.bcc.is_empty() {
        return Err("a mail needs a recipient".to_owned());
    }
    Ok(content)
}

/// Who sends: of a raw mail it may be known from its header alone.
pub(super) fn sender(body: &Value) -> String {
    let given = body["FromEmailAddress"].as_str().map(str::to_owned);
    let of_header = || {
        let raw = raw(body)?;
        let parsed = MessageParser::default().parse(&raw)?;
        addresses(parsed.from()).into_iter().next()
    };
    given.or_else(of_header).unwrap_or_default()
}

fn raw(body: &Value) -> Option<Vec<u8>> {
    let data = body["Content"]["Raw"]["Data"].as_str()?;
    STANDARD.decode(data).ok()
}

fn simple_content(simple: &Value, mail: Mail) -> Result<Content, String> {
    let subject = simple["Subject"]["Data"].as_str().unwrap_or_default();
    let html = simple["Body"]["Html"]["Data"].as_str();
    let text = simple["Body"]["Text"]["Data"].as_str().or(html);
    let (Some(text), false) = (text, subject.is_empty()) else {
        return Err("a simple mail needs a subject and a body".to_owned());
    };
    Ok(Content {
        subject: subject.to_owned(),
        text: text.to_owned(),
        mail: Mail {
            headers: list(&simple["Headers"]).filter_map(pair).collect(),
            html: html.map(str::to_owned),
            ..mail
        },
    })
}

fn raw_content(raw: Vec<u8>, mail: Mail) -> Result<Content, String> {
    let parsed = MessageParser::default().parse(&raw);
    let parsed = parsed.ok_or("the raw message can't be read")?;
    let html = parsed.parts.iter().find_map(|part| match &part.body {
        PartType::Html(html) => Some(html.to_string()),
        PartType::Text(_)
        | PartType::Binary(_)
        | PartType::InlineBinary(_)
        | PartType::Message(_)
        | PartType::Multipart(_) => None,
    });
    let text = parsed.body_text(0).map(|text| text.to_string());
    let text = text.or_else(|| html.clone()).unwrap_or_default();
    let no_destination = mail.to.is_empty() && mail.cc.is_empty() && mail.bcc.is_empty();
    // The destination wins over what the headers say.
    let (to, cc, bcc) = match no_destination {
        true => (
            addresses(parsed.to()),
            addresses(parsed.cc()),
            addresses(parsed.bcc()),
        ),
        false => (mail.to, mail.cc, mail.bcc),
    };
    let headers = parsed
        .headers_raw()
        .map(|(name, value)| (name.to_owned(), unfolded(value)));
    Ok(Content {
        subject: parsed.subject().unwrap_or_default().to_owned(),
        text,
        mail: Mail {
            to,
            cc,
            bcc,
            headers: headers.collect(),
            html,
            raw: Some(String::from_utf8_lossy(&raw).into_owned()),
            ..mail
        },
    })
}

/// A header's value in one line.
fn unfolded(value: &str) -> String {
    let lines = value.lines().map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn addresses(header: Option<&Address<'_>>) -> Vec<String> {
    let list = header.into_iter().flat_map(Address::iter);
    list.filter_map(|address| address.address().map(str::to_owned))
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> Vec<String> {
    list(value)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// `{"Name": …, "Value": …}`
fn pair(value: &Value) -> Option<(String, String)> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some((text("Name")?, text("Value")?))
}
