//! How the account is set up, for an operator's check.

use serde::Deserialize;

use crate::object::{self, Object, is_a};
use crate::{Answer, Doubt, Provider, Reason, Secret};

/// An account has 16 endpoints at most, which is one page.
const ENDPOINT_PAGES_MAX: usize = 2;
const ACCOUNT: &str = "/v1/account";

/// The account that a key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: String,
    /// Two letters.
    pub country: Option<String>,
    pub default_currency: Option<String>,
    /// Whether live payments can be taken.
    pub charges_enabled: bool,
    pub payouts_enabled: bool,
    pub details_submitted: bool,
}

/// An address to which the provider sends events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub id: String,
    pub url: String,
    /// Types of events, or `*` alone.
    pub enabled_events: Vec<String>,
    /// How its events are written; nothing if that follows the account.
    pub api_version: Option<String>,
    pub status: EndpointStatus,
    pub livemode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointStatus {
    Enabled,
    Disabled,
}

impl Provider {
    /// Returns all addresses to which events are sent in the key's mode, the newest first.
    pub async fn webhook_endpoints(&self, key: &Secret) -> Answer<Vec<WebhookEndpoint>> {
        match self.pages(key, &[], ENDPOINT_PAGES_MAX).await {
            Answer::Done((endpoints, true)) => Answer::Done(endpoints),
            Answer::Done((_, false)) => {
                let reason = format!("there are more than {ENDPOINT_PAGES_MAX} pages of endpoints");
                Answer::Unknown(Doubt::new(Reason::Unreadable(reason), None))
            }
            Answer::Refused(refusal) => Answer::Refused(refusal),
            Answer::Unknown(doubt) => Answer::Unknown(doubt),
        }
    }

    /// Looks at the account that the key belongs to.
    pub async fn account(&self, key: &Secret) -> Answer<Account> {
        Answer::read(self.get(key, ACCOUNT.to_owned()).await, object::one)
    }
}

#[derive(Deserialize)]
pub(crate) struct AccountWire {
    id: String,
    object: String,
    country: Option<String>,
    default_currency: Option<String>,
    charges_enabled: bool,
    payouts_enabled: bool,
    details_submitted: bool,
}

impl Object for Account {
    type Wire = AccountWire;
    const LIST: &'static str = "/v1/accounts";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<AccountWire> for Account {
    type Error = String;

    fn try_from(wire: AccountWire) -> Result<Self, String> {
        is_a("account", &wire.object)?;
        Ok(Self {
            id: wire.id,
            country: wire.country,
            default_currency: wire.default_currency,
            charges_enabled: wire.charges_enabled,
            payouts_enabled: wire.payouts_enabled,
            details_submitted: wire.details_submitted,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct EndpointWire {
    id: String,
    object: String,
    url: String,
    enabled_events: Vec<String>,
    api_version: Option<String>,
    status: EndpointStatus,
    livemode: bool,
}

impl Object for WebhookEndpoint {
    type Wire = EndpointWire;
    const LIST: &'static str = "/v1/webhook_endpoints";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<EndpointWire> for WebhookEndpoint {
    type Error = String;

    fn try_from(wire: EndpointWire) -> Result<Self, String> {
        is_a("webhook_endpoint", &wire.object)?;
        Ok(Self {
            id: wire.id,
            url: wire.url,
            enabled_events: wire.enabled_events,
            api_version: wire.api_version,
            status: wire.status,
            livemode: wire.livemode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn endpoint(change: impl FnOnce(&mut Value)) -> Result<WebhookEndpoint, String> {
        let mut value = json!({
            "api_version": null, "application": null, "created": 1_234_567_890,
            "description": "", "enabled_events": ["invoice.paid"], "id": "we_1",
            "livemode": false, "metadata": {}, "object": "webhook_endpoint",
            "status": "enabled", "url": "https://example.com/hook",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    #[test]
    fn an_endpoint_tells_what_it_takes_and_whether_it_is_on() {
        let read = endpoint(|value| value["status"] = "disabled".into()).unwrap();
        assert_eq!(read.enabled_events, ["invoice.paid"]);
        assert_eq!(
            (read.status, read.api_version),
            (EndpointStatus::Disabled, None)
        );
        assert!(endpoint(|value| value["status"] = "resting".into()).is_err());
    }

    #[test]
    fn an_account_tells_whether_it_can_take_money() {
        let value = json!({
            "charges_enabled": true, "country": "GB", "default_currency": "gbp",
            "details_submitted": true, "email": "site@example.com", "id": "acct_1",
            "object": "account", "payouts_enabled": false, "type": "standard",
        });
        let account: Account = object::one(value.to_string().as_bytes()).unwrap();
        assert!(account.charges_enabled && !account.payouts_enabled);
        assert_eq!(account.country.as_deref(), Some("GB"));
    }
}
