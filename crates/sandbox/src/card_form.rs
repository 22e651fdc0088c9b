//! The form that a card is typed into, as far as the page checks it before any bank does.

use chrono::{DateTime, Datelike, Utc};

use crate::error::ApiError;
use crate::form::Form;

/// What the customer typed, to be shown again after a decline.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) card: String,
    pub(crate) expiry: String,
    pub(crate) cvc: String,
}

impl Default for Typed {
    fn default() -> Self {
        Self {
            card: String::new(),
            expiry: "12 / 34".to_owned(),
            cvc: "123".to_owned(),
        }
    }
}

impl Typed {
    /// Takes what was sent; a test may leave out all but the card.
    pub(crate) fn read(form: &Form) -> Self {
        let mut typed = Typed::default();
        let fields = [
            ("card", &mut typed.card),
            ("expiry", &mut typed.expiry),
            ("cvc", &mut typed.cvc),
        ];
        for (name, field) in fields {
            if let Some(text) = form.text(name) {
                text.clone_into(field);
            }
        }
        typed
    }

    /// Refuses what the form itself can see to be wrong. Nothing of it is kept.
    pub(crate) fn check(&self, now: DateTime<Utc>) -> Result<(), ApiError> {
        let digits = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
            lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(&self.cvc, 3..=4) {
            let message = "Your card's security code is incomplete.";
            return Err(ApiError::card("invalid_cvc", message));
        }
        let expiry: String = self.expiry.chars().filter(|c| !c.is_whitespace()).collect();
        let (month, year) = expiry.split_once('/').unwrap_or_default();
        let month = month.parse().ok().filter(|month| (1..=12).contains(month));
        let year: Option<i32> = year.parse().ok().filter(|_| digits(year, 2..=4));
        let (Some(month), Some(year)) = (month, year) else {
            let message = "Your card's expiration date is incomplete.";
            return Err(ApiError::card("invalid_expiry_month", message));
        };
        let year = if year < 100 { 2000 + year } else { year };
        if (year, month) < (now.year(), now.month()) {
            let message = "Your card's expiration date is in the past.";
            return Err(ApiError::card("invalid_expiry_year", message));
        }
        Ok(())
    }
}
