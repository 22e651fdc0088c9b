//! The payment and the release sweep at the deadline: one of them wins, and the other sees it.

use std::sync::Arc;

use fleet_tests::{Booked, Town, deposit_paid};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::payments::support::{
    SWEEP, WEBHOOK, assert_refunded_once, confirmations, hasty_town, pass_the_deadline, redeliver,
    times, until_calls,
};

/// What became of a booking that was paid and swept at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Confirmed,
    /// Released first; the money was in time, and the slot was still free.
    HeldAgain,
    /// Released first, and the slot was sold again.
    Refunded,
}

/// Exactly one of: confirmed with its slot, its money and no case; or released with no slot, its
/// money given back once and one case.
fn fate(town: &Town, booked: &Booked) -> Fate {
    let history = town.history(booked);
    let cases = town.rows("bdc-cases");
    let own: Vec<&str> = cases
        .iter()
        .filter(|case| case["subject"] == booked.id.as_str())
        .map(|case| case["reason"].as_str().unwrap())
        .collect();
    let holds = town.holder(booked.slot_key()).as_ref() == Some(&booked.id);
    let facts = ["deposit paid", "released", "late confirm", "late payment"];
    let facts = facts.map(|what| times(&history, what));
    let payment = town.row(booked)["payments"][0].clone();
    let payment_ref = payment["payment_ref"].as_str().unwrap();
    match (town.state(booked).as_str(), facts) {
        ("CONFIRMED", [1, 0, 0, 0] | [0, 1, 1, 0]) => {
            assert!(holds, "confirmed, so the slot is held");
            assert_eq!(own, Vec::<&str>::new());
            assert_eq!(payment["returned"], Value::Null);
            if facts[0] == 1 {
                Fate::Confirmed
            } else {
                Fate::HeldAgain
            }
        }
        ("RELEASED", [0, 1, 0, 1]) => {
            assert!(!holds, "released, so the slot is not held");
            assert_eq!(own, ["late_payment"]);
            assert_refunded_once(town, payment_ref, 2000);
            Fate::Refunded
        }
        (state, facts) => panic!("{} is {state}: {facts:?}", booked.id),
    }
}

async fn sweep(town: &Town) {
    // One that fails as a whole is run again by the schedule.
    let swept = town
        .fleet
        .cloud
        .invoke(SWEEP, json!({"kind": "sweep"}))
        .await;
    assert!(swept.is_ok(), "{swept:?}");
}

/// A deadline that has just passed, before any sweep saw it, and everybody warm.
async fn at_the_deadline() -> (Town, Booked, Value) {
    let town = hasty_town().await;
    let booked = town.pending().await;
    pass_the_deadline(&town).await;
    assert_eq!(town.state(&booked), "PENDING");
    let warm_up = json!({"id": "evt_0", "type": "foo", "created": 0, "livemode": false, "data": {"object": {}}});
    assert_eq!(town.webhook(&warm_up).await.status, 200);
    let payment = town.pay_quietly(&booked, 2000);
    let event = deposit_paid(&town, &booked, "evt_1", &payment);
    town.forget_calls();
    (town, booked, event)
}

#[tokio::test]
async fn a_payment_after_the_deadline_counts_while_the_slot_is_the_bookings() {
    let (town, booked, event) = at_the_deadline().await;
    assert_eq!(town.webhook(&event).await.status, 200);
    sweep(&town).await;
    town.settle().await;
    assert_eq!(fate(&town, &booked), Fate::Confirmed);
    assert_eq!(
        (confirmations(&town), times(&town.kinds(), "released")),
        (1, 0)
    );
}

