//! Mails to the team: what happened, what to do, and where to look.

use copywriter::dunning::{Letter, team_letter};
use paidonce_core::dunning::explain::case_words;
use paidonce_core::dunning::mail::MailFacts;
use paidonce_core::dunning::{CaseReason, Dunning};
use paidonce_core::local_time::stamp;

pub(crate) fn letter(row: &Dunning, reason: CaseReason, facts: &MailFacts) -> Letter {
    let (what, todo) = case_words(reason);
    let since = row.cases.get(&reason).copied().map(stamp);
    let lines = [
        ("Reason", reason.as_str().to_owned()),
        ("Since", since.unwrap_or_default()),
        ("Customer", row.customer_id.clone()),
        ("Invoice", facts.invoice_id.clone()),
        ("Amount", facts.amount.display()),
        ("Status", row.status.as_str().to_owned()),
    ];
    team_letter(&row.subscription_id, reason.as_str(), &lines, what, todo)
}
