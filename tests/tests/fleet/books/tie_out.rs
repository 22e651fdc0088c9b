//! What the provider has and we don't, and the other way round.

use fleet_tests::{Town, session_event};
use ops::books::{Break, BreakKind};
use serde_json::json;

use crate::books::support::*;

async fn breaks(town: &Town) -> Vec<Break> {
    let books = books(town).await;
    assert!(!books.are_in_order(), "a break is no order");
    books.tied.unwrap().breaks
}

fn kinds(breaks: &[Break]) -> Vec<(BreakKind, &'static str)> {
    breaks.iter().map(|it| (it.kind, it.object)).collect()
}

/// Events of this type never arrive from now on, and so for a day.
async fn losing(town: &Town, kind: &str) {
    happens(
        town,
        "webhooks",
        json!({"rules": [{"type": kind, "lose": 50}]}),
    )
    .await;
}

#[tokio::test]
async fn a_payment_whose_event_was_lost_is_missing_here() {
    let town = Town::new();
    let booked = booked(&town, "2026-07-11T20:00").await;
    losing(&town, "checkout.session.completed").await;
    let payment_ref = pay(&town, &booked).await;
    town.settle().await;
    let found = breaks(&town).await;
    assert_eq!(kinds(&found), [(BreakKind::MissingHere, "payment")]);
    assert_eq!(found[0].id, payment_ref);
    assert_eq!(found[0].booking_id.as_deref(), Some(booked.id.as_str()));
    assert_eq!(found[0].there.as_deref(), Some("20.00 GBP"));
}

#[tokio::test]
async fn a_payment_that_the_provider_does_not_have_is_missing_there() {
    let town = Town::new();
    town.confirmed().await;
    let found = breaks(&town).await;
    assert_eq!(kinds(&found), [(BreakKind::MissingThere, "payment")]);
    assert_eq!(
        (found[0].id.as_str(), found[0].here.as_deref()),
        ("pi_confirmed", Some("20.00 GBP"))
    );
}

#[tokio::test]
async fn an_amount_that_differs_is_shown_with_both() {
    let town = Town::new();
    let booked = booked(&town, "2026-07-11T20:00").await;
    losing(&town, "checkout.session.completed").await;
    let payment_ref = pay(&town, &booked).await;
    let event = json!({"metadata": {"booking_id": booked.id}, "payment_intent": payment_ref,
        "client_reference_id": booked.id, "amount_total": 1500});
    let event = session_event(&town, "checkout.session.completed", "evt_1", &event);
    assert_eq!(town.webhook(&event).await.status, 200);
    town.settle().await;
    let found = breaks(&town).await;
    assert_eq!(kinds(&found), [(BreakKind::AmountDiffers, "payment")]);
    let sides = (found[0].here.as_deref(), found[0].there.as_deref());
    assert_eq!(sides, (Some("15.00 GBP"), Some("20.00 GBP")));
}

#[tokio::test]
async fn a_refund_that_failed_unheard_differs_and_one_by_hand_is_missing_here() {
    let town = Town::new();
    let (first, _) = confirmed(&town, "2026-07-11T20:00").await;
    let (_, second) = confirmed(&town, "2026-07-12T20:00").await;
    staff(
        &town,
        &first,
        "cancel",
        json!({"by": "business", "reason": ""}),
    )
    .await;
    let refund = town.fleet.sandbox.ledger()["refunds"][0]["id"].clone();
    happens(&town, "webhooks", json!({"rules": [{"lose": 50}]})).await;
    let path = format!("refunds/{}/move", refund.as_str().unwrap());
    happens(&town, &path, json!({"status": "failed"})).await;
    happens(
        &town,
        &format!("payments/{second}/refund"),
        json!({"amount": 100}),
    )
    .await;
    let found = breaks(&town).await;
    assert_eq!(
        kinds(&found),
        [
            (BreakKind::MissingHere, "refund"),
            (BreakKind::StatusDiffers, "refund")
        ]
    );
    assert_eq!(found[0].payment_ref.as_deref(), Some(second.as_str()));
    let sides = (found[1].here.as_deref(), found[1].there.as_deref());
    assert_eq!(sides, (Some("succeeded"), Some("failed")));
}

#[tokio::test]
async fn a_dispute_that_was_not_heard_of_is_missing_here_and_one_that_ended_unheard_differs() {
    let town = Town::new();
    let (_, first) = confirmed(&town, "2026-07-11T20:00").await;
    let (_, second) = confirmed(&town, "2026-07-12T20:00").await;
    let dispute = happens(&town, &format!("payments/{first}/dispute"), json!({})).await;
    happens(&town, "webhooks", json!({"rules": [{"lose": 50}]})).await;
    let id = dispute["id"].as_str().unwrap();
    happens(
        &town,
        &format!("disputes/{id}/move"),
        json!({"status": "lost"}),
    )
    .await;
    happens(&town, &format!("payments/{second}/dispute"), json!({})).await;
    let found = breaks(&town).await;
    assert_eq!(
        kinds(&found),
        [
            (BreakKind::MissingHere, "dispute"),
            (BreakKind::StatusDiffers, "dispute")
        ]
    );
    assert_eq!(found[0].payment_ref.as_deref(), Some(second.as_str()));
}

#[tokio::test]
async fn bug_b10_what_another_product_took_is_counted_and_no_break() {
    let mut town = Town::new();
    // The other product's money is nobody's booking's.
    town.money_unchecked = true;
    confirmed(&town, "2026-07-11T20:00").await;
    let expires = (town.now() + chrono::Duration::hours(1)).timestamp();
    for metadata in [
        "",
        "&metadata[booking_id]=1&payment_intent_data[metadata][booking_id]=1",
    ] {
        let form = format!(
            "mode=payment&success_url=https://shop.example/&expires_at={expires}\
             &line_items[0][quantity]=1&line_items[0][price_data][currency]=gbp\
             &line_items[0][price_data][unit_amount]=900\
             &line_items[0][price_data][product_data][name]=Mug{metadata}"
        );
        let session = as_another_product(&town, "/v1/checkout/sessions", &form);
        let path = format!("sessions/{}/pay", session["id"].as_str().unwrap());
        let paid = happens(&town, &path, json!({"card": "4242424242424242"})).await;
        let payment_ref = paid["payment_intent"].as_str().unwrap();
        happens(
            &town,
            &format!("payments/{payment_ref}/refund"),
            json!({"amount": 100}),
        )
        .await;
        happens(&town, &format!("payments/{payment_ref}/dispute"), json!({})).await;
    }
    let books = books(&town).await;
    assert!(books.are_in_order());
    let tied = books.tied.unwrap();
    assert_eq!((tied.agreed.payments, tied.agreed.refunds), (1, 0));
    let others = tied.of_others;
    assert_eq!(
        (others.payments, others.refunds, others.disputes),
        (2, 2, 2)
    );
}

#[tokio::test]
async fn a_break_belongs_to_the_period_in_which_it_was_made() {
    let town = Town::new();
    let booked = booked(&town, "2026-07-11T20:00").await;
    losing(&town, "checkout.session.completed").await;
    pay(&town, &booked).await;
    let next = books_of(&town, period("2026-07-10", "2026-07-31")).await;
    assert!(next.are_in_order(), "it was made on the 9th");
    let then = books_of(&town, period("2026-07-09", "2026-07-09")).await;
    assert_eq!(then.tied.unwrap().breaks.len(), 1);
}
