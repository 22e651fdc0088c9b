//! What is compiled in: the same files that an operator starts from.

use paidonce_core::dunning::mail::MailKind;

/// How the model is to sound, unless an operator says otherwise.
pub const BUILT_IN_BRIEF: &str = include_str!("../../../../policy/dunning-mail/brief.txt");

pub(super) const BUILT_IN_FRAME: &str =
    include_str!("../../../../policy/dunning-mail/templates/frame.html");

/// The built-in template of a mail to a customer; nothing for one to the team.
pub fn built_in_template(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Failed => include_str!("../../../../policy/dunning-mail/templates/failed.txt"),
        MailKind::NewCard => include_str!("../../../../policy/dunning-mail/templates/new_card.txt"),
        MailKind::Approve => include_str!("../../../../policy/dunning-mail/templates/approve.txt"),
        MailKind::PayByHand => {
            include_str!("../../../../policy/dunning-mail/templates/pay_by_hand.txt")
        }
        MailKind::Paused => include_str!("../../../../policy/dunning-mail/templates/paused.txt"),
        MailKind::Reminder => {
            include_str!("../../../../policy/dunning-mail/templates/reminder.txt")
        }
        MailKind::FreshLink => {
            include_str!("../../../../policy/dunning-mail/templates/fresh_link.txt")
        }
        MailKind::Receipt => include_str!("../../../../policy/dunning-mail/templates/receipt.txt"),
        MailKind::Team(_) => "",
    }
}
