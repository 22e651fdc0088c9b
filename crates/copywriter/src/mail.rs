//! Mails: a message to a customer, a case and the daily digest to the team. Plain text, no HTML.

mod customer;
mod digest;

use std::fmt;
use std::sync::LazyLock;

use minijinja::{Environment, context};

pub use self::customer::message_mail;
pub use self::digest::{DigestFacts, DigestGroup, digest_mail};

/// The most lines of evidence that one mail shows; the case itself has them all.
pub const EVIDENCE_LINES_MAX: usize = 50;
/// The longest line of a mail, in letters.
const LINE_LETTERS_MAX: usize = 500;

const CASE: &str = "case_mail";
const DIGEST: &str = "digest_mail";

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_keep_trailing_newline(true);
    for (name, source) in [
        (CASE, include_str!("templates/case_mail.txt")),
        (DIGEST, include_str!("templates/digest_mail.txt")),
    ] {
        templates
            .add_template(name, source)
            .expect("the template is compiled in, and a test renders it");
    }
    templates
});

/// What the team must know to act. `Debug` shows booking and reason only.
#[derive(Clone, PartialEq, Eq)]
pub struct CaseFacts {
    /// The booking.
    pub booking_id: String,
    /// Why it needs a person, as a short code such as `paid_after_release`.
    pub reason: String,
    /// What happened, in a sentence or two.
    pub what: String,
    /// The payment's id at the provider and what is known of it; `None` if there is none.
    pub payment: Option<String>,
    /// What was done so far.
    pub outcome: String,
    /// Lines about a bank's dispute: until when, why, and with what to answer it.
    pub dispute: Vec<String>,
    /// Lines of the booking's history, oldest first.
    pub evidence: Vec<String>,
    /// When the case was opened, RFC 3339.
    pub at: String,
}

impl fmt::Debug for CaseFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaseFacts")
            .field("booking_id", &self.booking_id)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// A mail: a subject of one line, and a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// The subject.
    pub subject: String,
    /// The body, plain text.
    pub text: String,
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail")
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

/// Returns the mail for a case.
///
/// No value can make a line of its own, neither in the header nor in the text.
pub fn case_mail(facts: &CaseFacts) -> Mail {
    let left_out = facts.evidence.len().saturating_sub(EVIDENCE_LINES_MAX);
    let mut evidence: Vec<String> = facts
        .evidence
        .iter()
        .skip(left_out)
        .map(|line| one_line(line))
        .collect();
    if left_out > 0 {
        evidence.insert(0, format!("({left_out} earlier lines are in the case)"));
    }
    let text = TEMPLATES
        .get_template(CASE)
        .and_then(|template| {
            template.render(context! {
                booking_id => one_line(&facts.booking_id),
                reason => one_line(&facts.reason),
                what => one_line(&facts.what),
                payment => one_line(facts.payment.as_deref().unwrap_or("none")),
                outcome => one_line(&facts.outcome),
                dispute => facts.dispute.iter().map(|line| one_line(line)).collect::<Vec<_>>(),
                evidence,
                at => one_line(&facts.at),
            })
        })
        .expect("the template is compiled in, and a test renders it");
    Mail {
        subject: one_line(&format!("Booking {}: {}", facts.booking_id, facts.reason)),
        text,
    }
}

pub(crate) fn one_line(text: &str) -> String {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    text.chars()
        .take(LINE_LETTERS_MAX)
        .map(|letter| if breaks(letter) { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn facts() -> CaseFacts {
        CaseFacts {
            booking_id: "b-1".into(),
            reason: "paid_after_release".into(),
            what: "The deposit was paid 12 minutes after the table was released, and the table is taken.".into(),
            payment: Some("pi_123, £20.00, captured".into()),
            outcome: "A refund was asked for.".into(),
            dispute: Vec::new(),
            evidence: vec!["18:00:00 released".into(), "18:12:03 payment_captured".into()],
            at: "2026-07-10T17:12:03Z".into(),
        }
    }

    #[test]
    fn a_case_mail_says_what_to_act_on() {
        let mail = case_mail(&facts());
        expect!["Booking b-1: paid_after_release"].assert_eq(&mail.subject);
        expect![[r#"
            A booking needs a person.

            Booking:  b-1
            Reason:   paid_after_release
            Since:    2026-07-10T17:12:03Z
            Payment:  pi_123, £20.00, captured
            Outcome:  A refund was asked for.

            What happened
            The deposit was paid 12 minutes after the table was released, and the table is taken.

            Evidence
            - 18:00:00 released
            - 18:12:03 payment_captured

            One case is open per booking and reason. If more comes up about it, you get another mail.
        "#]]
        .assert_eq(&mail.text);
    }

    #[test]
    fn no_value_makes_a_line_of_its_own() {
        let hostile = CaseFacts {
            reason: "x\r\nBcc: eve@example.com".into(),
            evidence: vec!["a\nPayment:  none".into()],
            payment: None,
            ..facts()
        };
        let mail = case_mail(&hostile);
        assert_eq!(mail.subject, "Booking b-1: x  Bcc: eve@example.com");
        assert!(mail.text.contains("- a Payment:  none\n"), "{}", mail.text);
        assert!(mail.text.contains("\nPayment:  none\n"), "{}", mail.text);
    }

    #[test]
    fn a_case_about_a_dispute_says_until_when_to_answer_it() {
        let disputed = CaseFacts {
            dispute: vec!["du_1: fraudulent\nBcc: eve".into()],
            ..facts()
        };
        let text = case_mail(&disputed).text;
        assert!(
            text.contains("taken.\n\nDispute\n- du_1: fraudulent Bcc: eve\n\nEvidence\n"),
            "{text}"
        );
    }

    #[test]
    fn a_long_history_is_cut_at_its_beginning() {
        let long = CaseFacts {
            evidence: (0..1000).map(|line| format!("line {line}")).collect(),
            ..facts()
        };
        let text = case_mail(&long).text;
        assert!(text.contains("(950 earlier lines are in the case)") && text.contains("line 999"));
        assert!(!text.contains("line 949\n"));
        let none = CaseFacts {
            evidence: Vec::new(),
            ..facts()
        };
        assert!(case_mail(&none).text.contains("Evidence\n- none\n"));
    }

    #[test]
    fn debug_shows_no_evidence() {
        let shown = format!("{:?} {:?}", facts(), case_mail(&facts()));
        assert!(
            !shown.contains("18:00") && !shown.contains("pi_123"),
            "{shown}"
        );
    }
}