#[tokio::test]
async fn bug_c02_a_sweep_that_takes_over_at_any_call_of_the_webhook_leaves_one_fate() {
    let mut fates = Vec::new();
    for calls in 0..=2 {
        let (town, booked, event) = at_the_deadline().await;
        let mut paying = Box::pin(town.webhook(&event));
        let ended = until_calls(&town, WEBHOOK, calls, &mut paying).await;
        sweep(&town).await;
        let answer = match ended {
            Some(answer) => answer,
            None => paying.await,
        };
        assert_eq!(answer.status, 200);
        town.settle().await;
        fates.push(fate(&town, &booked));
    }
    // The write decides: whoever comes to it first.
    assert_eq!(fates, [Fate::HeldAgain, Fate::HeldAgain, Fate::Confirmed]);
}

#[tokio::test]
async fn bug_c02_a_payment_that_takes_over_at_any_call_of_the_sweep_leaves_one_fate() {
    let mut fates = Vec::new();
    loop {
        let calls = fates.len();
        let (town, booked, event) = at_the_deadline().await;
        let mut sweeping = sweep(&town).boxed();
        let ended = until_calls(&town, SWEEP, calls, &mut sweeping).await;
        assert_eq!(town.webhook(&event).await.status, 200);
        if ended.is_none() {
            sweeping.await;
        }
        town.settle().await;
        fates.push(fate(&town, &booked));
        if ended.is_some() {
            break;
        }
    }
    let confirmed = fates
        .iter()
        .filter(|fate| **fate == Fate::Confirmed)
        .count();
    assert!(confirmed >= 3 && confirmed < fates.len(), "{fates:?}");
    let (first, last) = fates.split_at(confirmed);
    assert_eq!(first, vec![Fate::Confirmed; first.len()], "{fates:?}");
    assert_eq!(last, vec![Fate::HeldAgain; last.len()], "{fates:?}");
}

/// Eight bookings whose deadline has just passed.
async fn crowd() -> (Town, Vec<(Booked, Value)>) {
    let town = hasty_town().await;
    let mut crowd = Vec::new();
    for day in 11..15 {
        for resource in ["table-4", "table-5"] {
            let mut wish = town.wish();
            wish["resource"] = json!(resource);
            wish["starts_at"] = json!(format!("2026-07-{day}T20:00"));
            wish["phone"] = json!(format!("07700 9001{day}"));
            crowd.push(town.book(&wish).await);
        }
    }
    town.settle().await;
    pass_the_deadline(&town).await;
    let with_event = |(n, booked): (usize, Booked)| {
        let payment = town.pay_quietly(&booked, 2000);
        let event = deposit_paid(&town, &booked, &format!("evt_{n}"), &payment);
        (booked, event)
    };
    let crowd = crowd.into_iter().enumerate().map(with_event).collect();
    (town, crowd)
}

async fn pay_after(town: Arc<Town>, event: Value, yields: usize) {
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    redeliver(&town, &event).await;
}

