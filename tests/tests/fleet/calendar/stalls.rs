//! Two orders on one booking, one of which stalls at each of its calls while the other runs:
//! whichever wins, the booking and the calendar agree, and the loser says what is.

use fleet_tests::{Answer, Booked, Town, deposit_paid};
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, assert_nothing_is_under_way, book, overdue_town, quick_town, stall,
    sweep,
};

const INTAKE: &str = "bdc-intake";

/// A confirmed booking at 20:00 in London, with the intake's secrets read.
async fn confirmed() -> (Town, Booked) {
    let town = quick_town();
    let booked = town.confirmed().await;
    town.forget_calls();
    (town, booked)
}

async fn order(town: &Town, booked: &Booked, order: &str, body: Value) -> Answer {
    town.staff(booked, order, &body).await
}

async fn finish(town: &Town) {
    town.settle().await;
    assert_calendar_is_sound(town);
    assert_nothing_is_under_way(town);
}

#[tokio::test]
async fn the_customer_and_the_business_cancel_at_once_and_both_hear_the_same_about_the_refund() {
    let mut outcomes = std::collections::BTreeSet::new();
    for calls in 1.. {
        let town = quick_town();
        let booked = town.paid().await;
        // Within the hour before the start a customer gets nothing back, but the business gives.
        town.advance_to("2026-07-11T18:30:00Z").await;
        assert_eq!(town.get("/bookings/none").await.status, 404);
        town.forget_calls();
        let (customer, business) = (json!({"by": "customer"}), json!({"by": "business"}));
        let slow = town.staff(&booked, "cancel", &business);
        let fast = town.staff(&booked, "cancel", &customer);
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        let stored = town.row(&booked)["cancelled"]["refund_due"].clone();
        for answer in [&stalled.slow, &stalled.fast] {
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(answer.json()["refund_due"], stored, "stalled after {calls}");
        }
        finish(&town).await;
        let due = if stored == json!(true) { 2000 } else { 0 };
        assert_eq!(town.refunded(), due);
        assert_eq!(town.cases(), Vec::<String>::new());
        town.assert_money_is_accounted_for();
        assert_eq!(
            town.kinds(),
            ["deposit_request", "confirmation", "cancelled"]
        );
        outcomes.insert(stored == json!(true));
        if !stalled.was_under_way {
            break;
        }
    }
    assert_eq!(outcomes.len(), 2, "each of them won at times");
}

