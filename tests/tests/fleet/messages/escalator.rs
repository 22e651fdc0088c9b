//! One open case for each subject and reason, and a team that was told: rather twice than never.

use fleet_tests::{Booked, NAME, PHONE, PHONE_E164, Town, deposit_paid};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::messages::support::*;

const ESCALATOR: &str = "bdc-escalator";

/// The handover of a late payment for one booking, under an event id.
fn late_payment(event_id: &str, payment_ref: &str) -> String {
    handover(
        event_id,
        "bkg_1",
        "late_payment",
        &json!({"payment_ref": payment_ref}),
    )
}

fn handover(event_id: &str, subject: &str, reason: &str, facts: &Value) -> String {
    json!({
        "event_id": event_id, "type": "case.open", "schema_version": 1,
        "aggregate": format!("booking#{subject}"), "occurred_at": "2026-07-09T12:00:00Z",
        "payload": {"subject": subject, "reason": reason, "facts": facts},
    })
    .to_string()
}

async fn escalate(town: &Town, body: &str) {
    let event = queue_event(&[body]);
    let reply = town.fleet.cloud.invoke(ESCALATOR, event).await.unwrap();
    assert_eq!(failed_ids(&reply), Vec::<&str>::new());
}

/// The entries of the one case.
fn entries(town: &Town) -> Vec<Value> {
    let cases = town.rows("bdc-cases");
    assert_eq!(cases.len(), 1, "{cases:?}");
    cases[0]["entries"].as_array().unwrap().clone()
}

