//! Puts words and link together, within what may be spent on one message.

use paidonce_core::sms::{self, SmsSize};

use crate::links::lead;
use crate::name::{first_word, safe_name};
use crate::plain::plain_for;
use crate::{Facts, Kind, Language};

/// The most parts that one message may take; each is paid for.
pub const PARTS_MAX: usize = 3;

/// A text ready to be sent. `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// The whole text: personal data, and perhaps a link that works.
    pub text: String,
    /// What it takes to send.
    pub size: SmsSize,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Even the shortest wording needs more than [`PARTS_MAX`] parts: the link is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message takes {parts} parts, and at most {PARTS_MAX} may be sent")]
pub struct TooLong {
    /// How many it would take.
    pub parts: usize,
}

/// Joins words that passed their check with the link, which ends the last line. What the link is
/// for stands before it, unless the words say so already.
///
/// Nothing is cut here, whatever the size: see [`fit`].
pub fn compose(
    words: &str,
    kind: Kind,
    language: Language,
    facts: &Facts,
    link: Option<&str>,
) -> Message {
    let words = sms::normalise(words.trim());
    let text = match link {
        Some(link) => format!("{words}\n{}{link}", lead(kind, language, facts)),
        None => words,
    };
    Message {
        size: sms::measure(&text),
        text,
    }
}

/// Returns the first of these that takes at most [`PARTS_MAX`] parts: `words` as given; the
/// plain wording; the same with the first word of the name; without the name; and in letters
/// that GSM-7 has. Facts and link are whole in each.
///
/// # Errors
/// [`TooLong`] if none does.
pub fn fit(
    words: &str,
    kind: Kind,
    language: Language,
    facts: &Facts,
    link: Option<&str>,
) -> Result<Message, TooLong> {
    let name = safe_name(&facts.name);
    let plain_for = |name: &str| plain_for(kind, language, facts, name);
    let nameless = || plain_for("");
    let wordings: [&dyn Fn() -> String; 5] = [
        &|| words.to_owned(),
        &|| plain_for(&name),
        &|| plain_for(first_word(&name)),
        &nameless,
        &|| {
            nameless()
                .chars()
                .filter(|letter| sms::is_gsm7(*letter))
                .collect()
        },
    ];
    let mut parts = 0;
    for wording in wordings {
        let message = compose(&wording(), kind, language, facts, link);
        if message.size.parts <= PARTS_MAX {
            return Ok(message);
        }
        parts = message.size.parts;
    }
    Err(TooLong { parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plain, sample};
    use paidonce_core::sms::Encoding;
    use proptest::prelude::*;

    const LINK: &str = "https://abcdefghijklmnop.lambda-url.eu-west-2.on.aws/pay/b-1?exp=tcf1c0&sig=0123456789abcdefghijkl";

    fn fit_en(
        words: &str,
        kind: Kind,
        facts: &Facts,
        link: Option<&str>,
    ) -> Result<Message, TooLong> {
        fit(words, kind, Language::En, facts, link)
    }

    #[test]
    fn a_link_to_manage_a_booking_says_what_it_is_for() {
        let ends = Language::ALL.map(|language| {
            let message = compose(
                "Thank you.",
                Kind::Confirmation,
                language,
                &sample(),
                Some(LINK),
            );
            let (_, end) = message.text.split_once('\n').unwrap();
            end.replace(LINK, "LINK")
        });
        assert_eq!(
            ends,
            [
                "Change or cancel: LINK",
                "Ändern oder absagen: LINK",
                "Modifier ou annuler : LINK"
            ]
        );
    }

    #[test]
    fn the_link_stands_alone_on_the_last_line() {
        let facts = sample();
        let request =
            |words, link| compose(words, Kind::DepositRequest, Language::En, &facts, link);
        let message = request(" Please pay – thank you. ", Some(LINK));
        assert_eq!(message.text, format!("Please pay - thank you.\n{LINK}"));
        assert_eq!(
            (message.size.encoding, message.size.parts),
            (Encoding::Gsm7, 1)
        );
        assert_eq!(request("Thank you.", None).text, "Thank you.");
        assert_eq!(format!("{message:?}").matches("https").count(), 0);
    }

    #[test]
    fn words_that_fit_are_sent_as_they_are() {
        let message = fit_en("Hi Mary!", Kind::Reminder, &sample(), Some(LINK)).unwrap();
        assert_eq!(message.text, format!("Hi Mary!\n{LINK}"));
    }

    #[test]
    fn a_name_that_makes_it_dear_is_shortened_and_then_left_out() {
        let fitted = |name: &str, venue: &str| {
            let facts = Facts {
                name: name.into(),
                venue: venue.into(),
                ..sample()
            };
            let words = plain(Kind::Reminder, Language::En, &facts);
            fit_en(&words, Kind::Reminder, &facts, Some(LINK))
                .unwrap()
                .text
        };
        assert!(fitted("Mary Ann", "Kettle").contains("Hi Mary Ann,"));
        // One letter outside GSM-7 makes it four parts of UCS-2.
        let text = fitted("Nguyễn Văn An", "Kettle");
        assert!(
            text.starts_with("Kettle: a reminder") && text.ends_with(LINK),
            "{text}"
        );
        let text = fitted("Mary Văn", "Kettle");
        assert!(text.starts_with("Kettle: Hi Mary, a reminder"), "{text}");
        let text = fitted("王小明", "Café Zoë");
        assert!(text.starts_with("Café Zo: a reminder"), "{text}");
        assert!(
            text.contains("£20.00 deposit") && text.contains("by Fri 10 Jul 18:00"),
            "{text}"
        );
    }

    #[test]
    fn a_link_is_never_cut_to_make_it_fit() {
        let link = "x".repeat(500);
        let answer = fit_en("Hi", Kind::Cancelled, &sample(), Some(&link));
        assert_eq!(answer, Err(TooLong { parts: 4 }));
    }

    proptest! {
        #[test]
        fn whatever_the_name_the_message_goes_within_the_cap(name in "\\PC{0,60}", words in "\\PC{0,600}") {
            let facts = Facts { name, ..sample() };
            for (kind, language) in Kind::ALL.into_iter().flat_map(|kind| Language::ALL.map(|language| (kind, language))) {
                let message = fit(&words, kind, language, &facts, Some(LINK)).unwrap();
                prop_assert!(message.size.parts <= PARTS_MAX);
                prop_assert!(message.text.ends_with(LINK));
            }
        }
    }
}
