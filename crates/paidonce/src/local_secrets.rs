//! The secrets of a local fleet, and the tokens in one of them.

use local_cloud::LocalCloud;
use serde_json::{Value, json};

pub(crate) const TOKENS_SECRET: &str = "bdc-tokens";
pub(crate) const SIGNING_SECRET: &str = "bdc-signing-key";
pub(crate) const PROVIDER_SECRET: &str = "bdc-provider-key";
pub(crate) const LINK_SECRET: &str = "bdc-link-key";
const PRIVACY_SALT: &str = "bdc-privacy-salt";

/// The bearer tokens that the intake takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Of the booking source `form`.
    pub form: String,
    /// Of the staff, `front-of-house`.
    pub staff: String,
}

impl Tokens {
    /// Reads what the secret holds; a token that is not there is empty.
    pub(crate) fn of(secret: &str) -> Self {
        let tokens: Value = serde_json::from_str(secret).unwrap_or_default();
        let token =
            |group: &str, name: &str| tokens[group][name].as_str().unwrap_or_default().to_owned();
        Self {
            form: token("sources", "form"),
            staff: token("staff", "front-of-house"),
        }
    }
}

/// Made-up values, long enough for the functions; they open nothing outside this process.
pub(crate) fn set_local_secrets(cloud: &LocalCloud) {
    let tokens = json!({
        "sources": {"form": "local-form-token-0001"},
        "staff": {"front-of-house": "local-staff-token-0001"},
    });
    let secrets = [
        (TOKENS_SECRET, tokens.to_string()),
        (SIGNING_SECRET, "whsec_local".to_owned()),
        (PROVIDER_SECRET, "rk_test_local".to_owned()),
        (LINK_SECRET, "link-key-for-local-use-0123456789".to_owned()),
        (
            PRIVACY_SALT,
            "privacy-salt-for-local-use-0123456789".to_owned(),
        ),
    ];
    for (name, value) in secrets {
        cloud.set_secret(name, &value);
        cloud.remove_previous(name);
    }
}
