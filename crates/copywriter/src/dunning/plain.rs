//! What is compiled in: the same files that an operator starts from.

use paidonce_core::dunning::mail::MailKind;

/// How the model is to sound, unless an operator says otherwise.
pub const BUILT_IN_BRIEF: &str = include_str!("../../../../policy/dunning-mail/brief.txt");

/// No picture, unless an operator has one.
const BUILT_IN_LOGO: &str = include_str!("../../../../policy/dunning-mail/logo.txt");

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

/// All that is compiled in, by the keys that it has in an operator's bucket.
pub fn built_in_files() -> Vec<(String, &'static str)> {
    let kinds = CUSTOMERS_KINDS.into_iter();
    let templates = kinds.map(|kind| {
        let key = format!("templates/{}.txt", kind.as_str());
        (key, built_in_template(kind))
    });
    let others = [
        ("templates/frame.html".to_owned(), BUILT_IN_FRAME),
        ("brief.txt".to_owned(), BUILT_IN_BRIEF),
        ("logo.txt".to_owned(), BUILT_IN_LOGO),
    ];
    templates.chain(others).collect()
}

/// The kinds of mails that go to a customer.
pub const CUSTOMERS_KINDS: [MailKind; 8] = [
    MailKind::Failed,
    MailKind::NewCard,
    MailKind::Approve,
    MailKind::PayByHand,
    MailKind::Paused,
    MailKind::Reminder,
    MailKind::FreshLink,
    MailKind::Receipt,
];
