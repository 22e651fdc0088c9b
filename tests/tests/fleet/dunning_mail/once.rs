//! Each mail goes out once at most: twice, late, beside itself, and whatever the services answer.

use chrono::Duration;
use fleet_tests::{SUBSCRIBER_EMAIL, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, MailAccount};
use paidonce_core::dunning::Dunning;
use paidonce_core::dunning::mail::MailKind;

use crate::dunning_mail::support::{
    SECOND_EMAIL, SUB, deliver, fault, owing, put, redelivery, retrying, row, sent, state, town,
};

async fn owing_town() -> Town {
    let town = town();
    put(&town, &owing(retrying(town.now()), MailKind::Failed)).await;
    town
}

#[tokio::test]
async fn an_order_that_comes_twice_sends_one_mail() {
    let town = town();
    sent(&town, retrying(town.now()), MailKind::Failed).await;
    assert!(!deliver(&town, SUB, 1).await);
    assert_eq!(town.dunning_mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn orders_beside_each_other_send_one_mail() {
    let town = owing_town().await;
    join_all((0..20).map(|_| deliver(&town, SUB, 1))).await;
    town.advance(redelivery()).await;
    assert!(!deliver(&town, SUB, 1).await);
    assert_eq!(town.dunning_mails().len(), 1);
    assert_eq!(state(&town, 1), "sent");
}

#[tokio::test]
async fn an_order_that_comes_after_the_payment_sends_nothing() {
    let town = town();
    let mut row = owing(retrying(town.now()), MailKind::Failed);
    row.next_retry_at = None;
    row.plan = None;
    put(&town, &row).await;
    assert!(!deliver(&town, SUB, 1).await);
    assert_eq!(town.dunning_mails(), []);
    assert_eq!(state(&town, 1), "dropped");
}

#[tokio::test]
async fn a_mail_that_was_not_taken_is_tried_again() {
    for refuse in [
        |town: &Town| fault(town, "dunr-mailer", "SendEmail", FaultKind::Throttled),
        |town: &Town| {
            town.fleet.cloud.set_mail_account(MailAccount {
                sending_enabled: false,
                ..MailAccount::default()
            });
        },
    ] {
        let town = owing_town().await;
        refuse(&town);
        assert!(deliver(&town, SUB, 1).await, "it comes again");
        assert_eq!(
            (state(&town, 1).as_str(), town.dunning_mails().len()),
            ("owed", 0)
        );
        town.fleet.cloud.set_mail_account(MailAccount::default());
        assert!(!deliver(&town, SUB, 1).await);
        assert_eq!(
            (state(&town, 1).as_str(), town.dunning_mails().len()),
            ("sent", 1)
        );
    }
}

#[tokio::test]
async fn a_mail_whose_answer_was_lost_is_not_sent_again_but_a_case() {
    for (kind, mails) in [
        (FaultKind::AnswerLost, 1),
        (FaultKind::Slow, 1),
        (FaultKind::CrashAfter, 1),
        (FaultKind::CrashBefore, 0),
        (FaultKind::InternalError, 0),
    ] {
        let town = owing_town().await;
        fault(&town, "dunr-mailer", "SendEmail", kind);
        assert!(deliver(&town, SUB, 1).await, "{kind:?}: it comes again");
        assert!(
            deliver(&town, SUB, 1).await,
            "{kind:?}: its holder may be at work"
        );
        assert_eq!(state(&town, 1), "claimed", "{kind:?}");
        town.advance(redelivery()).await;
        assert!(!deliver(&town, SUB, 1).await, "{kind:?}");
        assert_eq!(state(&town, 1), "unanswered", "{kind:?}");
        town.settle().await;
        assert!(row(&town, SUB)["cases"]["mail_unanswered"].is_string());
        let kinds: Vec<_> = town
            .dunning_mails()
            .into_iter()
            .map(|mail| mail.kind)
            .collect();
        let customers = kinds.iter().filter(|kind| *kind == "failed").count();
        assert_eq!(customers, mails, "{kind:?}");
        assert_eq!(
            kinds.iter().filter(|kind| *kind == "team").count(),
            1,
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_sends_one_mail() {
    for kind in [
        FaultKind::AnswerLost,
        FaultKind::NotSent,
        FaultKind::Conflict,
        FaultKind::Throttled,
    ] {
        let town = owing_town().await;
        fault(&town, "dunr-mailer", "TransactWriteItems", kind);
        if deliver(&town, SUB, 1).await {
            town.advance(redelivery()).await;
            deliver(&town, SUB, 1).await;
        }
        assert_eq!(town.dunning_mails().len(), 1, "{kind:?}");
        assert_eq!(state(&town, 1), "sent", "{kind:?}");
    }
}

#[tokio::test]
async fn a_link_key_that_cannot_be_read_leaves_the_mail_owed() {
    let town = owing_town().await;
    let rule =
        local_cloud::FaultRule::once("dunr-mailer", "GetSecretValue", FaultKind::InternalError);
    town.fleet.cloud.faults().add(rule.times(10));
    assert!(deliver(&town, SUB, 1).await);
    assert_eq!(
        (state(&town, 1).as_str(), town.dunning_mails().len()),
        ("owed", 0)
    );
}

/// Another subscription of the same customer.
fn other(mut row: Dunning) -> Dunning {
    row.subscription_id = "sub_2".to_owned();
    row
}

#[tokio::test]
async fn b52_a_customer_gets_one_mail_a_day_and_the_other_one_the_next_day() {
    let town = town();
    let mut first = owing(retrying(town.now()), MailKind::Failed);
    // Both are to be true on the next morning as well.
    let later = "2026-12-03T10:00:00Z".parse().unwrap();
    first.next_retry_at = Some(later);
    first.plan.as_mut().unwrap().at = later;
    put(&town, &first).await;
    put(&town, &other(first)).await;
    assert!(!deliver(&town, SUB, 1).await);
    assert!(!deliver(&town, "sub_2", 1).await, "it is left to the sweep");
    assert_eq!(town.dunning_mails().len(), 1);
    assert_eq!(row(&town, "sub_2")["mails"]["items"]["1"]["state"], "owed");
    town.advance(Duration::hours(25)).await;
    let mails = town.dunning_mails();
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[1].at.date_naive().to_string(), "2026-12-01");
    assert!(mails[1].card_link().unwrap().contains("/sub_2/"));
}

#[tokio::test]
async fn b52_receipts_and_fresh_links_do_not_wait_for_another_day() {
    let town = town();
    sent(&town, retrying(town.now()), MailKind::Failed).await;
    put(
        &town,
        &owing(other(retrying(town.now())), MailKind::FreshLink),
    )
    .await;
    assert!(!deliver(&town, "sub_2", 1).await);
    assert_eq!(town.dunning_mails().len(), 2);
}

#[tokio::test]
async fn a_suppressed_address_gets_no_mail_and_the_second_one_does() {
    let town = town();
    let mut row = retrying(town.now());
    row.second_email = Some(paidonce_core::email::EmailAddress::parse(SECOND_EMAIL).unwrap());
    suppress(&town, SUBSCRIBER_EMAIL).await;
    let mail = sent(&town, row, MailKind::Failed).await;
    assert_eq!(mail.to, SECOND_EMAIL);
}

#[tokio::test]
async fn where_nobody_is_left_to_write_to_the_team_is_told() {
    for suppressed in [true, false] {
        let town = town();
        let mut gone = owing(retrying(town.now()), MailKind::Failed);
        match suppressed {
            true => suppress(&town, SUBSCRIBER_EMAIL).await,
            false => gone.email = None,
        }
        put(&town, &gone).await;
        assert!(!deliver(&town, SUB, 1).await);
        town.settle().await;
        assert_eq!(state(&town, 1), "dropped");
        let kinds: Vec<_> = town
            .dunning_mails()
            .into_iter()
            .map(|mail| mail.kind)
            .collect();
        assert_eq!(kinds, ["team"]);
        assert!(row(&town, SUB)["cases"]["nobody_to_write_to"].is_string());
    }
}

async fn suppress(town: &Town, address: &str) {
    use paidonce_core::dunning::suppression::{Suppressed, SuppressedBy};
    use paidonce_core::step::{Step, Written, write};
    let row = Suppressed {
        address: address.to_owned(),
        reason: SuppressedBy::HardBounce,
        suppressed_at: town.now(),
    };
    let id = lambda_kit::Entropy::seeded(77).ulid(town.now());
    let step = Step::new(id, "story", town.now()).create("dunr-suppression", &row);
    let written = write(&town.fleet.cloud.dynamodb(), &step).await.unwrap();
    assert!(matches!(written, Written::Applied));
}
