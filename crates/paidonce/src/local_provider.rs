//! The provider's sandbox, with the keys and endpoints that a local fleet has.

use std::collections::BTreeMap;

use local_cloud::LocalCloud;
use sandbox::{ApiKey, Endpoint, KeyScope, Sandbox};

use crate::local_secrets::{
    DUNNING_API_KEY, DUNNING_PORTAL_KEY, DUNNING_SIGNING_SECRET, PROVIDER_SECRET, SIGNING_SECRET,
};

/// What the endpoint of dunning is registered for; docs/runbooks/deploy.md has the same list.
const DUNNING_EVENTS: [&str; 14] = [
    "customer.subscription.deleted",
    "customer.subscription.updated",
    "customer.updated",
    "invoice.marked_uncollectible",
    "invoice.paid",
    "invoice.payment_action_required",
    "invoice.payment_failed",
    "invoice.payment_succeeded",
    "invoice.updated",
    "invoice.voided",
    "payment_method.attached",
    "payment_method.automatically_updated",
    "payment_method.updated",
    "setup_intent.succeeded",
];

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
    let booking_events = has_booking.then(|| "*".to_owned());
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
        webhook_events: booking_events.into_iter().collect(),
        more_endpoints: vec![Endpoint {
            function: "dunr-webhook".to_owned(),
            url: format!("{base_url}/url/dunr-webhook/"),
            signing_secrets: vec![secret(DUNNING_SIGNING_SECRET)],
            enabled_events: DUNNING_EVENTS.map(str::to_owned).to_vec(),
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
