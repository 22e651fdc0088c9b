//! Checks a model's draft before it may be sent.
//!
//! The facts are taken out of the draft first, each only where it stands whole and spelled as
//! we spell it. What is left must be words: no digit, amount, date, time, link or address, and
//! no word that says more than the plain wording does. A draft in doubt isn't repaired; the
//! plain wording goes instead. The words that are looked for are English ones, so a draft in
//! another language must not be asked for.

mod words;

use paidonce_core::language::Language;
use paidonce_core::sms;

use crate::name::safe_name;
use crate::{Facts, Kind, plain};
use words::{AMOUNT_WORDS, LOADED, NUMBER_WORDS, REFUSALS, SHORT_TIME_NAMES, TIME_WORDS};

/// The longest draft, in letters; with a link of 90 it still takes two parts.
pub const WORDS_LETTERS_MAX: usize = 210;

/// Stands where a fact was taken out. No draft holds one: control characters are refused first.
const TAKEN: char = '\u{1}';

/// Why a draft isn't sent. Holds nothing of the draft, so that it may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// There are no words.
    #[error("the draft is empty")]
    Empty,
    /// More than [`WORDS_LETTERS_MAX`] letters.
    #[error("the draft is too long")]
    TooLong,
    /// A line break, a control or hidden character, or mark-up.
    #[error("the draft is not one plain line")]
    NotPlain,
    /// A letter that would make the message several times as dear.
    #[error("the draft has letters beyond GSM-7")]
    Letters,
    /// A link, a host, or an address.
    #[error("the draft has a link or an address")]
    Link,
    /// A currency, or a word for one, that isn't part of the deposit.
    #[error("the draft names an amount of its own")]
    Amount,
    /// A date, a weekday, a time or a word such as *tomorrow* that isn't one of the facts.
    #[error("the draft names a time of its own")]
    Time,
    /// A number that isn't one of the facts.
    #[error("the draft has a number of its own")]
    Number,
    /// A fact without which the message is of no use.
    #[error("the draft leaves out the {0}")]
    Missing(&'static str),
    /// A promise, a request or a state that the plain wording doesn't have.
    #[error("the draft says `{0}`")]
    Unasked(&'static str),
    /// The model talks about itself or its task.
    #[error("the draft is not a message but an answer")]
    Refusal,
}

/// Returns the draft, trimmed and spelled for SMS, if nothing in it is in doubt.
///
/// # Errors
/// The first [`Doubt`] found.
pub fn check(draft: &str, facts: &Facts, kind: Kind) -> Result<String, Doubt> {
    let words = plain_line(draft, WORDS_LETTERS_MAX)?;
    let rest = Rest::new(&words, &known(facts));
    rest.brings_no_facts()?;
    if !rest
        .text
        .chars()
        .all(|letter| letter == TAKEN || sms::is_gsm7(letter))
    {
        return Err(Doubt::Letters);
    }
    rest.is_a_message()?;
    rest.says_no_more_than(&plain(kind, Language::En, facts), LOADED)?;
    has_what_it_needs(&words, facts, kind)?;
    Ok(words)
}

/// Checks one line of a mail: it may repeat what is known, and say no loaded word that the plain
/// line does not say.
pub(crate) fn check_line(
    draft: &str,
    letters_max: usize,
    known: &[&str],
    plain: &str,
    loaded: &[&'static str],
) -> Result<String, Doubt> {
    let words = plain_line(draft, letters_max)?;
    let mut known: Vec<String> = known.iter().map(|text| sms::normalise(text)).collect();
    known.retain(|text| !text.is_empty());
    known.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let rest = Rest::new(&words, &known);
    rest.brings_no_facts()?;
    rest.is_a_message()?;
    rest.says_no_more_than(plain, LOADED)?;
    rest.says_no_more_than(plain, loaded)?;
    Ok(words)
}

fn plain_line(draft: &str, letters_max: usize) -> Result<String, Doubt> {
    let draft = draft.trim();
    if draft.is_empty() {
        return Err(Doubt::Empty);
    }
    if draft.chars().count() > letters_max {
        return Err(Doubt::TooLong);
    }
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}')
    };
    let markup = |letter: char| "*_`#<>[]{}|\\~^=".contains(letter);
    if draft.contains(hidden) || draft.contains(markup) || draft.starts_with(['"', '\'', '“', '-'])
    {
        return Err(Doubt::NotPlain);
    }
    let words = sms::normalise(draft);
    match words.chars().count() <= letters_max {
        true => Ok(words),
        false => Err(Doubt::TooLong),
    }
}

