//! E-mail addresses as people write them.

use paidonce_core::email::{EMAIL_BYTES_MAX, EmailAddress};

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(address) = EmailAddress::parse(text) else {
        return;
    };
    let plain = address.as_str();
    assert!(plain.len() <= EMAIL_BYTES_MAX, "{plain}");
    assert_eq!(
        EmailAddress::parse(plain),
        Ok(address.clone()),
        "read twice"
    );
    // It can stand in a header, and there it is one recipient.
    let odd = |letter: char| {
        letter.is_control() || letter.is_whitespace() || "<>(),;:\\\"[]".contains(letter)
    };
    assert!(!plain.contains(odd), "{plain}");
    assert_eq!(plain.matches('@').count(), 1, "{plain}");
    let (_, domain) = plain.split_once('@').unwrap_or_default();
    assert!(domain.contains('.') && !domain.starts_with('.') && !domain.ends_with('.'));
    assert_eq!(domain, domain.to_lowercase());
    let shown = format!("{address} {address:?}");
    assert!(!shown.contains(plain));
}
