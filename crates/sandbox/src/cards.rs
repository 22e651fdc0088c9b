//! The test cards: what the bank will say is chosen by the number that is typed.

use crate::error::ApiError;
use crate::state::RefundCourse;

/// What a payment with a card will come to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    Succeeds(Sequel),
    Declines(&'static Decline),
    /// The bank wants its customer to confirm first.
    Asks,
    /// A debit that is known to be good, or not, only days later.
    Delays,
}

/// What follows a payment that succeeded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sequel {
    Refunds(RefundCourse),
    /// The bank wants the money back for this reason.
    Dispute(&'static str),
    /// The bank asks, and leaves the money where it is.
    Inquiry(&'static str),
}

/// A refusal by the bank.
#[derive(Debug)]
pub(crate) struct Decline {
    pub(crate) code: &'static str,
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) message: &'static str,
}

/// One test card, for the list on the page.
#[derive(Debug)]
pub(crate) struct TestCard {
    pub(crate) number: &'static str,
    pub(crate) what: &'static str,
    outcome: Outcome,
}

const fn declined(decline_code: &'static str, message: &'static str) -> Decline {
    Decline {
        code: "card_declined",
        decline_code: Some(decline_code),
        message,
    }
}

const fn wrong(code: &'static str, message: &'static str) -> Decline {
    Decline {
        code,
        decline_code: None,
        message,
    }
}

const GENERIC: Decline = declined("generic_decline", "Your card was declined.");
const FUNDS: Decline = declined("insufficient_funds", "Your card has insufficient funds.");
const LOST: Decline = declined("lost_card", "Your card was declined.");
const EXPIRED: Decline = wrong("expired_card", "Your card has expired.");
const CVC: Decline = wrong("incorrect_cvc", "Your card's security code is incorrect.");

const fn card(number: &'static str, what: &'static str, outcome: Outcome) -> TestCard {
    TestCard {
        number,
        what,
        outcome,
    }
}

const SUCCEEDS: Outcome = refunds(RefundCourse::AtOnce);

const fn refunds(course: RefundCourse) -> Outcome {
    Outcome::Succeeds(Sequel::Refunds(course))
}

const fn disputed(reason: &'static str) -> Outcome {
    Outcome::Succeeds(Sequel::Dispute(reason))
}

/// The number of the delayed method, which is no card.
const BANK: &str = "000123456789";

pub(crate) const TEST_CARDS: &[TestCard] = &[
    card("4242424242424242", "Succeeds", SUCCEEDS),
    card("4000002500003155", "Asks to confirm", Outcome::Asks),
    card("4000000000000002", "Declined", Outcome::Declines(&GENERIC)),
    card(
        "4000000000009995",
        "Too little money",
        Outcome::Declines(&FUNDS),
    ),
    card("4000000000009987", "Lost card", Outcome::Declines(&LOST)),
    card(
        "4000000000000069",
        "Expired card",
        Outcome::Declines(&EXPIRED),
    ),
    card("4000000000000127", "Wrong CVC", Outcome::Declines(&CVC)),
    card(
        "4000000000007726",
        "Succeeds, a refund takes a day",
        refunds(RefundCourse::Later),
    ),
    card(
        "4000000000005126",
        "Succeeds, a refund fails a day later",
        refunds(RefundCourse::FailsLater),
    ),
    card(
        "4000000000000259",
        "Succeeds, then disputed as fraud",
        disputed("fraudulent"),
    ),
    card(
        "4000000000002685",
        "Succeeds, then disputed as not received",
        disputed("product_not_received"),
    ),
    card(
        "4000000000001976",
        "Succeeds, then the bank inquires",
        Outcome::Succeeds(Sequel::Inquiry("fraudulent")),
    ),
    card(BANK, "Bank debit, paid days later", Outcome::Delays),
];

/// Removes what people type between digits. `bank` is another name of the delayed method.
pub(crate) fn normalise(typed: &str) -> String {
    let number: String = typed
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .collect();
    if number.eq_ignore_ascii_case("bank") {
        BANK.to_owned()
    } else {
        number
    }
}

/// Returns what a normalised number will come to.
///
/// # Errors
/// Refuses numbers that are no test card, before anything reaches a bank.
pub(crate) fn outcome(number: &str) -> Result<Outcome, ApiError> {
    if let Some(card) = TEST_CARDS.iter().find(|card| card.number == number) {
        return Ok(card.outcome);
    }
    if !number.bytes().all(|byte| byte.is_ascii_digit()) || number.len() < 12 || !luhn(number) {
        let error = ApiError::card("incorrect_number", "Your card number is incorrect.");
        return Err(error.param("number"));
    }
    let message =
        "Your card was declined. Your request was in test mode, but used a non test card.";
    let mut error = ApiError::card("card_declined", message).param("number");
    error.decline_code = Some("test_mode_live_card");
    Err(error)
}

/// The check digit of card numbers: every second digit from the right counts double.
fn luhn(number: &str) -> bool {
    let digits = number.chars().rev().filter_map(|c| c.to_digit(10));
    let sum: u32 = digits
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_cards_have_real_check_digits() {
        for card in TEST_CARDS.iter().filter(|card| card.number != BANK) {
            assert!(luhn(card.number), "{}", card.number);
        }
    }

    #[test]
    fn a_card_that_is_no_test_card_is_never_charged() {
        let code = |number| outcome(number).unwrap_err().decline_code;
        assert_eq!(code("5555555555554444"), Some("test_mode_live_card"));
        assert_eq!(
            outcome("4242424242424241").unwrap_err().code,
            Some("incorrect_number")
        );
        assert_eq!(normalise("4242 4242-4242 4242"), "4242424242424242");
    }
}
