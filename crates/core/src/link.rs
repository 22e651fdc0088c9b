//! Signed links: what a customer may do without an account, until when.
//!
//! A link carries `exp` (Unix seconds in base 36) and `sig` (HMAC-SHA-256 over purpose, expiry
//! and subject, cut to 16 bytes, base64url). Cut, since the whole must fit into an SMS; 128
//! bits of a MAC are still not to be guessed. A link for one purpose or subject proves nothing
//! for another.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// The shortest key that is taken, in bytes.
pub const KEY_BYTES_MIN: usize = 16;

const SIGNATURE_BYTES: usize = 16;
const EXPIRY_RADIX: u32 = 36;
/// 36^10 seconds is far past any date that chrono knows.
const EXPIRY_DIGITS_MAX: usize = 10;

/// What a link lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// See and pay the deposit of one booking.
    Pay,
    /// See, move and cancel one booking.
    Manage,
    /// Give another card for one subscription.
    Card,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::Pay, Self::Manage, Self::Card];

    /// Returns the name that is signed and that stands in the path of the link.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pay => "pay",
            Self::Manage => "manage",
            Self::Card => "card",
        }
    }
}

/// Why a link doesn't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It was genuine, and its time is over.
    #[error("the link has expired")]
    Expired,
    /// None of the keys signed it for this purpose and subject.
    #[error("the link is not genuine")]
    Forged,
}

/// The key is shorter than [`KEY_BYTES_MIN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a link key needs at least {KEY_BYTES_MIN} bytes")]
pub struct WeakKey;

/// Signs links with one key, and verifies them with that one and its predecessors.
#[derive(Clone)]
pub struct LinkKey {
    current: Hmac<Sha256>,
    previous: Vec<Hmac<Sha256>>,
}

impl LinkKey {
    /// Takes the key that signs.
    ///
    /// # Errors
    /// [`WeakKey`] if it is too short.
    pub fn new(key: &[u8]) -> Result<Self, WeakKey> {
        Ok(Self {
            current: keyed(key)?,
            previous: Vec::new(),
        })
    }

    /// Adds a key that was in use before: links that it signed count until they expire.
    ///
    /// # Errors
    /// [`WeakKey`] if it is too short.
    pub fn with_previous(mut self, key: &[u8]) -> Result<Self, WeakKey> {
        self.previous.push(keyed(key)?);
        Ok(self)
    }

