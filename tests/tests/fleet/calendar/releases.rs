//! Unpaid slots go back on sale: all of them, once, and nobody else's.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Duration;
use fleet_tests::{Town, deposit_paid};
use lambda_kit::Environment;
use paidonce_core::booking::{Booking, Command, Rejection, State};
use paidonce_core::booking_step::{Origin, Tables};
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::step::read;
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, assert_nothing_is_under_way, book, overdue_town, plant, quick_town,
    stall, sweep, tamper,
};

const SWEEP: &str = "bdc-release-sweep";

/// What the sweep's own client and tables are, for an order with an old row in hand.
fn of_the_sweep(town: &Town) -> (aws_sdk_dynamodb::Client, Tables) {
    let setup = town.fleet.cloud.setup(SWEEP).unwrap();
    let environment: Environment = setup.environment;
    let tables = Tables {
        slots: environment.text("SLOTS_TABLE"),
        ..Tables::named(|name| environment.text(name))
    };
    (lambda_kit::client!(aws_sdk_dynamodb, &setup.aws), tables)
}

#[tokio::test]
async fn bug_c04_a_release_decided_on_an_old_row_never_takes_the_next_owners_slot() {
    let (town, bookings) = overdue_town(1).await;
    let (client, tables) = of_the_sweep(&town);
    let id = bookings[0].id.as_str();
    let old: Booking = read(&client, &tables.bookings, id).await.unwrap().unwrap();
    assert_eq!(old.state, State::Pending);

    assert_eq!(sweep(&town, SWEEP).await["looked_at"], 1);
    let next = book(&town, &json!({"starts_at": "2026-08-01T20:00"})).await;
    town.advance(Duration::minutes(10)).await;

    let entropy = lambda_kit::Entropy::seeded(7);
    let order = Order {
        client: &client,
        tables: &tables,
        command: Command::Release,
        command_id: format!("release by another sweep:{id}"),
        origin: Origin {
            who: SWEEP,
            correlation_id: id,
        },
        now: town.now(),
        new_id: &|| entropy.ulid(town.now()),
    };
    let done = order.carry_out_on(old).await.unwrap();
    assert!(
        matches!(done, Done::Rejected(Rejection::Already, row) if row.state == State::Released)
    );
    assert_eq!(town.holder(next.slot_key()), Some(next.id.clone()));
    assert_eq!(town.state(&next), "PENDING");
    assert_eq!(
        town.history(&bookings[0]),
        ["slot held", "reminded", "released"]
    );
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn bug_c04_a_sweep_that_stalls_at_any_call_never_takes_the_next_owners_slot() {
    for calls in 1.. {
        let (town, bookings) = overdue_town(1).await;
        town.forget_calls();
        let another_sweep_and_the_next_customer = async {
            sweep(&town, SWEEP).await;
            book(&town, &json!({"starts_at": "2026-08-01T20:00"})).await
        };
        let slow = sweep(&town, SWEEP);
        let stalled = stall(
            &town,
            SWEEP,
            calls,
            slow,
            another_sweep_and_the_next_customer,
        )
        .await;
        let next = stalled.fast;
        assert_eq!(stalled.slow["failed"], 0);
        assert_eq!(
            town.holder(next.slot_key()),
            Some(next.id),
            "stalled after {calls}"
        );
        town.settle().await;
        assert_calendar_is_sound(&town);
        assert_eq!(
            town.history(&bookings[0]),
            ["slot held", "reminded", "released"]
        );
        assert_eq!(
            town.kinds(),
            ["deposit_request", "reminder", "released", "deposit_request"]
        );
        if !stalled.was_under_way {
            assert_eq!(calls, 6, "it stalled at each of its calls");
            break;
        }
    }
}

#[tokio::test]
async fn a_cell_that_is_somebody_elses_is_left_alone_and_the_booking_is_released_all_the_same() {
    let (town, bookings) = overdue_town(1).await;
    let key = "table-4#2026-08-01T20:30";
    let stranger = AttributeValue::S("bkg_stranger".to_owned());
    tamper(
        &town,
        "bdc-slots",
        ("slot_key", key),
        "booking_id",
        stranger,
    )
    .await;
    assert_eq!(
        sweep(&town, SWEEP).await,
        json!({"looked_at": 1, "failed": 0, "more": false})
    );
    assert_eq!(town.state(&bookings[0]), "RELEASED");
    assert_eq!(town.rows("bdc-slots").len(), 1);
    assert_eq!(town.holder(key).as_deref(), Some("bkg_stranger"));
}

#[tokio::test]
async fn bug_g10_a_sweep_that_read_the_index_before_the_payment_releases_nothing() {
    for calls in 1.. {
        let (town, bookings) = overdue_town(1).await;
        let booked = &bookings[0];
        town.forget_calls();
        let event = deposit_paid(&town, booked, "evt_1", "pi_1");
        let slow = sweep(&town, SWEEP);
        let payment = async {
            let made = town.calls(SWEEP);
            let released = made.contains(&"TransactWriteItems".to_owned());
            (released, town.webhook(&event).await)
        };
        let stalled = stall(&town, SWEEP, calls, slow, payment).await;
        let (released_first, answer) = stalled.fast;
        assert_eq!(answer.status, 200);
        assert_eq!(stalled.slow["failed"], 0);
        town.settle().await;
        // A release that was written before the payment came is taken back: it was paid in time.
        let last = match released_first {
            true => "late confirm",
            false => "deposit paid",
        };
        assert_eq!(town.history(booked).last().unwrap(), last);
        assert_eq!(
            town.kinds(),
            ["deposit_request", "reminder", "confirmation"]
        );
        assert_eq!(town.state(booked), "CONFIRMED", "stalled after {calls}");
        assert_eq!(town.cases(), Vec::<String>::new());
        assert_calendar_is_sound(&town);
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn bug_g10_an_index_that_still_shows_a_paid_booking_as_pending_changes_nothing() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let key = ("booking_id", booked.id.as_str());
    for (name, value) in [
        ("state_shard", "PENDING#0"),
        ("due_at", "2026-07-11T16:00:00Z"),
    ] {
        let value = AttributeValue::S(value.to_owned());
        tamper(&town, "bdc-bookings", key, name, value).await;
    }
    let before = town.row(&booked);
    for _ in 0..2 {
        let swept = sweep(&town, SWEEP).await;
        assert_eq!(swept, json!({"looked_at": 1, "failed": 0, "more": false}));
    }
    town.settle().await;
    assert_eq!(town.row(&booked), before);
    assert_eq!(town.kinds(), ["deposit_request", "confirmation"]);
    assert_eq!(town.holder(booked.slot_key()), Some(booked.id));
}

#[tokio::test]
async fn bug_g12_due_work_is_spread_over_every_shard_and_one_sweep_finds_all_of_it() {
    const BOOKINGS: usize = 240;
    let town = quick_town();
    town.advance(Duration::minutes(1)).await;
    for number in 0..BOOKINGS {
        let (day, slot) = (number / 12 + 1, number % 12);
        let starts_at = format!("2026-08-{day:02}T{:02}:00", slot * 2);
        book(&town, &json!({"starts_at": starts_at})).await;
    }
    let mut shards: BTreeMap<String, usize> = BTreeMap::new();
    for row in town.rows("bdc-bookings") {
        let shard = row["state_shard"].as_str().unwrap().to_owned();
        *shards.entry(shard).or_default() += 1;
    }
    assert_eq!(shards.len(), 4, "{shards:?}");
    for (shard, count) in &shards {
        assert!(
            (35..=85).contains(count),
            "{shard} has {count} of {BOOKINGS}"
        );
    }
    assert!(shards.values().any(|count| *count > 50), "more than a page");
    let outbox: BTreeSet<String> = town
        .rows("bdc-outbox")
        .iter()
        .map(|row| row["pending_shard"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outbox.len(), 4, "so is the outbox");

    town.fleet.cloud.faults().add(
        local_cloud::FaultRule::once(SWEEP, "Query", local_cloud::FaultKind::CrashBefore).times(50),
    );
    town.advance(Duration::minutes(31)).await;
    town.fleet.cloud.faults().clear();
    assert_eq!(
        sweep(&town, SWEEP).await,
        json!({"looked_at": BOOKINGS, "failed": 0, "more": false})
    );
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
    town.settle().await;
    let mut kinds = town.kinds();
    kinds.retain(|kind| kind == "released");
    assert_eq!(kinds.len(), BOOKINGS);
}

#[tokio::test]
async fn one_bad_row_does_not_stop_the_others() {
    let (town, bookings) = overdue_town(12).await;
    for shard in 0..4 {
        let bad = format!("bkg_bad_{shard}");
        let shard = format!("PENDING#{shard}");
        let due_at = ("due_at", "2020-01-01T00:00:00Z");
        plant(
            &town,
            "bdc-bookings",
            &[
                ("booking_id", &bad),
                ("state_shard", &shard),
                due_at,
                ("state", "PENDING"),
            ],
        )
        .await;
    }
    for expected in [
        json!({"looked_at": 16, "failed": 4, "more": false}),
        json!({"looked_at": 4, "failed": 4, "more": false}),
    ] {
        assert_eq!(sweep(&town, SWEEP).await, expected);
    }
    assert!(
        bookings
            .iter()
            .all(|booked| town.state(booked) == "RELEASED")
    );
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
    town.settle().await;
    assert_nothing_is_under_way(&town);
}

#[tokio::test]
async fn a_sweep_that_comes_again_or_late_says_nothing_again() {
    let (town, bookings) = overdue_town(2).await;
    for _ in 0..3 {
        sweep(&town, SWEEP).await;
        town.settle().await;
    }
    town.advance(Duration::hours(1)).await;
    for booked in &bookings {
        assert_eq!(town.history(booked), ["slot held", "reminded", "released"]);
    }
    assert_eq!(town.kinds().len(), 6);
}

#[tokio::test]
async fn a_reminder_that_comes_after_the_deadline_is_not_sent() {
    let town = quick_town();
    town.advance(Duration::minutes(1)).await;
    let booked = town.pending().await;
    let faults = town.fleet.cloud.faults();
    faults.add(
        local_cloud::FaultRule::once(SWEEP, "Query", local_cloud::FaultKind::NotSent).times(1000),
    );
    town.advance(Duration::minutes(31)).await;
    faults.clear();
    sweep(&town, SWEEP).await;
    town.settle().await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request", "released"]);
}