fn has_what_it_needs(words: &str, facts: &Facts, kind: Kind) -> Result<(), Doubt> {
    let has = |fact: &str| take_out(words, &sms::normalise(fact)).contains(TAKEN);
    if kind.asks_for_deposit() {
        if !facts.deposit.as_deref().is_some_and(has) {
            return Err(Doubt::Missing("deposit"));
        }
        // With the word in front of it: start and deadline look alike and may be mixed up.
        let deadline = facts
            .deadline
            .as_deref()
            .map(sms::normalise)
            .unwrap_or_default();
        let lower = words.to_lowercase();
        let told = ["by", "before", "until"]
            .iter()
            .any(|word| lower.contains(&format!(" {word} {}", deadline.to_lowercase())));
        if deadline.is_empty() || !told || !has(&deadline) {
            return Err(Doubt::Missing("deadline"));
        }
    }
    let starts_needed = match kind {
        Kind::DepositRequest | Kind::Confirmation | Kind::Rescheduled => true,
        Kind::Reminder
        | Kind::Released
        | Kind::Cancelled
        | Kind::PaymentChecked
        | Kind::LateRefund
        | Kind::SecondRefund => false,
    };
    // Money that goes back must be told of whenever it does.
    if facts.refund.as_deref().is_some_and(|refund| !has(refund)) {
        return Err(Doubt::Missing("refund"));
    }
    match starts_needed && !has(&facts.starts) {
        true => Err(Doubt::Missing("start")),
        false => Ok(()),
    }
}

/// A draft without its facts.
struct Rest {
    text: String,
    /// The words in lower case, each between blanks, so that phrases can be looked for.
    words: String,
}

impl Rest {
    /// `known` are the facts, the longest first.
    fn new(draft: &str, known: &[String]) -> Self {
        let text = known
            .iter()
            .fold(draft.to_owned(), |text, fact| take_out(&text, fact));
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower
            .split(|letter: char| !(letter.is_alphanumeric() || letter == '\''))
            .filter(|word| !word.is_empty())
            .collect();
        let words = format!(" {} ", words.join(" "));
        Self { text, words }
    }

    fn brings_no_facts(&self) -> Result<(), Doubt> {
        self.is_without_links()?;
        self.is_without_amounts()?;
        self.is_without_times()?;
        self.is_without_numbers()
    }

