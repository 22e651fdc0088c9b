//! The team is mailed once, whatever happens; the numbers can be had again.

use chrono::Duration;
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::dunning_summary::support::*;

#[tokio::test]
async fn a_start_that_comes_twice_mails_once_and_keeps_the_same_bytes() {
    let town = town_with(november()).await;
    town.advance_to(TOLD).await;
    let before = kept(&town, "2026-11.txt");
    let again = start(&town, json!({"kind": "summary"})).await.unwrap();
    assert_eq!(again["outcome"], "told before");
    town.advance(Duration::hours(1)).await;
    start(&town, json!({"kind": "summary"})).await.unwrap();
    assert_eq!(summaries(&town).len(), 1);
    assert_eq!(kept(&town, "2026-11.txt"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn starts_beside_each_other_mail_once() {
    let town = town_with(november()).await;
    town.advance_to("2026-12-07T08:59:00Z").await;
    let starts = (0..6).map(|_| start(&town, json!({"kind": "summary"})));
    let answers = join_all(starts).await;
    assert!(answers.iter().any(Result::is_ok));
    assert_eq!(summaries(&town).len(), 1);
}

#[tokio::test]
async fn an_operator_has_a_month_counted_anew_without_a_mail() {
    let town = town_with(november()).await;
    town.advance_to(TOLD).await;
    let numbers = kept(&town, "2026-11.json");
    let answer = start(&town, json!({"month": "2026-11"})).await.unwrap();
    assert_eq!(answer, json!({"month": "2026-11", "outcome": "kept"}));
    assert_eq!(summaries(&town).len(), 1);
    let anew = kept(&town, "2026-11.json");
    assert_eq!(anew.0, numbers.0);
    assert_ne!(anew.1, numbers.1, "it is another version");
    // Later, too.
    town.advance(Duration::hours(2)).await;
    start(&town, json!({"month": "2026-11"})).await.unwrap();
    let of_november = summaries(&town)
        .into_iter()
        .filter(|mail| mail.subject.contains("November 2026"));
    assert_eq!(of_november.count(), 1);
    // A month that nobody was told of is mailed.
    start(&town, json!({"month": "2026-10"})).await.unwrap();
    assert!(
        summaries(&town)
            .iter()
            .any(|mail| mail.subject.contains("October 2026"))
    );
}

#[tokio::test]
async fn a_mail_that_was_not_taken_is_sent_by_the_next_start() {
    let town = town_with(november()).await;
    town.advance_to("2026-12-07T08:59:00Z").await;
    let refused = FaultRule::once("dunr-summary", "SendEmail", FaultKind::Throttled);
    town.fleet.cloud.faults().add(refused);
    assert!(start(&town, json!({"kind": "summary"})).await.is_err());
    assert_eq!(summaries(&town).len(), 0);
    assert!(start(&town, json!({"kind": "summary"})).await.is_ok());
    assert_eq!(summaries(&town).len(), 1);
}

#[tokio::test]
async fn a_mail_without_an_answer_is_not_sent_again_and_the_report_is_there() {
    for fault in [
        FaultKind::AnswerLost,
        FaultKind::CrashAfter,
        FaultKind::CrashBefore,
    ] {
        let town = town_with(november()).await;
        town.advance_to("2026-12-07T08:59:00Z").await;
        let lost = FaultRule::once("dunr-summary", "SendEmail", fault);
        town.fleet.cloud.faults().add(lost);
        let _ = start(&town, json!({"kind": "summary"})).await;
        town.advance(Duration::hours(2)).await;
        start(&town, json!({"kind": "summary"})).await.unwrap();
        assert!(summaries(&town).len() <= 1, "{fault:?}");
        let seen = town.rows("dunr-dedupe");
        assert_eq!(seen[0]["outcome"], "unanswered", "{fault:?}");
        assert!(kept(&town, "2026-11.txt").0.starts_with("In November 2026"));
    }
}

#[tokio::test]
async fn a_month_that_could_not_be_read_whole_is_not_told() {
    for operation in ["Query", "PutObject"] {
        let town = town_with(november()).await;
        town.advance_to("2026-12-07T08:59:00Z").await;
        let fails = FaultRule::once("dunr-summary", operation, FaultKind::InternalError)
            .nth(3)
            .times(20);
        town.fleet.cloud.faults().add(fails);
        assert!(
            start(&town, json!({"kind": "summary"})).await.is_err(),
            "{operation}"
        );
        assert_eq!(summaries(&town), []);
        town.fleet.cloud.faults().clear();
        start(&town, json!({"kind": "summary"})).await.unwrap();
        assert_eq!(summaries(&town).len(), 1);
    }
}
