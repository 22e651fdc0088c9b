//! B20 to B23: called off, moved while the money is on its way, and sweeps beside all that.

use fleet_tests::{CARD, Town, deposit_paid};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    RELEASE, assert_no_cases, assert_refunded_once, assert_stands, brisk_town, minutes, staff,
    sweep, take, times, told, told_after_the_reminder, venue_with,
};

#[tokio::test]
async fn b20_a_customer_in_time_gets_all_back_later_a_part_and_then_nothing_and_the_business_gives_all()
 {
    let partial = json!({"partial_cancellation": {"until": 120, "percent": 50}});
    for (by, at, back) in [
        ("customer", "2026-07-10T19:00:00Z", 2000),
        ("customer", "2026-07-10T19:01:00Z", 1000),
        ("customer", "2026-07-11T17:01:00Z", 0),
        ("business", "2026-07-11T18:59:00Z", 2000),
    ] {
        let town = Town::with_venue(&venue_with(&partial));
        let booked = town.paid().await;
        town.advance_to(at).await;
        for _ in 0..2 {
            staff(&town, &booked, "cancel", &json!({"by": by})).await;
        }
        assert_eq!(town.refunded(), back, "{by} at {at}");
        assert_eq!(town.refunds().len(), usize::from(back > 0));
        assert_eq!(town.holder(booked.slot_key()), None);
        assert_no_cases(&town);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b21_moved_while_the_payment_is_in_flight_the_deposit_follows_the_booking() {
    let town = brisk_town();
    let booked = town.pending().await;
    town.withhold_events(true);
    let payment = town.pay(&booked, CARD).await;
    town.withhold_events(false);
    let to = json!({"starts_at": "2026-07-12T20:00", "resource": "table-5"});
    staff(&town, &booked, "reschedule", &to).await;
    assert_eq!(town.holder(booked.slot_key()), None);
    take(&town, &told(&town, "checkout.session.completed")).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(town.row(&booked)["payment_ref"], payment.as_str());
    let holder = town.holder("table-5#2026-07-12T20:00");
    assert_eq!(holder.as_ref(), Some(&booked.id));
    assert_eq!(times(&town.kinds(), "confirmation"), 1);
    assert_no_cases(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b21_a_move_to_a_slot_that_is_taken_changes_nothing_and_the_payment_counts() {
    let town = brisk_town();
    let booked = town.pending().await;
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-12T20:00");
    let other = town.book(&wish).await;
    town.withhold_events(true);
    town.pay(&booked, CARD).await;
    town.withhold_events(false);
    let to = json!({"starts_at": "2026-07-12T21:00"});
    let moved = town.staff(&booked, "reschedule", &to).await;
    assert_eq!((moved.status, moved.code().as_str()), (409, "slot_taken"));
    take(&town, &told(&town, "checkout.session.completed")).await;
    assert_stands(&town, &booked);
    assert_eq!(town.holder(other.slot_key()), Some(other.id.clone()));
}

#[tokio::test]
async fn b22_the_sweep_and_the_webhook_at_the_deadline_leave_one_word_and_one_fate() {
    for webhook_first in [true, false] {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, 29).await;
        let payment = town.pay_quietly(&booked, 2000);
        let event = deposit_paid(&town, &booked, "evt_1", &payment);
        town.fleet.cloud.faults().add(
            local_cloud::FaultRule::once(RELEASE, "Query", local_cloud::FaultKind::CrashBefore)
                .times(20),
        );
        minutes(&town, 1).await;
        town.fleet.cloud.faults().clear();
        if webhook_first {
            let both = futures::future::join(town.webhook(&event), sweep(&town, RELEASE)).await;
            assert!([200, 503].contains(&both.0.status));
        } else {
            let both = futures::future::join(sweep(&town, RELEASE), town.webhook(&event)).await;
            assert!([200, 503].contains(&both.1.status));
        }
        take(&town, &event).await;
        sweep(&town, RELEASE).await;
        town.settle().await;
        assert_stands(&town, &booked);
        // The loser says nothing: the slot was given up or it was not.
        let history = town.history(&booked);
        let given_up = times(&history, "released");
        assert_eq!(times(&history, "late confirm"), given_up);
        assert_eq!(times(&history, "deposit paid"), 1 - given_up);
        assert_no_cases(&town);
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b23_a_release_that_is_tried_again_after_the_slot_was_sold_leaves_the_next_hold_alone() {
    let town = brisk_town();
    let booked = town.pending().await;
    // Its answer is lost and the process dies: the schedule will run it again.
    town.fleet.cloud.faults().add(
        local_cloud::FaultRule::once(
            RELEASE,
            "TransactWriteItems",
            local_cloud::FaultKind::CrashAfter,
        )
        .nth(2),
    );
    minutes(&town, 31).await;
    town.fleet.cloud.faults().clear();
    assert_eq!(town.state(&booked), "RELEASED");
    let next = town.pending().await;
    assert_eq!(next.slot_key(), booked.slot_key());
    let before: Vec<Value> = town.rows("bdc-slots");
    for _ in 0..3 {
        sweep(&town, RELEASE).await;
        town.settle().await;
    }
    assert_eq!(town.rows("bdc-slots"), before);
    assert_eq!(town.holder(next.slot_key()), Some(next.id.clone()));
    assert_eq!(times(&town.history(&booked), "released"), 1);
    assert_eq!(
        told_after_the_reminder(&town),
        ["released"],
        "said once, to the first customer"
    );
}

#[tokio::test]
async fn b23_a_late_refund_never_touches_the_slot_of_the_next_owner() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 31).await;
    let next = town.pending().await;
    let payment = town.pay_quietly(&booked, 2000);
    let event = deposit_paid(&town, &booked, "evt_1", &payment);
    minutes(&town, 1).await;
    let slots = town.rows("bdc-slots");
    take(&town, &event).await;
    assert_eq!(town.rows("bdc-slots"), slots);
    assert_eq!(town.state(&next), "PENDING");
    assert_refunded_once(&town, &payment, 2000);
}
