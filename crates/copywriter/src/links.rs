//! Which link a message ends with, and how it is led up to.

use paidonce_core::link::Purpose;

use crate::{Kind, Language};

/// Returns what the link of a message is for; `None` if it has no link.
pub fn link_purpose(kind: Kind) -> Option<Purpose> {
    match kind {
        Kind::DepositRequest | Kind::Reminder => Some(Purpose::Pay),
        Kind::Confirmation | Kind::Rescheduled => Some(Purpose::Manage),
        Kind::Released
        | Kind::Cancelled
        | Kind::PaymentChecked
        | Kind::LateRefund
        | Kind::SecondRefund => None,
    }
}

/// Returns what stands before the link on its line: nothing where the words ask for it already.
pub(crate) fn lead(kind: Kind, language: Language) -> &'static str {
    match (link_purpose(kind), language) {
        (Some(Purpose::Pay) | None, _) => "",
        (Some(Purpose::Manage), Language::En) => "Change or cancel: ",
        (Some(Purpose::Manage), Language::De) => "Ändern oder absagen: ",
        (Some(Purpose::Manage), Language::Fr) => "Modifier ou annuler : ",
    }
}
