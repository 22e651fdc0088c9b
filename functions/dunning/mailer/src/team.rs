//! Mails to the team: what happened, what to do, and where to look.

use copywriter::dunning::{Letter, team_letter};
use paidonce_core::dunning::mail::MailFacts;
use paidonce_core::dunning::{CaseReason, Dunning};
use paidonce_core::local_time::stamp;

pub(crate) fn letter(row: &Dunning, reason: CaseReason, facts: &MailFacts) -> Letter {
    let (what, todo) = sentences(reason);
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

/// What happened, and what to do.
fn sentences(reason: CaseReason) -> (&'static str, &'static str) {
    match reason {
        CaseReason::Fraud => (
            "The bank takes a charge for fraud. The customer was told that another card is needed, and nothing of this.",
            "Look at the customer and the charge at the provider. Don't tell the customer the bank's reason.",
        ),
        CaseReason::PaidAfterCancellation => (
            "Money came for a subscription that had ended.",
            "Decide whether to reinstate it or to give the money back, and do it at the provider.",
        ),
        CaseReason::AmountTooSmall => (
            "What is open is less than the provider takes.",
            "Put it on the next invoice, or write it off at the provider.",
        ),
        CaseReason::ChargeRefused => (
            "The provider refused a charge for a reason that is no decline. It is not tried again.",
            "Look the invoice up at the provider, and charge it there once the reason is put right.",
        ),
        CaseReason::NoHolidayData => (
            "There is no bank holiday data for a date that had to be counted.",
            "Bring the data up to date; until then this invoice is not charged.",
        ),
        CaseReason::NobodyToWriteTo => (
            "No mail address is left that takes our mail: there is none, or it came back, or its reader complained.",
            "Reach the customer by other means, and put another address on the customer at the provider.",
        ),
        CaseReason::ChargeUnanswered => (
            "The provider has not said for a day what became of a charge. It is neither repeated nor given up.",
            "Look the invoice up at the provider.",
        ),
        CaseReason::MailUnanswered => (
            "A mail may or may not have reached the customer. It is not sent again.",
            "Write to the customer by hand if it matters.",
        ),
        CaseReason::Misfit => (
            "Money came in a currency or for an amount that is not the invoice's.",
            "Look the payment up at the provider.",
        ),
    }
}
