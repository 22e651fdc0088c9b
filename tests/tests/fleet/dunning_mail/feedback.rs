//! What comes back: the address gets no more mail, and the second contact or a person hears of it.

use fleet_tests::{SUBSCRIBER_EMAIL, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, MailFate};
use paidonce_core::dunning::Dunning;
use paidonce_core::dunning::mail::MailKind;
use paidonce_core::email::EmailAddress;
use serde_json::{Value, json};

use crate::dunning_mail::support::{SECOND_EMAIL, SUB, retrying, row, sent, state, town};

fn with_second(mut row: Dunning) -> Dunning {
    row.second_email = Some(EmailAddress::parse(SECOND_EMAIL).unwrap());
    row
}

fn suppressed(town: &Town) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = town.rows("dunr-suppression").into_iter();
    rows.map(|row| (text(&row["address"]), text(&row["reason"])))
        .collect()
}

fn recipients(town: &Town) -> Vec<String> {
    town.dunning_mails()
        .into_iter()
        .map(|mail| mail.to)
        .collect()
}

#[tokio::test]
async fn b57_a_mail_that_came_back_goes_to_the_second_contact() {
    let town = town();
    let mail = sent(&town, with_second(retrying(town.now())), MailKind::Failed).await;
    assert_eq!(
        town.fleet
            .cloud
            .decide_mail(&mail.id, MailFate::BouncedForGood),
        1
    );
    town.settle().await;
    assert_eq!(
        suppressed(&town),
        [(SUBSCRIBER_EMAIL.to_owned(), "hard_bounce".to_owned())]
    );
    assert_eq!(state(&town, 1), "returned");
    assert_eq!(recipients(&town), [SUBSCRIBER_EMAIL, SECOND_EMAIL]);
    assert_eq!(state(&town, 2), "sent");
}

#[tokio::test]
async fn b57_a_complaint_is_heeded_as_well() {
    let town = town();
    let mail = sent(&town, with_second(retrying(town.now())), MailKind::Failed).await;
    town.fleet.cloud.decide_mail(&mail.id, MailFate::Complained);
    town.settle().await;
    assert_eq!(
        suppressed(&town),
        [(SUBSCRIBER_EMAIL.to_owned(), "complaint".to_owned())]
    );
    assert_eq!(recipients(&town), [SUBSCRIBER_EMAIL, SECOND_EMAIL]);
}

#[tokio::test]
async fn b57_once_no_address_is_left_a_person_hears_of_it() {
    let town = town();
    let mail = sent(&town, with_second(retrying(town.now())), MailKind::Failed).await;
    town.fleet
        .cloud
        .decide_mail(&mail.id, MailFate::BouncedForGood);
    town.settle().await;
    let second = town.dunning_mails().remove(1);
    town.fleet
        .cloud
        .decide_mail(&second.id, MailFate::BouncedForGood);
    town.settle().await;
    assert_eq!(suppressed(&town).len(), 2);
    assert!(row(&town, SUB)["cases"]["nobody_to_write_to"].is_string());
    let team = "front-of-house@example.com";
    assert_eq!(recipients(&town), [SUBSCRIBER_EMAIL, SECOND_EMAIL, team]);
}

#[tokio::test]
async fn b57_a_full_mailbox_changes_nothing() {
    let town = town();
    let mail = sent(&town, retrying(town.now()), MailKind::Failed).await;
    town.fleet
        .cloud
        .decide_mail(&mail.id, MailFate::BouncedForNow);
    town.settle().await;
    assert_eq!(suppressed(&town), []);
    assert_eq!(state(&town, 1), "sent");
}

/// A notification as SNS sends it.
fn notification(kind: &str, to: &str, tags: &Value) -> Value {
    let recipients = json!([{ "emailAddress": to }]);
    let message = json!({
        "eventType": kind,
        "bounce": {"bounceType": "Permanent", "bouncedRecipients": recipients},
        "complaint": {"complainedRecipients": recipients},
        "mail": {"messageId": "m", "destination": [to], "tags": tags},
    });
    json!({"Records": [{"Sns": {"MessageId": "n-1", "Message": message.to_string()}}]})
}

fn ours() -> Value {
    json!({"subscription": [SUB], "mail": ["1"], "kind": ["failed"]})
}