    fn find(&self, phrases: &[&'static str]) -> Option<&'static str> {
        phrases
            .iter()
            .copied()
            .find(|phrase| has_phrase(&self.words, phrase))
    }

    fn is_without_links(&self) -> Result<(), Doubt> {
        let marked = ["://", "www.", "@", "//", "%2"]
            .iter()
            .any(|mark| self.text.to_lowercase().contains(mark));
        let letters: Vec<char> = self.text.chars().collect();
        let hosts = letters.windows(3).any(|three| match three {
            [before, '.' | '/' | ':', after] => {
                let joined = before.is_alphanumeric() && after.is_alphanumeric();
                joined && (before.is_alphabetic() || after.is_alphabetic())
            }
            _ => false,
        });
        let named = self.find(&["http", "https", "www", "dot com", "link", "url", "website"]);
        match marked || hosts || named.is_some_and(|word| word != "link") {
            true => Err(Doubt::Link),
            false => Ok(()),
        }
    }

    fn is_without_amounts(&self) -> Result<(), Doubt> {
        let signs = |letter: char| {
            "$£€¥¤¢%‰฿".contains(letter) || ('\u{20a0}'..='\u{20cf}').contains(&letter)
        };
        match self.text.contains(signs) || self.find(AMOUNT_WORDS).is_some() {
            true => Err(Doubt::Amount),
            false => Ok(()),
        }
    }

    fn is_without_times(&self) -> Result<(), Doubt> {
        let named = self.text.split(|letter: char| !letter.is_alphabetic());
        let short = named
            .into_iter()
            .any(|word| SHORT_TIME_NAMES.contains(&word));
        match short || self.find(TIME_WORDS).is_some() {
            true => Err(Doubt::Time),
            false => Ok(()),
        }
    }

    fn is_without_numbers(&self) -> Result<(), Doubt> {
        match self.text.contains(char::is_numeric) || self.find(NUMBER_WORDS).is_some() {
            true => Err(Doubt::Number),
            false => Ok(()),
        }
    }

    fn is_a_message(&self) -> Result<(), Doubt> {
        match self.find(REFUSALS) {
            Some(_) => Err(Doubt::Refusal),
            None => Ok(()),
        }
    }

    fn says_no_more_than(&self, plain: &str, loaded: &[&'static str]) -> Result<(), Doubt> {
        let allowed = Self::new(plain, &[]);
        match loaded
            .iter()
            .copied()
            .find(|phrase| has_phrase(&self.words, phrase) && !has_phrase(&allowed.words, phrase))
        {
            Some(phrase) => Err(Doubt::Unasked(phrase)),
            None => Ok(()),
        }
    }
}

fn has_phrase(words: &str, phrase: &str) -> bool {
    words.contains(&format!(" {phrase} "))
}

/// Returns the facts that a draft may repeat, the longest first.
fn known(facts: &Facts) -> Vec<String> {
    let name = safe_name(&facts.name);
    let first = name.split(' ').next().unwrap_or("").to_owned();
    let texts = [
        Some(facts.venue.clone()),
        Some(facts.what.clone()),
        Some(facts.starts.clone()),
        facts.deadline.clone(),
        facts.deposit.clone(),
        facts.refund.clone(),
        Some(facts.booking.clone()),
        Some(facts.party.to_string()),
        Some(name),
        Some(first),
    ];
    let mut known: Vec<String> = texts
        .into_iter()
        .flatten()
        .chain(facts.other_times.iter().cloned())
        .map(|text| sms::normalise(&text))
        .collect();
    known.retain(|text| !text.is_empty());
    known.sort_by_key(|text| std::cmp::Reverse(text.len()));
    known
}

/// Takes a fact out wherever it stands whole: not as a part of a longer word or number.
fn take_out(text: &str, fact: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|tail| tail.find(fact)) {
        let start = from + found;
        let end = start + fact.len();
        let whole = !fact.is_empty() && ends_before(&text[..start]) && begins_after(&text[end..]);
        // At least one letter on, or an empty fact would be found here for ever.
        let next = match whole {
            true => end,
            false => start + text[start..].chars().next().map_or(1, char::len_utf8),
        };
        rest.push_str(&text[from..start]);
        match whole {
            true => rest.push(TAKEN),
            false => rest.push_str(text.get(start..next).unwrap_or("")),
        }
        from = next;
    }
    rest.push_str(text.get(from..).unwrap_or(""));
    rest
}

fn ends_before(text: &str) -> bool {
    let mut backwards = text.chars().rev();
    match (backwards.next(), backwards.next()) {
        (Some(last), _) if last.is_alphanumeric() || "£$€¥@/".contains(last) => false,
        (Some('.' | ',' | ':' | '-'), Some(before)) => !before.is_alphanumeric(),
        (_, _) => true,
    }
}

fn begins_after(text: &str) -> bool {
    let mut forwards = text.chars();
    match (forwards.next(), forwards.next()) {
        (Some(first), _) if first.is_alphanumeric() || "£$€¥%@/".contains(first) => false,
        (Some('.' | ',' | ':' | '-'), Some(after)) => !after.is_alphanumeric(),
        (_, _) => true,
    }
}

#[cfg(test)]
mod tests;
