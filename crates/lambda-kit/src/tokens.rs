//! Bearer tokens: who calls, found in constant time.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// Tokens by who holds them, as the secret has them: `{"sources": {"form": "…"}, "staff": {…}}`.
#[derive(Clone, Default, Deserialize)]
pub struct Tokens {
    /// Systems that make bookings.
    #[serde(default)]
    sources: BTreeMap<String, String>,
    /// People or tills that run the day.
    #[serde(default)]
    staff: BTreeMap<String, String>,
}

/// Whose token it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    Source(String),
    Staff(String),
}

/// The shortest token that counts: a placeholder or an empty value opens nothing.
const TOKEN_BYTES_MIN: usize = 16;

impl Caller {
    /// A name for the audit and for the scope of idempotency keys.
    pub fn name(&self) -> String {
        match self {
            Self::Source(name) => format!("source:{name}"),
            Self::Staff(name) => format!("staff:{name}"),
        }
    }

    pub fn is_staff(&self) -> bool {
        match self {
            Self::Source(_) => false,
            Self::Staff(_) => true,
        }
    }
}

impl Tokens {
    /// Returns whose token this is. Takes the same time for every token of a length.
    pub fn caller(&self, token: &str) -> Option<Caller> {
        let sources = self
            .sources
            .iter()
            .map(|(name, token)| (Caller::Source(name.clone()), token));
        let staff = self
            .staff
            .iter()
            .map(|(name, token)| (Caller::Staff(name.clone()), token));
        token_holder(sources.chain(staff), token)
    }
}

/// Returns whose of these tokens it is, if it is one of them. Takes the same time for every token of
/// a length; a token that is too short to be one opens nothing.
pub fn token_holder<'a, H>(
    tokens: impl Iterator<Item = (H, &'a String)>,
    token: &str,
) -> Option<H> {
    let mut found = None;
    for (holder, expected) in tokens {
        if expected.len() >= TOKEN_BYTES_MIN && bool::from(same(expected, token)) {
            found = Some(holder);
        }
    }
    found
}

fn same(left: &str, right: &str) -> Choice {
    Sha256::digest(left).ct_eq(&Sha256::digest(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_holder_and_a_blank_one_nobody() {
        let text = r#"{"sources": {"form": "form-token-0123456789"}, "staff": {"till": "", "bar": "short"}}"#;
        let tokens: Tokens = serde_json::from_str(text).unwrap();
        assert_eq!(
            tokens.caller("form-token-0123456789"),
            Some(Caller::Source("form".to_owned()))
        );
        for wrong in ["", "short", "form-token-012345678"] {
            assert_eq!(tokens.caller(wrong), None);
        }
    }
}
