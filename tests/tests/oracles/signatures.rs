//! Webhook signatures: `bdc-webhook` and Stripe's own Python and Node packages judge the same headers
//! over the same bodies.
//!
//! The webhook is never more liberal than both, but for hex in upper case; and what both let in is
//! let in, if its time is well-formed and near.

use std::collections::BTreeSet;

use bytes::Bytes;
use fleet_tests::{SIGNING_SECRET_NAME, Town};
use hmac::{Hmac, Mac as _};
use http::Request;
use paidonce_core::signature::{HEADER_BYTES_MAX, SIGNATURES_MAX, TOLERANCE_S};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;
use sha2::Sha256;

use crate::asked::Oracle;

const RANDOM_VECTORS: usize = 3_000;
const OTHER_SECRET: &str = "whsec_somebody_elses";
const BODIES: [&str; 6] = [
    r#"{"id":"evt_1"}"#,
    r#"{ "id" : "caf\u00e9" }"#,
    r#"{"id":"café 😀"}"#,
    "{\r\n\"id\": 1\r\n}",
    "\u{feff}{}",
    "not JSON",
];

/// A body, a header, and the header with its hex in lower case.
struct Vector {
    name: String,
    body: &'static str,
    header: String,
}

/// Who lets a vector in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LetIn {
    ours: bool,
    python: bool,
    node: bool,
    /// What both say of the header with its hex in lower case.
    both_in_lower_case: bool,
}

