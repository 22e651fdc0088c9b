//! How a text travels as SMS: the GSM 03.38 alphabet, UCS-2 beyond it, and what each costs.
//!
//! One letter outside the alphabet turns a part from 160 letters into 70, and each part is paid
//! for; so a text is first spelled with what the alphabet has ([`normalise`]), then measured.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use crate::step::{Counter, Row, Step};

/// The basic table of GSM 03.38 (3GPP TS 23.038, 6.2.1) without the escape: one septet each.
const BASIC: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
                     ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// The extension table (6.2.1.1): an escape and a septet each, which stay together.
const EXTENSION: &str = "\u{c}^{}\\[~]|€";

/// How long a day's count is kept.
const SPENT_KEPT_FOR: TimeDelta = TimeDelta::days(8);

/// How many parts were sent on one day (UTC), beside the answers that are kept for a while.
#[derive(Clone, Debug, Serialize)]
pub struct SmsSpent {
    pub scope_key: String,
}

impl Row for SmsSpent {
    const NAME: &'static str = "sms spent";
    const KEY: &'static str = "scope_key";

    fn key(&self) -> String {
        self.scope_key.clone()
    }
}

impl SmsSpent {
    pub fn on(day: DateTime<Utc>) -> Self {
        Self {
            scope_key: format!("sms-parts#{}", day.format("%Y-%m-%d")),
        }
    }
}

impl Step {
    /// Counts the parts of a text that is about to be sent, unless the day's would then be more
    /// than `max`. A text that is counted and then not sent stays counted.
    #[must_use]
    pub fn spend_sms(self, table: &str, parts: usize, max: u32) -> Self {
        let now = self.now();
        let counter = Counter {
            add: u32::try_from(parts).unwrap_or(u32::MAX),
            max,
            expires_at: now + SPENT_KEPT_FOR,
        };
        self.count_up(table, &SmsSpent::on(now), counter)
    }
}

/// How the letters of a text are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Septets: 160 in one part, 153 in each of several.
    Gsm7,
    /// Pairs of bytes: 70 in one part, 67 in each of several.
    Ucs2,
}

/// What a text takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmsSize {
    /// How it is encoded.
    pub encoding: Encoding,
    /// Septets in GSM-7, 16-bit units in UCS-2.
    pub units: usize,
    /// Parts, each of which is billed; an empty text is one.
    pub parts: usize,
}

impl Encoding {
    fn single_units(self) -> usize {
        match self {
            Self::Gsm7 => 160,
            Self::Ucs2 => 70,
        }
    }

    fn part_units(self) -> usize {
        match self {
            Self::Gsm7 => 153,
            Self::Ucs2 => 67,
        }
    }

    fn units(self, letter: char) -> usize {
        match self {
            Self::Gsm7 if EXTENSION.contains(letter) => 2,
            Self::Gsm7 => 1,
            Self::Ucs2 => letter.len_utf16(),
        }
    }
}

/// Says whether the GSM alphabet, with its extension, has the letter.
pub fn is_gsm7(letter: char) -> bool {
    BASIC.contains(letter) || EXTENSION.contains(letter)
}

/// Measures a text exactly as it stands.
///
/// What counts for two units (an extension letter, a letter outside the basic plane) is never
/// cut in half, so it may leave the last unit of a part empty.
pub fn measure(text: &str) -> SmsSize {
    let encoding = match text.chars().all(is_gsm7) {
        true => Encoding::Gsm7,
        false => Encoding::Ucs2,
    };
    let units = text.chars().map(|letter| encoding.units(letter)).sum();
    let parts = match units <= encoding.single_units() {
        true => 1,
        false => count_parts(text, encoding),
    };
    SmsSize {
        encoding,
        units,
        parts,
    }
}

fn count_parts(text: &str, encoding: Encoding) -> usize {
    let (mut parts, mut filled) = (1, 0);
    for letter in text.chars() {
        let units = encoding.units(letter);
        if filled + units > encoding.part_units() {
            parts += 1;
            filled = 0;
        }
        filled += units;
    }
    parts
}

/// Spells a text with what the GSM alphabet has, as far as its reader sees no difference.
///
/// Letters are composed (NFC); typographic quotes, dashes, blanks and dots become plain ones;
/// invisible signs, other control characters included, are dropped. No letter is replaced by
/// another: a name stays as its owner writes it, and then costs more.
pub fn normalise(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").nfc() {
        match plainly(letter) {
            Some(spelling) => plain.push_str(spelling),
            None => plain.push(letter),
        }
    }
    // What was dropped may have stood between a letter and its accent.
    plain.nfc().collect()
}