/// The next customer wants the same place, and tries a few times.
async fn rebook(town: Arc<Town>, booked: Booked) {
    let mut wish = town.wish();
    let (resource, starts_at) = booked.slot_key().split_once('#').unwrap();
    wish["resource"] = json!(resource);
    wish["starts_at"] = json!(starts_at);
    wish["phone"] = json!("07700 900199");
    for _ in 0..8 {
        if town.post_booking(&wish, None).await.status == 201 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_c02_payments_sweeps_and_the_next_customers_at_once_leave_each_booking_one_fate() {
    let (mut confirmed, mut refunded, mut resold) = (0, 0, 0);
    for round in 0..6 {
        let (town, crowd) = crowd().await;
        let town = Arc::new(town);
        let mut tasks = Vec::new();
        for (place, (booked, event)) in crowd.iter().cloned().enumerate() {
            // Some come earlier and some later, so that each round is another race.
            let yields = (place * round) % 7 * 40;
            tasks.push(tokio::spawn(pay_after(Arc::clone(&town), event, yields)));
            tasks.push(tokio::spawn(rebook(Arc::clone(&town), booked)));
        }
        for _ in 0..3 {
            let shared = Arc::clone(&town);
            tasks.push(tokio::spawn(async move { sweep(&shared).await }));
        }
        for task in futures::future::join_all(tasks).await {
            task.unwrap();
        }
        sweep(&town).await;
        town.settle().await;
        for (booked, _) in &crowd {
            match fate(&town, booked) {
                Fate::Confirmed | Fate::HeldAgain => confirmed += 1,
                Fate::Refunded => refunded += 1,
            }
            let next = town
                .holder(booked.slot_key())
                .filter(|next| *next != booked.id);
            resold += usize::from(next.is_some());
        }
        assert_next_owners_are_untouched(&town, &crowd);
    }
    assert!(
        confirmed > 0 && refunded > 0 && resold > 0,
        "{confirmed} {refunded} {resold}"
    );
}

/// Whoever holds a slot is a live booking, and no two live ones have the same.
fn assert_next_owners_are_untouched(town: &Town, crowd: &[(Booked, Value)]) {
    let paid: Vec<&str> = crowd.iter().map(|(booked, _)| booked.id.as_str()).collect();
    for row in town.rows("bdc-bookings") {
        let (id, state) = (
            row["booking_id"].as_str().unwrap(),
            row["state"].as_str().unwrap(),
        );
        if !paid.contains(&id) {
            assert_eq!(state, "PENDING", "a next customer's booking is untouched");
            assert!(row["payment_ref"].is_null());
        }
        if state == "PENDING" || state == "CONFIRMED" {
            for slot_key in row["place"]["slot_keys"].as_array().unwrap() {
                let holder = town.holder(slot_key.as_str().unwrap());
                assert_eq!(
                    holder.as_deref(),
                    Some(id),
                    "a live booking holds its slots"
                );
            }
        }
    }
    assert_eq!(
        confirmations(town),
        crowd
            .iter()
            .filter(|(booked, _)| town.state(booked) == "CONFIRMED")
            .count()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_c02_one_booking_raced_for_many_times_has_one_fate_each_time() {
    let mut fates = Vec::new();
    for round in 0..20_usize {
        let (town, booked, event) = at_the_deadline().await;
        let (town, delay) = (Arc::new(town), round * 5);
        let paying = {
            let town = Arc::clone(&town);
            tokio::spawn(async move { redeliver(&town, &event).await })
        };
        let sweeping = {
            let town = Arc::clone(&town);
            tokio::spawn(async move {
                for _ in 0..delay {
                    tokio::task::yield_now().await;
                }
                sweep(&town).await;
            })
        };
        paying.await.unwrap();
        sweeping.await.unwrap();
        sweep(&town).await;
        town.settle().await;
        fates.push(fate(&town, &booked));
        assert_ne!(fates[round], Fate::Refunded, "nobody else wanted the slot");
        assert_eq!(confirmations(&town), 1);
        // A release that was overtaken before its text was written is not told of.
        let told_released = times(&town.kinds(), "released");
        assert!(told_released <= usize::from(fates[round] == Fate::HeldAgain));
    }
}

#[tokio::test]
async fn bug_c02_a_payment_for_a_slot_that_was_sold_again_leaves_the_next_owner_alone() {
    let town = hasty_town().await;
    let first = town.pending().await;
    crate::payments::support::let_it_lapse(&town, &first).await;
    let second = town.pending().await;
    assert_eq!(second.slot_key(), first.slot_key());
    let before = town.row(&second);
    let payment = town.pay_quietly(&first, 2000);
    let event = deposit_paid(&town, &first, "evt_1", &payment);
    for _ in 0..5 {
        assert_eq!(town.webhook(&event).await.status, 200);
        town.settle().await;
    }
    assert_eq!(fate(&town, &first), Fate::Refunded);
    assert_eq!(town.row(&second), before);
    assert_eq!(town.holder(second.slot_key()), Some(second.id.clone()));
    assert_eq!((town.mails().len(), confirmations(&town)), (1, 0));
    let paid = deposit_paid(&town, &second, "evt_2", "pi_2");
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    assert_eq!(fate(&town, &second), Fate::Confirmed);
    assert_eq!(fate(&town, &first), Fate::Refunded);
    town.assert_money_is_accounted_for();
}
