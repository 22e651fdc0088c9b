//! What happened to the invoice or its subscription just before the charge.

use fleet_tests::Town;
use serde_json::json;

use crate::dunning_retry::support::{GOOD_CARD, MONDAY, PAY, Story};

/// Something happens that no event told us of yet; then the schedule fires.
async fn fired_after(deed: &str, body: serde_json::Value) -> (Story, String) {
    let story = Story::once().await;
    story.wait_for_the_moment().await;
    story.invoice_control(deed, &body);
    story.town.forget_calls();
    let did = story.fire(story.plan_no()).await.unwrap();
    let calls = story.town.calls("dunr-retrier");
    assert!(
        !calls.iter().any(|call| call.ends_with("/pay")),
        "{PAY} {calls:?}"
    );
    (story, did)
}

#[tokio::test]
async fn bug_f01_an_invoice_that_the_customer_paid_just_before_is_not_charged() {
    let (story, did) = fired_after("pay", json!({ "card": GOOD_CARD })).await;
    assert_eq!(did, "invoice_ended");
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_customer"))
    );
    story.town.settle().await;
    assert_eq!(story.mails(), ["failed", "receipt"], "one receipt");
    story.its_own_schedule_fires().await;
    assert_eq!(story.town.schedules(), []);
}

#[tokio::test]
async fn b40_a_customer_who_pays_while_the_retry_fires_is_thanked_once_and_charged_once() {
    let story = Story::once().await;
    story.next_pay("paid_by_customer");
    story.fires().await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((1, 1), json!("paid_by_customer"))
    );
    assert_eq!(story.mails(), ["failed", "receipt"]);
    assert_eq!(story.row()["status"], "recovered");
    assert_eq!(
        (
            story.counted("retrier_failures"),
            story.counted("charge_overtaken")
        ),
        (0, 1)
    );
}

#[tokio::test]
async fn b49_a_voided_written_off_or_cash_paid_invoice_is_closed_uncharged() {
    let cases = [
        ("void", "voided", "active"),
        ("uncollectible", "uncollectible", "active"),
        ("paid-out-of-band", "out_of_band", "recovered"),
    ];
    for (deed, how, status) in cases {
        let (story, _) = fired_after(deed, json!({})).await;
        assert_eq!((story.charges(), story.ended()), ((0, 1), json!(how)));
        assert_eq!(story.row()["status"], status);
        story.its_own_schedule_fires().await;
        assert_eq!(story.town.schedules(), []);
    }
}

#[tokio::test]
async fn b60_an_invoice_that_a_credit_note_covers_is_closed_uncharged() {
    let (story, _) = fired_after("credit", json!({"amount": 2_000})).await;
    assert_eq!(story.charges(), (0, 1));
    assert_ne!(story.row()["status"], "retrying");
}

#[tokio::test]
async fn b60_less_than_the_provider_takes_is_a_case_for_a_person() {
    let story = Story::once().await;
    story.invoice_control("credit", &json!({"amount": 1_990}));
    story.town.settle().await;
    story.fires().await;
    assert_eq!(
        (story.charges(), story.ended()),
        ((0, 1), json!("too_small"))
    );
    assert!(story.row()["cases"]["amount_too_small"].is_string());
}

#[tokio::test]
async fn b50_a_subscription_that_was_cancelled_just_before_is_not_charged() {
    let story = Story::once().await;
    story.wait_for_the_moment().await;
    let path = format!("subscriptions/{}/cancel", story.who.subscription_id);
    story.town.control(&path, &json!({}));
    assert_eq!(story.fire(story.plan_no()).await.unwrap(), "cancelled");
    story.town.settle().await;
    assert_eq!(
        (story.charges(), story.row()["status"].as_str()),
        ((0, 1), Some("cancelled"))
    );
    assert_eq!(story.town.schedules(), []);
}

#[tokio::test]
async fn b53_the_amount_is_read_live() {
    let story = Story::once().await;
    story.wait_for_the_moment().await;
    story.invoice_control("prorate", &json!({"amount": 2_900}));
    assert_eq!(story.fire(story.plan_no()).await.unwrap(), "captured");
    let invoice = story.town.at_provider("invoices", &story.invoice);
    assert_eq!(
        (story.charges(), invoice["amount_paid"].as_i64()),
        ((1, 1), Some(2_900))
    );
}

#[tokio::test]
async fn b52_of_two_open_invoices_the_older_is_charged_first() {
    let town = Town::of_dunning(MONDAY);
    let who = town.subscriber(GOOD_CARD).await;
    let older = town.fail_renewal_with(&who, &json!({"decline": "insufficient_funds", "times": 1}));
    town.settle().await;
    town.advance(chrono::Duration::minutes(10)).await;
    let newer = town.fail_renewal_with(&who, &json!({"decline": "insufficient_funds", "times": 0}));
    town.settle().await;
    let paid = |id: &str| town.at_provider("invoices", id)["status"] == "paid";
    for _ in 0..8 {
        if paid(&newer) || town.next_retry(&who).is_none() {
            break;
        }
        assert!(paid(&older) || !paid(&newer), "the older one first");
        town.advance_to_retry(&who).await;
    }
    assert!(paid(&older) && paid(&newer));
    assert_eq!(town.dunning(&who)["status"], "recovered");
}