fn hex_of(secret: &str, timestamp: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.{body}").as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// What the packages are known to say, measured with stripe 16.1.0 (Python) and 23.1.0 (Node): a
/// name, a header, and whether we, Python and Node let it in.
fn measured(secret: &str, now: i64, body: &str) -> Vec<(&'static str, String, [bool; 3])> {
    const ALL: [bool; 3] = [true, true, true];
    const NOBODY: [bool; 3] = [false, false, false];
    const OURS: [bool; 3] = [true, false, false];
    const PYTHON: [bool; 3] = [false, true, false];
    const NODE: [bool; 3] = [false, false, true];
    const THEIRS: [bool; 3] = [false, true, true];
    let signed = |timestamp: &str| hex_of(secret, timestamp, body);
    let at = |seconds: i64| format!("t={seconds},v1={}", signed(&seconds.to_string()));
    let good = signed(&now.to_string());
    let other = hex_of(OTHER_SECRET, &now.to_string(), body);
    let (upper, zeros) = (good.to_uppercase(), "0".repeat(64));
    let huge = "99999999999999999999";
    vec![
        ("genuine", at(now), ALL),
        ("with a v0", format!("t={now},v1={good},v0={zeros}"), ALL),
        (
            "a wrong v1 first",
            format!("t={now},v1={zeros},v1={good}"),
            ALL,
        ),
        (
            "a wrong v1 last",
            format!("t={now},v1={good},v1={zeros}"),
            ALL,
        ),
        ("v1 before t", format!("v1={good},t={now}"), ALL),
        ("a comma at the end", format!("t={now},v1={good},"), ALL),
        ("no hex beside it", format!("t={now},v1=zzz,v1={good}"), ALL),
        ("299 s old", at(now - 299), ALL),
        ("301 s old", at(now - 301), NOBODY),
        ("299 s ahead", at(now + 299), ALL),
        ("an hour ahead", at(now + 3_600), THEIRS),
        ("upper-case hex", format!("t={now},v1={upper}"), OURS),
        (
            "a blank after the comma",
            format!("t={now}, v1={good}"),
            NOBODY,
        ),
        ("a plus", format!("t=+{now},v1={good}"), THEIRS),
        ("a fraction", format!("t={now}.5,v1={good}"), NODE),
        (
            "two times, good first",
            format!("t={now},t=1,v1={good}"),
            PYTHON,
        ),
        (
            "two times, good last",
            format!("t=1,t={now},v1={good}"),
            NODE,
        ),
        (
            "the same time twice",
            format!("t={now},t={now},v1={good}"),
            THEIRS,
        ),
        (
            "beyond 64 bits",
            format!("t={huge},v1={}", signed(huge)),
            PYTHON,
        ),
        ("nothing", String::new(), NOBODY),
        ("no time", format!("v1={good}"), NOBODY),
        ("no signature", format!("t={now}"), NOBODY),
        ("v0 alone", format!("t={now},v0={good}"), NOBODY),
        ("zeros", format!("t={now},v1={zeros}"), NOBODY),
        (
            "a digit less",
            format!("t={now},v1={}", &good[..63]),
            NOBODY,
        ),
        ("a digit more", format!("t={now},v1={good}0"), NOBODY),
        ("a minus", format!("t=-{now},v1={good}"), NOBODY),
        ("a zero in front", format!("t=0{now},v1={good}"), THEIRS),
        ("an empty time", format!("t=,v1={good}"), NOBODY),
        ("more after the hex", format!("t={now},v1={good}=="), THEIRS),
        ("another's secret", format!("t={now},v1={other}"), NOBODY),
        (
            "a t without a value",
            format!("t={now},t,v1={good}"),
            NOBODY,
        ),
        (
            "a v1 without a value",
            format!("t={now},v1,v1={good}"),
            NOBODY,
        ),
    ]
}

/// Headers of parts that are right, nearly right and wrong, over a body of [`BODIES`].
fn random_vectors(secret: &str, now: i64) -> Vec<Vector> {
    let near = prop_oneof![
        4 => Just(0_i64),
        2 => -TOLERANCE_S - 3..=TOLERANCE_S + 3,
        1 => select(vec![-86_400, 86_400, -now]),
    ];
    let written = select(vec![
        "{}", "{}", "{}", "{}", "{}", "+{}", "0{}", "{}.5", " {}", "{} ", "{}x", "",
    ]);
    let time = (near, written)
        .prop_map(move |(skew, written)| written.replace("{}", &(now + skew).to_string()));
    let parts = proptest::collection::vec(0..16_u8, 1..6);
    let vector = (
        select(BODIES.to_vec()),
        time.clone(),
        time,
        parts,
        any::<bool>(),
    );
    let mut runner = TestRunner::deterministic();
    let mut draw = |number: usize| {
        let (body, first, second, parts, in_order) =
            vector.new_tree(&mut runner).unwrap().current();
        let mut said: Vec<String> = parts
            .iter()
            .map(|part| one_part(*part, secret, &first, &second, body))
            .collect();
        said.insert(
            if in_order { 0 } else { said.len() / 2 },
            format!("t={first}"),
        );
        Vector {
            name: format!("random {number}"),
            body,
            header: said.join(","),
        }
    };
    (0..RANDOM_VECTORS).map(&mut draw).collect()
}

fn one_part(part: u8, secret: &str, first: &str, second: &str, body: &str) -> String {
    let good = hex_of(secret, first, body);
    match part {
        0..6 => format!("v1={good}"),
        6 => format!("v1={}", hex_of(OTHER_SECRET, first, body)),
        7 => format!("v1={}", hex_of(secret, first, &format!("{body} "))),
        8 => format!("v1={}", good.to_uppercase()),
        9 => format!("v1={}", hex_of(secret, second, body)),
        10 => format!("v0={good}"),
        11 => format!(" v1={good}"),
        12 => format!("t={second}"),
        13 => "v1=nohex".to_owned(),
        14 => format!("v1={good}=="),
        _ => "v1".to_owned(),
    }
}

fn in_lower_case(header: &str) -> String {
    let parts = header
        .split(',')
        .map(|part| match part.strip_prefix("v1=") {
            Some(hex) => format!("v1={}", hex.to_lowercase()),
            None => part.to_owned(),
        });
    parts.collect::<Vec<_>>().join(",")
}

/// Whether a header has one time of plain digits that is near, nothing after a value, and no more
/// than we read.
fn is_well_formed_and_near(header: &str, now: i64) -> bool {
    let parts: Vec<&str> = header.split(',').collect();
    let signatures = parts.iter().filter(|part| part.starts_with("v1=")).count();
    let times: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.strip_prefix("t="))
        .collect();
    let [time] = times.as_slice() else {
        return false;
    };
    if parts.iter().any(|part| part.matches('=').count() > 1) {
        return false;
    }
    let plain = !time.starts_with('0') && time.bytes().all(|byte| byte.is_ascii_digit());
    let near = |time: i64| (now - time).abs() <= TOLERANCE_S;
    plain
        && time.parse().is_ok_and(near)
        && signatures <= SIGNATURES_MAX
        && header.len() <= HEADER_BYTES_MAX
}

