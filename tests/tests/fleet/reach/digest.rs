//! B19 and the rest that waits for a person: once a day, by mail, until it is done.

use fleet_tests::{Booked, NAME, PHONE_E164, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule, Message};
use serde_json::{Value, json};

use crate::reach::support::*;

const ESCALATOR: &str = "bdc-escalator";

/// Ten minutes before the digest, since a night has many sweeps.
const SHORTLY_BEFORE: &str = "2026-07-10T06:50:00Z";

fn start() -> Value {
    json!({"kind": "digest"})
}

fn digests(town: &Town) -> Vec<Message> {
    let mails = town.mails().into_iter();
    mails.filter(|mail| mail.kind == "digest").collect()
}

/// Opens a case by hand.
async fn case(town: &Town, subject: &str, reason: &str) {
    let body = json!({
        "event_id": format!("e-{subject}-{reason}"), "type": "case.open", "schema_version": 1,
        "aggregate": format!("booking#{subject}"), "occurred_at": "2026-07-09T12:00:00Z",
        "payload": {"subject": subject, "reason": reason, "facts": {"payment_ref": "pi_1"}},
    });
    let event = queue_event(&[body.to_string()]);
    town.fleet.cloud.invoke(ESCALATOR, event).await.unwrap();
}

/// A booking whose visit is over, and whose attendance nobody marked.
async fn unmarked(town: &Town) -> Booked {
    let booked = town.confirmed().await;
    town.advance_to("2026-07-11T23:45:00Z").await;
    assert_eq!(town.cases(), ["attendance_unmarked"]);
    booked
}

