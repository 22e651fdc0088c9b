//! B1 to B3: money that is heard of after the deadline, and a page that is open at it.

use fleet::FleetOptions;
use fleet_tests::{Answer, Booked, CARD, Town, deposit_paid};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    CASHIER, RELEASE, assert_no_cases, assert_refunded_once, assert_stands, brisk_town, case,
    cashier_job, deliver, gbp, minutes, mischief, sweep, take, times, told,
    told_after_the_reminder,
};

#[tokio::test]
async fn b01_late_webhook_slot_free_is_held_again_and_confirmed_once() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let payment = town.pay_quietly(&booked, 2000);
    minutes(&town, 6).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.holder(booked.slot_key()), None);
    let event = told(&town, "checkout.session.completed");
    for _ in 0..3 {
        take(&town, &event).await;
    }
    assert_stands(&town, &booked);
    assert_eq!(told_after_the_reminder(&town), ["released", "confirmation"]);
    assert_eq!(times(&town.history(&booked), "late confirm"), 1);
    assert_eq!(town.row(&booked)["payment_ref"], payment.as_str());
    assert_no_cases(&town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b01_the_time_of_the_payment_decides_and_not_that_of_its_event() {
    // The deadline is 12:30, its grace 15 minutes.
    for (paid_after, is_in_time) in [(45, true), (46, false)] {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, paid_after).await;
        let payment = town.pay_quietly(&booked, 2000);
        let event = told(&town, "checkout.session.completed");
        minutes(&town, 180).await;
        take(&town, &event).await;
        if is_in_time {
            assert_stands(&town, &booked);
            assert_eq!(town.refunds().len(), 0);
        } else {
            assert_eq!(town.state(&booked), "RELEASED");
            assert_refunded_once(&town, &payment, 2000);
        }
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b01_money_in_time_that_is_heard_of_after_the_start_goes_back() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let payment = town.pay_quietly(&booked, 2000);
    let event = told(&town, "checkout.session.completed");
    town.advance_to("2026-07-11T19:00:00Z").await;
    take(&town, &event).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_refunded_once(&town, &payment, 2000);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b02_late_webhook_slot_sold_again_goes_back_once_and_leaves_the_next_owner_alone() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let payment = town.pay_quietly(&booked, 2000);
    minutes(&town, 6).await;
    let next = town.pending().await;
    assert_eq!(next.slot_key(), booked.slot_key());
    let before = town.row(&next);
    let event = told(&town, "checkout.session.completed");
    for _ in 0..5 {
        take(&town, &event).await;
    }
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.row(&next), before);
    assert_eq!(town.holder(next.slot_key()), Some(next.id.clone()));
    assert_refunded_once(&town, &payment, 2000);
    let key = format!("refund:late:{}:{payment}", booked.id);
    assert_eq!(town.refunds()[0]["metadata"]["refund_key"], key.as_str());
    assert_eq!(times(&town.kinds(), "late_refund"), 1);
    assert_eq!(times(&town.kinds(), "confirmation"), 0);
    let late = case(&town, "late_payment");
    assert_eq!(late["facts"]["payment_ref"], payment.as_str());
    assert_eq!(late["facts"]["paid"], gbp(2000));
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b02_a_part_of_the_place_that_is_anothers_is_enough() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let payment = town.pay_quietly(&booked, 2000);
    minutes(&town, 6).await;
    // 21:00 is the last of the three cells of 20:00 to 21:30.
    let mut wish = town.wish();
    wish["starts_at"] = json!("2026-07-11T21:00");
    let next = town.book(&wish).await;
    take(&town, &told(&town, "checkout.session.completed")).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.holder(booked.slot_key()), None, "no cell is taken");
    assert_eq!(town.holder(next.slot_key()), Some(next.id));
    assert_refunded_once(&town, &payment, 2000);
}

#[tokio::test]
async fn b03_page_open_at_release_and_paid_keeps_the_slot_until_the_webhook_comes() {
    for card in [CARD, "bank"] {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, 29).await;
        mischief(&town, &json!({"delay_s": 3_600}));
        town.pay(&booked, card).await;
        minutes(&town, 40).await;
        assert_eq!(town.state(&booked), "PENDING", "{card}");
        assert_eq!(told_after_the_reminder(&town), Vec::<String>::new());
        let page = town.cashier("GET", booked.pay_url()).await;
        assert!(page.text.contains("Payment under way"), "{card}");
        minutes(&town, 25).await;
        if card == CARD {
            assert_stands(&town, &booked);
            assert_no_cases(&town);
            town.assert_money_is_accounted_for();
        } else {
            assert_eq!(town.state(&booked), "PENDING", "the bank takes days");
        }
    }
}

