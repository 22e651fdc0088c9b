//! What a customer asks for, read and checked.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use lambda_kit::Problem;
use paidonce_core::calendar::Wanted;
use paidonce_core::email::EmailAddress;
use paidonce_core::phone::Phone;
use paidonce_core::venue::Language;

use crate::Intake;
use crate::api::{Fields, start};

/// What a customer asks for, checked.
pub(crate) struct Wish<'a> {
    pub(crate) wanted: Wanted<'a>,
    pub(crate) party: u32,
    pub(crate) name: String,
    pub(crate) phone: Phone,
    pub(crate) email: Option<EmailAddress>,
    pub(crate) notes: Option<String>,
    pub(crate) source: String,
    pub(crate) language: Option<Language>,
    /// Whether the customer ticked that the terms are agreed to.
    pub(crate) consents: bool,
    /// Where the form was sent from, if whoever took it says so. It is counted, and not kept.
    pub(crate) client_ip: Option<IpAddr>,
}

impl Intake {
    pub(crate) fn wish(&self, fields: &Fields, now: DateTime<Utc>) -> Result<Wish<'_>, Problem> {
        let resource = fields.text("resource", 40)?;
        let instant = start(&fields.text("starts_at", 40)?, self.venue.zone, now)?;
        let party = fields.number("party", 1, 1000)?;
        let name = fields.text("name", 80)?;
        let phone = self.phone(fields)?;
        let email = match fields.optional_text("email", 254)? {
            Some(email) => Some(EmailAddress::parse(&email).map_err(|error| {
                Problem::field("email", "bad_email", &format!("`email`: {error}."))
            })?),
            None => None,
        };
        let notes = fields.optional_lines("notes", 500)?;
        let source = fields.text("source", 40)?;
        let language = language(fields)?;
        let consents = fields.optional_truth("consent")?.unwrap_or(false);
        let client_ip = client_ip(fields)?;
        let wanted = self.wanted(&resource, instant.utc, party, now)?;
        Ok(Wish {
            wanted,
            party,
            name,
            phone,
            email,
            notes,
            source,
            language,
            consents,
            client_ip,
        })
    }

    fn phone(&self, fields: &Fields) -> Result<Phone, Problem> {
        let phone = Phone::parse(&fields.text("phone", 40)?, &self.venue.phone_region)
            .map_err(|error| Problem::field("phone", "bad_phone", &format!("`phone`: {error}.")))?;
        if self.venue.takes_phone(&phone) {
            return Ok(phone);
        }
        let detail = "`phone` is of a country that we do not send texts to.";
        Err(Problem::field("phone", "phone_country", detail))
    }
}

fn language(fields: &Fields) -> Result<Option<Language>, Problem> {
    let Some(code) = fields.optional_text("language", 20)? else {
        return Ok(None);
    };
    let known = Language::ALL.into_iter().find(|it| it.as_str() == code);
    known.map(Some).ok_or_else(|| {
        let all = Language::ALL.map(Language::as_str).join(", ");
        let detail = format!("`language` must be one of {all}.");
        Problem::field("language", "unknown_language", &detail)
    })
}

fn client_ip(fields: &Fields) -> Result<Option<IpAddr>, Problem> {
    let Some(text) = fields.optional_text("client_ip", 45)? else {
        return Ok(None);
    };
    let detail = "`client_ip` must be one IP address.";
    text.parse()
        .map(Some)
        .map_err(|_| Problem::field("client_ip", "bad_address", detail))
}
