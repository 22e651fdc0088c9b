//! The provider's sandbox, with the keys and endpoints that a local fleet has.

use std::collections::BTreeMap;

use local_cloud::LocalCloud;
use paidonce_core::dunning::events::HANDLED;
use sandbox::{ApiKey, Endpoint, KeyScope, Sandbox};

use crate::local_secrets::{
    DUNNING_API_KEY, DUNNING_PORTAL_KEY, DUNNING_SIGNING_SECRET, PROVIDER_SECRET, SIGNING_SECRET,
};

/// The provider with the keys that the cloud has.
pub(crate) fn sandbox_for(
    cloud: &LocalCloud,
    base_url: &str,
    parameters: &BTreeMap<String, String>,
    seed: u64,
) -> Sandbox {
    let secrets = cloud.secrets();
    let secret = |name: &str| secrets.get(name).cloned().unwrap_or_default();
    let key = |name: &str, scope| ApiKey {
        secret: secret(name),
        scope,
    };
    let defaults = sandbox::Options::default();
    let has_booking = cloud.functions().iter().any(|name| name == "bdc-webhook");
    let booking_events = bdc_webhook::event::types().filter(|_| has_booking);
    Sandbox::new(sandbox::Options {
        base_url: format!("{base_url}/stripe"),
        pages_url: format!("{base_url}/pay"),
        api_key: secret(PROVIDER_SECRET),
        more_keys: vec![
            key(DUNNING_API_KEY, KeyScope::Billing),
            key(DUNNING_PORTAL_KEY, KeyScope::Portal),
        ],
        signing_secrets: vec![secret(SIGNING_SECRET)],
        webhook_function: "bdc-webhook".to_owned(),
        webhook_url: format!("{base_url}/url/bdc-webhook/"),
        webhook_events: booking_events.map(str::to_owned).collect(),
        more_endpoints: vec![Endpoint {
            function: "dunr-webhook".to_owned(),
            url: format!("{base_url}/url/dunr-webhook/"),
            signing_secrets: vec![secret(DUNNING_SIGNING_SECRET)],
            enabled_events: HANDLED.map(str::to_owned).to_vec(),
        }],
        api_version: parameters
            .get("ProviderApiVersion")
            .cloned()
            .unwrap_or(defaults.api_version),
        livemode: parameters
            .get("Livemode")
            .is_some_and(|livemode| livemode == "true"),
        seed,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const DEPLOY: &str = include_str!("../../../docs/runbooks/deploy.md");

    /// The words of the indented block that has `word`.
    fn block_with(word: &str) -> BTreeSet<&'static str> {
        let mut blocks = DEPLOY.split("```").skip(1).step_by(2);
        let block = blocks.find(|block| block.contains(word)).unwrap();
        block.split_whitespace().collect()
    }

    #[test]
    fn an_endpoint_is_registered_for_what_its_function_reads_as_the_runbook_says() {
        let booking: BTreeSet<_> = bdc_webhook::event::types().collect();
        assert_eq!(block_with("checkout.session.completed"), booking);
        let dunning: BTreeSet<_> = dunr_webhook::event::types().collect();
        assert_eq!(block_with("invoice.payment_failed"), dunning);
        assert!(booking.is_disjoint(&dunning), "no event goes to both");
    }
}
