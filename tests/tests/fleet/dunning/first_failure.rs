//! What follows at once from a failed renewal.

use serde_json::Value;

use crate::dunning::support::with_subscriber;

#[tokio::test]
async fn a_paid_invoice_starts_nothing() {
    let (town, subscriber) = with_subscriber().await;
    assert_eq!(town.dunning(&subscriber), Value::Null);
    assert_eq!(town.schedules(), []);
    assert_eq!(town.dunning_mails(), []);
}

#[tokio::test]
async fn a_failed_invoice_is_looked_at_and_then_retried_on_a_business_day() {
    let (town, subscriber) = with_subscriber().await;
    let invoice = town.fail_renewal(&subscriber, "insufficient_funds");
    town.settle().await;
    let row = town.dunning(&subscriber);
    assert_eq!(row["status"], "retrying");
    assert_eq!(row["invoice_id"], invoice.as_str());
    // The event does not say why it failed, so the first plan only looks.
    assert_eq!(row["plan"]["purpose"], "look");
    town.advance_to_retry(&subscriber).await;
    let row = town.dunning(&subscriber);
    assert_eq!(row["plan"]["purpose"], "charge");
    // Tuesday, in the hours of the built-in policy.
    let due = town.next_retry(&subscriber).unwrap();
    assert_eq!(due.to_rfc3339(), "2026-12-01T10:00:00+00:00");
    let at_provider = town.at_provider("invoices", &invoice);
    assert_eq!(at_provider["failed_charges"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn b62_a_failure_is_told_by_one_mail_of_ours_and_the_provider_is_never_asked_to_mail() {
    let (town, subscriber) = with_subscriber().await;
    town.fail_renewal(&subscriber, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&subscriber).await;
    assert_eq!(town.dunning_mails().len(), 1);
    let calls = town.fleet.cloud.calls().into_iter();
    let ours = calls.filter(|call| call.function.starts_with("dunr-"));
    let sends = ours.filter(|call| call.operation.ends_with("/send"));
    assert_eq!(sends.count(), 0, "an invoice's `send` mails the customer");
}