/// What the runbook tells a person to do.
async fn close_by_hand(town: &Town, case_id: &str) {
    #[expect(clippy::disallowed_methods, reason = "a person's hand")]
    let update = town.fleet.cloud.dynamodb().update_item();
    update
        .table_name("bdc-cases")
        .key("case_id", text(case_id))
        .update_expression("SET #status = :closed")
        .condition_expression("attribute_exists(case_id)")
        .expression_attribute_names("#status", "status")
        .expression_attribute_values(":closed", text("CLOSED"))
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_handover_that_comes_twice_is_one_case_and_one_mail() {
    let town = Town::new();
    for _ in 0..3 {
        escalate(&town, &late_payment("e-1", "pi_1")).await;
    }
    assert_eq!(town.cases(), ["late_payment"]);
    assert_eq!(entries(&town).len(), 1);
    assert_eq!(town.mails().len(), 1);
}

#[tokio::test]
async fn two_events_about_one_payment_are_one_case_and_one_mail() {
    let town = Town::new();
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    escalate(&town, &late_payment("e-2", "pi_1")).await;
    assert_eq!(entries(&town).len(), 1);
    assert_eq!(town.mails().len(), 1);
}

#[tokio::test]
async fn another_payment_joins_the_open_case_and_the_team_hears_of_it() {
    let town = Town::new();
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    escalate(&town, &late_payment("e-2", "pi_2")).await;
    assert_eq!(town.cases(), ["late_payment"]);
    assert_eq!(entries(&town).len(), 2);
    let mails = town.mails();
    assert_eq!(mails.len(), 2);
    assert!(!mails[0].text.contains("pi_2"));
    assert!(mails[1].text.contains("pi_2; pi_1"), "{}", mails[1].text);
}

#[tokio::test]
async fn the_newest_payment_is_in_the_mail_however_many_there_were() {
    let town = Town::new();
    let count = 55;
    for nth in 1..=count {
        let facts = json!({
            "payment_ref": format!("pi_3Qxxxxxxxxxxxxxxxxxxxx{nth:02}"),
            "paid": {"amount": 2000, "currency": "GBP"},
            "wanted": {"amount": 2000, "currency": "GBP"},
        });
        let body = handover(&format!("e-{nth}"), "bkg_1", "second_payment", &facts);
        escalate(&town, &body).await;
    }
    let mails = town.mails();
    assert_eq!(mails.len(), count, "none is passed over in silence");
    for (nth, mail) in mails.iter().enumerate() {
        let newest = format!("Payment:  pi_3Qxxxxxxxxxxxxxxxxxxxx{:02}", nth + 1);
        assert!(mail.text.contains(&newest), "{}", mail.text);
    }
    assert_eq!(entries(&town).len(), 50);
    close_by_hand(&town, "bkg_1#second_payment").await;
    let facts = json!({"payment_ref": "pi_last"});
    escalate(
        &town,
        &handover("e-last", "bkg_1", "second_payment", &facts),
    )
    .await;
    assert_eq!(town.cases(), ["second_payment"]);
}

#[tokio::test]
async fn another_reason_or_another_subject_is_a_case_of_its_own() {
    let town = Town::new();
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    let facts = json!({"payment_ref": "pi_1"});
    escalate(&town, &handover("e-2", "bkg_1", "second_payment", &facts)).await;
    escalate(&town, &handover("e-3", "bkg_2", "late_payment", &facts)).await;
    let reasons = ["late_payment", "late_payment", "second_payment"];
    assert_eq!(town.cases(), reasons);
    assert_eq!(town.mails().len(), 3);
}

#[tokio::test]
async fn a_closed_case_opens_again_for_a_new_event_but_not_for_an_old_one() {
    let town = Town::new();
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    close_by_hand(&town, "bkg_1#late_payment").await;
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    assert_eq!(
        town.cases(),
        Vec::<String>::new(),
        "it is known and done with"
    );
    assert_eq!(town.mails().len(), 1);
    escalate(&town, &late_payment("e-2", "pi_2")).await;
    assert_eq!(town.cases(), ["late_payment"]);
    assert_eq!((entries(&town).len(), town.mails().len()), (2, 2));
    escalate(&town, &late_payment("e-1", "pi_1")).await;
    assert_eq!(town.mails().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handovers_beside_each_other_are_one_case_that_knows_them_all() {
    for round in 0..5 {
        let town = Town::new();
        let payments = 4;
        let racers = (0..16).map(|nth| {
            let cloud = town.fleet.cloud.clone();
            let payment = nth % payments;
            let body = late_payment(&format!("e-{payment}"), &format!("pi_{payment}"));
            tokio::spawn(async move {
                // As the queue would: what was too crowded comes again.
                for _ in 0..5 {
                    let reply = cloud
                        .invoke(ESCALATOR, queue_event(&[&body]))
                        .await
                        .unwrap();
                    if failed_ids(&reply).is_empty() {
                        return;
                    }
                }
                panic!("five receives were not enough");
            })
        });
        for raced in join_all(racers).await {
            raced.unwrap();
        }
        assert_eq!(town.cases(), ["late_payment"], "round {round}");
        let entries = entries(&town);
        assert_eq!(entries.len(), payments, "{entries:?}");
        assert!(
            entries.iter().all(|entry| !entry["mailed_at"].is_null()),
            "{entries:?}"
        );
        let mails = town.mails();
        for payment in 0..payments {
            let told = |mail: &local_cloud::Message| mail.text.contains(&format!("pi_{payment}"));
            assert!(mails.iter().any(told), "round {round}: pi_{payment}");
        }
    }
}

#[tokio::test]
async fn a_mail_whose_answer_was_lost_is_sent_again_and_the_case_is_still_one() {
    for fault in [FaultKind::CrashAfter, FaultKind::Slow] {
        let town = Town::new();
        let rule = FaultRule::once(ESCALATOR, "SendEmail", fault);
        town.fleet.cloud.faults().add(rule);
        send(&town, "bdc-handovers", &late_payment("e-1", "pi_1")).await;
        town.settle().await;
        assert_eq!(entries(&town)[0]["mailed_at"], Value::Null, "{fault:?}");
        town.advance(redelivery()).await;
        assert_eq!(town.cases(), ["late_payment"], "{fault:?}");
        assert_eq!(town.mails().len(), 2, "{fault:?}");
        assert_ne!(entries(&town)[0]["mailed_at"], Value::Null, "{fault:?}");
    }
}

#[tokio::test]
async fn any_fault_at_any_call_ends_in_one_case_that_the_team_was_told_of() {
    let calls = {
        let town = Town::new();
        send(&town, "bdc-handovers", &late_payment("e-1", "pi_1")).await;
        town.settle().await;
        town.calls(ESCALATOR)
    };
    assert_eq!(
        calls,
        [
            "GetItem",
            "TransactWriteItems",
            "GetItem",
            "Query",
            "SendEmail",
            "TransactWriteItems"
        ]
    );
    for rule in every_fault(ESCALATOR, calls) {
        let town = Town::new();
        town.fleet.cloud.faults().add(rule.clone());
        send(&town, "bdc-handovers", &late_payment("e-1", "pi_1")).await;
        town.advance(all_redeliveries()).await;
        assert_struck(&town, &rule);
        assert_eq!(town.cases(), ["late_payment"], "{rule:?}");
        let entries = entries(&town);
        assert_eq!(entries.len(), 1, "{rule:?}: {entries:?}");
        assert_ne!(entries[0]["mailed_at"], Value::Null, "{rule:?}");
        assert!(!town.mails().is_empty(), "{rule:?}");
        for queue in ["bdc-handovers", "bdc-handovers-dlq"] {
            assert_eq!(waiting(&town, queue), Vec::<String>::new(), "{rule:?}");
        }
        let told = town
            .rows("bdc-audit")
            .into_iter()
            .map(|row| row["what"].clone());
        assert_eq!(
            told.collect::<Vec<_>>(),
            ["case opened", "team told"],
            "{rule:?}"
        );
    }
}

#[tokio::test]
async fn a_handover_that_can_not_be_read_ends_in_the_dead_letters_and_stops_none_behind_it() {
    let town = Town::new();
    let unknown_reason = handover("e-1", "bkg_1", "no_such_reason", &json!({}));
    for body in [
        "not json",
        "{}",
        &unknown_reason,
        &late_payment("e-2", "pi_1"),
    ] {
        send(&town, "bdc-handovers", body).await;
    }
    town.settle().await;
    assert_eq!(town.cases(), ["late_payment"]);
    town.advance(all_redeliveries()).await;
    assert_eq!(waiting(&town, "bdc-handovers-dlq").len(), 3);
    assert_eq!(town.mails().len(), 1);
}

/// A booking of a customer who wrote more than needed, in every field.
async fn talkative(town: &Town) -> Booked {
    let mut wish = town.wish();
    wish["email"] = json!("philippa.quillfeather@example.net");
    wish["notes"] = json!("Ring 07700 900456 at 12 Thimble Lane; allergic to walnuts");
    let booked = town.book(&wish).await;
    town.settle().await;
    booked
}

fn assert_names_nobody(mail: &local_cloud::Message) {
    let whole = format!("{}\n{}", mail.subject, mail.text);
    let digits = PHONE.replace(' ', "");
    for word in [
        NAME,
        "Philippa",
        "Quillfeather",
        PHONE,
        PHONE_E164,
        &digits,
        "7700",
        "philippa.quillfeather",
        "Thimble",
        "walnuts",
        "http",
    ] {
        assert!(!whole.contains(word), "the mail has `{word}`: {whole}");
    }
}

#[tokio::test]
async fn the_mail_says_what_to_act_on_and_nothing_about_the_person() {
    let town = Town::new();
    let booked = talkative(&town).await;
    let mut paid = deposit_paid(&town, &booked, "evt_1", "pi_first");
    paid["data"]["object"]["amount_total"] = json!(500);
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    assert_eq!(town.cases(), ["amount_mismatch"]);
    let mails = town.mails();
    let [mail] = mails.as_slice() else {
        panic!("one mail: {mails:?}");
    };
    assert_eq!(mail.to, "front-of-house@example.com");
    assert_eq!(
        mail.subject,
        format!("Booking {}: amount_mismatch", booked.id)
    );
    for part in [
        &format!("Booking:  {}", booked.id),
        "Reason:   amount_mismatch",
        "Since:    2026-07-09T12:00:00Z",
        "Payment:  pi_first: paid GBP 500 (minor units), asked for GBP 2000 (minor units)",
        "Outcome:  The booking is not confirmed, and its slot stays held for now.",
        "A payment is not the deposit that was asked for.",
        "It is PENDING: table-4 for 2 on Sat 11 Jul 20:00, deposit £20.00.",
        "- 2026-07-09T12:00:00Z bdc-intake",
        "slot held",
        "(payment pi_first)",
    ] {
        assert!(
            mail.text.contains(part),
            "`{part}` is not in: {}",
            mail.text
        );
    }
    assert_names_nobody(mail);
}

#[tokio::test]
async fn what_staff_write_about_a_person_does_not_get_into_the_mail() {
    let town = Town::new();
    let mut wish = town.wish();
    wish["name"] = json!("Quillfeather, Bcc: eve@evil.example");
    wish["notes"] = json!("Ring 07700 900456 at 12 Thimble Lane; allergic to walnuts");
    let booked = town.book(&wish).await;
    let paid = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&paid).await.status, 200);
    let order = json!({"by": "business", "reason": "Philippa is ill, ring 07700 900456"});
    assert_eq!(town.staff(&booked, "cancel", &order).await.status, 200);
    town.settle().await;
    assert_eq!(
        town.cases(),
        ["refund_failed"],
        "the provider has no such payment"
    );
    let mail = &town.mails()[0];
    assert!(mail.text.contains("Payment:  pi_1"), "{}", mail.text);
    assert!(
        mail.text
            .contains("Outcome:  The money is still with the provider.")
    );
    assert!(!mail.text.contains("evil"), "{}", mail.text);
    assert_names_nobody(mail);
}

#[tokio::test]
async fn a_case_about_an_unknown_booking_has_its_payment() {
    let town = Town::new();
    let ghost = Booked {
        id: "bkg_01kx3bzgg0zzzzzzzzzzzzzzzz".to_owned(),
        answer: json!({"deposit": {"amount": 2000}}),
    };
    let mut paid = deposit_paid(&town, &ghost, "evt_1", "pi_1");
    paid["created"] = json!(town.now().timestamp() - 1200);
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    assert_eq!(town.cases(), ["unknown_reference"]);
    let mail = &town.mails()[0];
    for part in [&ghost.id, "Payment:  pi_1", "There is no such booking."] {
        assert!(
            mail.text.contains(part),
            "`{part}` is not in: {}",
            mail.text
        );
    }
}
