//! B28, B29: a customer who wants no texts is written to by mail, once, or a person is told.

use chrono::Duration;
use fleet_tests::{PHONE_E164, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::reach::support::*;

async fn says(town: &Town, text: &str) {
    // Of two texts of one moment nobody could tell which is the later wish.
    town.advance(Duration::seconds(1)).await;
    town.fleet.cloud.reply_by_sms(PHONE_E164, text);
    town.settle().await;
}

#[tokio::test]
async fn b28_after_stop_the_deposit_is_asked_for_by_mail_and_start_brings_texts_back() {
    let town = Town::new();
    says(&town, "STOP").await;
    let booked = booked(&town, &with_email(&town)).await;
    assert_eq!(town.texts(), []);
    let mail = mails(&town).remove(0);
    assert_eq!(
        (mail.kind.as_str(), mail.to.as_str()),
        ("deposit_request", EMAIL)
    );
    assert!(
        mail.subject
            .starts_with("The Anchor: please pay your deposit (")
    );
    assert!(
        mail.text.contains("£20.00 deposit by Fri 10 Jul 13:00"),
        "{}",
        mail.text
    );
    assert_eq!(mail.text.trim_end().lines().last(), Some(booked.pay_url()));
    let rows = ledger(&town, &booked, "deposit_request");
    let whats: Vec<&str> = rows.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(
        whats,
        [
            "message intended, by mail: opted out",
            "message sent, by mail: opted out"
        ]
    );
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);

    says(&town, "START").await;
    paid(&town, &booked, "evt_1", "pi_1").await;
    assert_eq!(town.kinds(), ["confirmation"]);
    assert_eq!(
        said(&town, &booked, "confirmation"),
        "message sent, by text"
    );
    assert_eq!(town.cases(), Vec::<String>::new());
}

#[tokio::test]
async fn b28_after_stop_without_an_address_the_team_hears_of_the_deposit_request_once() {
    let town = Town::new();
    says(&town, "STOP").await;
    let booked = booked(&town, &town.wish()).await;
    let again = queue_event(&[job(&town, &booked, "deposit_request")]);
    town.fleet.cloud.invoke(COMPOSER, again).await.unwrap();
    paid(&town, &booked, "evt_1", "pi_1").await;
    assert_eq!(town.texts(), []);
    assert_eq!(town.cases(), ["unreachable"]);
    assert_eq!(town.mails().len(), 1, "to the team");
    assert!(
        town.mails()[0]
            .text
            .contains("There is no way left to reach the customer.")
    );
    assert_eq!(ends(&town, &booked, "deposit_request"), ["suppressed"]);
    assert_eq!(
        said(&town, &booked, "confirmation"),
        "message suppressed: opted out"
    );
}

#[tokio::test]
async fn a_mail_whose_job_comes_twice_is_one_mail() {
    let town = Town::new();
    says(&town, "STOP").await;
    let booked = booked(&town, &with_email(&town)).await;
    let job = job(&town, &booked, "deposit_request");
    let again = queue_event(&[job.clone(), job]);
    let reply = town
        .fleet
        .cloud
        .invoke(COMPOSER, again.clone())
        .await
        .unwrap();
    assert_eq!(reply["batchItemFailures"], json!([]));
    // After START it is still the same message, whichever channel it took.
    says(&town, "START").await;
    town.fleet.cloud.invoke(COMPOSER, again).await.unwrap();
    assert_eq!(mail_kinds(&town), ["deposit_request"]);
    assert_eq!(town.texts(), []);
}

