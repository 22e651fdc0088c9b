//! The query of a signed link: purpose, subject, and `exp` and `sig` as a browser sends them.
//!
//! `{sig}` in the signature is the one that the current key makes for what stands before it, and
//! `{previous}` one of the key before.

use chrono::DateTime;
use paidonce_core::link::{LinkError, LinkKey, Purpose};

const NOW_S: i64 = 1_783_600_000;
const CURRENT: &[u8] = b"the-current-key-of-the-links";
const PREVIOUS: &[u8] = b"the-key-before-of-the-links";

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = text.splitn(4, '\n');
    let parts = [lines.next(), lines.next(), lines.next(), lines.next()];
    let [Some(purpose), Some(expires), Some(signature), Some(subject)] = parts else {
        return;
    };
    let Some(purpose) = Purpose::ALL.into_iter().find(|it| it.as_str() == purpose) else {
        return;
    };
    let (current, previous) = (key(CURRENT), key(PREVIOUS));
    let both = key(CURRENT)
        .with_previous(PREVIOUS)
        .expect("the key is long enough");
    let sign = |key: &LinkKey| made(key, purpose, subject, expires);
    let signature = signature
        .replace("{sig}", &sign(&current))
        .replace("{previous}", &sign(&previous));
    let now = DateTime::from_timestamp(NOW_S, 0).unwrap_or_default();
    let verify = |key: &LinkKey, purpose, subject: &str| {
        key.verify(purpose, subject, expires, &signature, now)
    };
    let answer = verify(&both, purpose, subject);
    let is_made = |key: &LinkKey| !signature.is_empty() && sign(key) == signature;
    let genuine = is_made(&current) || is_made(&previous);
    let expected = match (genuine, seconds(expires)) {
        (true, Some(expires_s)) if NOW_S < expires_s => Ok(()),
        (true, Some(_)) => Err(LinkError::Expired),
        (true | false, _) => Err(LinkError::Forged),
    };
    assert_eq!(answer, expected, "{expires} {signature}");
    // It proves nothing for another purpose, another subject, or to another key.
    for other in Purpose::ALL {
        let answer = verify(&both, other, subject);
        assert_eq!(
            answer == Err(LinkError::Forged),
            other != purpose || !genuine
        );
    }
    assert_eq!(
        verify(&both, purpose, &format!("{subject}.")),
        Err(LinkError::Forged)
    );
    assert_eq!(
        verify(&key(b"quite-another-key-of-links"), purpose, subject),
        Err(LinkError::Forged)
    );
}

fn key(bytes: &[u8]) -> LinkKey {
    LinkKey::new(bytes).expect("the key is long enough")
}

/// The `sig` that a key makes for an `exp`, and nothing where it makes no such `exp`.
fn made(key: &LinkKey, purpose: Purpose, subject: &str, expires: &str) -> String {
    let at = seconds(expires).and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let query = at
        .map(|at| key.sign(purpose, subject, at))
        .unwrap_or_default();
    let prefix = format!("exp={expires}&sig=");
    query.strip_prefix(&prefix).unwrap_or_default().to_owned()
}

/// An `exp` that `sign` writes.
fn seconds(expires: &str) -> Option<i64> {
    let plain = !expires.is_empty() && !expires.contains(|it: char| !it.is_ascii_alphanumeric());
    let seconds = plain
        .then(|| i64::from_str_radix(expires, 36).ok())
        .flatten();
    seconds.filter(|seconds| DateTime::from_timestamp(*seconds, 0).is_some())
}
