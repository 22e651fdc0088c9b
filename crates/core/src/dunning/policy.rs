//! A business's dunning policy as data.
//!
//! Checked as a whole when a function starts. [`Terms`], the part that decides, is copied onto each
//! case, so a later edit never changes an older one.

mod business;
mod terms;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::business::{Business, Gatekeeper};
pub use self::terms::{Access, AfterCancellation, CancelledInvoice, Terms};
use crate::venue::complaints::{Complaints, unknown_fields};

/// The policy that is deployed unless a variable replaces it.
pub const BUILT_IN: &str = include_str!("../../../../policy/dunning.json");

/// What a business wants done about a failed invoice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    pub business: Business,
    pub gatekeeper: Gatekeeper,
    pub terms: Terms,
}

impl Policy {
    /// Reads and checks a policy.
    ///
    /// # Errors
    /// All that is wrong with it, each with the field.
    pub fn from_json(text: &str) -> Result<Self, Vec<String>> {
        let policy: Self = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
        let mut complaints = policy.complaints().into_texts();
        complaints.extend(policy.unknown_terms(text));
        if complaints.is_empty() {
            Ok(policy)
        } else {
            Err(complaints)
        }
    }

    fn complaints(&self) -> Complaints {
        let mut complaints = Complaints::default();
        complaints.under("business", self.business.complaints());
        complaints.under("gatekeeper", self.gatekeeper.complaints());
        complaints.under("terms", self.terms.complaints());
        complaints
    }

    /// What the text says about the terms that [`Terms`] does not know: it takes all from a row.
    fn unknown_terms(&self, text: &str) -> Vec<String> {
        let given: Value = serde_json::from_str(text).unwrap_or_default();
        let known = serde_json::to_value(&self.terms).unwrap_or_default();
        unknown_fields("terms", &given["terms"], &known)
    }
}

#[cfg(test)]
mod tests;
