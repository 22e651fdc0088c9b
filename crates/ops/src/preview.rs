//! What customers would read: every message of a venue with its size and its price.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use copywriter::{Facts, Kind, TooLong};
use paidonce_core::local_time::{at_wall, human};
use paidonce_core::money::Money;
use paidonce_core::sms::{Encoding, SmsSize};
use paidonce_core::venue::Venue;

/// One message as it would go out in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub kind: Kind,
    pub text: String,
    pub size: SmsSize,
    /// For all parts; absent if it is not known what one costs.
    pub price: Option<Money>,
}

/// Words every message of `kind`, or of all kinds, for an invented booking of the venue's first
/// resource.
///
/// # Errors
/// A message that does not fit even in its shortest wording.
pub fn previews(
    venue: &Venue,
    kind: Option<Kind>,
    part_price: Option<Money>,
    now: DateTime<Utc>,
) -> Result<Vec<Preview>, TooLong> {
    let facts = invented(venue, now);
    let wanted = Kind::ALL
        .into_iter()
        .filter(|it| kind.is_none_or(|kind| kind == *it));
    wanted
        .map(|kind| {
            let link = kind.asks_for_deposit().then_some(LINK);
            let message = copywriter::fit(&copywriter::plain(kind, &facts), kind, &facts, link)?;
            Ok(Preview {
                kind,
                price: part_price.and_then(|price| times(price, message.size.parts)),
                text: message.text,
                size: message.size,
            })
        })
        .collect()
}

/// As long as a deployed one: a Function URL, a booking's id, an expiry and a signature.
const LINK: &str = "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-west-2.on.aws/pay/\
    bkg_01kx3bzgg0zzzzzzzzzzzzzzzz?exp=tpl8w0&sig=0123456789abcdefABCDEF";

/// Facts of nobody's booking.
fn invented(venue: &Venue, now: DateTime<Utc>) -> Facts {
    let day = (now + TimeDelta::days(3))
        .with_timezone(&venue.zone)
        .date_naive();
    let evening = NaiveTime::from_hms_opt(20, 0, 0).unwrap_or_default();
    let starts_at = at_wall(day.and_time(evening), venue.zone);
    let first = venue.resources.first();
    let deposit = first.and_then(|it| it.deposit(2, venue.currency));
    let deadline = venue.policy.deposit_deadline(now, starts_at);
    Facts {
        venue: venue.name.clone(),
        name: "Alexandra".to_owned(),
        party: 2,
        what: first.map_or_else(|| "table".to_owned(), |it| it.label.clone()),
        starts: human(starts_at, venue.zone),
        deadline: Some(human(deadline, venue.zone)),
        deposit: deposit.map(Money::display),
        refund: deposit.map(Money::display),
        booking: "K7QM2".to_owned(),
    }
}

fn times(price: Money, parts: usize) -> Option<Money> {
    let mut sum = Money::zero(price.currency());
    for _ in 0..parts {
        sum = sum.checked_add(price).ok()?;
    }
    Some(sum)
}

/// The name that people know an encoding by.
pub fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Gsm7 => "GSM-7",
        Encoding::Ucs2 => "UCS-2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paidonce_core::money::Currency;
    use paidonce_core::venue::BUILT_IN;

    #[test]
    fn every_kind_has_a_text_of_a_size_and_a_price() {
        let venue = Venue::from_json(BUILT_IN).unwrap();
        let now = DateTime::from_timestamp(1_783_598_400, 0).unwrap();
        let price = Money::new(4, Currency::GBP).ok();
        let all = previews(&venue, None, price, now).unwrap();
        assert_eq!(all.len(), Kind::ALL.len());
        for preview in &all {
            assert!(!preview.text.is_empty());
            let parts = i64::try_from(preview.size.parts).unwrap();
            assert_eq!(preview.price.unwrap().minor(), 4 * parts);
            assert_eq!(
                preview.text.contains("https://"),
                preview.kind.asks_for_deposit()
            );
        }
        let one = previews(&venue, Some(Kind::Reminder), None, now).unwrap();
        assert_eq!(one.len(), 1);
        assert_eq!((one[0].kind, one[0].price), (Kind::Reminder, None));
    }
}
