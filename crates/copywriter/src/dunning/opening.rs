//! A mail's subject and opening words, from a template.

use minijinja::{Environment, UndefinedBehavior, context};
use paidonce_core::dunning::mail::MailKind;

use super::{DunningFacts, built_in_template};

/// The longest subject, in letters: mail readers cut what is longer.
pub(super) const SUBJECT_LETTERS_MAX: usize = 120;
/// The longest opening of a template, in letters.
const OPENING_LETTERS_MAX: usize = 2000;

/// What a mail begins with. Its amounts and dates are the facts' own, or there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub subject: String,
    /// In paragraphs.
    pub words: Vec<String>,
}

/// A template that makes no mail. It repeats nothing of the facts.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It can't be read or names something that is not there.
    #[error("the template can't be rendered (line {line:?})")]
    Broken { line: Option<usize> },
    #[error("the template begins with no line such as `Subject: …`, an empty one and words")]
    Shape,
    #[error("the template makes a subject or an opening that is too long")]
    TooLong,
}

/// Renders the subject and the opening of a template of an operator's.
///
/// # Errors
/// See [`TemplateError`]; the built-in one then goes: [`plain_opening`].
pub fn opening(template: &str, facts: &DunningFacts) -> Result<Opening, TemplateError> {
    let mut templates = Environment::new();
    // A misspelled name is an error, not an empty place in a customer's mail.
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let broken = |error: minijinja::Error| TemplateError::Broken { line: error.line() };
    let text = templates
        .render_str(
            template,
            context! {
                business => facts.business,
                product => facts.product,
                name => facts.safe_name(),
                amount => facts.amount,
                next_charge => facts.next_charge,
                next_is_last => facts.next_is_last,
                access_paused => facts.access_paused,
            },
        )
        .map_err(broken)?;
    read(&text)
}

/// Renders the built-in opening of a mail to a customer.
///
/// # Panics
/// If a built-in template is broken; a test renders each.
pub fn plain_opening(facts: &DunningFacts) -> Opening {
    let template = match facts.kind {
        MailKind::Team(_) => "Subject: A subscription needs a person\n\nPlease look at it.",
        kind @ (MailKind::Failed
        | MailKind::NewCard
        | MailKind::Approve
        | MailKind::PayByHand
        | MailKind::Paused
        | MailKind::Reminder
        | MailKind::FreshLink
        | MailKind::Receipt) => built_in_template(kind),
    };
    #[expect(clippy::expect_used, reason = "see # Panics")]
    opening(template, facts).expect("the template is compiled in, and a test renders each")
}

fn read(text: &str) -> Result<Opening, TemplateError> {
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.trim().split_once("\n\n").ok_or(TemplateError::Shape)?;
    let subject = head.strip_prefix("Subject:").ok_or(TemplateError::Shape)?;
    let subject = subject.trim();
    let words: Vec<String> = body
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    if subject.is_empty() || subject.contains(char::is_control) || words.is_empty() {
        return Err(TemplateError::Shape);
    }
    let long = words.iter().map(|it| it.chars().count()).sum::<usize>() > OPENING_LETTERS_MAX;
    match long || subject.chars().count() > SUBJECT_LETTERS_MAX {
        true => Err(TemplateError::TooLong),
        false => Ok(Opening {
            subject: subject.to_owned(),
            words,
        }),
    }
}