#[tokio::test]
async fn a_mail_that_comes_late_says_nothing_that_is_no_longer_so() {
    let town = Town::new();
    says(&town, "STOP").await;
    let booked = town.book(&with_email(&town)).await;
    let order = json!({"by": "customer", "reason": ""});
    assert_eq!(town.staff(&booked, "cancel", &order).await.status, 200);
    town.settle().await;
    assert_eq!(mail_kinds(&town), ["cancelled"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_mail_whose_job_is_done_beside_itself_is_one_mail() {
    let town = Town::new();
    says(&town, "STOP").await;
    for round in 1..=6 {
        let starts_at = format!("2026-07-12T{:02}:00", 6 + 2 * round);
        let booked = town.book(&at_time(with_email(&town), &starts_at)).await;
        let event = queue_event(&[job(&town, &booked, "deposit_request")]);
        let racers = (0..8).map(|_| {
            let (cloud, event) = (town.fleet.cloud.clone(), event.clone());
            tokio::spawn(async move { cloud.invoke(COMPOSER, event).await })
        });
        for raced in join_all(racers).await {
            raced.unwrap().unwrap();
        }
        assert_eq!(mails(&town).len(), round, "round {round}");
    }
    town.settle().await;
    assert_eq!(mails(&town).len(), 6);
    assert_eq!(town.cases(), Vec::<String>::new());
}

#[tokio::test]
async fn a_mail_that_was_not_answered_is_never_sent_again_and_becomes_one_case() {
    for (fault, sent) in [
        (FaultKind::AnswerLost, 1),
        (FaultKind::Slow, 1),
        (FaultKind::CrashAfter, 1),
        (FaultKind::NotSent, 0),
        (FaultKind::InternalError, 0),
        (FaultKind::CrashBefore, 0),
    ] {
        let town = Town::new();
        says(&town, "STOP").await;
        let rule = FaultRule::once(COMPOSER, "SendEmail", fault);
        town.fleet.cloud.faults().add(rule);
        let booked = booked(&town, &with_email(&town)).await;
        town.advance(all_redeliveries()).await;
        assert_eq!(mails(&town).len(), sent, "{fault:?}");
        assert_eq!(town.cases(), ["unanswered_send"], "{fault:?}");
        let ends = ends(&town, &booked, "deposit_request");
        assert_eq!(ends, ["1-intent", "2-unanswered"], "{fault:?}");
    }
}

#[tokio::test]
async fn a_mail_that_the_service_refused_is_tried_again_and_sent_once() {
    let town = Town::new();
    says(&town, "STOP").await;
    let rule = FaultRule::once(COMPOSER, "SendEmail", FaultKind::Throttled).times(3);
    town.fleet.cloud.faults().add(rule);
    let booked = booked(&town, &with_email(&town)).await;
    assert_eq!(mails(&town), []);
    assert_eq!(
        ends(&town, &booked, "deposit_request"),
        ["1-intent", "2-failed"]
    );
    town.advance(redelivery() * 4).await;
    assert_eq!(mail_kinds(&town), ["deposit_request"]);
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(waiting(&town, "bdc-jobs-dlq"), 0);
}

#[tokio::test]
async fn the_mail_client_never_repeats_a_call_by_itself() {
    for fault in [
        FaultKind::NotSent,
        FaultKind::AnswerLost,
        FaultKind::Throttled,
        FaultKind::InternalError,
    ] {
        let town = Town::new();
        says(&town, "STOP").await;
        let rule = FaultRule::once(COMPOSER, "SendEmail", fault).times(9);
        town.fleet.cloud.faults().add(rule);
        booked(&town, &with_email(&town)).await;
        let calls = town.calls(COMPOSER).into_iter();
        let sent = calls.filter(|call| call == "SendEmail");
        assert_eq!(sent.count(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn any_fault_at_any_call_ends_in_one_mail_or_one_case() {
    let calls = {
        let town = Town::new();
        says(&town, "STOP").await;
        booked(&town, &with_email(&town)).await;
        town.calls(COMPOSER)
    };
    assert!(calls.contains(&"SendEmail".to_owned()), "{calls:?}");
    for (index, operation) in calls.iter().enumerate() {
        let same = calls[..=index].iter().filter(|call| *call == operation);
        let nth = u32::try_from(same.count()).unwrap();
        for fault in FaultKind::ALL {
            let town = Town::new();
            says(&town, "STOP").await;
            let rule = FaultRule::once(COMPOSER, operation, fault).nth(nth);
            town.fleet.cloud.faults().add(rule.clone());
            booked(&town, &with_email(&town)).await;
            town.advance(all_redeliveries()).await;
            let (mails, cases) = (mails(&town).len(), town.cases().len());
            assert_eq!(town.texts(), [], "{rule:?}");
            assert!(
                mails <= 1 && cases <= 1,
                "{rule:?}: {mails} mails, {cases} cases"
            );
            assert!(mails + cases >= 1, "{rule:?}: lost in silence");
            assert_eq!(waiting(&town, "bdc-jobs-dlq"), 0, "{rule:?}");
        }
    }
}

#[tokio::test]
async fn b29_a_phone_that_opted_out_at_its_carrier_gets_a_mail() {
    let town = Town::new();
    town.fleet.cloud.opt_out_at_carrier(PHONE_E164);
    let booked = booked(&town, &with_email(&town)).await;
    assert_eq!(town.texts(), []);
    assert_eq!(mail_kinds(&town), ["deposit_request"]);
    let said = said(&town, &booked, "deposit_request");
    assert_eq!(said, "message sent, by mail: opted out");
}

#[tokio::test]
async fn b29_without_an_address_the_team_hears_that_a_text_would_not_be_delivered() {
    let town = Town::new();
    town.fleet.cloud.opt_out_at_carrier(PHONE_E164);
    booked(&town, &town.wish()).await;
    assert_eq!(town.cases(), ["unreachable"]);
    assert_eq!(town.counted(COMPOSER, "message_suppressed"), 1);
}

#[tokio::test]
async fn b29_a_carrier_that_does_not_answer_holds_up_no_text() {
    for fault in [
        FaultKind::NotSent,
        FaultKind::Throttled,
        FaultKind::InternalError,
    ] {
        let town = Town::new();
        let asked = FaultRule::once(COMPOSER, "CheckIfPhoneNumberIsOptedOut", fault).times(9);
        town.fleet.cloud.faults().add(asked);
        booked(&town, &with_email(&town)).await;
        assert_eq!(town.kinds(), ["deposit_request"], "{fault:?}");
    }
}

#[tokio::test]
async fn b29_a_number_that_is_refused_for_good_gets_a_mail_in_its_place() {
    for crash in [false, true] {
        let town = Town::new();
        town.fleet.cloud.refuse_texts_to(PHONE_E164);
        let booked = town.book(&with_email(&town)).await;
        if crash {
            // After the refusal was noted, before the mail was begun.
            let rule = FaultRule::once(COMPOSER, "TransactWriteItems", FaultKind::CrashBefore);
            town.fleet.cloud.faults().add(rule.nth(3));
        }
        town.settle().await;
        town.advance(redelivery()).await;
        assert_eq!(town.texts(), []);
        assert_eq!(mail_kinds(&town), ["deposit_request"]);
        let ends = ends(&town, &booked, "deposit_request");
        assert_eq!(
            ends,
            ["1-intent", "2-refused", "1-intent", "2-sent"],
            "crash: {crash}"
        );
        assert_eq!(town.cases(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_person_who_was_forgotten_is_not_written_to() {
    let town = Town::new();
    let booked = town.confirmed().await;
    let sent = town.texts().len();
    forget(&town, &booked.id).await;
    let order = json!({"by": "business", "reason": ""});
    ordered(&town, &booked, "cancel", order).await;
    assert_eq!(town.texts().len(), sent);
    assert_eq!(
        said(&town, &booked, "cancelled"),
        "message suppressed: no phone"
    );
}

async fn forget(town: &Town, booking_id: &str) {
    use aws_sdk_dynamodb::types::AttributeValue;
    #[expect(clippy::disallowed_methods, reason = "an operator's hand")]
    let update = town.fleet.cloud.dynamodb().update_item();
    update
        .table_name("bdc-bookings")
        .key("booking_id", AttributeValue::S(booking_id.to_owned()))
        .update_expression("REMOVE phone")
        .send()
        .await
        .unwrap();
}
