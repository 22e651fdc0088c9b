//! E-mail addresses: read strictly, shown to nobody by accident.

use std::fmt;

use email_address::Options;
use serde::{Deserialize, Serialize};

/// The longest address that a mail path can carry (RFC 5321), in bytes.
pub const EMAIL_BYTES_MAX: usize = 254;

/// An address that mail may be sent to.
///
/// Neither `Debug` nor `Display` shows it, so that it can't reach a log.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EmailAddress(String);

/// The text isn't a plain address such as `mary@example.com`. The text itself isn't repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not an e-mail address such as mary@example.com, of at most {EMAIL_BYTES_MAX} bytes"
)]
pub struct EmailError;

impl EmailAddress {
    /// Reads one address; blanks around it are dropped and the domain becomes lower case.
    ///
    /// No display name, no literal IP address, no host without a dot, no quoted part: no
    /// customer has one, and each has been a way to smuggle a second recipient into a header.
    ///
    /// # Errors
    /// [`EmailError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        let text = text.trim();
        let odd = |letter: char| letter == '"' || letter.is_control() || letter.is_whitespace();
        if text.contains(odd) {
            return Err(EmailError);
        }
        // What is checked is what is kept: some letters are longer in lower case.
        let (local, domain) = text.rsplit_once('@').ok_or(EmailError)?;
        let text = format!("{local}@{}", domain.to_lowercase());
        if text.len() > EMAIL_BYTES_MAX {
            return Err(EmailError);
        }
        let options = Options::default()
            .with_required_tld()
            .without_display_text()
            .without_domain_literal();
        email_address::EmailAddress::parse_with_options(&text, options).map_err(|_| EmailError)?;
        Ok(Self(text))
    }

    /// Returns the address itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailAddress(hidden)")
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(an e-mail address)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_addresses_are_read() {
        for (text, address) in [
            ("mary@example.com", "mary@example.com"),
            (
                " Mary.O'Neil+table@Example.CO.UK\n",
                "Mary.O'Neil+table@example.co.uk",
            ),
            ("x@xn--bcher-kva.example", "x@xn--bcher-kva.example"),
        ] {
            assert_eq!(EmailAddress::parse(text).unwrap().as_str(), address);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("{}@example.com", "a".repeat(65));
        let longer = format!("a@{}.com", "b.".repeat(140));
        for text in [
            "",
            "@",
            "mary",
            "mary@",
            "@example.com",
            "mary@localhost",
            "mary@[127.0.0.1]",
            "Mary <mary@example.com>",
            "\"a b\"@example.com",
            "mary@example.com,eve@example.com",
            "mary@example.com\r\nBcc: eve@example.com",
            "mary@exa mple.com",
            "mary@@example.com",
            "mary@example..com",
            ".mary@example.com",
            &long,
            &longer,
        ] {
            assert_eq!(EmailAddress::parse(text), Err(EmailError), "{text}");
        }
    }

    #[test]
    fn an_address_is_never_shown() {
        let address = EmailAddress::parse("mary@example.com").unwrap();
        let shown = format!("{address:?} {address}");
        assert!(
            !shown.contains("mary") && !shown.contains("example"),
            "{shown}"
        );
    }
}
