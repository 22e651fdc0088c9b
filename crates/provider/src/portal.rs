//! The provider's hosted page on which a customer changes the card.

use std::fmt;

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use serde::Deserialize;

use crate::object::{Object, instant, is_a};
use crate::wire::Form;

/// A visit to the page that is to be opened. The same value under the same key is one visit.
#[derive(Clone, Debug)]
pub struct NewPortal<'a> {
    pub customer: &'a str,
    /// Where the customer goes from there.
    pub return_url: &'a str,
    /// At most 255 characters. A visit is short-lived: another click needs another key.
    pub idempotency_key: &'a str,
}

/// A visit to the page. Whoever has its address acts as the customer, so no debug text shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct PortalSession {
    pub id: String,
    pub url: String,
    pub customer: Option<String>,
    pub created: DateTime<Utc>,
    pub livemode: bool,
}

impl fmt::Debug for PortalSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortalSession")
            .field("id", &self.id)
            .field("customer", &self.customer)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    url: String,
    customer: Option<String>,
    created: i64,
    livemode: bool,
}

impl Object for PortalSession {
    type Wire = Wire;
    const LIST: &'static str = "/v1/billing_portal/sessions";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for PortalSession {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("billing_portal.session", &wire.object)?;
        Ok(Self {
            id: wire.id,
            url: wire.url,
            customer: wire.customer,
            created: instant(wire.created)?,
            livemode: wire.livemode,
        })
    }
}

impl NewPortal<'_> {
    /// Writes the parameters, always in the same order.
    pub(crate) fn form(&self) -> Form {
        let mut form = Serializer::new(String::new());
        form.append_pair("customer", self.customer)
            .append_pair("return_url", self.return_url)
            .append_pair("flow_data[type]", "payment_method_update");
        Form(form.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::json;

    #[test]
    fn the_address_of_a_visit_is_not_in_its_debug_text() {
        let value = json!({
            "configuration": "bpc_1", "created": 1_234_567_890, "customer": "cus_1",
            "flow": { "type": "payment_method_update" }, "id": "bps_1", "livemode": true,
            "object": "billing_portal.session", "return_url": "https://example.com/account",
            "url": "https://pay.example/session/hush",
        });
        let visit: PortalSession = object::one(value.to_string().as_bytes()).unwrap();
        assert_eq!(visit.url, "https://pay.example/session/hush");
        assert!(!format!("{visit:?}").contains("hush"));
    }
}
