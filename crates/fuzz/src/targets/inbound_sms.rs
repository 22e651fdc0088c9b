//! What an inbound text asks for.

use paidonce_core::optout::{Wish, wish};

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let asked = wish(text);
    // How it is written does not matter.
    for spelled in [
        format!("  {text}\n"),
        format!("{text}!!"),
        text.to_ascii_uppercase(),
        text.to_ascii_lowercase(),
        text.replace(' ', "\u{a0}"),
        decomposed(text),
    ] {
        assert_eq!(wish(&spelled), asked, "{text:?} and {spelled:?}");
    }
    // Nor that it is said politely, or twice.
    if asked.is_some() {
        assert_eq!(wish(&format!("{text} please")), asked, "{text:?}");
        assert_eq!(
            wish(&format!("Please {text}, thank you")),
            asked,
            "{text:?}"
        );
    }
    if asked == Some(Wish::Start) {
        assert!(!text.to_uppercase().contains("STOP TEXTING"));
    }
}

fn decomposed(text: &str) -> String {
    unicode_normalization::UnicodeNormalization::nfd(text).collect()
}