#[tokio::test]
async fn b03_the_slot_of_the_same_day_is_kept_too_though_it_is_due_past_the_usual_time() {
    // Booked two hours before the start, where the deposit should be in two hours before it.
    let town = Town::with(FleetOptions::starting(
        "2026-07-11T17:00:00Z".parse().unwrap(),
    ));
    let booked = town.pending().await;
    minutes(&town, 29).await;
    mischief(&town, &json!({"delay_s": 3_600}));
    town.pay(&booked, CARD).await;
    minutes(&town, 55).await;
    assert_eq!(town.state(&booked), "PENDING", "paid, and not yet heard of");
    assert_eq!(town.holder(booked.slot_key()), Some(booked.id.clone()));
    minutes(&town, 6).await;
    assert_stands(&town, &booked);
}

#[tokio::test]
async fn b03_page_open_at_release_and_unpaid_is_closed_first_and_then_the_slot_is_given_up() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    minutes(&town, 1).await;
    assert_eq!(town.state(&booked), "PENDING", "not before it is closed");
    let page = &town.fleet.sandbox.ledger()["sessions"][0];
    assert_eq!(page["status"], "expired");
    assert_eq!(town.pay_session(&led, CARD).0, 400);
    minutes(&town, 5).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(told_after_the_reminder(&town), ["released"]);
    assert_eq!(town.captured(), 0);
}

#[tokio::test]
async fn b03_a_page_of_which_the_provider_says_nothing_is_waited_for_to_its_end() {
    for pays in [true, false] {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, 29).await;
        let led = town.press_pay(booked.pay_url()).await;
        let faults = town.fleet.cloud.faults();
        let silent = FaultRule::once(CASHIER, "POST /v1/checkout/sessions/*", FaultKind::NotSent);
        faults.add(silent.times(10_000));
        // The page lives for 31 minutes from 12:29.
        minutes(&town, 30).await;
        assert_eq!(town.state(&booked), "PENDING");
        if pays {
            assert_eq!(town.pay_session(&led, CARD).0, 200);
        }
        minutes(&town, 12).await;
        faults.clear();
        if pays {
            assert_stands(&town, &booked);
        } else {
            assert_eq!(town.state(&booked), "RELEASED");
            assert_eq!(told_after_the_reminder(&town), ["released"]);
        }
    }
}

#[tokio::test]
async fn b03_a_payment_between_the_closing_and_the_release_has_one_fate() {
    // The customer pays after each of the sweep's and the cashier's turns.
    for turn in 0..3 {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, 29).await;
        let led = town.press_pay(booked.pay_url()).await;
        town.advance(chrono::Duration::seconds(59)).await;
        let pay = || town.pay_session(&led, CARD).0;
        let paid = match turn {
            0 => pay(),
            1 => {
                town.advance(chrono::Duration::seconds(1)).await;
                pay()
            }
            _ => {
                minutes(&town, 6).await;
                pay()
            }
        };
        assert_eq!(paid == 200, turn == 0, "a closed page takes no money");
        minutes(&town, 10).await;
        if paid == 200 {
            assert_stands(&town, &booked);
        } else {
            assert_eq!(town.state(&booked), "RELEASED");
        }
        town.assert_money_is_accounted_for();
    }
}

#[tokio::test]
async fn b03_the_order_to_close_a_page_may_come_twice_or_late() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    town.press_pay(booked.pay_url()).await;
    minutes(&town, 1).await;
    let job = cashier_job(&town, "expire_session");
    for wait in [0, 0, 6, 600] {
        minutes(&town, wait).await;
        let before = town.row(&booked);
        deliver(&town, &job).await;
        assert_eq!(town.row(&booked), before, "after {wait} minutes");
    }
    assert_eq!(town.state(&booked), "RELEASED");
}