fn plainly(letter: char) -> Option<&'static str> {
    Some(match letter {
        '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '`' | '´' => "'",
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => "\"",
        '‹' => "<",
        '›' => ">",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '•' | '·' => "-",
        '…' => "...",
        '\t' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\r' | '\u{2028}' | '\u{2029}' => "\n",
        // Soft hyphen, zero-width signs, marks of direction, byte order mark. The joiner U+200D
        // stays, since it holds emoji together.
        '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => "",
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => "",
        '\n' => return None,
        _ if letter.is_control() => "",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> (Encoding, usize) {
        let size = measure(text);
        (size.encoding, size.parts)
    }

    /// The parts are those that the npm package sms-segments-calculator 1.3.0 counts.
    #[test]
    fn texts_take_as_many_parts_as_others_measure() {
        use Encoding::{Gsm7, Ucs2};
        let a = |count: usize| "a".repeat(count);
        let han = |count: usize| "漢".repeat(count);
        let table = [
            (String::new(), Gsm7, 1),
            (a(160), Gsm7, 1),
            (a(161), Gsm7, 2),
            (a(306), Gsm7, 2),
            (a(307), Gsm7, 3),
            ("€".repeat(80), Gsm7, 1),
            ("€".repeat(81), Gsm7, 2),
            (a(159) + "€", Gsm7, 2),
            (a(152) + "€" + &a(152), Gsm7, 3),
            (a(151) + "€" + &a(153), Gsm7, 2),
            (han(70), Ucs2, 1),
            (han(71), Ucs2, 2),
            (han(134), Ucs2, 2),
            (han(135), Ucs2, 3),
            (han(66) + "😀" + &han(66), Ucs2, 3),
            (a(68) + "😀", Ucs2, 1),
            (a(69) + "😀", Ucs2, 2),
            ("|[".repeat(35) + "漢", Ucs2, 2),
            ("|[".repeat(34) + "|漢", Ucs2, 1),
        ];
        for (text, encoding, count) in table {
            assert_eq!(parts(&text), (encoding, count), "{text}");
        }
    }

    #[test]
    fn one_letter_decides_the_encoding() {
        for text in [
            "£",
            "é",
            "Ç",
            "\n",
            "\r",
            "\u{c}",
            "Café",
            "~{}[]\\|^€",
            "Δ",
            "@",
        ] {
            assert_eq!(measure(text).encoding, Encoding::Gsm7, "{text:?}");
        }
        for text in [
            "You’re",
            "–",
            "\u{a0}",
            "`",
            "ç",
            "\t",
            "Cafe\u{301}",
            "\u{1b}",
            "á",
            "漢",
            "😀",
        ] {
            assert_eq!(measure(text).encoding, Encoding::Ucs2, "{text:?}");
        }
    }

    #[test]
    fn units_count_escapes_and_surrogates() {
        assert_eq!(measure("€10").units, 4);
        assert_eq!(measure("😀10").units, 4);
        assert_eq!(
            measure(&("a".repeat(152) + "€" + &"a".repeat(152))).units,
            306
        );
    }

    #[test]
    fn typography_becomes_plain() {
        for (text, plain) in [
            ("You’re “in” – see\u{a0}you…", "You're \"in\" - see you..."),
            ("Cafe\u{301}", "Café"),
            ("Cafe\u{200b}\u{301}", "Café"),
            ("a\tb\r\nc\rd\u{2028}e", "a b\nc\nd\ne"),
            ("x\u{200b}y\u{feff}\u{202e}z\u{7}\u{0}", "xyz"),
            ("ça va, Zoë? 漢 👩\u{200d}🍳", "ça va, Zoë? 漢 👩\u{200d}🍳"),
        ] {
            assert_eq!(normalise(text), plain);
        }
    }

    proptest! {
        #[test]
        fn a_plain_text_stays_and_never_costs_more(text in "\\PC{0,200}|[ -~’–…]{0,400}") {
            let plain = normalise(&text);
            prop_assert_eq!(normalise(&plain), plain.clone());
            let size = measure(&text);
            prop_assert!(size.parts >= 1);
            prop_assert!(size.parts <= size.units.div_ceil(66).max(1));
        }
    }
}
