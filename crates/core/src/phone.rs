//! Phones, as E.164: the key of the opt-out table, so one phone must have one spelling.
//!
//! Only what can get an SMS is taken. Where the text leaves a doubt it is refused with a hint;
//! a number that was guessed would text a stranger and miss an opt-out.

use std::fmt;

use phonenumber::country::Id;
use phonenumber::metadata::DATABASE;
use phonenumber::{PhoneNumber, Type};
use serde::{Deserialize, Serialize};

/// More than any spelling of one number needs, in characters.
pub const PHONE_TEXT_MAX: usize = 40;

/// A phone that may get a message.
///
/// `Debug` and `Display` show the first two and the last two digits; [`Phone::e164`] the whole.
/// A stored phone is read back as it is, without asking the metadata again: a number that was
/// good when it was taken must not make its row unreadable after an update of the data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Phone {
    e164: String,
}

impl From<Phone> for String {
    fn from(phone: Phone) -> Self {
        phone.e164
    }
}

impl TryFrom<String> for Phone {
    type Error = PhoneError;

    fn try_from(e164: String) -> Result<Self, PhoneError> {
        let digits = e164.strip_prefix('+').unwrap_or_default();
        let fits =
            (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then_some(Self { e164 }).ok_or(PhoneError::Unreadable)
    }
}

/// Why a text is no phone that we can send to. The text itself isn't repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhoneError {
    /// The configured region isn't a country code such as `GB`: our own mistake.
    #[error("the default region is not a country code such as GB")]
    UnknownRegion,
    /// Nothing, letters, several numbers, or too much of anything.
    #[error("this is not one phone number; write digits only, such as +447700900123")]
    Unreadable,
    /// An extension can't get an SMS.
    #[error("this number has an extension; give a mobile number of its own")]
    Extension,
    /// Without its country it could be several numbers or none.
    #[error(
        "this number is not clear; write it with + and the country code, such as +447700900123"
    )]
    Ambiguous,
    /// It names a country that has no such number.
    #[error("there is no such phone number; check its digits")]
    Impossible,
    /// A landline, a service number, a short code, a satellite's phone: no SMS, or not at a fair price.
    #[error("this is not a mobile number")]
    NotMobile,
}

impl Phone {
    /// Reads a phone as people write it; `default_region` (ISO 3166, such as `GB`) is the
    /// country of a number without one.
    ///
    /// # Errors
    /// See [`PhoneError`]; its text is a hint for whoever typed the number.
    pub fn parse(text: &str, default_region: &str) -> Result<Self, PhoneError> {
        let region: Id = default_region
            .parse()
            .map_err(|_| PhoneError::UnknownRegion)?;
        let dialled = Dialled::read(text)?;
        let unclear = match dialled.international {
            true => PhoneError::Impossible,
            false => PhoneError::Ambiguous,
        };
        let number = dialled.understood(region).ok_or(unclear)?;
        let country = number.country().code().to_string();
        let national = number.national().to_string();
        if is_drama(&country, &national) {
            return Ok(Self::new(&country, &national));
        }
        match number.number_type(&DATABASE) {
            Type::Mobile | Type::FixedLineOrMobile => {
                let phone = Self::new(&country, &national);
                // Networks of no country, such as +881, have a price of their own, and no sender.
                phone.country().ok_or(PhoneError::NotMobile)?;
                Ok(phone)
            }
            Type::FixedLine
            | Type::TollFree
            | Type::PremiumRate
            | Type::SharedCost
            | Type::PersonalNumber
            | Type::Voip
            | Type::Pager
            | Type::Uan
            | Type::Emergency
            | Type::Voicemail
            | Type::ShortCode
            | Type::StandardRate
            | Type::Carrier
            | Type::NoInternational => Err(PhoneError::NotMobile),
            Type::Unknown => Err(unclear),
        }
    }

    fn new(country: &str, national: &str) -> Self {
        Self {
            e164: format!("+{country}{national}"),
        }
    }

    /// Returns the number in E.164, such as `+447700900123`: a key, and personal data.
    pub fn e164(&self) -> &str {
        &self.e164
    }