#[tokio::test]
async fn a_cancellation_beside_the_payment_frees_the_slot_and_loses_no_money() {
    for calls in 1.. {
        let town = quick_town();
        let booked = town.pending().await;
        let payment = town.pay_quietly(&booked, 2000);
        town.forget_calls();
        let event = deposit_paid(&town, &booked, "evt_1", &payment);
        let slow = order(&town, &booked, "cancel", json!({}));
        let stalled = stall(&town, INTAKE, calls, slow, town.webhook(&event)).await;
        assert_eq!((stalled.slow.status, stalled.fast.status), (200, 200));
        finish(&town).await;
        assert_eq!(town.state(&booked), "CANCELLED");
        assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
        // Either way the money goes back once; after a late payment the team hears of it.
        let was_confirmed = town.row(&booked)["cancelled"]["refund_due"] == json!(true);
        let late: &[&str] = if was_confirmed {
            &[]
        } else {
            &["late_payment"]
        };
        assert_eq!(town.cases(), late, "stalled after {calls}");
        assert_eq!((town.refunds().len(), town.refunded()), (1, 2000));
        town.assert_money_is_accounted_for();
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn a_cancellation_beside_the_release_frees_the_slot_once() {
    for calls in 1.. {
        let (town, bookings) = overdue_town(1).await;
        let booked = &bookings[0];
        assert_eq!(town.get("/bookings/none").await.status, 404);
        town.forget_calls();
        let slow = order(&town, booked, "cancel", json!({}));
        let fast = sweep(&town, "bdc-release-sweep");
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        finish(&town).await;
        let told = town.kinds().split_off(2);
        match town.state(booked).as_str() {
            "RELEASED" => {
                assert_eq!(stalled.slow.code(), "wrong_state");
                assert_eq!(stalled.slow.json()["state"], "RELEASED");
                assert_eq!(told, ["released"]);
            }
            state => {
                assert_eq!((stalled.slow.status, state), (200, "CANCELLED"));
                assert_eq!(told, ["cancelled"]);
            }
        }
        assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn a_move_beside_the_payment_keeps_both() {
    for calls in 1.. {
        let town = quick_town();
        let booked = town.pending().await;
        town.forget_calls();
        let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
        let to = json!({"starts_at": "2026-07-12T20:00", "resource": "table-5"});
        let slow = town.staff(&booked, "reschedule", &to);
        let stalled = stall(&town, INTAKE, calls, slow, town.webhook(&event)).await;
        assert_eq!((stalled.slow.status, stalled.fast.status), (200, 200));
        finish(&town).await;
        assert_eq!(town.state(&booked), "CONFIRMED", "stalled after {calls}");
        assert_eq!(
            town.holder("table-5#2026-07-12T20:00"),
            Some(booked.id.clone())
        );
        assert_eq!(town.rows("bdc-slots").len(), 3);
        assert_eq!(town.cases(), Vec::<String>::new());
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn a_move_beside_the_cancellation_leaves_no_slot_held() {
    for calls in 1.. {
        let (town, booked) = confirmed().await;
        let to = json!({"starts_at": "2026-07-12T20:00"});
        let slow = town.staff(&booked, "reschedule", &to);
        let fast = order(&town, &booked, "cancel", json!({}));
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        assert_eq!(stalled.fast.status, 200);
        finish(&town).await;
        assert_eq!(town.state(&booked), "CANCELLED");
        assert_eq!(
            town.rows("bdc-slots"),
            Vec::<Value>::new(),
            "stalled after {calls}"
        );
        if !stalled.was_under_way {
            assert_eq!(stalled.slow.status, 200, "it was through before");
            break;
        }
        if calls < 3 {
            assert_eq!(stalled.slow.code(), "wrong_state");
        }
    }
}

#[tokio::test]
async fn a_move_beside_a_new_booking_of_its_target_changes_nothing() {
    for calls in 1..3 {
        let (town, booked) = confirmed().await;
        let before = town.row(&booked);
        let to = json!({"starts_at": "2026-07-12T20:00"});
        let slow = town.staff(&booked, "reschedule", &to);
        let target = json!({"starts_at": "2026-07-12T21:00"});
        let fast = book(&town, &target);
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        assert!(stalled.was_under_way);
        assert_eq!(stalled.slow.code(), "slot_taken", "stalled after {calls}");
        assert_eq!(town.row(&booked), before);
        finish(&town).await;
    }
}

#[tokio::test]
async fn two_moves_at_once_leave_one_place() {
    for calls in 1.. {
        let (town, booked) = confirmed().await;
        let slow = json!({"starts_at": "2026-07-12T20:00"});
        let fast = json!({"starts_at": "2026-07-13T20:00"});
        let slow = town.staff(&booked, "reschedule", &slow);
        let fast = town.staff(&booked, "reschedule", &fast);
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        assert_eq!((stalled.slow.status, stalled.fast.status), (200, 200));
        finish(&town).await;
        assert_eq!(town.rows("bdc-slots").len(), 3, "stalled after {calls}");
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn a_mark_beside_the_settlement_is_heard_or_refused_and_never_lost() {
    for calls in 1.. {
        let (town, booked) = confirmed().await;
        town.advance_to("2026-07-11T20:40:00Z").await;
        assert_eq!(town.get("/bookings/none").await.status, 404);
        town.forget_calls();
        let slow = order(&town, &booked, "attendance", json!({"attended": false}));
        let fast = sweep(&town, "bdc-settle-sweep");
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        assert_eq!(stalled.slow.status, 200, "{}", stalled.slow.text);
        sweep(&town, "bdc-settle-sweep").await;
        finish(&town).await;
        assert_eq!(town.state(&booked), "FORFEITED", "stalled after {calls}");
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn two_settlements_beside_each_other_settle_once() {
    for calls in 1.. {
        let (town, booked) = confirmed().await;
        town.advance_to("2026-07-11T20:40:00Z").await;
        let mark = json!({"attended": true});
        assert_eq!(town.staff(&booked, "attendance", &mark).await.status, 200);
        let settle = "bdc-settle-sweep";
        let stalled = stall(
            &town,
            settle,
            calls,
            sweep(&town, settle),
            sweep(&town, settle),
        )
        .await;
        assert_eq!(
            (&stalled.slow["failed"], &stalled.fast["failed"]),
            (&json!(0), &json!(0))
        );
        finish(&town).await;
        assert_eq!(town.state(&booked), "APPLIED");
        let history = town.history(&booked);
        assert_eq!(history[2..], ["attendance marked", "deposit applied"]);
        if !stalled.was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn two_marks_at_once_are_both_heard_and_the_row_says_what_the_last_one_said() {
    for calls in 1.. {
        let (town, booked) = confirmed().await;
        town.advance_to("2026-07-11T19:10:00Z").await;
        assert_eq!(town.get("/bookings/none").await.status, 404);
        town.forget_calls();
        let slow = order(&town, &booked, "attendance", json!({"attended": true}));
        let fast = order(&town, &booked, "attendance", json!({"attended": false}));
        let stalled = stall(&town, INTAKE, calls, slow, fast).await;
        assert_eq!(stalled.slow.json()["attended"], true);
        assert_eq!(stalled.fast.json()["attended"], false);
        let last = !stalled.was_under_way || calls > 1 && town.history(&booked).len() == 3;
        let expected = if last { json!(false) } else { json!(true) };
        assert_eq!(town.row(&booked)["attendance"]["attended"], expected);
        finish(&town).await;
        if !stalled.was_under_way {
            break;
        }
    }
}
