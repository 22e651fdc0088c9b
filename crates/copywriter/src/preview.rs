//! What a venue's customers would read, and what it would cost, before anybody is written to.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::link::Purpose;
use paidonce_core::money::{Money, MoneyError};
use paidonce_core::sms::Encoding;
use paidonce_core::venue::Venue;

use crate::{Facts, Kind, Language, amount, compose, fit, link_purpose, plain, when};

/// As long as a deployed link is: the address of a function, the booking and the signature.
const SAMPLE_HOST: &str = "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-west-2.on.aws/";
const SAMPLE_BOOKING: &str = "bkg_01k0000000000000000000k7qm";
const SAMPLE_QUERY: &str = "exp=tcf1c0&sig=0123456789abcdefghijkl";
const SAMPLE_MINOR: i64 = 2000;

/// A message as it would be sent in plain words. `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Preview {
    pub text: String,
    pub encoding: Encoding,
    /// Septets in GSM-7, 16-bit units in UCS-2.
    pub units: usize,
    /// How many parts are billed. More than [`crate::PARTS_MAX`] are never sent: the link is too
    /// long.
    pub parts: usize,
}

impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preview")
            .field("encoding", &self.encoding)
            .field("units", &self.units)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Preview {
    /// Returns what it costs as a text, at so much for each part.
    ///
    /// # Errors
    /// A sum beyond what money can be.
    pub fn price(&self, part_price: Money) -> Result<Money, MoneyError> {
        let none = Money::zero(part_price.currency());
        (0..self.parts).try_fold(none, |sum, _| sum.checked_add(part_price))
    }
}

/// Returns the plain wording of a message with its link, as [`fit`] would have it sent.
pub fn preview(kind: Kind, language: Language, facts: &Facts, link: Option<&str>) -> Preview {
    let words = plain(kind, language, facts);
    let message = fit(&words, kind, language, facts, link)
        .unwrap_or_else(|_| compose(&words, kind, language, facts, link));
    Preview {
        encoding: message.size.encoding,
        units: message.size.units,
        parts: message.size.parts,
        text: message.text,
    }
}

/// Returns a preview of every kind in every language, about a booking that such a venue could have.
pub fn previews(venue: &Venue, now: DateTime<Utc>) -> Vec<(Kind, Language, Preview)> {
    let mut previews = Vec::new();
    for kind in Kind::ALL {
        for language in Language::ALL {
            let facts = sample_facts(kind, language, venue, now);
            let link = link_purpose(kind, &facts).map(sample_link);
            let preview = preview(kind, language, &facts, link.as_deref());
            previews.push((kind, language, preview));
        }
    }
    previews
}

/// Returns facts of a made-up booking for two days after `now`, at the venue's first resource.
pub fn sample_facts(kind: Kind, language: Language, venue: &Venue, now: DateTime<Utc>) -> Facts {
    let label = venue.resources.first().map(|resource| &resource.label);
    let starts_at = now + TimeDelta::days(2);
    let when = |at| when(at, venue.zone, language);
    let deposit = Money::new(SAMPLE_MINOR, venue.currency)
        .map(|money| amount(money, language))
        .ok();
    let (pays_back, is_late) = match kind {
        Kind::LateRefund => (true, true),
        Kind::SecondRefund | Kind::Cancelled => (true, false),
        Kind::DepositRequest
        | Kind::Reminder
        | Kind::Confirmation
        | Kind::Released
        | Kind::Rescheduled
        | Kind::PaymentChecked => (false, false),
    };
    let later = (1..=3).map(|days| when(starts_at + TimeDelta::days(days)));
    Facts {
        venue: venue.name.clone(),
        name: "Alex Example".to_owned(),
        party: 2,
        what: label.cloned().unwrap_or_default(),
        starts: when(starts_at),
        deadline: kind
            .asks_for_deposit()
            .then(|| when(starts_at - TimeDelta::days(1))),
        deposit: deposit.clone(),
        refund: deposit.filter(|_| pays_back),
        other_times: later.filter(|_| is_late).collect(),
        booking: "0K7QM".to_owned(),
    }
}

fn sample_link(purpose: Purpose) -> String {
    let path = purpose.as_str();
    format!("{SAMPLE_HOST}{path}/{SAMPLE_BOOKING}?{SAMPLE_QUERY}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PARTS_MAX, sample};
    use paidonce_core::venue::BUILT_IN;

    #[test]
    fn a_preview_says_what_a_text_takes_and_costs() {
        let facts = sample();
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let seen = preview(Kind::Cancelled, Language::En, &facts, None);
        assert_eq!((seen.encoding, seen.parts), (Encoding::Gsm7, 1));
        assert_eq!(seen.units, seen.text.chars().count());
        let link = "x".repeat(145);
        let seen = preview(Kind::Confirmation, Language::En, &facts, Some(&link));
        assert_eq!(seen.parts, 2);
        assert!(seen.text.ends_with(&link));
        let price = seen.price(venue.sms.part_price).unwrap();
        assert_eq!(price.minor(), 2 * venue.sms.part_price.minor());
        let endless = preview(
            Kind::Confirmation,
            Language::En,
            &facts,
            Some(&"x".repeat(600)),
        );
        assert!(endless.parts > PARTS_MAX);
    }

    #[test]
    fn every_kind_can_be_looked_at_in_every_language() {
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let now = "2026-07-09T12:00:00Z".parse().unwrap();
        let previews = previews(&venue, now);
        assert_eq!(previews.len(), Kind::ALL.len() * Language::ALL.len());
        for (kind, language, preview) in previews {
            assert_eq!(preview.encoding, Encoding::Gsm7, "{kind:?} {language:?}");
            assert!(preview.parts <= PARTS_MAX, "{kind:?} {language:?}");
            assert!(
                preview.text.starts_with("The Anchor: "),
                "{kind:?} {language:?}"
            );
        }
    }
}
