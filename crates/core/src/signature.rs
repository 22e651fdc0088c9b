//! Webhook signatures in Stripe's scheme: `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, where each
//! `v1` is the HMAC-SHA-256 of `<t>.<raw body>` under one of the endpoint's secrets.
//!
//! Never more liberal than the provider's own libraries, except that upper-case hex is taken
//! (the decoded bytes are the same), and stricter where they disagree with each other or with
//! good sense: a timestamp in the future is refused like an old one, a second `t` is refused,
//! and a timestamp is plain decimal digits. Nothing here allocates; it runs on every delivery.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

/// How far a signature's time may lie from ours, in seconds, in either direction.
pub const TOLERANCE_S: i64 = 300;
/// The longest header that is looked at, in bytes.
pub const HEADER_BYTES_MAX: usize = 4096;
/// The most `v1` parts that a header may hold.
pub const SIGNATURES_MAX: usize = 16;

const MAC_BYTES: usize = 32;
/// Unix seconds need ten digits until the year 2286; more than this can't be a time of ours.
const TIMESTAMP_DIGITS_MAX: usize = 11;

/// A header that proved genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// When the provider signed, to the second.
    pub timestamp: DateTime<Utc>,
    /// Which of the given secrets matched.
    pub secret_index: usize,
}

/// Why a header was refused. All of them are the sender's fault but [`SignatureError::NoSecret`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// More than [`HEADER_BYTES_MAX`] bytes or [`SIGNATURES_MAX`] signatures.
    #[error("the signature header is too long")]
    TooLong,
    /// No `t`, two of them, or one that isn't plain decimal digits.
    #[error("the signature header has no single well-formed timestamp")]
    BadTimestamp,
    /// No `v1` that is 64 hex digits, or one without a value at all.
    #[error("the signature header has no v1 signature")]
    NoSignature,
    /// Signed more than [`TOLERANCE_S`] from now; positive is in the past.
    #[error("the signature's timestamp is {age_s} s away from this clock")]
    OutsideTolerance {
        /// Our time minus the signature's.
        age_s: i64,
    },
    /// No `v1` was made with any of the secrets over this body. A secret may have been rolled.
    #[error("no signature matches the body")]
    Mismatch,
    /// No usable secret was given: this is our own failure.
    #[error("there is no signing secret to verify with")]
    NoSecret,
}

/// Verifies `header` over the raw bytes of `body` with any of `secrets`, in constant time.
///
/// Blank secrets are never used, since anybody could sign with them.
///
/// # Errors
/// See [`SignatureError`]; nothing is hashed unless the header is well-formed and timely.
pub fn verify(
    header: &str,
    body: &[u8],
    secrets: &[&str],
    now: DateTime<Utc>,
) -> Result<Verified, SignatureError> {
    let parsed = Header::parse(header)?;
    let timestamp = parsed.timely(now)?;
    let mut usable = 0_usize;
    for (secret_index, secret) in secrets.iter().enumerate() {
        if secret.trim().is_empty() {
            continue;
        }
        usable = usable.saturating_add(1);
        let expected = mac(secret, parsed.timestamp, body).finalize().into_bytes();
        let matches = parsed
            .signatures()
            .iter()
            .fold(Choice::from(0), |any, one| {
                any | expected.as_slice().ct_eq(one.as_slice())
            });
        if matches.into() {
            return Ok(Verified {
                timestamp,
                secret_index,
            });
        }
    }
    Err(match usable {
        0 => SignatureError::NoSecret,
        _ => SignatureError::Mismatch,
    })
}

/// Returns the header that the provider would send for `body` at `at`, one `v1` per secret.
pub fn sign(body: &[u8], secrets: &[&str], at: DateTime<Utc>) -> String {
    let timestamp = at.timestamp().to_string();
    let mut header = format!("t={timestamp}");
    for secret in secrets {
        let signature = mac(secret, &timestamp, body).finalize().into_bytes();
        let _infallible = write!(header, ",v1={}", hex::encode(signature));
    }
    header
}

fn mac(secret: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac
}

struct Header<'h> {
    timestamp: &'h str,
    signatures: [[u8; MAC_BYTES]; SIGNATURES_MAX],
    signatures_count: usize,
}

impl<'h> Header<'h> {
    fn parse(header: &'h str) -> Result<Self, SignatureError> {
        if header.len() > HEADER_BYTES_MAX {
            return Err(SignatureError::TooLong);
        }
        let mut timestamp = None;
        let mut signatures = [[0; MAC_BYTES]; SIGNATURES_MAX];
        let mut signatures_count = 0_usize;
        let mut signatures_seen = 0_usize;
        for part in header.split(',') {
            match part.split_once('=') {
                Some(("t", text)) if timestamp.is_none() => timestamp = Some(text),
                Some(("t", _)) => return Err(SignatureError::BadTimestamp),
                Some(("v1", text)) => {
                    signatures_seen = signatures_seen.saturating_add(1);
                    if signatures_seen > SIGNATURES_MAX {
                        return Err(SignatureError::TooLong);
                    }
                    if hex::decode_to_slice(text, &mut signatures[signatures_count]).is_ok() {
                        signatures_count = signatures_count.saturating_add(1);
                    }
                }
                // A name of ours without a value: the provider's libraries give up on the header.
                None if part == "t" => return Err(SignatureError::BadTimestamp),
                None if part == "v1" => return Err(SignatureError::NoSignature),
                // Other schemes (`v0` is for test events), and a blank before `v1` makes one.
                Some(_) | None => {}
            }
        }
        if signatures_count == 0 {
            return Err(SignatureError::NoSignature);
        }
        Ok(Self {
            timestamp: timestamp.ok_or(SignatureError::BadTimestamp)?,
            signatures,
            signatures_count,
        })
    }

    fn signatures(&self) -> &[[u8; MAC_BYTES]] {
        &self.signatures[..self.signatures_count]
    }

    fn timely(&self, now: DateTime<Utc>) -> Result<DateTime<Utc>, SignatureError> {
        let text = self.timestamp;
        let plain = (1..=TIMESTAMP_DIGITS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && !(text.len() > 1 && text.starts_with('0'));
        let timestamp = text
            .parse::<i64>()
            .ok()
            .filter(|_| plain)
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
            .ok_or(SignatureError::BadTimestamp)?;
        let age_s = now.timestamp().saturating_sub(timestamp.timestamp());
        if age_s.unsigned_abs() > TOLERANCE_S.unsigned_abs() {
            return Err(SignatureError::OutsideTolerance { age_s });
        }
        Ok(timestamp)
    }
}

#[cfg(test)]
mod tests;
