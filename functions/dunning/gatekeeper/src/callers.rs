//! Who may ask, and who may order.

use std::collections::BTreeMap;

use lambda_kit::token_holder;
use serde::Deserialize;

/// The secret: `{"apps": {"app": "token"}, "operators": {"ops": "token"}, "entitlement_key": "…"}`.
#[derive(Clone, Default, Deserialize)]
pub struct Callers {
    #[serde(default)]
    apps: BTreeMap<String, String>,
    #[serde(default)]
    operators: BTreeMap<String, String>,
    #[serde(default)]
    entitlement_key: String,
}

/// Whose token it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    App(String),
    Operator(String),
}

impl Callers {
    /// Reads the secret.
    ///
    /// # Errors
    /// If it is not the JSON above.
    pub fn read(secret: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(secret)
    }

    /// Returns whose token this is. Takes the same time for every token of a length.
    pub fn caller(&self, token: &str) -> Option<Caller> {
        let apps = self.apps.iter();
        let apps = apps.map(|(name, token)| (Caller::App(name.clone()), token));
        let operators = self.operators.iter();
        let operators = operators.map(|(name, token)| (Caller::Operator(name.clone()), token));
        token_holder(apps.chain(operators), token)
    }

    /// What entitlements are signed with. An app that verifies them has a copy.
    pub fn entitlement_key(&self) -> &str {
        &self.entitlement_key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_is_not_an_operator_and_a_blank_token_is_nobodys() {
        let secret = r#"{"apps": {"web": "app-token-0123456789", "old": ""},
            "operators": {"ops": "ops-token-0123456789"}, "entitlement_key": "k"}"#;
        let callers = Callers::read(secret).unwrap();
        let caller = |token| callers.caller(token);
        assert_eq!(
            caller("app-token-0123456789"),
            Some(Caller::App("web".to_owned()))
        );
        assert_eq!(
            caller("ops-token-0123456789"),
            Some(Caller::Operator("ops".to_owned()))
        );
        assert_eq!((caller(""), caller("ops-token-012345678")), (None, None));
    }
}
