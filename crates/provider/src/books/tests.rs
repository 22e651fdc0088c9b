use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use paidonce_core::dispute::DisputeStatus;
use paidonce_core::money::Money;
use paidonce_core::refund::RefundStatus;

use super::*;
use crate::testing::{Fault, Town, key, now};
use crate::{ChargeStatus, Reason};

fn pounds(pence: i64) -> Money {
    Money::from_stripe(pence, "gbp").unwrap()
}

fn new_refund(payment_ref: &str, pence: i64) -> NewRefund<'_> {
    NewRefund {
        payment_ref,
        amount: pounds(pence),
        metadata: BTreeMap::from([("internal_id".to_owned(), "r & 1".to_owned())]),
        idempotency_key: "refund:late:b-1",
    }
}

fn today() -> Range<DateTime<Utc>> {
    now()..now() + Duration::from_secs(1)
}

fn done<T: Debug>(answer: Answer<T>) -> T {
    match answer {
        Answer::Done(done) => done,
        other @ (Answer::Refused(_) | Answer::Unknown(_)) => panic!("{other:?}"),
    }
}

fn code<T: Debug>(answer: Answer<T>) -> Option<String> {
    match answer {
        Answer::Refused(refusal) => refusal.code,
        other @ (Answer::Done(_) | Answer::Unknown(_)) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refund_carries_what_it_was_given_and_is_made_once_under_its_key() {
    let town = Town::with([]);
    let payment = town.paid().await;
    town.break_next(Fault::AnswerLost);
    let new = new_refund(&payment, 1500);
    let made = done(town.provider().create_refund(&key(), &new).await);
    assert_eq!(
        (made.amount, made.status),
        (pounds(1500), RefundStatus::Succeeded)
    );
    assert_eq!(made.payment_intent.as_deref(), Some(payment.as_str()));
    assert_eq!(made.metadata, new.metadata);
    assert_eq!(
        done(town.provider().create_refund(&key(), &new).await),
        made
    );
    assert_eq!(
        done(town.provider().refunds_of(&key(), &payment).await),
        [made]
    );
    let other = town
        .provider()
        .create_refund(&key(), &new_refund(&payment, 500))
        .await;
    let Answer::Refused(refusal) = other else {
        panic!("{other:?}");
    };
    assert_eq!(refusal.kind, "idempotency_error");
}

#[tokio::test]
async fn a_refund_whose_answer_never_comes_is_unknown_and_is_found_among_the_payments_own() {
    let town = Town::with([]);
    let payment = town.paid().await;
    for _ in 0..3 {
        town.break_next(Fault::AnswerLost);
    }
    let answer = town
        .provider()
        .create_refund(&key(), &new_refund(&payment, 700))
        .await;
    assert!(matches!(answer, Answer::Unknown(_)), "{answer:?}");
    let refunds = done(town.provider().refunds_of(&key(), &payment).await);
    assert_eq!(refunds.len(), 1);
    assert_eq!(refunds[0].metadata["internal_id"], "r & 1");
}

#[tokio::test]
async fn a_refund_beyond_the_charge_or_of_a_dispute_is_refused_by_code() {
    let town = Town::with([]);
    let payment = town.paid().await;
    town.control(&format!("payments/{payment}/refund"), "{}");
    let refund = new_refund(&payment, 1);
    let answer = town.provider().create_refund(&key(), &refund).await;
    assert_eq!(code(answer).as_deref(), Some("charge_already_refunded"));
    let payment = town.paid().await;
    town.control(&format!("payments/{payment}/dispute"), "{}");
    let mut refund = new_refund(&payment, 1);
    refund.idempotency_key = "another";
    let answer = town.provider().create_refund(&key(), &refund).await;
    assert_eq!(code(answer).as_deref(), Some("charge_disputed"));
}

#[tokio::test]
async fn an_amount_that_the_provider_cannot_give_back_is_refused_unsent() {
    let town = Town::with([]);
    let mut refund = new_refund("pi_1", 1);
    refund.amount = serde_json::from_str(r#"{"amount":1001,"currency":"KWD"}"#).unwrap();
    let answer = town.provider().create_refund(&key(), &refund).await;
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    assert!(town.sent().is_empty());
}

#[tokio::test]
async fn a_refund_is_seen_as_it_stands_now() {
    let town = Town::with([]);
    let payment = town.paid().await;
    town.control("refunds/next", r#"{"status":"pending"}"#);
    let made = done(
        town.provider()
            .create_refund(&key(), &new_refund(&payment, 2000))
            .await,
    );
    assert_eq!(
        (made.status, made.failure_reason),
        (RefundStatus::Pending, None)
    );
    let path = format!("refunds/{}/move", made.id);
    town.control(
        &path,
        r#"{"status":"failed","failure_reason":"lost_or_stolen_card"}"#,
    );
    let refunds = done(town.provider().refunds_of(&key(), &payment).await);
    assert_eq!(refunds[0].status, RefundStatus::Failed);
    assert_eq!(
        refunds[0].failure_reason.as_deref(),
        Some("lost_or_stolen_card")
    );
    let page = done(town.provider().charge_page(&key(), &today(), None).await);
    assert_eq!(page.items[0].amount_refunded, pounds(0));
}

#[tokio::test]
async fn all_refunds_of_a_payment_are_read_or_none() {
    let town = Town::with([]);
    let payment = town.paid().await;
    let path = format!("payments/{payment}/refund");
    for _ in 0..250 {
        town.control(&path, r#"{"amount":1}"#);
    }
    let refunds = done(town.provider().refunds_of(&key(), &payment).await);
    let ids: BTreeSet<&str> = refunds.iter().map(|refund| refund.id.as_str()).collect();
    assert_eq!((refunds.len(), ids.len()), (250, 250));
    for _ in 250..1001 {
        town.control(&path, r#"{"amount":1}"#);
    }
    let answer = town.provider().refunds_of(&key(), &payment).await;
    let Answer::Unknown(doubt) = answer else {
        panic!("{answer:?}");
    };
    assert!(matches!(doubt.reason, Reason::Unreadable(_)));
}

#[tokio::test]
async fn a_page_that_does_not_come_makes_the_whole_list_unknown() {
    let town = Town::with([]);
    let payment = town.paid().await;
    let path = format!("payments/{payment}/refund");
    for _ in 0..101 {
        town.control(&path, r#"{"amount":1}"#);
    }
    let first = done(town.provider().refund_page(&key(), &today(), None).await);
    let next = first.next.as_deref();
    assert_eq!(next, first.items.last().map(|refund| refund.id.as_str()));
    town.break_next(Fault::Answers(
        200,
        r#"{"object":"list","data":[],"has_more":true}"#,
        None,
    ));
    let answer = town.provider().refund_page(&key(), &today(), next).await;
    assert!(matches!(answer, Answer::Unknown(_)), "{answer:?}");
    let last = done(town.provider().refund_page(&key(), &today(), next).await);
    assert_eq!((last.items.len(), last.next), (1, None));
}

#[tokio::test]
async fn charges_are_listed_by_the_time_that_they_were_made() {
    let town = Town::with([]);
    let payment = town.paid().await;
    town.control(&format!("payments/{payment}/refund"), r#"{"amount":500}"#);
    let page = done(town.provider().charge_page(&key(), &today(), None).await);
    assert_eq!((page.items.len(), page.next), (1, None));
    let charge = &page.items[0];
    assert_eq!(
        (charge.status, charge.paid, charge.disputed),
        (ChargeStatus::Succeeded, true, false)
    );
    assert_eq!(
        (charge.amount_captured, charge.amount_refunded),
        (pounds(2000), pounds(500))
    );
    assert_eq!(charge.payment_intent.as_deref(), Some(payment.as_str()));
    assert_eq!((charge.created, charge.livemode), (now(), false));
    assert_eq!(charge.metadata["booking_id"], "b-1");
    let before = now() - Duration::from_secs(60)..now();
    let page = done(town.provider().charge_page(&key(), &before, None).await);
    assert_eq!(page.items, []);
}

#[tokio::test]
async fn a_dispute_tells_what_moved_and_until_when_to_answer() {
    let town = Town::with([]);
    let payment = town.paid().await;
    let body = r#"{"reason":"product_not_received","amount":1500}"#;
    let opened = town.control(&format!("payments/{payment}/dispute"), body);
    let id = opened["id"].as_str().unwrap();
    let dispute = done(town.provider().dispute(&key(), id).await);
    assert_eq!(
        (dispute.status, dispute.amount),
        (DisputeStatus::NeedsResponse, pounds(1500))
    );
    assert_eq!(
        (dispute.funds_withdrawn, dispute.fee),
        (true, Some(pounds(2000)))
    );
    assert_eq!(dispute.reason, "product_not_received");
    assert!(dispute.due_by > Some(now()));
    let listed = done(town.provider().dispute_page(&key(), &today(), None).await);
    assert_eq!(listed.items, [dispute]);
    town.control(&format!("disputes/{id}/move"), r#"{"status":"won"}"#);
    let won = done(town.provider().dispute(&key(), id).await);
    assert_eq!(
        (won.status, won.funds_withdrawn),
        (DisputeStatus::Won, false)
    );
    assert_eq!(won.fee, Some(pounds(2000)), "the provider keeps that");
    let page = done(town.provider().charge_page(&key(), &today(), None).await);
    assert!(page.items[0].disputed);
}

#[tokio::test]
async fn an_inquiry_has_moved_nothing_and_an_unknown_dispute_is_refused() {
    let town = Town::with([]);
    let payment = town.paid().await;
    town.control(
        &format!("payments/{payment}/dispute"),
        r#"{"inquiry":true}"#,
    );
    let page = done(town.provider().dispute_page(&key(), &today(), None).await);
    let inquiry = &page.items[0];
    assert_eq!(inquiry.status, DisputeStatus::WarningNeedsResponse);
    assert_eq!((inquiry.funds_withdrawn, inquiry.fee), (false, None));
    let answer = town.provider().dispute(&key(), "../charges").await;
    assert_eq!(code(answer).as_deref(), Some("resource_missing"));
}

#[test]
fn calls_can_be_awaited_from_any_thread() {
    fn is_send(_: impl Send) {}
    let (provider, key) = (Town::with([]).provider(), key());
    is_send(provider.create_refund(&key, &new_refund("pi_1", 1)));
    is_send(provider.refunds_of(&key, "pi_1"));
    is_send(provider.charge_page(&key, &today(), None));
}