    /// Returns the query `exp=…&sig=…` (at most 38 bytes until the year 4147).
    ///
    /// The subject is what the link is bound to, such as a booking's id. Parts of a second are
    /// cut off, so the link never outlives `expires_at`.
    pub fn sign(&self, purpose: Purpose, subject: &str, expires_at: DateTime<Utc>) -> String {
        let expires = base36(u64::try_from(expires_at.timestamp()).unwrap_or(0));
        let signature = mac(&self.current, purpose, subject, &expires);
        format!("exp={expires}&sig={}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Verifies the `exp` and `sig` of a link, in constant time.
    ///
    /// # Errors
    /// [`LinkError::Expired`] is only said of a genuine link.
    pub fn verify(
        &self,
        purpose: Purpose,
        subject: &str,
        expires: &str,
        signature: &str,
        now: DateTime<Utc>,
    ) -> Result<(), LinkError> {
        let expires_at = read_expiry(expires).ok_or(LinkError::Forged)?;
        let mut given = [0; SIGNATURE_BYTES];
        match URL_SAFE_NO_PAD.decode_slice(signature, &mut given) {
            Ok(SIGNATURE_BYTES) => {}
            Ok(_) | Err(_) => return Err(LinkError::Forged),
        }
        let genuine = std::iter::once(&self.current)
            .chain(&self.previous)
            .any(|key| mac(key, purpose, subject, expires).ct_eq(&given).into());
        match genuine {
            false => Err(LinkError::Forged),
            true if now.timestamp() >= expires_at => Err(LinkError::Expired),
            true => Ok(()),
        }
    }
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(hidden)")
    }
}

fn keyed(key: &[u8]) -> Result<Hmac<Sha256>, WeakKey> {
    if key.len() < KEY_BYTES_MIN {
        return Err(WeakKey);
    }
    Hmac::new_from_slice(key).map_err(|_| WeakKey)
}

fn mac(
    key: &Hmac<Sha256>,
    purpose: Purpose,
    subject: &str,
    expires: &str,
) -> [u8; SIGNATURE_BYTES] {
    let mut mac = key.clone();
    // Purpose and expiry can't hold a zero byte and the subject comes last: one reading only.
    for part in ["paidonce-link-1", purpose.as_str(), expires] {
        mac.update(part.as_bytes());
        mac.update(&[0]);
    }
    mac.update(subject.as_bytes());
    let whole: [u8; 32] = mac.finalize().into_bytes().into();
    let mut cut = [0; SIGNATURE_BYTES];
    cut.copy_from_slice(&whole[..SIGNATURE_BYTES]);
    cut
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        // A remainder of 36 always fits.
        let digit = u32::try_from(number % u64::from(EXPIRY_RADIX)).unwrap_or(0);
        digits.extend(char::from_digit(digit, EXPIRY_RADIX));
        number /= u64::from(EXPIRY_RADIX);
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

fn read_expiry(text: &str) -> Option<i64> {
    let plain = (1..=EXPIRY_DIGITS_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    plain
        .then(|| i64::from_str_radix(text, EXPIRY_RADIX).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &[u8] = b"a-key-of-some-length-for-links";
    const EXPIRES: i64 = 1_767_225_600;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn parts(query: &str) -> (&str, &str) {
        query
            .strip_prefix("exp=")
            .unwrap()
            .split_once("&sig=")
            .unwrap()
    }

    fn verify(
        key: &LinkKey,
        purpose: Purpose,
        subject: &str,
        query: &str,
        now: i64,
    ) -> Result<(), LinkError> {
        let (expires, signature) = parts(query);
        key.verify(purpose, subject, expires, signature, at(now))
    }

    #[test]
    fn a_link_counts_until_its_second() {
        let key = LinkKey::new(KEY).unwrap();
        let query = key.sign(Purpose::Pay, "b-1", at(EXPIRES));
        assert!(query.len() <= 38, "{query}");
        assert_eq!(
            verify(&key, Purpose::Pay, "b-1", &query, EXPIRES - 1),
            Ok(())
        );
        let late = verify(&key, Purpose::Pay, "b-1", &query, EXPIRES);
        assert_eq!(late, Err(LinkError::Expired));
    }

    #[test]
    fn a_link_is_bound_to_its_purpose_and_subject() {
        let key = LinkKey::new(KEY).unwrap();
        let query = key.sign(Purpose::Pay, "b-1", at(EXPIRES));
        for (purpose, subject) in [
            (Purpose::Manage, "b-1"),
            (Purpose::Pay, "b-2"),
            (Purpose::Pay, ""),
        ] {
            let answer = verify(&key, purpose, subject, &query, 0);
            assert_eq!(answer, Err(LinkError::Forged));
        }
    }

    #[test]
    fn a_changed_expiry_is_forged_even_if_it_means_the_same() {
        let key = LinkKey::new(KEY).unwrap();
        let query = key.sign(Purpose::Pay, "b-1", at(EXPIRES));
        let (expires, signature) = parts(&query);
        let later = base36(u64::try_from(EXPIRES).unwrap() + 1);
        let longer = format!("0{expires}");
        let louder = expires.to_uppercase();
        let signed = format!("+{expires}");
        for changed in [
            later.as_str(),
            &longer,
            &louder,
            &signed,
            "",
            "-1",
            "zzzzzzzzzzzzzzzzz",
        ] {
            let answer = key.verify(Purpose::Pay, "b-1", changed, signature, at(0));
            assert_eq!(answer, Err(LinkError::Forged), "{changed}");
        }
    }

    #[test]
    fn a_rolled_key_still_verifies_and_no_longer_signs() {
        let old = LinkKey::new(b"the-old-key-of-the-links").unwrap();
        let new = LinkKey::new(KEY).unwrap();
        let query = old.sign(Purpose::Pay, "b-1", at(EXPIRES));
        assert_eq!(
            verify(&new, Purpose::Pay, "b-1", &query, 0),
            Err(LinkError::Forged)
        );
        let both = new
            .clone()
            .with_previous(b"the-old-key-of-the-links")
            .unwrap();
        assert_eq!(verify(&both, Purpose::Pay, "b-1", &query, 0), Ok(()));
        let query = both.sign(Purpose::Pay, "b-1", at(EXPIRES));
        assert_eq!(verify(&new, Purpose::Pay, "b-1", &query, 0), Ok(()));
    }

    #[test]
    fn a_short_key_is_refused_and_a_key_is_never_shown() {
        assert_eq!(LinkKey::new(b"").err(), Some(WeakKey));
        assert_eq!(LinkKey::new(&KEY[..15]).err(), Some(WeakKey));
        assert_eq!(
            format!("{:?}", LinkKey::new(KEY).unwrap()),
            "LinkKey(hidden)"
        );
    }

    proptest! {
        #[test]
        fn what_sign_makes_verifies_and_nothing_else_does(
            subject in "\\PC{0,40}",
            expires in 1..9_999_999_999_i64,
            place in 0..22_usize,
            other in "[A-Za-z0-9_-]",
        ) {
            let key = LinkKey::new(KEY).unwrap();
            let query = key.sign(Purpose::Manage, &subject, at(expires));
            prop_assert_eq!(verify(&key, Purpose::Manage, &subject, &query, expires - 1), Ok(()));
            let (exp, sig) = parts(&query);
            let mut changed = sig.to_owned();
            changed.replace_range(place..=place, &other);
            let answer = key.verify(Purpose::Manage, &subject, exp, &changed, at(0));
            prop_assert_eq!(answer.is_ok(), changed == sig);
        }

        #[test]
        fn no_text_makes_it_panic(expires in "\\PC{0,20}", signature in "\\PC{0,40}") {
            let key = LinkKey::new(KEY).unwrap();
            prop_assert!(key.verify(Purpose::Pay, "b-1", &expires, &signature, at(0)).is_err());
        }
    }
}
