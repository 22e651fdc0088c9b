//! Stripe's own Python client: subscriptions, invoices, declines, keys, the portal and signatures.
//! Then, through the same client, what another imitation of the provider makes of one story.

use crate::asked::{Oracle, last_word};
use crate::serve::{DUNNING_SECRET, serve};

/// What a script says last of a new sandbox; nothing if it can't be asked.
async fn told_by(oracle: Oracle, script: &'static str) -> Option<String> {
    let address = format!("http://{}", serve().await);
    last_word(oracle, script, vec![address, DUNNING_SECRET.to_owned()]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_providers_own_client_is_content_with_the_sandbox() {
    let oracle = Oracle::python("import stripe, requests");
    if let Some(told) = told_by(oracle, "stripe_client.py").await {
        assert_eq!(told, "10 stories passed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_imitation_of_the_provider_tells_the_same_of_a_card_that_is_replaced() {
    let oracle = Oracle::python("import stripe, requests, localstripe").optional();
    if let Some(told) = told_by(oracle, "localstripe.py").await {
        assert_eq!(told, "the same story");
    }
}
