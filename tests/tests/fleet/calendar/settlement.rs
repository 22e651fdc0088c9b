//! After the appointment: applied or forfeited by mark and policy, never in silence.

use chrono::Duration;
use fleet_tests::{Booked, Town, deposit_paid};
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_nothing_is_under_way, book, plant, quick_town, quick_venue, sweep, town_with,
};

const SWEEP: &str = "bdc-settle-sweep";
/// 20:00 in London plus 90 minutes; [`crate::calendar::support::quick_venue`] settles at once.
const END: &str = "2026-07-11T20:30:00Z";

async fn mark(town: &Town, booked: &Booked, attended: bool) {
    let body = json!({"attended": attended});
    let answer = town.staff(booked, "attendance", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

fn assume_attended() -> Value {
    let mut venue = quick_venue();
    venue["policy"]["unmarked"] = json!("ASSUME_ATTENDED");
    venue
}

#[tokio::test]
async fn a_mark_decides_under_either_policy() {
    for venue in [quick_venue(), assume_attended()] {
        for (attended, state) in [(true, "APPLIED"), (false, "FORFEITED")] {
            let town = town_with(crate::calendar::support::EVENING, &venue);
            let booked = town.confirmed().await;
            town.advance_to("2026-07-11T19:10:00Z").await;
            mark(&town, &booked, attended).await;
            town.advance_to("2026-07-11T20:29:59Z").await;
            sweep(&town, SWEEP).await;
            assert_eq!(town.state(&booked), "CONFIRMED", "not before the end");
            town.advance_to(END).await;
            for _ in 0..2 {
                sweep(&town, SWEEP).await;
            }
            town.advance(Duration::hours(2)).await;
            assert_eq!(town.state(&booked), state);
            assert_eq!(town.cases(), Vec::<String>::new());
            assert_eq!(town.kinds(), ["deposit_request", "confirmation"]);
            assert_eq!(town.history(&booked).len(), 4, "settled once");
        }
    }
}

#[tokio::test]
async fn where_the_policy_assumes_it_an_unmarked_customer_came() {
    let town = town_with(crate::calendar::support::EVENING, &assume_attended());
    let booked = town.confirmed().await;
    town.advance_to("2026-07-11T21:00:00Z").await;
    assert_eq!(town.state(&booked), "APPLIED");
    assert_eq!(town.cases(), Vec::<String>::new());
    let late = town
        .staff(&booked, "attendance", &json!({"attended": false}))
        .await;
    assert_eq!((late.status, late.code().as_str()), (409, "too_late"));
}

#[tokio::test]
async fn where_the_policy_asks_the_team_is_asked_once_and_the_deposit_waits() {
    let town = quick_town();
    let booked = town.confirmed().await;
    town.advance_to(END).await;
    for _ in 0..3 {
        sweep(&town, SWEEP).await;
        town.settle().await;
    }
    town.advance(Duration::hours(3)).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.cases(), ["attendance_unmarked"]);
    assert_eq!(town.mails().len(), 1);
    assert!(
        !town
            .row(&booked)
            .as_object()
            .unwrap()
            .contains_key("due_at")
    );
    mark(&town, &booked, false).await;
    sweep(&town, SWEEP).await;
    assert_eq!(town.state(&booked), "FORFEITED");
    town.settle().await;
    assert_nothing_is_under_way(&town);
}

#[tokio::test]
async fn what_was_never_paid_is_never_settled() {
    let town = quick_town();
    let released = town.pending().await;
    let cancelled = book(&town, &json!({"resource": "table-5"})).await;
    assert_eq!(
        town.staff(&cancelled, "cancel", &json!({})).await.status,
        200
    );
    town.advance_to("2026-07-11T22:00:00Z").await;
    assert_eq!(
        (town.state(&released), town.state(&cancelled)),
        ("RELEASED".to_owned(), "CANCELLED".to_owned())
    );
    assert_eq!(town.cases(), Vec::<String>::new());
}

#[tokio::test]
async fn a_moved_booking_is_settled_after_its_new_end() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let to = json!({"starts_at": "2026-07-11T22:00"});
    assert_eq!(town.staff(&booked, "reschedule", &to).await.status, 200);
    town.advance_to("2026-07-11T22:00:00Z").await;
    assert_eq!(town.cases(), Vec::<String>::new());
    town.advance_to("2026-07-11T23:00:00Z").await;
    assert_eq!(town.cases(), ["attendance_unmarked"]);
}

#[tokio::test]
async fn one_bad_row_does_not_stop_the_settlement_of_the_others() {
    let town = town_with(crate::calendar::support::EVENING, &assume_attended());
    let mut bookings = Vec::new();
    for (resource, time) in [
        ("table-4", "18:30"),
        ("table-5", "18:30"),
        ("table-5", "20:00"),
    ] {
        let changes = json!({"resource": resource, "starts_at": format!("2026-07-11T{time}")});
        let booked = book(&town, &changes).await;
        let payment = format!("pi_{}", bookings.len());
        let event = deposit_paid(&town, &booked, &format!("evt_{payment}"), &payment);
        assert_eq!(town.webhook(&event).await.status, 200);
        bookings.push(booked);
    }
    for shard in 0..4 {
        let (bad, shard) = (format!("bkg_bad_{shard}"), format!("CONFIRMED#{shard}"));
        let row = [
            ("booking_id", bad.as_str()),
            ("state_shard", &shard),
            ("due_at", "2020-01-01T00:00:00Z"),
        ];
        plant(&town, "bdc-bookings", &row).await;
    }
    town.advance_to("2026-07-11T20:31:00Z").await;
    let swept = sweep(&town, SWEEP).await;
    assert_eq!(swept["failed"], 4);
    for booked in &bookings {
        assert_eq!(town.state(booked), "APPLIED");
    }
}
