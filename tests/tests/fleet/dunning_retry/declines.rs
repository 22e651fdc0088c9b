//! What a decline means for the charges that follow.

use chrono::Duration;
use paidonce_core::dunning::declines::{Class, Decline, classify};
use serde_json::json;

use crate::dunning_retry::support::Story;

/// How often we asked the provider to charge.
fn asked(story: &Story) -> usize {
    let calls = story.town.calls("dunr-retrier");
    calls.iter().filter(|call| call.ends_with("/pay")).count()
}

/// Every date of the calendar goes by.
async fn to_the_end(story: &Story) {
    for _ in 0..8 {
        if story.town.next_retry(&story.who).is_none() {
            return;
        }
        story.fires().await;
    }
    panic!("it never ended");
}

#[tokio::test]
async fn each_date_has_a_key_of_its_own_and_after_the_last_access_is_paused() {
    let story = Story::always("insufficient_funds").await;
    to_the_end(&story).await;
    assert_eq!((story.charges(), asked(&story)), ((0, 5), 4));
    let row = story.row();
    assert_eq!(
        (row["status"].as_str(), row["access"].as_str()),
        (Some("paused"), Some("paused"))
    );
    assert_eq!(
        (row["attempt_no"].as_u64(), story.counted("charge_declined")),
        (Some(4), 4)
    );
}

#[tokio::test]
async fn bug_f05_every_reason_for_a_decline_is_retried_or_not_as_its_class_says() {
    let codes = [
        "insufficient_funds",
        "authentication_required",
        "expired_card",
        "incorrect_cvc",
        "processing_error",
        "call_issuer",
        "card_not_supported",
        "card_velocity_exceeded",
        "do_not_honor",
        "do_not_try_again",
        "fraudulent",
        "generic_decline",
        "invalid_account",
        "issuer_not_available",
        "lost_card",
        "pickup_card",
        "restricted_card",
        "revocation_of_all_authorizations",
        "revocation_of_authorization",
        "stolen_card",
        "stop_payment_order",
        "transaction_not_allowed",
        "try_again_later",
        "withdrawal_count_limit_exceeded",
    ];
    for code in codes {
        let story = Story::always(code).await;
        let verdict = story.debt()["verdict"].as_str().unwrap().to_owned();
        let story_block = story.debt()["block"].clone();
        story.fires().await;
        let is_soft = verdict.starts_with(Class::Soft.as_str());
        assert_eq!(asked(&story), usize::from(is_soft), "{code}: {verdict}");
        assert_eq!(story_block.is_null(), is_soft, "{code}: {verdict}");
    }
}

#[test]
fn bug_f05_a_code_that_nobody_knows_and_no_code_at_all_are_soft() {
    let unknown = Decline {
        decline_code: Some("invented_tomorrow".to_owned()),
        ..Decline::default()
    };
    for decline in [unknown, Decline::default()] {
        assert_eq!(classify(&decline).class, Class::Soft);
    }
}

#[tokio::test]
async fn b43_a_lost_card_is_never_charged_again_but_a_new_one_is() {
    let story = Story::always("lost_card").await;
    story.fires().await;
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((0, 1), 0));
    let card = story.new_card(crate::dunning_retry::support::OTHER_CARD);
    story.town.settle().await;
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((1, 1), 1));
    assert_eq!(story.row()["status"], "recovered");
    let charge =
        story.town.at_provider("invoices", &story.invoice)["successful_charges"][0].clone();
    let charge = story.town.at_provider("charges", charge.as_str().unwrap());
    assert_eq!(charge["payment_method"], card);
}

#[tokio::test]
async fn b44_an_advice_to_wait_puts_the_next_date_off() {
    let waits = json!({"decline": "insufficient_funds", "network_advice_code": "30"});
    let card = json!({"card": "5555555555554444"});
    let story = Story::with(card, waits).await;
    assert!(
        story.due() >= story.town.now() + Duration::days(10),
        "{}",
        story.due()
    );
}

