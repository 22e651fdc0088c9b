//! The signed word that an app may go on with for a while if the gatekeeper can't be reached.

use chrono::{DateTime, TimeDelta, Utc};
use jwt_compact::alg::{Hs256, Hs256Key};
use jwt_compact::{AlgorithmExt, Claims, CreationError, Header};
use paidonce_core::dunning::Access;
use serde::Serialize;

/// The `iss` of every entitlement.
pub(crate) const ISSUER: &str = "dunr-gatekeeper";
/// A shorter key could be found by trying. Source: RFC 7518, section 3.2.
pub(crate) const ENTITLEMENT_KEY_BYTES_MIN: usize = 32;

#[derive(Serialize)]
struct Word<'a> {
    iss: &'static str,
    sub: &'a str,
    access: Access,
}

/// Signs that a subscription's customer is let in from `now` for some hours. The same word at the
/// same second is the same text.
///
/// # Errors
/// If the claims have no JSON form.
pub(crate) fn entitlement(
    subscription_id: &str,
    key: &str,
    now: DateTime<Utc>,
    valid_hours: u32,
) -> Result<String, CreationError> {
    let mut claims = Claims::new(Word {
        iss: ISSUER,
        sub: subscription_id,
        access: Access::Granted,
    });
    claims.issued_at = Some(now);
    claims.expiration = Some(now + TimeDelta::hours(i64::from(valid_hours)));
    let header = Header::empty().with_token_type("JWT");
    Hs256.token(&header, &claims, &Hs256Key::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entitlement_is_the_same_text_each_time() {
        let now = DateTime::from_timestamp(1_800_000_000, 5).unwrap();
        let sign = || entitlement("sub_1", "0123456789abcdef0123456789abcdef", now, 24).unwrap();
        assert_eq!(sign(), sign());
        assert_eq!(sign().split('.').count(), 3);
    }
}
