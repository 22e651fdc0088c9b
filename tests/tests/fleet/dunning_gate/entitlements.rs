//! The signed word: another implementation verifies it, and it ends.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_tests::Town;
use serde_json::{Value, json};

use crate::dunning_gate::support::*;

/// Verifies as an app would, `argv` being token, key and the time. Prints the claims, or why not.
const VERIFY: &str = r#"
import json, sys, datetime, jwt
token, key, now = sys.argv[1], sys.argv[2], int(sys.argv[3])
claims = jwt.decode(token, key, algorithms=["HS256"], issuer="dunr-gatekeeper",
    options={"verify_exp": False, "verify_iat": False, "require": ["exp", "iat", "iss", "sub"]})
print(json.dumps({"claims": claims, "stands": claims["exp"] > now, "header": jwt.get_unverified_header(token)}))
"#;

/// The interpreter of `PAIDONCE_PYTHON`, or that of the checks.
#[expect(
    clippy::disallowed_methods,
    reason = "which interpreter there is is the machine's, not the fleet's"
)]
fn python() -> PathBuf {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    std::env::var_os("PAIDONCE_PYTHON").map_or(checks, PathBuf::from)
}

/// What PyJWT says of a token; nothing, loudly, where it is not installed.
fn verified(token: &str, key: &str, now: i64) -> Option<Result<Value, String>> {
    let there = Command::new(python()).args(["-c", "import jwt"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED: PyJWT is not installed, so this oracle is not asked.\n"
        );
        return None;
    }
    let output = Command::new(python())
        .args(["-c", VERIFY, token, key, &now.to_string()])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(text(&output.stderr)),
    })
}

async fn entitlement(town: &Town) -> String {
    let answer = town.gate(&subscription("sub_1")).await.json();
    answer["entitlement"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_app_verifies_an_entitlement_with_a_tool_of_its_own_and_it_ends() {
    let town = Town::at(MONDAY);
    let (token, key) = (
        entitlement(&town).await,
        town.fleet.gate_tokens().entitlement_key,
    );
    let now = town.now().timestamp();
    let Some(told) = verified(&token, &key, now) else {
        return;
    };
    let told = told.unwrap();
    let claims = json!({"sub": "sub_1", "access": "granted", "iss": "dunr-gatekeeper",
        "iat": now, "exp": now + 24 * 3600});
    assert_eq!(told["claims"], claims);
    assert_eq!(told["header"], json!({"alg": "HS256", "typ": "JWT"}));
    assert_eq!(told["stands"], true);
    let later = verified(&token, &key, now + 24 * 3600).unwrap().unwrap();
    assert_eq!(later["stands"], false);
}

#[tokio::test]
async fn an_entitlement_that_was_changed_is_refused() {
    let town = Town::at(MONDAY);
    let (token, key) = (
        entitlement(&town).await,
        town.fleet.gate_tokens().entitlement_key,
    );
    let other = entitlement_of(&town, "sub_2").await;
    let claims = other.split('.').nth(1).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let forged = format!("{}.{claims}.{}", parts[0], parts[2]);
    for (token, key) in [(&forged, &key), (&token, &key.to_uppercase())] {
        if let Some(told) = verified(token, key, town.now().timestamp()) {
            assert!(told.unwrap_err().contains("Signature verification failed"));
        }
    }
}

async fn entitlement_of(town: &Town, id: &str) -> String {
    let answer = town.gate(&subscription(id)).await.json();
    answer["entitlement"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn without_a_key_of_its_length_nothing_is_signed_and_everybody_is_let_in() {
    let town = Town::at(MONDAY);
    let secret = json!({"apps": {"app": town.fleet.gate_tokens().app}, "entitlement_key": "short"});
    town.fleet
        .cloud
        .set_secret("dunr/gatekeeper/tokens", &secret.to_string());
    let answer = town.gate(&subscription("sub_1")).await.json();
    assert_eq!(
        (&answer["access"], &answer["entitlement"]),
        (&Value::from("granted"), &Value::Null)
    );
    assert_eq!(town.counted("dunr-gatekeeper", "unsigned"), 1);
}