#[tokio::test]
async fn b19_what_nobody_marked_is_told_every_morning_and_never_forfeited() {
    let town = Town::new();
    let booked = unmarked(&town).await;
    assert_eq!(digests(&town).len(), 0);
    town.advance_to("2026-07-12T06:59:00Z").await;
    assert_eq!(digests(&town).len(), 0, "at eight in London");
    for (day, count) in [("2026-07-12", 1), ("2026-07-13", 2)] {
        town.advance_to(&format!("{day}T07:01:00Z")).await;
        let digests = digests(&town);
        assert_eq!(digests.len(), count, "{day}");
        let digest = digests.last().unwrap();
        assert_eq!(digest.to, "front-of-house@example.com");
        assert_eq!(digest.subject, format!("Open cases on {day}: 1"));
        let line = format!("- {}, open for ", booked.id);
        assert!(digest.text.contains(&line), "{}", digest.text);
        assert!(
            digest.text.contains(": table-4 on Sat 11 Jul 20:00\n"),
            "{}",
            digest.text
        );
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn b19_a_case_whose_booking_was_marked_since_is_closed_and_not_told() {
    let town = Town::new();
    let booked = unmarked(&town).await;
    ordered(&town, &booked, "attendance", json!({"attended": true})).await;
    town.advance_to("2026-07-12T07:01:00Z").await;
    assert_eq!(digests(&town).len(), 0, "nothing else is open");
    assert_eq!(town.cases(), Vec::<String>::new());
    let closed = town.rows("bdc-cases").remove(0);
    assert_eq!(closed["closed"]["by"], ESCALATOR);
    assert_eq!(closed["open_shard"], Value::Null);
    assert!(town.history(&booked).contains(&"case closed".to_owned()));
    town.advance_to("2026-07-13T07:01:00Z").await;
    let told = town.history(&booked).into_iter();
    assert_eq!(told.filter(|what| what == "case closed").count(), 1);
}

#[tokio::test]
async fn the_open_cases_are_told_by_reason_oldest_first() {
    let town = Town::new();
    case(&town, "bkg_1", "refund_failed").await;
    town.advance(chrono::Duration::hours(3)).await;
    case(&town, "bkg_2", "late_payment").await;
    case(&town, "bkg_3", "refund_failed").await;
    town.advance_to("2026-07-10T07:01:00Z").await;
    let digest = digests(&town).remove(0);
    let lines: Vec<&str> = digest
        .text
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(
        lines,
        [
            "3 cases are open and need a person.",
            "refund_failed (2): A refund was refused by the provider, or it failed afterwards.",
            "- bkg_1, open for 19 hours",
            "- bkg_3, open for 16 hours",
            "late_payment (1): A payment came after the slot was given back.",
            "- bkg_2, open for 16 hours",
            "Close a case once it is done: until then it stands here every day.",
        ]
    );
}

#[tokio::test]
async fn a_digest_that_is_started_twice_is_sent_once() {
    let town = Town::new();
    case(&town, "bkg_1", "late_payment").await;
    for _ in 0..3 {
        town.fleet.cloud.invoke(ESCALATOR, start()).await.unwrap();
    }
    assert_eq!(digests(&town).len(), 1);
    // And started late, hours after it was sent.
    town.advance(chrono::Duration::hours(9)).await;
    town.fleet.cloud.invoke(ESCALATOR, start()).await.unwrap();
    assert_eq!(digests(&town).len(), 1);
    town.advance_to("2026-07-10T07:01:00Z").await;
    assert_eq!(digests(&town).len(), 2, "the next day has its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_digest_that_runs_beside_itself_is_sent_once() {
    for _ in 0..6 {
        let town = Town::new();
        case(&town, "bkg_1", "late_payment").await;
        let racers = (0..8).map(|_| {
            let cloud = town.fleet.cloud.clone();
            tokio::spawn(async move { cloud.invoke(ESCALATOR, start()).await })
        });
        let outcomes = join_all(racers).await;
        // Those who find another one at work fail, and Lambda starts them again.
        assert!(outcomes.into_iter().any(|outcome| outcome.unwrap().is_ok()));
        assert_eq!(digests(&town).len(), 1);
        town.fleet.cloud.invoke(ESCALATOR, start()).await.unwrap();
        assert_eq!(digests(&town).len(), 1);
    }
}

#[tokio::test]
async fn nothing_is_sent_and_nothing_written_on_a_day_without_cases() {
    let town = Town::new();
    town.confirmed().await;
    let audit = town.rows("bdc-audit").len();
    town.advance_to("2026-07-10T07:01:00Z").await;
    assert_eq!(town.mails(), []);
    assert_eq!(town.rows("bdc-audit").len(), audit);
}

#[tokio::test]
async fn a_case_that_a_hand_closed_is_not_told_though_it_left_it_in_the_index() {
    let town = Town::at(SHORTLY_BEFORE);
    case(&town, "bkg_1", "late_payment").await;
    let key = ("case_id", "bkg_1#late_payment");
    set(&town, "bdc-cases", key, "status", "CLOSED").await;
    town.advance_to("2026-07-10T07:01:00Z").await;
    assert_eq!(digests(&town).len(), 0);
}

#[tokio::test]
async fn a_digest_lists_a_hundred_cases_and_counts_the_rest() {
    let town = Town::at(SHORTLY_BEFORE);
    for nth in 0..103 {
        case(&town, &format!("bkg_{nth}"), "late_payment").await;
    }
    town.advance_to("2026-07-10T07:01:00Z").await;
    let text = digests(&town).remove(0).text;
    assert!(text.starts_with("103 cases are open"), "{text}");
    assert!(text.contains("late_payment (103): "), "{text}");
    assert_eq!(text.matches("\n- bkg_").count(), 100);
    assert!(text.contains("\n(3 more are not listed)\n"), "{text}");
}

#[tokio::test]
async fn a_digest_names_nobody() {
    let town = Town::new();
    unmarked(&town).await;
    town.advance_to("2026-07-12T07:01:00Z").await;
    let digest = digests(&town).remove(0);
    for word in [NAME, "Philippa", PHONE_E164, "7700", "http"] {
        assert!(
            !digest.text.contains(word),
            "the digest has `{word}`: {}",
            digest.text
        );
    }
}

#[tokio::test]
async fn any_fault_at_any_call_ends_in_a_digest_that_the_team_got() {
    let calls = {
        let town = Town::at(SHORTLY_BEFORE);
        case(&town, "bkg_1", "late_payment").await;
        town.forget_calls();
        town.advance_to("2026-07-10T07:01:00Z").await;
        town.calls(ESCALATOR)
    };
    let steps = [
        "Query",
        "Query",
        "TransactWriteItems",
        "SendEmail",
        "TransactWriteItems",
    ];
    assert_eq!(calls, steps);
    for (index, operation) in calls.iter().enumerate() {
        let same = calls[..=index].iter().filter(|call| *call == operation);
        let nth = u32::try_from(same.count()).unwrap();
        for fault in FaultKind::ALL {
            let town = Town::at(SHORTLY_BEFORE);
            case(&town, "bkg_1", "late_payment").await;
            let rule = FaultRule::once(ESCALATOR, operation, fault).nth(nth);
            town.fleet.cloud.faults().add(rule.clone());
            town.advance_to("2026-07-10T07:15:00Z").await;
            let told = digests(&town).len();
            assert!((1..=2).contains(&told), "{rule:?}: {told}");
            town.advance_to("2026-07-10T09:00:00Z").await;
            assert_eq!(digests(&town).len(), told, "{rule:?}");
        }
    }
}