#[tokio::test]
async fn b45_what_the_networks_forbid_is_not_charged_again() {
    let mastercard = "5555555555554444";
    let cases = [
        (
            mastercard,
            json!({"decline": "do_not_honor", "network_advice_code": "03"}),
        ),
        (
            mastercard,
            json!({"decline": "do_not_honor", "network_advice_code": "21"}),
        ),
        (
            "4242424242424242",
            json!({"decline": "do_not_honor", "network_decline_code": "14"}),
        ),
    ];
    for (card, fails) in cases {
        let story = Story::with(json!({ "card": card }), fails.clone()).await;
        story.fires().await;
        assert_eq!((story.charges(), asked(&story)), ((0, 1), 0), "{fails}");
    }
}

#[tokio::test]
async fn b45_the_same_card_given_again_as_another_payment_method_is_not_charged() {
    let visa = "4242424242424242";
    let fails = json!({"decline": "do_not_honor", "network_decline_code": "14"});
    let story = Story::with(json!({ "card": visa }), fails).await;
    let again = story.new_card(visa);
    assert_ne!(again, story.who.payment_method);
    story.town.settle().await;
    assert_eq!(story.plan()["purpose"], "charge_new_card");
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((0, 1), 0));
    assert_eq!(story.debt()["block"]["payment_method"], again);
    story.new_card(crate::dunning_retry::support::OTHER_CARD);
    story.town.settle().await;
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((1, 1), 1));
}

#[tokio::test]
async fn b46_charges_that_the_provider_made_by_itself_use_up_the_cards_budget() {
    let story = Story::always("insufficient_funds").await;
    for _ in 0..19 {
        let retry = format!("/_sandbox/invoices/{}/provider-retry", story.invoice);
        let (status, _) = story.town.provider("POST", &retry, &json!({}));
        assert_eq!(status, 402);
    }
    story.town.settle().await;
    story.fires().await;
    assert_eq!(asked(&story), 0);
    assert_eq!(story.charges(), (0, 20));
    assert!(
        story.due() >= story.town.now() + Duration::days(28),
        "{}",
        story.due()
    );
    assert_eq!(story.debt()["steps_used"], 0, "no date is used up");
}

#[tokio::test]
async fn b47_a_charge_that_the_customer_must_approve_is_not_tried_again_blindly() {
    let story = Story::once().await;
    story.next_pay("requires_action");
    story.fires().await;
    assert_eq!(asked(&story), 1);
    story.fires().await;
    assert_eq!((story.charges().0, asked(&story)), (0, 1));
    assert!(
        story.mails().contains(&"approve".to_owned()),
        "{:?}",
        story.mails()
    );
}

#[tokio::test]
async fn b48_a_card_from_india_is_not_charged_by_itself() {
    let card = json!({"card": "4000003560000008"});
    let fails = json!({"decline": "insufficient_funds", "times": 0});
    let story = Story::with(card, fails).await;
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((0, 1), 0));
    assert!(
        story.mails().contains(&"pay_by_hand".to_owned()),
        "{:?}",
        story.mails()
    );
}

#[tokio::test]
async fn bug_f05_a_lost_card_is_not_charged_because_the_customer_tried_another_since() {
    let story = Story::always("lost_card").await;
    let pay = format!("/_sandbox/invoices/{}/pay", story.invoice);
    let empty = json!({"card": "4000000000009995"});
    assert_eq!(story.town.provider("POST", &pay, &empty).0, 402);
    story.town.settle().await;
    story.fires().await;
    assert_eq!((story.charges(), asked(&story)), ((0, 2), 0));
    let block = story.debt()["block"].clone();
    assert_eq!(block["payment_method"], story.who.payment_method.as_str());
    to_the_end(&story).await;
    assert_eq!(asked(&story), 0);
    assert!(
        story.mails().contains(&"new_card".to_owned()),
        "{:?}",
        story.mails()
    );
}
