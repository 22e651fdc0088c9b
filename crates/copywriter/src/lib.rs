//! Words for messages: what a customer reads by SMS, and what the team reads by mail.
//!
//! Every message has a plain wording from a template, in each language. A model may word some of
//! them nicer, in English, and none that is about money that came or goes back; but it never
//! decides anything: its draft is taken only if each amount, date, time and number in it is one
//! of the facts, spelled as they spell it, and if it holds no link ([`check`]). Otherwise the
//! plain wording goes. The link is added after that, by us, and is never cut ([`compose`]).

pub mod check;
mod compose;
mod draft;
pub mod dunning;
mod links;
pub mod mail;
mod name;
mod plain;
mod preview;
pub mod summary;
mod when;

use std::fmt;

pub use check::{Doubt, check};
pub use compose::{Message, PARTS_MAX, TooLong, compose, fit};
pub use draft::{DraftError, draft, is_worded_by_model};
pub use links::link_purpose;
pub use name::{NAME_LETTERS_MAX, safe_name};
pub use paidonce_core::booking::MessageKind as Kind;
pub use paidonce_core::language::Language;
pub use plain::plain;
pub use preview::{Preview, preview, previews, sample_facts};
pub use when::{amount, when};

/// Everything that a message may say. All of it is ours but the name, which the customer wrote.
#[derive(Clone, PartialEq, Eq)]
pub struct Facts {
    /// The venue's name.
    pub venue: String,
    /// The customer's name as it was typed; only [`safe_name`] of it is ever sent.
    pub name: String,
    /// How many people come.
    pub party: u32,
    /// What is booked, such as `table`.
    pub what: String,
    /// When it starts, such as `Sat 11 Jul 20:00`.
    pub starts: String,
    /// Until when the deposit can be paid, in the same form.
    pub deadline: Option<String>,
    /// The deposit, such as `£20.00`.
    pub deposit: Option<String>,
    /// What goes back to the customer, such as `£20.00`.
    pub refund: Option<String>,
    /// When it could be had instead, the best first; three at most are said.
    pub other_times: Vec<String>,
    /// The booking's short reference.
    pub booking: String,
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("booking", &self.booking)
            .field("what", &self.what)
            .field("starts", &self.starts)
            .field("deadline", &self.deadline)
            .field("deposit", &self.deposit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) fn sample() -> Facts {
    Facts {
        venue: "The Copper Kettle".into(),
        name: "Mary O’Neil".into(),
        party: 4,
        what: "table".into(),
        starts: "Sat 11 Jul 20:00".into(),
        deadline: Some("Fri 10 Jul 18:00".into()),
        deposit: Some("£20.00".into()),
        refund: None,
        other_times: Vec::new(),
        booking: "K7QM2".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_show_no_name() {
        let shown = format!("{:?}", sample());
        assert!(
            shown.contains("K7QM2") && !shown.contains("Mary"),
            "{shown}"
        );
    }
}