/// Whether the webhook lets it in: what it then makes of the body is another matter.
async fn is_let_in(town: &Town, vector: &Vector) -> bool {
    let request = Request::post("/")
        .header("content-type", "application/json")
        .header("stripe-signature", &vector.header)
        .body(Bytes::from_static(vector.body.as_bytes()));
    let answer = town.request("bdc-webhook", request.unwrap()).await;
    assert!(answer.status < 500, "{}: {}", vector.header, answer.text);
    answer.code() != "bad_signature"
}

/// What an oracle says of each vector, first as it stands, then in lower case.
fn verdicts(oracle: &Oracle, script: &str, asked: &str) -> Option<Vec<[bool; 2]>> {
    let told = oracle.ask(script, &[], asked.as_bytes())?;
    Some(
        told.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// What all three say, or nothing if one of the others can't be asked.
async fn all_three(town: &Town, secret: &str, vectors: &[Vector]) -> Option<Vec<LetIn>> {
    let now = town.now().timestamp();
    let line = |vector: &Vector| {
        let headers = [vector.header.clone(), in_lower_case(&vector.header)];
        json!({"body": vector.body, "headers": headers, "secret": secret, "now": now}).to_string()
    };
    let asked: Vec<String> = vectors.iter().map(line).collect();
    let asked = asked.join("\n");
    let python = verdicts(&Oracle::python("import stripe"), "signatures.py", &asked)?;
    let node = verdicts(&Oracle::node("require('stripe')"), "signatures.cjs", &asked)?;
    assert_eq!((python.len(), node.len()), (vectors.len(), vectors.len()));
    let mut all = Vec::with_capacity(vectors.len());
    for (vector, (python, node)) in vectors.iter().zip(python.into_iter().zip(node)) {
        all.push(LetIn {
            ours: is_let_in(town, vector).await,
            python: python[0],
            node: node[0],
            both_in_lower_case: python[1] && node[1],
        });
    }
    Some(all)
}

fn secret_of(town: &Town) -> String {
    town.fleet
        .cloud
        .secrets()
        .remove(SIGNING_SECRET_NAME)
        .unwrap()
}

#[tokio::test]
async fn the_webhook_lets_in_what_the_providers_packages_let_in_and_no_more() {
    let town = Town::new();
    let (secret, now) = (secret_of(&town), town.now().timestamp());
    let vectors = random_vectors(&secret, now);
    let Some(all) = all_three(&town, &secret, &vectors).await else {
        return;
    };
    let mut kinds = BTreeSet::new();
    for (vector, let_in) in vectors.iter().zip(all) {
        let LetIn {
            ours,
            python,
            node,
            both_in_lower_case,
        } = let_in;
        let told = format!(
            "{}: {:?} over {:?}: {let_in:?}",
            vector.name, vector.header, vector.body
        );
        assert!(
            !ours || both_in_lower_case,
            "more liberal than both: {told}"
        );
        let must = python && node && is_well_formed_and_near(&vector.header, now);
        assert!(!must || ours, "stricter than both: {told}");
        kinds.insert([ours, python, node]);
    }
    // Such headers as all let in, as nobody does, as we alone do, and as we alone do not.
    for kind in [
        [true; 3],
        [false; 3],
        [true, false, false],
        [false, true, true],
    ] {
        assert!(kinds.contains(&kind), "no vector was judged {kind:?}");
    }
}

#[tokio::test]
async fn where_the_providers_packages_disagree_the_webhook_is_strict() {
    let town = Town::new();
    let (secret, now) = (secret_of(&town), town.now().timestamp());
    let (mut vectors, mut expected) = (Vec::new(), Vec::new());
    for body in BODIES {
        for (name, header, let_in) in measured(&secret, now, body) {
            let name = format!("{name} over {body:?}");
            vectors.push(Vector { name, body, header });
            expected.push(let_in);
        }
    }
    let Some(all) = all_three(&town, &secret, &vectors).await else {
        return;
    };
    for ((vector, expected), let_in) in vectors.iter().zip(expected).zip(all) {
        assert_eq!(
            [let_in.ours, let_in.python, let_in.node],
            expected,
            "{}",
            vector.name
        );
    }
}
