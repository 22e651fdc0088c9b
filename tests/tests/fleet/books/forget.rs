//! B34: a person asks to be forgotten, and the money's record stays.

use chrono::Duration;
use fleet_tests::{NAME, Town};
use ops::forget::{Forgotten, Outcome};
use paidonce_core::booking::State;
use serde_json::{Value, json};

use crate::books::support::*;

const TABLES: [&str; 8] = [
    "bdc-bookings",
    "bdc-slots",
    "bdc-payments",
    "bdc-optout",
    "bdc-audit",
    "bdc-cases",
    "bdc-outbox",
    "bdc-idempotency",
];

const EMAIL: &str = "philippa.q@example.com";
const NOTES: &str = "allergic to walnuts";
const REASON: &str = "broke her ankle";

/// Every row of every table, as one text.
fn everything(town: &Town) -> String {
    let rows = TABLES.map(|table| json!({ table: town.rows(table) }));
    Value::from(rows.to_vec()).to_string()
}

/// What names the person, in any form that they or we wrote it in.
fn words() -> Vec<String> {
    let mut words: Vec<String> = NAME.split(' ').map(str::to_owned).collect();
    let more = [
        PHONE,
        "7700900123",
        "07700 900123",
        "900123",
        EMAIL,
        "philippa.q",
        NOTES,
        "walnuts",
        REASON,
        "ankle",
    ];
    words.extend(more.map(str::to_owned));
    words
}

fn forgotten(outcome: Outcome) -> Forgotten {
    match outcome {
        Outcome::Forgotten(forgotten) => forgotten,
        Outcome::Standing(standing) => panic!("{standing:?}"),
    }
}

/// A person with a forfeit, a cancellation, a release, a case and a STOP.
async fn lived(town: &Town) -> Vec<String> {
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-09T20:00");
    wish["email"] = json!(EMAIL);
    wish["notes"] = json!(NOTES);
    let first = town.post_booking(&wish, Some("key-1")).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let forfeited = fleet_tests::Booked {
        id: first.json()["booking_id"].as_str().unwrap().to_owned(),
        answer: first.json(),
    };
    town.settle().await;
    pay(town, &forfeited).await;
    town.settle().await;
    let (cancelled, _) = confirmed(town, "2026-07-12T20:00").await;
    staff(
        town,
        &cancelled,
        "cancel",
        json!({"by": "customer", "reason": REASON}),
    )
    .await;
    let released = booked(town, "2026-07-09T23:00").await;
    settled(town, &forfeited, false).await;
    assert_eq!(town.state(&released), "RELEASED");
    let payment_ref = town.row(&forfeited)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    happens(town, &format!("payments/{payment_ref}/refund"), json!({})).await;
    assert_eq!(town.cases(), ["refunded_elsewhere"]);
    says(town, "STOP").await;
    let mut ids = vec![forfeited.id, cancelled.id, released.id];
    ids.sort();
    ids
}

#[tokio::test]
async fn b34_a_forgotten_person_is_in_no_row_and_the_books_are_unchanged() {
    let town = Town::new();
    let ids = lived(&town).await;
    let before = books(&town).await;
    for word in [NAME, PHONE, EMAIL, NOTES, REASON] {
        assert!(everything(&town).contains(word), "{word}");
    }
    let mut done = forgotten(forget(&town).await);
    done.bookings.sort();
    assert_eq!(
        done,
        Forgotten {
            bookings: ids.clone(),
            optout: true
        }
    );
    let rows = everything(&town);
    for word in words() {
        assert!(!rows.contains(&word), "`{word}` is still there: {rows}");
    }
    let after = books(&town).await;
    assert_eq!(after.entries, before.entries);
    assert_eq!(after.closing, before.closing);
    assert!(after.are_in_order());
    let audit = town.rows("bdc-audit").into_iter();
    let told: Vec<Value> = audit
        .filter(|row| row["what"] == "person forgotten")
        .collect();
    assert_eq!(told.len(), 4, "three bookings and the opt-out");
    assert!(told.iter().all(|row| row["who"] == "operator maria"));
}

#[tokio::test]
async fn b34_a_second_run_finds_nothing_left() {
    let town = Town::new();
    let _ = lived(&town).await;
    assert!(!forgotten(forget(&town).await).is_nothing());
    let rows = everything(&town);
    assert!(forgotten(forget(&town).await).is_nothing());
    assert_eq!(everything(&town), rows);
}

#[tokio::test]
async fn b34_two_runs_at_once_forget_each_booking_once() {
    let town = Town::new();
    let ids = lived(&town).await;
    let (one, two) = futures::future::join(forget(&town), forget(&town)).await;
    let (one, two) = (forgotten(one), forgotten(two));
    let mut done = [one.bookings, two.bookings].concat();
    done.sort();
    assert_eq!(done, ids);
    assert!(one.optout != two.optout, "one of them hid the phone");
    let audit = town.rows("bdc-audit").into_iter();
    let told = audit.filter(|row| row["what"] == "person forgotten");
    assert_eq!(told.count(), 4);
    assert!(forgotten(forget(&town).await).is_nothing());
}

#[tokio::test]
async fn b34_a_dry_run_says_the_same_and_changes_nothing() {
    let town = Town::new();
    let _ = lived(&town).await;
    let rows = everything(&town);
    let would = forgotten(forget_as(&town, PHONE, true).await);
    assert_eq!(everything(&town), rows);
    assert_eq!(would, forgotten(forget(&town).await));
}

#[tokio::test]
async fn b34_nobody_is_forgotten_while_a_booking_is_to_come() {
    let town = Town::new();
    let (old, _) = confirmed(&town, "2026-07-09T20:00").await;
    settled(&town, &old, true).await;
    let (standing, _) = confirmed(&town, "2026-07-20T20:00").await;
    let held = booked(&town, "2026-07-21T20:00").await;
    says(&town, "STOP").await;
    let rows = everything(&town);
    let Outcome::Standing(mut found) = forget(&town).await else {
        panic!("two are to come");
    };
    found.sort_by(|one, two| one.0.cmp(&two.0));
    let mut expected = vec![
        (standing.id.clone(), State::Confirmed),
        (held.id.clone(), State::Pending),
    ];
    expected.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(found, expected);
    assert_eq!(everything(&town), rows, "not even the old one");
    for (booked, by) in [(&standing, "business"), (&held, "customer")] {
        staff(&town, booked, "cancel", json!({"by": by, "reason": ""})).await;
    }
    assert_eq!(forgotten(forget(&town).await).bookings.len(), 3);
}

#[tokio::test]
async fn b34_a_person_whom_nobody_knows_leaves_no_trace() {
    let town = Town::new();
    let _ = lived(&town).await;
    let rows = everything(&town);
    let nobody = forget_as(&town, "+447700900999", false).await;
    assert!(forgotten(nobody).is_nothing());
    assert_eq!(everything(&town), rows);
}

#[tokio::test]
async fn b34_a_late_event_about_a_forgotten_persons_money_still_counts() {
    let town = Town::new();
    let (booked, payment_ref) = confirmed(&town, "2026-07-09T20:00").await;
    settled(&town, &booked, false).await;
    assert_eq!(forgotten(forget(&town).await).bookings.len(), 1);
    happens(&town, &format!("payments/{payment_ref}/dispute"), json!({})).await;
    town.advance(Duration::hours(1)).await;
    assert_eq!(town.cases(), ["disputed"]);
    assert!(books(&town).await.are_in_order());
    for word in words() {
        assert!(!everything(&town).contains(&word), "{word}");
    }
}