    /// Returns the country that the number belongs to (ISO 3166, such as `GB`), by its first digits:
    /// `+44 7624` is the Isle of Man's, `IM`. `None` if the metadata knows no such number.
    pub fn country(&self) -> Option<String> {
        if let Some(national) = self.e164.strip_prefix("+44")
            && is_drama("44", national)
        {
            return Some("GB".to_owned());
        }
        let number = phonenumber::parse(None, &self.e164).ok()?;
        number.country().id().map(|id| id.as_ref().to_owned())
    }
}

/// Whether a text is the code of a country that has phones, such as `GB`.
pub fn is_region(text: &str) -> bool {
    text.parse::<Id>().is_ok()
}

impl fmt::Display for Phone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown_end = self.e164.len().saturating_sub(2);
        let country = self.e164.get(..3).unwrap_or("+");
        let last = self.e164.get(shown_end..).unwrap_or("");
        write!(f, "{country}…{last}")
    }
}

impl fmt::Debug for Phone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Phone({self})")
    }
}

/// Says whether the number is one of those that a regulator keeps out of use for stories and
/// examples. The metadata knows no such mobile; but demonstrations and tests must be able to
/// book without a real person's number, and nobody is ever reached by one.
///
/// Source: Ofcom, "Telephone numbers for use in TV and radio drama programmes":
/// mobiles 07700 900000 to 900999.
fn is_drama(country: &str, national: &str) -> bool {
    country == "44" && national.len() == 10 && national.starts_with("7700900")
}

/// What is left of a text when it is dialled.
struct Dialled {
    international: bool,
    digits: String,
}

impl Dialled {
    fn read(text: &str) -> Result<Self, PhoneError> {
        let text = text.trim();
        if text.chars().count() > PHONE_TEXT_MAX {
            return Err(PhoneError::Unreadable);
        }
        if has_extension(text) {
            return Err(PhoneError::Extension);
        }
        let mut digits = String::new();
        let mut international = false;
        for letter in text.chars() {
            match letter {
                '+' | '＋' if digits.is_empty() && !international => international = true,
                _ if is_decoration(letter) => {}
                _ => digits.push(ascii_digit(letter).ok_or(PhoneError::Unreadable)?),
            }
        }
        match digits.len() {
            0..3 | 20.. => Err(PhoneError::Unreadable),
            3..20 => Ok(Self {
                international,
                digits,
            }),
        }
    }

    /// The number as its own country has it, or else as somebody in the region would dial it.
    ///
    /// The library takes a region's trunk prefix off numbers of other countries too, such as the 1 of
    /// the US off +49 151: so a number that names its country is first read without a region.
    fn understood(&self, region: Id) -> Option<PhoneNumber> {
        let text = self.number();
        let parse = |region| phonenumber::parse(region, &text).ok();
        let known = |number: &PhoneNumber| !matches!(number.number_type(&DATABASE), Type::Unknown);
        parse(None)
            .filter(|number| self.international && known(number))
            .or_else(|| parse(Some(region)))
    }

    fn number(&self) -> String {
        match self.international {
            true => format!("+{}", self.digits),
            false => self.digits.clone(),
        }
    }
}

/// Looks for what people put between a number and its extension.
fn has_extension(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["ext", "#", "x", ",", ";"].iter().any(|mark| {
        lower
            .split_once(mark)
            .is_some_and(|(before, _)| before.chars().any(|letter| ascii_digit(letter).is_some()))
    })
}

