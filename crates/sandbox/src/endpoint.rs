//! Where webhooks go.

use std::fmt;

use crate::Options;

/// A function that takes webhooks.
#[derive(Clone)]
pub struct Endpoint {
    /// What [`crate::Delivery::function`] names.
    pub function: String,
    /// Its address, as the API shows it.
    pub url: String,
    /// Each signs every webhook to it; there are two while a secret is being rolled.
    pub signing_secrets: Vec<String>,
    /// The event types that it takes; `*` is all.
    pub enabled_events: Vec<String>,
}

/// Without the secrets.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("function", &self.function)
            .field("url", &self.url)
            .field("enabled_events", &self.enabled_events)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Whether events of a type are sent there.
    pub(crate) fn takes(&self, kind: &str) -> bool {
        let mut enabled = self.enabled_events.iter();
        enabled.any(|enabled| enabled == "*" || enabled == kind)
    }
}

impl Options {
    /// All endpoints, the first of them first.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = Endpoint> {
        let first = Endpoint {
            function: self.webhook_function.clone(),
            url: self.webhook_url.clone(),
            signing_secrets: self.signing_secrets.clone(),
            enabled_events: self.webhook_events.clone(),
        };
        std::iter::once(first).chain(self.more_endpoints.iter().cloned())
    }
}