#[tokio::test]
async fn b03_two_sweeps_beside_each_other_have_the_page_closed_once_and_release_once() {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    town.press_pay(booked.pay_url()).await;
    town.fleet
        .cloud
        .faults()
        .add(FaultRule::once(RELEASE, "Query", FaultKind::CrashBefore).times(20));
    minutes(&town, 2).await;
    town.fleet.cloud.faults().clear();
    for expected in ["payment page closing", "released"] {
        let both = futures::future::join(sweep(&town, RELEASE), sweep(&town, RELEASE)).await;
        assert_eq!(
            [&both.0["failed"], &both.1["failed"]],
            [&json!(0), &json!(0)]
        );
        town.settle().await;
        assert_eq!(times(&town.history(&booked), expected), 1);
    }
    assert_eq!(told_after_the_reminder(&town), ["released"]);
    let closed: Vec<Value> = town.told_by_provider();
    assert_eq!(closed.len(), 1, "the page expired once");
}

#[tokio::test]
async fn late_money_beside_the_next_customer_has_one_owner_of_the_slot() {
    for first in ["webhook", "customer"] {
        let town = brisk_town();
        let booked = town.pending().await;
        minutes(&town, 29).await;
        let payment = town.pay_quietly(&booked, 2000);
        minutes(&town, 6).await;
        let event = deposit_paid(&town, &booked, "evt_1", &payment);
        let mut wish = town.wish();
        wish["phone"] = json!("07700 900456");
        let (webhook, customer) = (town.webhook(&event), town.post_booking(&wish, None));
        let (webhook, customer) = match first {
            "webhook" => futures::future::join(webhook, customer).await,
            _ => {
                let (customer, webhook) = futures::future::join(customer, webhook).await;
                (webhook, customer)
            }
        };
        assert!(webhook.status == 200 || webhook.status == 503);
        take(&town, &event).await;
        let holder = town.holder(booked.slot_key()).unwrap();
        if customer.status == 201 {
            assert_ne!(holder, booked.id);
            assert_refunded_once(&town, &payment, 2000);
        } else {
            assert_eq!(holder, booked.id);
            assert_eq!(town.state(&booked), "CONFIRMED");
        }
        town.assert_money_is_accounted_for();
    }
}

/// A booking whose page is open a minute before its deadline.
async fn with_an_open_page() -> (Town, Booked, Answer) {
    let town = brisk_town();
    let booked = town.pending().await;
    minutes(&town, 29).await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    town.forget_calls();
    (town, booked, led)
}

/// The calls of the cashier that closes a page in a run without faults, with their count so far.
async fn closing_plan() -> Vec<(String, u32)> {
    let (town, ..) = with_an_open_page().await;
    minutes(&town, 1).await;
    let mut plan: Vec<(String, u32)> = Vec::new();
    for call in town.calls(CASHIER) {
        let nth = plan.iter().filter(|(known, _)| *known == call).count() + 1;
        plan.push((call, u32::try_from(nth).unwrap()));
    }
    plan
}

#[tokio::test]
async fn b03_a_fault_at_any_call_of_the_closing_ends_in_the_release_or_in_the_payment() {
    let plan = closing_plan().await;
    assert!(
        plan.iter().any(|(call, _)| call.ends_with("/expire")),
        "{plan:?}"
    );
    for (operation, nth) in plan {
        for fault in FaultKind::ALL {
            for pays in [true, false] {
                let what = format!("{operation} {nth} {fault:?} {pays}");
                let (town, booked, led) = with_an_open_page().await;
                if pays {
                    mischief(&town, &json!({"delay_s": 600}));
                    assert_eq!(town.pay_session(&led, CARD).0, 200, "{what}");
                }
                let rule = FaultRule::once(CASHIER, &operation, fault);
                town.fleet.cloud.faults().add(rule.nth(nth).times(3));
                minutes(&town, 1).await;
                town.fleet.cloud.faults().clear();
                minutes(&town, 40).await;
                assert_no_cases(&town);
                if pays {
                    assert_stands(&town, &booked);
                } else {
                    assert_eq!(town.state(&booked), "RELEASED", "{what}");
                    let page = &town.fleet.sandbox.ledger()["sessions"][0];
                    assert_eq!(page["status"], "expired", "{what}");
                    assert_eq!(told_after_the_reminder(&town), ["released"], "{what}");
                }
                town.assert_money_is_accounted_for();
            }
        }
    }
}
