//! Another card, before, during and after a charge.

use serde_json::json;

use crate::dunning_retry::support::{OTHER_CARD, Story};

#[tokio::test]
async fn b41_bug_d11_a_card_that_comes_in_flight_waits_and_is_charged_under_a_new_key() {
    let story = Story::always("insufficient_funds").await;
    story.next_pay("hold");
    story.fires().await;
    let card = story.new_card(OTHER_CARD);
    story.town.settle().await;
    let row = story.row();
    assert_eq!(
        (&row["card_pending"], &row["attempt"]["n"]),
        (&json!(card), &json!(1))
    );
    story.town.control("next-pay/release", &json!({}));
    story.town.settle().await;
    // The look finds the decline under the first key; the new card follows at once.
    story.fires().await;
    assert_eq!(story.plan()["purpose"], "charge_new_card");
    story.fires().await;
    let row = story.row();
    assert_eq!(
        (story.charges(), row["attempt_no"].as_u64()),
        ((1, 2), Some(2))
    );
    assert_eq!(row["status"], "recovered");
}

#[tokio::test]
async fn b41_a_card_that_comes_in_flight_is_not_charged_if_the_charge_works() {
    let story = Story::once().await;
    story.next_pay("hold");
    story.fires().await;
    story.new_card(OTHER_CARD);
    story.town.settle().await;
    story.town.control("next-pay/release", &json!({}));
    story.town.settle().await;
    while story.town.next_retry(&story.who).is_some() {
        story.fires().await;
    }
    assert_eq!(
        (story.charges(), story.row()["attempt_no"].as_u64()),
        ((1, 1), Some(1))
    );
}

#[tokio::test]
async fn b42_a_new_card_takes_the_place_of_the_one_that_failed() {
    let own = json!({"where": "subscription"});
    let story = Story::with(own, json!({"decline": "insufficient_funds"})).await;
    // The customer's default, which this subscription never charges.
    let card = story.new_card(OTHER_CARD);
    story.town.settle().await;
    story.fires().await;
    assert_eq!(story.charges(), (1, 1));
    let subscription = story
        .town
        .at_provider("subscriptions", &story.who.subscription_id);
    assert_eq!(subscription["default_payment_method"], card);
    assert_eq!(story.counted("card_not_set"), 0);
}

#[tokio::test]
async fn b42_a_card_that_could_not_be_put_in_place_is_charged_all_the_same() {
    let story = Story::always("insufficient_funds").await;
    story.new_card(OTHER_CARD);
    story.town.settle().await;
    story.fault(
        "POST /v1/subscriptions/*",
        local_cloud::FaultKind::NotSent,
        3,
    );
    story.fires().await;
    assert_eq!(
        (story.charges(), story.counted("card_not_set")),
        ((1, 1), 1)
    );
}
