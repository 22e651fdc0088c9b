//! The provider's events that dunning lives by.

/// What the provider's endpoint for dunning must be registered for. docs/runbooks/deploy.md has the
/// same list.
pub const HANDLED: [&str; 14] = [
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_sets_it_up_reads_the_same_list() {
        let runbook = include_str!("../../../../docs/runbooks/deploy.md");
        for event in HANDLED {
            assert!(
                runbook.split_whitespace().any(|word| word == event),
                "{event}"
            );
        }
    }
}
