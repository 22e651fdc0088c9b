use super::*;
use proptest::prelude::*;

const SECRET: &str = "whsec_test_secret";
const BODY: &[u8] = br#"{ "id":"evt_A01", "amount": 2000, "n":"caf\u00e9" }"#;
const NOW: i64 = 1_767_225_600;

fn now() -> DateTime<Utc> {
    at(NOW)
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

fn good() -> String {
    hex_over(&NOW.to_string(), BODY)
}

fn hex_over(timestamp: &str, body: &[u8]) -> String {
    hex::encode(mac(SECRET, timestamp, body).finalize().into_bytes())
}

fn check(header: &str) -> Result<Verified, SignatureError> {
    verify(header, BODY, &[SECRET], now())
}

#[test]
fn a_frozen_signature_of_another_implementation_verifies() {
    // Made with Python: hmac.new(b"whsec_test_secret", b"1767225600." + body, "sha256").
    let frozen = "3064d6aeb6562d84ad73e8e2e6b68f365723e3a79e6412cdaefc0909e603571b";
    assert_eq!(good(), frozen);
    assert!(check(&format!("t={NOW},v1={frozen}")).is_ok());
}

#[test]
fn what_the_provider_may_send_is_accepted() {
    let (good, zeros) = (good(), "0".repeat(64));
    let accepted = [
        format!("t={NOW},v1={good}"),
        format!("v1={good},t={NOW}"),
        format!("t={NOW},v1={good},v0={zeros}"),
        format!("t={NOW},v0={zeros},v1={good},v2=anything"),
        format!("t={NOW},v1={good},v1={zeros}"),
        format!("t={NOW},v1={zeros},v1={good}"),
        format!("t={NOW},v1={zeros},v1={good},v1={zeros}"),
        format!("t={NOW},v1={good},"),
        format!("t={NOW},v1=zzz,v1={good}"),
        format!("t={NOW},v1={good},v1="),
        format!("t={NOW},v1={}", good.to_uppercase()),
        format!("t={NOW}{}", format!(",v1={good}").repeat(SIGNATURES_MAX)),
    ];
    for header in accepted {
        let answer = check(&header).unwrap_or_else(|error| panic!("{header}: {error}"));
        assert_eq!((answer.timestamp, answer.secret_index), (now(), 0));
    }
}

#[test]
fn what_nobody_should_send_is_refused() {
    use SignatureError::{BadTimestamp, Mismatch, NoSignature, TooLong};
    let (good, zeros) = (good(), "0".repeat(64));
    let huge = "99999999999999999999";
    let refused = [
        (String::new(), NoSignature),
        (format!("t={NOW}"), NoSignature),
        (format!("v1={good}"), BadTimestamp),
        (format!("t={NOW},v0={good}"), NoSignature),
        (format!("t={NOW}, v1={good}"), NoSignature),
        (format!("t={NOW},v1={zeros}"), Mismatch),
        (format!("t={NOW},v1={good}00"), NoSignature),
        (format!("t={NOW},v1={}", &good[..62]), NoSignature),
        (format!("t={NOW},v1={good} "), NoSignature),
        (format!("t={NOW},t={NOW},v1={good}"), BadTimestamp),
        (format!("t={NOW},t=1,v1={good}"), BadTimestamp),
        (format!("t=1,v1={good},t={NOW}"), BadTimestamp),
        (format!("t=+{NOW},v1={good}"), BadTimestamp),
        (format!("t= {NOW},v1={good}"), BadTimestamp),
        (format!("t={NOW}.5,v1={good}"), BadTimestamp),
        (format!("t=0{NOW},v1={good}"), BadTimestamp),
        (format!("t=-{NOW},v1={good}"), BadTimestamp),
        (format!("t=,v1={good}"), BadTimestamp),
        (format!("t,t={NOW},v1={good}"), BadTimestamp),
        (format!("t={NOW},v1,v1={good}"), NoSignature),
        (
            format!("t={huge},v1={}", hex_over(huge, BODY)),
            BadTimestamp,
        ),
        (
            format!(
                "t={NOW}{}",
                format!(",v1={good}").repeat(SIGNATURES_MAX + 1)
            ),
            TooLong,
        ),
        (format!("t={NOW},v1={good},{}", "x".repeat(4096)), TooLong),
    ];
    for (header, error) in refused {
        assert_eq!(check(&header), Err(error), "{header}");
    }
}

#[test]
fn the_clock_may_differ_by_300_seconds_either_way() {
    for (skew_s, accepted) in [
        (0, true),
        (299, true),
        (300, true),
        (301, false),
        (-299, true),
        (-300, true),
        (-301, false),
        (3600, false),
        (-3600, false),
    ] {
        let header = sign(BODY, &[SECRET], at(NOW + skew_s));
        assert_eq!(check(&header).is_ok(), accepted, "{skew_s} s");
    }
    let header = sign(BODY, &[SECRET], DateTime::<Utc>::MAX_UTC);
    assert_eq!(check(&header), Err(SignatureError::BadTimestamp));
}

#[test]
fn only_the_exact_bytes_verify() {
    let header = sign(BODY, &[SECRET], now());
    let compact = br#"{"id":"evt_A01","amount":2000,"n":"caf\u00e9"}"#;
    let mut crlf = BODY.to_vec();
    crlf.extend_from_slice(b"\r\n");
    for body in [compact.as_slice(), &BODY[1..], b"", &crlf] {
        let answer = verify(&header, body, &[SECRET], now());
        assert_eq!(answer, Err(SignatureError::Mismatch));
    }
    // Bytes that aren't text are signed as they are.
    let bytes = b"\xef\xbb\xbf{}\r\n\xff";
    let header = sign(bytes, &[SECRET], now());
    assert!(verify(&header, bytes, &[SECRET], now()).is_ok());
}

#[test]
fn any_active_secret_verifies_and_a_blank_one_never_does() {
    let header = sign(BODY, &["old", SECRET], now());
    let index = |secrets: &[&str]| {
        verify(&header, BODY, secrets, now()).map(|verified| verified.secret_index)
    };
    assert_eq!(index(&[SECRET]), Ok(0));
    assert_eq!(index(&["other", SECRET]), Ok(1));
    assert_eq!(index(&["", "other", "old"]), Ok(2));
    assert_eq!(
        index(&["whsec_test_secret\n"]),
        Err(SignatureError::Mismatch)
    );
    let blank = sign(BODY, &[""], now());
    let answer = verify(&blank, BODY, &["", " "], now());
    assert_eq!(answer, Err(SignatureError::NoSecret));
    assert_eq!(
        verify(&blank, BODY, &[], now()),
        Err(SignatureError::NoSecret)
    );
}

proptest! {
    #[test]
    fn what_sign_makes_verifies(body: Vec<u8>, secret in "[!-~]{1,80}", skew in -300..=300_i64) {
        let header = sign(&body, &["another", &secret], at(NOW + skew));
        let verified = verify(&header, &body, &[&secret], now()).unwrap();
        prop_assert_eq!(verified.timestamp, at(NOW + skew));
    }

    #[test]
    fn a_changed_byte_never_verifies(
        body in proptest::collection::vec(any::<u8>(), 1..200),
        place: prop::sample::Index,
        change in 1..=255_u8,
    ) {
        let header = sign(&body, &[SECRET], now());
        let mut other = body.clone();
        other[place.index(body.len())] ^= change;
        prop_assert_eq!(verify(&header, &other, &[SECRET], now()), Err(SignatureError::Mismatch));
    }

    #[test]
    fn no_header_makes_it_panic(header in "([tv01=, ]|[0-9a-f]{1,64}|\\PC){0,40}") {
        prop_assert!(check(&header).is_err());
    }
}
