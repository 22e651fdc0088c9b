//! Mails about a subscription's failed payment.
//!
//! A mail has a subject and a few opening words, which a template or the model may word; and what it
//! is about (the amount, the next date, what happens next, the links), which is always ours, as it
//! follows from the facts. So neither a template nor a draft can make a mail untrue. No word ever
//! says why a bank refused.

mod draft;
mod letter;
mod opening;
mod plain;
#[cfg(test)]
mod tests;

use std::fmt;

use paidonce_core::dunning::mail::MailKind;

use crate::name::safe_name;

pub use draft::{check_opening, draft_opening, is_opened_by_model};
pub use letter::{Letter, letter, team_letter};
pub use opening::{Opening, TemplateError, opening, plain_opening};
pub use plain::{BUILT_IN_BRIEF, CUSTOMERS_KINDS, built_in_files, built_in_template};

/// Everything that a mail may say. `Debug` shows its kind only: the links in it are keys.
#[derive(Clone, PartialEq, Eq)]
pub struct DunningFacts {
    pub kind: MailKind,
    /// Who writes.
    pub business: String,
    /// What is paid for.
    pub product: String,
    /// Where an answer goes.
    pub support_email: String,
    pub postal_address: Option<String>,
    /// The customer's name as the provider has it; only [`safe_name`] of it is ever sent.
    pub name: String,
    /// What is open, or was paid, such as `£20.00`.
    pub amount: String,
    /// How many payments are open, in all.
    pub open_invoices: usize,
    /// The day on which we try again by ourselves, such as `Monday 13 July`; none follows if absent.
    pub next_charge: Option<String>,
    /// It is the last time that we try by ourselves.
    pub next_is_last: bool,
    pub access_paused: bool,
    /// The provider's page on which this payment is approved or made by hand.
    pub hosted_url: Option<String>,
    /// Our signed link to another card.
    pub card_url: Option<String>,
}

impl fmt::Debug for DunningFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DunningFacts")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl DunningFacts {
    fn safe_name(&self) -> String {
        safe_name(&self.name)
    }
}

/// What an operator may put in place of what is built in; each is left out if it is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    /// `templates/{kind}.txt`: a line `Subject: …`, an empty one, and the opening words.
    pub template: Option<String>,
    /// `templates/frame.html`: the page around all that a mail says.
    pub frame: Option<String>,
    /// `brief.txt`: how the model is to sound.
    pub brief: Option<String>,
    /// `logo.txt`: an address of a picture.
    pub logo_url: Option<String>,
}
