//! Who may come in: whoever brings a link that we signed for this purpose and booking.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Request, SecretCache, SecretVersions};
use paidonce_core::link::{LinkError, LinkKey, Purpose, WeakKey};

/// Verifies the `exp` and `sig` of a request's query. Nothing is read of the subject before: a forged
/// link learns nothing, not even whether there is such a booking.
///
/// # Errors
/// If the key could not be read, or is no key.
pub async fn verified(
    keys: &SecretCache,
    purpose: Purpose,
    subject: &str,
    request: &Request,
    now: DateTime<Utc>,
) -> Result<Result<(), LinkError>, Failure> {
    let expires = request.query("exp").unwrap_or_default();
    let signature = request.query("sig").unwrap_or_default();
    let check = |secret: &SecretVersions| {
        link_key(secret).map(|key| key.verify(purpose, subject, expires, signature, now))
    };
    let mut verdict = check(&keys.get(now).await?)?;
    if verdict == Err(LinkError::Forged) {
        // The key may just have been changed.
        verdict = check(&keys.refreshed(now).await?)?;
    }
    Ok(verdict)
}

/// The key that signs, and the one before it: links in older messages still work.
fn link_key(secret: &SecretVersions) -> Result<LinkKey, WeakKey> {
    let mut keys = secret.all();
    let mut key = LinkKey::new(keys.next().unwrap_or_default().as_bytes())?;
    for previous in keys {
        key = key.with_previous(previous.as_bytes())?;
    }
    Ok(key)
}
