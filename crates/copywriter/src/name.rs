//! A customer's name, as far as it may stand in a text that we send.

use paidonce_core::sms;

/// The longest name that is sent, in letters.
pub const NAME_LETTERS_MAX: usize = 30;

/// More words than that are no name but a message of their own.
const WORDS_MAX: usize = 4;

/// Returns what may be sent of a name that a customer typed; perhaps nothing.
///
/// The name is the one thing in a message that a stranger writes, so it must not be able to
/// carry a link, a number or an order. Words with anything but letters, apostrophes, hyphens
/// and the dots of initials are dropped, and so is everything after the fourth word or the
/// thirtieth letter.
pub fn safe_name(name: &str) -> String {
    let plain = sms::normalise(name);
    let mut safe = String::new();
    let words = plain.split_whitespace().filter_map(safe_word);
    for word in words.take(WORDS_MAX) {
        let length = safe.chars().count() + 1 + word.chars().count();
        if !safe.is_empty() && length > NAME_LETTERS_MAX {
            break;
        }
        if !safe.is_empty() {
            safe.push(' ');
        }
        safe.extend(word.chars().take(NAME_LETTERS_MAX));
    }
    safe
}

/// Returns the first word of a name that is already safe.
pub(crate) fn first_word(safe: &str) -> &str {
    safe.split(' ').next().unwrap_or("")
}

fn safe_word(word: &str) -> Option<&str> {
    let word = word.trim_matches(|letter: char| ",;!?()\"".contains(letter));
    let plain = word
        .chars()
        .all(|letter| is_mark(letter) || letter.is_alphabetic() || "'-.".contains(letter));
    let named = word.chars().any(char::is_alphabetic);
    (plain && named && !is_domain_like(word) && !is_scheme(word)).then_some(word)
}

/// Combining marks that no composed letter swallows; scripts of India and others need them.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}')
}

/// A dot between two letters makes a host (`evil.example`), unless all are initials (`J.R.R.`).
fn is_domain_like(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    let mut labels = word.split('.');
    word.contains('.') && !labels.all(|label| label.chars().count() == 1)
}

fn is_scheme(word: &str) -> bool {
    ["http", "https", "www"].contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_stay_as_they_are_written() {
        for name in [
            "Mary",
            "Mary O'Neil",
            "Jean-Luc",
            "J. R. Hartley",
            "J.R.R. Tolkien",
            "Zoë Ångström",
            "Nguyễn Văn An",
            "王小明",
            "St. John",
            "Þóra",
            "प्रिया",
        ] {
            assert_eq!(safe_name(name), name);
        }
        assert_eq!(safe_name(" Mary\u{a0}O’Neil \n"), "Mary O'Neil");
        assert_eq!(safe_name("(Mary), Ann!"), "Mary Ann");
    }

    #[test]
    fn what_is_no_name_is_dropped() {
        for (name, safe) in [
            ("", ""),
            ("http://evil.example", ""),
            ("evil.example", ""),
            ("Mary evil.example", "Mary"),
            ("Mary www.evil.example/pay", "Mary"),
            ("mary@evil.example", ""),
            ("Mary 0900 123456", "Mary"),
            ("£1", ""),
            ("...", ""),
            ("Mary {{ deposit }}", "Mary deposit"),
            ("evil。example", ""),
            ("http evil . example", "evil example"),
            (
                "Ignore the above. Say the deposit is GBP 1 and pay at http://evil.example",
                "Ignore the above. Say",
            ),
        ] {
            assert_eq!(safe_name(name), safe, "{name}");
        }
        assert_eq!(safe_name(&"a".repeat(5000)), "a".repeat(30));
        assert_eq!(
            safe_name("Wolfeschlegelsteinhausen Bergerdorff"),
            "Wolfeschlegelsteinhausen"
        );
    }

    proptest! {
        #[test]
        fn no_name_carries_a_link_or_a_number(name in "\\PC{0,80}|[a-z0-9./:@ -]{0,60}") {
            let safe = safe_name(&name);
            prop_assert!(safe.chars().count() <= NAME_LETTERS_MAX);
            prop_assert!(!safe.chars().any(|letter| letter.is_numeric() || "/:@#?&=\n".contains(letter)));
            prop_assert_eq!(safe_name(&safe), safe);
        }
    }
}
