//! The provider's signature header, over a body.
//!
//! The first line is the header, the rest is the body. A fuzzer can't guess a MAC, so the header is
//! a template: `{now}` is this clock's second, `{mac}` the MAC that fits the header's `t` and the
//! body, and `{old}` one under a secret that is no longer used.

use chrono::{DateTime, Utc};
use paidonce_core::signature::{
    HEADER_BYTES_MAX, SIGNATURES_MAX, SignatureError, TOLERANCE_S, sign, verify,
};

use crate::input::text_and_rest;

const NOW_S: i64 = 1_783_600_000;
const CURRENT: &str = "whsec_current_0123456789abcdef";
const PREVIOUS: &str = "whsec_previous_0123456789abcde";
const OLD: &str = "whsec_old_0123456789abcdef0123";

pub(crate) fn run(input: &[u8]) {
    let Some((template, body)) = text_and_rest(input) else {
        return;
    };
    let header = filled(template, body);
    let now = at(NOW_S);
    let answer = verify(&header, body, &[CURRENT, PREVIOUS], now);
    let genuine = genuine(&header, body);
    match answer {
        Ok(verified) => {
            assert!(genuine, "accepted what no secret of ours signed: {header}");
            let age_s = NOW_S - verified.timestamp.timestamp();
            assert!(age_s.abs() <= TOLERANCE_S, "{age_s} s old");
            assert!(verified.secret_index < 2);
        }
        // Those two say that it was timely and well-formed.
        Err(SignatureError::Mismatch) => assert!(!genuine, "refused a genuine header: {header}"),
        Err(SignatureError::OutsideTolerance { age_s }) => {
            assert!(age_s.abs() > TOLERANCE_S, "{age_s} s old");
        }
        Err(SignatureError::TooLong) => assert!(
            header.len() > HEADER_BYTES_MAX || header.matches("v1=").count() > SIGNATURES_MAX
        ),
        Err(SignatureError::BadTimestamp | SignatureError::NoSignature) => {}
        Err(SignatureError::NoSecret) => unreachable!("two secrets were given"),
    }
    // What is accepted does not depend on which of our secrets comes first.
    let turned = verify(&header, body, &[PREVIOUS, CURRENT], now);
    assert_eq!(turned.is_ok(), answer.is_ok());
    // Nothing of it counts for another body, another time, or without a secret.
    if answer.is_ok() {
        let other = [body, b"."].concat();
        let answer = verify(&header, &other, &[CURRENT, PREVIOUS], now);
        assert_eq!(answer, Err(SignatureError::Mismatch));
        let later = at(NOW_S + 2 * TOLERANCE_S + 1);
        assert!(verify(&header, body, &[CURRENT, PREVIOUS], later).is_err());
        assert_eq!(
            verify(&header, body, &["", " "], now),
            Err(SignatureError::NoSecret)
        );
    }
}

/// The other way round to what `verify` does: what a secret of ours would have signed for each `t`
/// of the header stands in it.
fn genuine(header: &str, body: &[u8]) -> bool {
    let values = |name: &'static str| {
        let parts = header.split(',').filter_map(|part| part.split_once('='));
        parts
            .filter(move |(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    values("t").any(|text| {
        let signed_at = text
            .parse()
            .ok()
            .and_then(|s| DateTime::from_timestamp(s, 0));
        let Some(signed_at) = signed_at.filter(|at| at.timestamp().to_string() == text) else {
            return false;
        };
        [CURRENT, PREVIOUS].iter().any(|secret| {
            let expected = mac(body, secret, signed_at);
            values("v1").any(|given| given.eq_ignore_ascii_case(&expected))
        })
    })
}

fn filled(template: &str, body: &[u8]) -> String {
    let header = template.replace("{now}", &NOW_S.to_string());
    let signed_at = header
        .split(',')
        .find_map(|part| part.strip_prefix("t="))
        .and_then(|text| DateTime::from_timestamp(text.parse().ok()?, 0))
        .unwrap_or_else(|| at(NOW_S));
    header
        .replace("{mac}", &mac(body, CURRENT, signed_at))
        .replace("{previous}", &mac(body, PREVIOUS, signed_at))
        .replace("{old}", &mac(body, OLD, signed_at))
}

fn mac(body: &[u8], secret: &str, signed_at: DateTime<Utc>) -> String {
    let header = sign(body, &[secret], signed_at);
    header
        .split_once(",v1=")
        .map_or_else(String::new, |(_, mac)| mac.to_owned())
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default()
}