/// Blanks, brackets, dashes and dots, and the marks of direction that phones copy along.
fn is_decoration(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(
            letter,
            '(' | ')' | '-' | '.' | '\u{2010}'..='\u{2015}' | '\u{2212}'
        )
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Reads ASCII, Arabic-Indic, Persian and full-width digits.
fn ascii_digit(letter: char) -> Option<char> {
    const ZEROS: [u32; 4] = [0x30, 0x660, 0x6f0, 0xff10];
    ZEROS
        .iter()
        .filter_map(|zero| u32::from(letter).checked_sub(*zero))
        .find_map(|value| char::from_digit(value, 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gb(text: &str) -> Result<String, PhoneError> {
        Phone::parse(text, "GB").map(|phone| phone.e164().to_owned())
    }

    #[test]
    fn every_spelling_of_a_phone_is_one_key() {
        for text in [
            "+447700900123",
            "07700 900123",
            "07700900123",
            "7700900123",
            "+44 7700 900123",
            "+44 (0)7700 900123",
            "+44(0)7700-900-123",
            "0044 7700 900123",
            "00447700900123",
            "0044 (0)7700 900123",
            "447700900123",
            "+4407700900123",
            " 07700.900.123 ",
            "(07700) 900123",
            "07700–900123",
            "＋４４７７００９００１２３",
            "٠٧٧٠٠ ٩٠٠١٢٣",
            "۰۷۷۰۰۹۰۰۱۲۳",
            "\u{202a}+44 7700 900123\u{202c}",
            "+44\u{a0}7700\u{a0}900123",
        ] {
            assert_eq!(gb(text).as_deref(), Ok("+447700900123"), "{text}");
        }
    }

    #[test]
    fn other_mobiles_keep_their_country() {
        for (text, region, e164) in [
            ("+447418123456", "GB", "+447418123456"),
            ("07418 123456", "GB", "+447418123456"),
            ("07624 412345", "GB", "+447624412345"),
            ("+1 415 555 2671", "GB", "+14155552671"),
            ("(415) 555-2671", "US", "+14155552671"),
            ("+33 6 12 34 56 78", "GB", "+33612345678"),
            ("0033 6 12 34 56 78", "GB", "+33612345678"),
            ("+353 85 012 3456", "GB", "+353850123456"),
            ("+39 312 345 6789", "GB", "+393123456789"),
            ("+49 1512 3456789", "GB", "+4915123456789"),
            ("+49 1512 3456789", "US", "+4915123456789"),
            ("+86 138 1234 5678", "US", "+8613812345678"),
        ] {
            let phone = Phone::parse(text, region);
            assert_eq!(phone.as_ref().map(Phone::e164), Ok(e164), "{text}");
        }
    }

    #[test]
    fn what_can_not_be_texted_is_refused() {
        use PhoneError::{Ambiguous, Extension, Impossible, NotMobile, Unreadable};
        for (text, error) in [
            ("", Unreadable),
            ("+", Unreadable),
            ("12", Unreadable),
            ("call me", Unreadable),
            ("0770O 900123", Unreadable),
            ("07700 900123 / 07700 900124", Unreadable),
            ("+44+7700900123", Unreadable),
            ("07700900123 ext 5", Extension),
            ("07700900123x5", Extension),
            ("07700 900123 #5", Extension),
            ("tel:+447700900123;ext=5", Extension),
            ("020 7946 0018", NotMobile),
            ("+44 20 7946 0958", NotMobile),
            ("0800 123 4567", NotMobile),
            ("0909 879 0000", NotMobile),
            ("0345 678 9012", NotMobile),
            ("070 1234 5678", NotMobile),
            ("+881 23613 4567", NotMobile),
            ("+882 16 1234 5678", NotMobile),
            ("900123", Ambiguous),
            ("07700 90012", Ambiguous),
            ("07700 9001234", Ambiguous),
            ("33612345678", Ambiguous),
            ("4155552671", Ambiguous),
            ("999", Ambiguous),
            ("60777", Ambiguous),
            ("+44 7700 90012", Impossible),
            ("+44 7700 9001234", Impossible),
            ("+999 1234567", Impossible),
        ] {
            assert_eq!(gb(text), Err(error), "{text}");
        }
        assert_eq!(gb(&"0".repeat(5000)), Err(Unreadable));
        assert_eq!(
            Phone::parse("07700900123", "UK!").err(),
            Some(PhoneError::UnknownRegion)
        );
    }

    #[test]
    fn a_phone_is_never_shown_whole() {
        let phone = Phone::parse("07700 900123", "GB").unwrap();
        assert_eq!(format!("{phone} {phone:?}"), "+44…23 Phone(+44…23)");
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_spelling(text in "[0-9+() ]{3,20}|\\PC{0,30}") {
            if let Ok(key) = gb(&text) {
                prop_assert_eq!(gb(&key), Ok(key.clone()));
                prop_assert!((9..=16).contains(&key.len()));
            }
        }
    }
}
