//! The secrets of a local fleet, and the tokens in one of them.

use local_cloud::LocalCloud;
use serde_json::{Value, json};

pub(crate) const TOKENS_SECRET: &str = "bdc-tokens";
pub(crate) const SIGNING_SECRET: &str = "bdc-signing-key";
pub(crate) const PROVIDER_SECRET: &str = "bdc-provider-key";
pub(crate) const LINK_SECRET: &str = "bdc-link-key";
const PRIVACY_SALT: &str = "bdc-privacy-salt";

pub(crate) const DUNNING_SIGNING_SECRET: &str = "dunr/stripe/webhook-secret";
pub(crate) const DUNNING_API_KEY: &str = "dunr/stripe/api-key";
pub(crate) const DUNNING_PORTAL_KEY: &str = "dunr/stripe/portal-key";
const DUNNING_LINKS: &str = "dunr/links/secret";
pub(crate) const GATEKEEPER_TOKENS: &str = "dunr/gatekeeper/tokens";

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

/// The bearer tokens that the gatekeeper takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateTokens {
    /// Of the app.
    pub app: String,
    /// Of the operator `ops`.
    pub operator: String,
    /// Signs entitlements.
    pub entitlement_key: String,
}

impl GateTokens {
    /// Reads what the secret holds; a token that is not there is empty.
    pub(crate) fn of(secret: &str) -> Self {
        let tokens: Value = serde_json::from_str(secret).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            app: text(&tokens["apps"]["app"]),
            operator: text(&tokens["operators"]["ops"]),
            entitlement_key: text(&tokens["entitlement_key"]),
        }
    }
}

/// Made-up values, long enough for the functions; they open nothing outside this process.
pub(crate) fn set_local_secrets(cloud: &LocalCloud) {
    let tokens = json!({
        "sources": {"form": "local-form-token-0001"},
        "staff": {"front-of-house": "local-staff-token-0001"},
    });
    let gate_tokens = json!({
        "apps": {"app": "local-app-token-0001"},
        "operators": {"ops": "local-operator-token-0001"},
        "entitlement_key": "entitlement-key-for-local-use-0123456789",
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
        (DUNNING_SIGNING_SECRET, "whsec_local_dunning".to_owned()),
        (DUNNING_API_KEY, "rk_test_local_billing".to_owned()),
        (DUNNING_PORTAL_KEY, "rk_test_local_portal".to_owned()),
        (
            DUNNING_LINKS,
            "card-link-key-for-local-use-0123456789".to_owned(),
        ),
        (GATEKEEPER_TOKENS, gate_tokens.to_string()),
    ];
    for (name, value) in secrets {
        cloud.set_secret(name, &value);
        cloud.remove_previous(name);
    }
}
