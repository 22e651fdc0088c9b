//! The API key, which no text that is made for people ever shows.

use std::fmt;

/// A secret API key, `sk_…` or better a restricted one, `rk_…`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_in_its_debug_text() {
        let secret = Secret::new("rk_test_hush");
        assert!(!format!("{secret:?}").contains("hush"));
    }
}
