//! A day's texts are limited, whoever makes us write.

use fleet_tests::Town;
use futures::future::join_all;
use paidonce_core::sms::measure;
use serde_json::{Value, json};

use crate::reach::support::*;

fn limited(parts: u32) -> Town {
    let venue = venue(|venue| venue["sms"] = json!({"parts_per_day_max": parts}));
    Town::with_venue(&venue)
}

/// The parts of all texts that were sent.
fn parts(town: &Town) -> usize {
    let texts = town.texts().into_iter();
    texts.map(|text| measure(&text.text).parts).sum()
}

/// What was counted for a day.
fn counted(town: &Town, day: &str) -> Value {
    let rows = town.rows("bdc-idempotency").into_iter();
    let mut rows = rows.filter(|row| row["scope_key"] == format!("sms-parts#{day}"));
    rows.next().unwrap_or_default()["count"].clone()
}

#[tokio::test]
async fn when_the_days_texts_are_spent_messages_go_by_mail_or_not_at_all() {
    let town = limited(2);
    booked(&town, &with_email(&town)).await;
    assert_eq!(
        (town.texts().len(), parts(&town)),
        (1, 2),
        "a request takes two parts"
    );

    let mailed = booked(&town, &at_time(with_email(&town), "2026-07-12T18:00")).await;
    let silent = booked(&town, &at_time(town.wish(), "2026-07-12T12:00")).await;
    assert_eq!(town.texts().len(), 1);
    assert_eq!(mail_kinds(&town), ["deposit_request"]);
    assert_eq!(
        said(&town, &mailed, "deposit_request"),
        "message sent, by mail: spend cap"
    );
    assert_eq!(
        said(&town, &silent, "deposit_request"),
        "message suppressed: spend cap"
    );
    assert_eq!(counted(&town, "2026-07-09"), 2);
    assert_eq!(town.counted(COMPOSER, "sms_spend_cap"), 2);
    assert_eq!(town.cases(), Vec::<String>::new(), "an alarm tells of it");
}

#[tokio::test]
async fn the_next_day_has_texts_of_its_own() {
    let town = limited(2);
    booked(&town, &town.wish()).await;
    let silent = booked(&town, &at_time(town.wish(), "2026-07-12T12:00")).await;
    assert_eq!(ends(&town, &silent, "deposit_request"), ["suppressed"]);
    town.advance_to("2026-07-10T00:00:30Z").await;
    booked(&town, &at_time(town.wish(), "2026-07-12T18:00")).await;
    assert_eq!(town.kinds(), ["deposit_request", "deposit_request"]);
    assert_eq!(counted(&town, "2026-07-10"), 2);
}

#[tokio::test]
async fn a_text_that_is_larger_than_a_whole_days_limit_is_never_sent() {
    let town = limited(1);
    booked(&town, &with_email(&town)).await;
    assert_eq!(town.texts(), []);
    assert_eq!(mail_kinds(&town), ["deposit_request"]);
    assert_eq!(counted(&town, "2026-07-09"), Value::Null);
}

#[tokio::test]
async fn a_text_whose_job_comes_twice_is_counted_once() {
    let town = limited(100);
    let booked = booked(&town, &town.wish()).await;
    let job = job(&town, &booked, "deposit_request");
    let again = queue_event(&[job.clone(), job]);
    town.fleet.cloud.invoke(COMPOSER, again).await.unwrap();
    assert_eq!(counted(&town, "2026-07-09"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_limit_holds_however_many_texts_are_sent_at_once() {
    let town = limited(10);
    let mut events = Vec::new();
    for nth in 0..9 {
        let starts_at = format!("2026-07-12T{:02}:00", 4 + 2 * nth);
        let booked = town.book(&at_time(with_email(&town), &starts_at)).await;
        events.push(queue_event(&[job(&town, &booked, "deposit_request")]));
    }
    let racers = events.into_iter().map(|event| {
        let cloud = town.fleet.cloud.clone();
        tokio::spawn(async move { cloud.invoke(COMPOSER, event).await })
    });
    for raced in join_all(racers).await {
        raced.unwrap().unwrap();
    }
    town.settle().await;
    town.advance(all_redeliveries()).await;
    assert_eq!((town.texts().len(), parts(&town)), (5, 10));
    assert_eq!(mails(&town).len(), 4);
    assert_eq!(counted(&town, "2026-07-09"), 10);
    assert_eq!(town.cases(), Vec::<String>::new());
}