#[tokio::test]
async fn a_notification_twice_late_or_beside_itself_changes_once() {
    let town = town();
    sent(&town, with_second(retrying(town.now())), MailKind::Failed).await;
    let event = notification("Bounce", SUBSCRIBER_EMAIL, &ours());
    let cloud = &town.fleet.cloud;
    let beside = join_all((0..10).map(|_| cloud.invoke("dunr-feedback", event.clone()))).await;
    assert!(beside.iter().any(Result::is_ok));
    town.settle().await;
    town.advance(chrono::Duration::hours(5)).await;
    cloud.invoke("dunr-feedback", event).await.unwrap();
    town.settle().await;
    assert_eq!(suppressed(&town).len(), 1);
    assert_eq!(recipients(&town), [SUBSCRIBER_EMAIL, SECOND_EMAIL]);
}

#[tokio::test]
async fn a_notification_whose_writing_fails_is_taken_when_it_comes_again() {
    for kind in [
        FaultKind::AnswerLost,
        FaultKind::InternalError,
        FaultKind::CrashAfter,
    ] {
        for nth in [1, 2] {
            let town = town();
            let mail = sent(&town, with_second(retrying(town.now())), MailKind::Failed).await;
            let rule = local_cloud::FaultRule::once("dunr-feedback", "TransactWriteItems", kind);
            town.fleet.cloud.faults().add(rule.nth(nth));
            town.fleet
                .cloud
                .decide_mail(&mail.id, MailFate::BouncedForGood);
            town.advance(chrono::Duration::minutes(10)).await;
            assert_eq!(suppressed(&town).len(), 1, "{kind:?} {nth}");
            assert_eq!(
                recipients(&town),
                [SUBSCRIBER_EMAIL, SECOND_EMAIL],
                "{kind:?} {nth}"
            );
        }
    }
}

#[tokio::test]
async fn an_address_is_one_address_in_any_case() {
    let town = town();
    let event = notification("Bounce", "Mary <MARY@Example.com>", &json!({}));
    town.fleet
        .cloud
        .invoke("dunr-feedback", event)
        .await
        .unwrap();
    assert_eq!(
        suppressed(&town),
        [("mary@example.com".to_owned(), "hard_bounce".to_owned())]
    );
}

#[tokio::test]
async fn a_mail_without_tags_of_ours_suppresses_and_no_more() {
    let town = town();
    sent(&town, retrying(town.now()), MailKind::Failed).await;
    let event = notification("Complaint", SUBSCRIBER_EMAIL, &json!({}));
    town.fleet
        .cloud
        .invoke("dunr-feedback", event)
        .await
        .unwrap();
    assert_eq!(suppressed(&town).len(), 1);
    assert_eq!(state(&town, 1), "sent");
}

#[tokio::test]
async fn what_is_no_feedback_fails_and_what_is_other_feedback_is_only_counted() {
    let town = town();
    let cloud = &town.fleet.cloud;
    let bad = json!({"Records": [{"Sns": {"MessageId": "n-1", "Message": "no JSON"}}]});
    cloud.invoke("dunr-feedback", bad).await.unwrap_err();
    let other = notification("Delivery", SUBSCRIBER_EMAIL, &ours());
    cloud.invoke("dunr-feedback", other).await.unwrap();
    assert_eq!(suppressed(&town), []);
}

#[tokio::test]
async fn a_bad_notification_does_not_stop_the_one_behind_it() {
    let town = town();
    let mut event = notification("Bounce", SUBSCRIBER_EMAIL, &json!({}));
    let good = event["Records"][0].clone();
    let bad = json!({"Sns": {"MessageId": "n-0", "Message": "no JSON"}});
    event["Records"] = json!([bad, good]);
    town.fleet
        .cloud
        .invoke("dunr-feedback", event)
        .await
        .unwrap_err();
    assert_eq!(suppressed(&town).len(), 1);
}

#[tokio::test]
async fn a_receipt_that_came_back_is_not_sent_again() {
    let town = town();
    let mut row = with_second(retrying(town.now()));
    (row.plan, row.next_retry_at, row.invoice_id) = (None, None, None);
    row.status = paidonce_core::dunning::Status::Recovered;
    row.invoices.values_mut().for_each(|debt| {
        debt.end = Some(paidonce_core::dunning::End {
            how: paidonce_core::dunning::Ending::PaidByUs,
            at: town.now(),
        });
    });
    let mail = sent(&town, row, MailKind::Receipt).await;
    assert!(
        mail.text.contains("Paid: £24.00") && mail.card_link().is_none(),
        "{}",
        mail.text
    );
    town.fleet
        .cloud
        .decide_mail(&mail.id, MailFate::BouncedForGood);
    town.settle().await;
    assert_eq!(recipients(&town), [SUBSCRIBER_EMAIL]);
}
