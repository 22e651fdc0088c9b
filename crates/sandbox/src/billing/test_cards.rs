//! The test cards that can be saved, and what a charge of each comes to.
//!
//! Numbers and names are those of <https://docs.stripe.com/testing>. The provider checks a card
//! when it is attached and refuses most that decline; here all can be attached, since one that
//! declines later is what billing is about.

use crate::cards::{self, Outcome};
use crate::error::ApiError;
use crate::state::{Card, LastError};

use super::declines;

/// What a charge of a saved card comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charged {
    Pays,
    Declines(&'static str),
    /// The bank wants its customer to confirm: once, or each time.
    Asks {
        always: bool,
    },
}

/// A test card that can be saved.
#[derive(Debug)]
pub(crate) struct SavedCard {
    pub(crate) number: &'static str,
    /// The well-known PaymentMethod and token, without `pm_` and `tok_`.
    name: &'static str,
    pub(crate) what: &'static str,
    brand: &'static str,
    country: &'static str,
    funding: &'static str,
    charged: Charged,
}

const fn visa(
    number: &'static str,
    name: &'static str,
    what: &'static str,
    charged: Charged,
) -> SavedCard {
    SavedCard {
        number,
        name,
        what,
        brand: "visa",
        country: "US",
        funding: "credit",
        charged,
    }
}

const fn declines(
    number: &'static str,
    name: &'static str,
    decline_code: &'static str,
) -> SavedCard {
    visa(number, name, decline_code, Charged::Declines(decline_code))
}

pub(crate) const SAVED_CARDS: &[SavedCard] = &[
    visa("4242424242424242", "visa", "Pays", Charged::Pays),
    SavedCard {
        funding: "debit",
        ..visa(
            "4000056655665556",
            "visa_debit",
            "Pays, debit card",
            Charged::Pays,
        )
    },
    SavedCard {
        brand: "mastercard",
        ..visa(
            "5555555555554444",
            "mastercard",
            "Pays, Mastercard",
            Charged::Pays,
        )
    },
    SavedCard {
        brand: "amex",
        ..visa(
            "378282246310005",
            "amex",
            "Pays, American Express",
            Charged::Pays,
        )
    },
    SavedCard {
        country: "GB",
        ..visa(
            "4000008260000000",
            "gb",
            "Pays, from Britain",
            Charged::Pays,
        )
    },
    SavedCard {
        country: "IN",
        ..visa("4000003560000008", "in", "Pays, from India", Charged::Pays)
    },
    visa(
        "4000002500003155",
        "authenticationRequiredOnSetup",
        "Asks to confirm once",
        Charged::Asks { always: false },
    ),
    visa(
        "4000002760003184",
        "authenticationRequired",
        "Asks to confirm each time",
        Charged::Asks { always: true },
    ),
    declines("4000000000000002", "chargeDeclined", "generic_decline"),
    declines("4000000000000341", "chargeCustomerFail", "generic_decline"),
    declines(
        "4000000000009995",
        "chargeDeclinedInsufficientFunds",
        "insufficient_funds",
    ),
    declines("4000000000009987", "chargeDeclinedLostCard", "lost_card"),
    declines(
        "4000000000009979",
        "chargeDeclinedStolenCard",
        "stolen_card",
    ),
    declines(
        "4000000000000069",
        "chargeDeclinedExpiredCard",
        "expired_card",
    ),
    declines(
        "4000000000000127",
        "chargeDeclinedIncorrectCvc",
        "incorrect_cvc",
    ),
    declines(
        "4000000000000119",
        "chargeDeclinedProcessingError",
        "processing_error",
    ),
    declines(
        "4000000000006975",
        "chargeDeclinedVelocityLimitExceeded",
        "card_velocity_exceeded",
    ),
    declines("4100000000000019", "radarBlock", "fraudulent"),
];

/// Returns the number behind `pm_card_visa` or `tok_visa`.
pub(crate) fn number_of(name: &str) -> Option<&'static str> {
    let short = name
        .strip_prefix("pm_card_")
        .or_else(|| name.strip_prefix("tok_"))?;
    let known = SAVED_CARDS.iter().find(|card| card.name == short);
    known.map(|card| card.number)
}

/// Returns the card of a number as it is typed, and that number without what is between digits.
///
/// # Errors
/// Refuses numbers that are no test card.
pub(crate) fn saved(typed: &str) -> Result<(String, Card), ApiError> {
    let number = cards::normalise(typed);
    let mut card = Card::numbered(&number);
    if let Some(known) = SAVED_CARDS.iter().find(|known| known.number == number) {
        known.brand.clone_into(&mut card.brand);
        known.country.clone_into(&mut card.country);
        known.funding.clone_into(&mut card.funding);
        return Ok((number, card));
    }
    match cards::outcome(&number)? {
        Outcome::Succeeds(_) => Ok((number, card)),
        Outcome::Declines(_) | Outcome::Asks | Outcome::Delays => {
            Err(ApiError::invalid("This can't be saved.").param("card[number]"))
        }
    }
}

/// Returns what a charge of a number comes to; those that are not in the table pay.
pub(crate) fn charged(number: &str) -> Charged {
    let known = SAVED_CARDS.iter().find(|card| card.number == number);
    known.map_or(Charged::Pays, |card| card.charged)
}

/// Returns the refusal of a card that declines.
pub(crate) fn refusal(decline_code: &str) -> LastError {
    // Each code of the table above is a known one.
    declines::refusal(decline_code).unwrap_or_else(|error| LastError {
        code: "card_declined".to_owned(),
        decline_code: None,
        message: error.message,
        advice_code: None,
        network_decline_code: None,
        network_advice_code: None,
        payment_method: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_card_that_declines_has_a_known_reason() {
        for card in SAVED_CARDS {
            if let Charged::Declines(code) = card.charged {
                assert_eq!(refusal(code).decline_code.as_deref(), Some(code));
            }
        }
    }

    #[test]
    fn a_fingerprint_is_one_per_number_and_tells_nothing_of_it() {
        let print = |typed| saved(typed).unwrap().1.fingerprint;
        assert_eq!(print("4242 4242 4242 4242"), print("4242424242424242"));
        assert_ne!(print("4242424242424242"), print("5555555555554444"));
        assert!(!print("4242424242424242").contains("4242"));
    }

    #[test]
    fn only_test_cards_can_be_saved() {
        assert_eq!(saved("4000003560000008").unwrap().1.country, "IN");
        assert!(saved("4000000000009235").is_err());
        assert!(saved("bank").is_err());
    }
}
