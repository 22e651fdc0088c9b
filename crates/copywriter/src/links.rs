//! Which link a message ends with, and how it is led up to.

use paidonce_core::link::Purpose;

use crate::{Facts, Kind, Language};

/// Returns what the link of a message is for; `None` if it has no link.
///
/// Where a deposit is still asked for it leads to where that can be paid.
pub fn link_purpose(kind: Kind, facts: &Facts) -> Option<Purpose> {
    match kind {
        Kind::DepositRequest | Kind::Reminder => Some(Purpose::Pay),
        Kind::Rescheduled if facts.deadline.is_some() => Some(Purpose::Pay),
        Kind::Confirmation | Kind::Rescheduled => Some(Purpose::Manage),
        Kind::Released
        | Kind::Cancelled
        | Kind::PaymentChecked
        | Kind::LateRefund
        | Kind::SecondRefund => None,
    }
}

/// Returns what stands before the link on its line: nothing where the words ask for it already.
pub(crate) fn lead(kind: Kind, language: Language, facts: &Facts) -> &'static str {
    match (link_purpose(kind, facts), language) {
        (Some(Purpose::Pay | Purpose::Card) | None, _) => "",
        (Some(Purpose::Manage), Language::En) => "Change or cancel: ",
        (Some(Purpose::Manage), Language::De) => "Ändern oder absagen: ",
        (Some(Purpose::Manage), Language::Fr) => "Modifier ou annuler : ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_move_leads_to_the_deposit_while_it_is_unpaid_and_to_the_booking_afterwards() {
        let unpaid = sample();
        let paid = Facts {
            deadline: None,
            ..sample()
        };
        assert_eq!(link_purpose(Kind::Rescheduled, &unpaid), Some(Purpose::Pay));
        assert_eq!(lead(Kind::Rescheduled, Language::En, &unpaid), "");
        assert_eq!(
            link_purpose(Kind::Rescheduled, &paid),
            Some(Purpose::Manage)
        );
        assert_eq!(
            lead(Kind::Rescheduled, Language::En, &paid),
            "Change or cancel: "
        );
    }
}
