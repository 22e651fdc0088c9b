//! STOP means no more texts, however the phone was spelled and whenever it comes; START ends it.

use fleet_tests::{PHONE_E164, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::messages::support::*;

const OPTOUT: &str = "bdc-optout";

/// The event of an inbound text, as SNS hands it to a function.
fn inbound(id: &str, at: &str, from: &str, text: &str) -> Value {
    json!({"Records": [record(id, at, &json!({"originationNumber": from, "messageBody": text}).to_string())]})
}

fn record(id: &str, at: &str, message: &str) -> Value {
    json!({"EventSource": "aws:sns", "Sns": {
        "Type": "Notification", "MessageId": id, "Timestamp": at, "Message": message}})
}

fn opted_out(town: &Town, phone: &str) -> Option<bool> {
    let row = town
        .rows("bdc-optout")
        .into_iter()
        .find(|row| row["phone"] == phone)?;
    row["opted_out"].as_bool()
}

async fn says(town: &Town, text: &str) {
    town.fleet.cloud.reply_by_sms(PHONE_E164, text);
    town.advance(chrono::Duration::seconds(1)).await;
}

#[tokio::test]
async fn every_word_for_stop_and_start_is_understood_and_other_texts_change_nothing() {
    let town = Town::new();
    for (text, stopped) in [
        ("See you on Saturday!", None),
        ("STOP", Some(true)),
        ("START", Some(false)),
        ("arret", Some(true)),
        ("Unstop", Some(false)),
        ("ARRÊT", Some(true)),
        ("start", Some(false)),
        ("cancel", Some(true)),
        ("we will be two more", Some(true)),
        ("opt in", Some(false)),
        ("END", Some(true)),
        ("start", Some(false)),
        ("opt-out", Some(true)),
        ("start", Some(false)),
        ("OptOut", Some(true)),
        ("start", Some(false)),
        ("quit", Some(true)),
        ("start", Some(false)),
        ("Remove.", Some(true)),
        ("start", Some(false)),
        ("td", Some(true)),
        ("start", Some(false)),
        ("Unsubscribe please", Some(true)),
        ("start", Some(false)),
        ("revoke", Some(true)),
        ("start", Some(false)),
        ("Please don’t text me any more", Some(true)),
        ("start", Some(false)),
        ("see you at the bus stop", Some(false)),
        ("", Some(false)),
    ] {
        says(&town, text).await;
        assert_eq!(opted_out(&town, PHONE_E164), stopped, "after `{text}`");
    }
    assert_eq!(waiting(&town, "bdc-optout-dlq"), Vec::<String>::new());
}

#[tokio::test]
async fn a_phone_that_opted_out_gets_nothing_and_the_ledger_says_why() {
    let town = Town::new();
    says(&town, "STOP").await;
    let booked = town.pending().await;
    assert_eq!(town.texts(), []);
    assert_eq!(ledger(&town, &booked, "deposit_request"), ["suppressed"]);
    assert_eq!(town.cases(), ["unreachable"], "there is no other way");

    // A job that comes again after START is the same message: it is decided.
    says(&town, "START").await;
    let event = queue_event(&[job(&town, &booked, "deposit_request")]);
    town.fleet
        .cloud
        .invoke("bdc-composer", event)
        .await
        .unwrap();
    assert_eq!(town.texts(), []);
    let paid = fleet_tests::deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    assert_eq!(town.kinds(), ["confirmation"]);
}

#[tokio::test]
async fn bug_h07_an_opt_out_holds_for_every_spelling_of_the_phone() {
    let town = Town::new();
    says(&town, "STOP").await;
    let spellings = [
        "07700 900123",
        "+44 7700 900123",
        "+44 (0)7700 900123",
        "0044 7700 900123",
        "447700900123",
        "(07700) 900-123",
        "٠٧٧٠٠٩٠٠١٢٣",
        "０７７００９００１２３",
        "+44\u{a0}7700\u{2011}900123",
        "07700900123 ext 5",
        "tel:+447700900123",
    ];
    for (spelling, starts_at) in spellings.into_iter().zip(times()) {
        let mut wish = wish_at(&town, "table-4", &starts_at);
        wish["phone"] = json!(spelling);
        let answer = town.post_booking(&wish, None).await;
        // What is not clearly this phone is refused; it is never another one.
        assert!(
            [201, 422].contains(&answer.status),
            "{spelling}: {}",
            answer.text
        );
        town.settle().await;
        assert_eq!(town.texts(), [], "{spelling}");
    }
    let phones = town.rows("bdc-bookings").into_iter();
    let phones: Vec<Value> = phones.map(|row| row["phone"].clone()).collect();
    assert!(phones.len() >= 7, "{phones:?}");
    assert!(phones.iter().all(|phone| phone == PHONE_E164), "{phones:?}");

    let mut times = times().skip(spellings.len());
    for (other, e164) in [("+1 415 555 2671", "+14155552671")] {
        let mut wish = wish_at(&town, "table-4", &times.next().unwrap());
        wish["phone"] = json!(other);
        town.book(&wish).await;
        town.settle().await;
        assert_eq!(town.texts().last().unwrap().to, e164);
    }
}

#[tokio::test]
async fn bug_h07_a_phone_of_the_isle_of_man_is_a_phone_of_its_own() {
    let town = Town::new();
    let mut wish = town.wish();
    wish["phone"] = json!("07624 312345");
    let booked = town.book(&wish).await;
    town.fleet.cloud.reply_by_sms("+447624312345", "STOP");
    town.settle().await;
    let storm = json!({"by": "business", "reason": "storm"});
    assert_eq!(town.staff(&booked, "cancel", &storm).await.status, 200);
    town.settle().await;
    assert_eq!(opted_out(&town, "+447624312345"), Some(true));
    assert!(!town.kinds().contains(&"cancelled".to_owned()));
}

#[tokio::test]
async fn a_stop_between_the_job_and_the_send_counts() {
    let town = Town::new();
    let booked = town.book(&town.wish()).await;
    let stop = inbound("m-1", "2026-07-09T12:00:00.100Z", PHONE_E164, "STOP");
    town.fleet.cloud.invoke(OPTOUT, stop).await.unwrap();
    town.settle().await;
    assert_eq!(town.texts(), []);
    assert_eq!(ledger(&town, &booked, "deposit_request"), ["suppressed"]);
}

#[tokio::test]
async fn a_stop_between_two_attempts_of_one_send_counts() {
    let town = Town::new();
    let refused = FaultRule::once("bdc-composer", "Publish", FaultKind::Throttled);
    town.fleet.cloud.faults().add(refused);
    let booked = town.pending().await;
    says(&town, "STOP").await;
    town.advance(redelivery()).await;
    assert_eq!(town.texts(), []);
    assert_eq!(
        ledger(&town, &booked, "deposit_request"),
        ["1-intent", "2-failed", "suppressed"]
    );
    assert_eq!(waiting(&town, "bdc-jobs"), Vec::<String>::new());
}

#[tokio::test]
async fn wishes_count_by_the_time_at_which_they_were_sent() {
    let town = Town::new();
    let cloud = &town.fleet.cloud;
    let stop = inbound("m-1", "2026-07-09T11:59:00.000Z", PHONE_E164, "STOP");
    let start = inbound("m-2", "2026-07-09T11:59:00.001Z", PHONE_E164, "START");
    for event in [&start, &stop, &start, &stop] {
        cloud.invoke(OPTOUT, event.clone()).await.unwrap();
    }
    assert_eq!(opted_out(&town, PHONE_E164), Some(false));
    let later = inbound("m-3", "2026-07-09T11:59:01.000Z", PHONE_E164, "stop");
    for event in [&later, &start, &later] {
        cloud.invoke(OPTOUT, event.clone()).await.unwrap();
    }
    assert_eq!(opted_out(&town, PHONE_E164), Some(true));
    let told = town.rows("bdc-audit");
    assert_eq!(told.len(), 2, "each wish that counted, once: {told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wishes_that_come_beside_each_other_leave_the_latest() {
    let town = Town::new();
    for round in 0..5 {
        let racers = (0..50).map(|nth| {
            let cloud = town.fleet.cloud.clone();
            let text = if nth % 2 == 0 { "START" } else { "STOP" };
            // Not in the order of sending.
            let at = format!("2026-07-09T12:00:{round:02}.{:03}Z", (nth * 7) % 50);
            let event = inbound(&format!("m-{round}-{nth}"), &at, PHONE_E164, text);
            tokio::spawn(async move {
                // As the queue would: what was too crowded comes again.
                for _ in 0..50 {
                    if cloud.invoke(OPTOUT, event.clone()).await.is_ok() {
                        return;
                    }
                }
                panic!("never taken");
            })
        });
        for raced in join_all(racers).await {
            raced.unwrap();
        }
        let latest = (0..50).find(|nth| (nth * 7) % 50 == 49).unwrap();
        assert_eq!(opted_out(&town, PHONE_E164), Some(latest % 2 == 1));
        let row = &town.rows("bdc-optout")[0];
        assert_eq!(row["message_id"], format!("m-{round}-{latest}"));
    }
}

#[tokio::test]
async fn a_text_that_can_not_be_read_ends_in_the_dead_letters_and_stops_none() {
    let town = Town::new();
    town.fleet.cloud.reply_by_sms("not a phone", "STOP");
    town.fleet.cloud.reply_by_sms(PHONE_E164, "STOP");
    town.settle().await;
    assert_eq!(opted_out(&town, PHONE_E164), Some(true));
    assert_eq!(waiting(&town, "bdc-optout-dlq"), Vec::<String>::new());
    town.advance(chrono::Duration::minutes(5)).await;
    let dead = waiting(&town, "bdc-optout-dlq");
    assert_eq!(dead.len(), 1);
    assert!(dead[0].contains("not a phone"));
    assert_eq!(town.rows("bdc-optout").len(), 1);
}

#[tokio::test]
async fn a_notification_that_can_not_be_read_stops_none_beside_it() {
    let town = Town::new();
    let stop = json!({"originationNumber": PHONE_E164, "messageBody": "STOP"}).to_string();
    let at = "2026-07-09T12:00:00.000Z";
    let event = json!({"Records": [record("m-1", at, "not json"), record("m-2", at, &stop)]});
    let answer = town.fleet.cloud.invoke(OPTOUT, event).await;
    assert!(
        answer.is_err(),
        "it comes again, and ends in the dead letters"
    );
    assert_eq!(opted_out(&town, PHONE_E164), Some(true));
}

#[tokio::test]
async fn any_fault_at_any_call_leaves_a_stop_that_counts() {
    let calls = {
        let town = Town::new();
        says(&town, "STOP").await;
        town.calls(OPTOUT)
    };
    // The salt's two versions, then the one write.
    let expected = ["GetSecretValue", "GetSecretValue", "TransactWriteItems"];
    assert_eq!(calls, expected);
    for rule in every_fault(OPTOUT, calls) {
        let town = Town::new();
        town.fleet.cloud.faults().add(rule.clone());
        town.fleet.cloud.reply_by_sms(PHONE_E164, "STOP");
        town.advance(chrono::Duration::minutes(5)).await;
        assert_struck(&town, &rule);
        // After three failures of the process it waits for a person, with everything in it.
        let dead = waiting(&town, "bdc-optout-dlq");
        match opted_out(&town, PHONE_E164) {
            Some(stopped) => assert!(stopped, "{rule:?}"),
            None => assert!(rule.times == 3 && dead[0].contains(PHONE_E164), "{rule:?}"),
        }
    }
}

#[tokio::test]
async fn the_history_of_a_phone_does_not_name_it() {
    let town = Town::new();
    says(&town, "STOP").await;
    says(&town, "START").await;
    let rows = town.rows("bdc-audit");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["booking_id"].as_str().unwrap().starts_with("optout#"));
        assert!(!row.to_string().contains("7700900123"), "{row}");
    }
}

#[tokio::test]
async fn of_a_stop_and_a_start_of_the_same_moment_the_stop_counts_in_either_order() {
    const AT: &str = "2026-06-01T12:00:00.000Z";
    for order in [["START", "STOP"], ["STOP", "START"]] {
        let town = Town::new();
        for text in order {
            let event = inbound(&format!("m-{text}"), AT, PHONE_E164, text);
            town.fleet.cloud.invoke(OPTOUT, event).await.unwrap();
        }
        assert_eq!(opted_out(&town, PHONE_E164), Some(true), "{order:?}");
    }
}
