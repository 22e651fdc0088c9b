//! Reports of refunds and disputes, and the cashier's lookups: under faults, twice, late, and beside
//! each other, whoever is first.

use chrono::Duration;
use fleet_tests::{Booked, CARD, Town};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::hard_cases::support::{
    CASHIER, assert_no_cases, assert_refunded_once, assert_stands, cashier_job, staff, sweep, take,
    told, try_to_deliver, weave,
};

const WEBHOOK: &str = "bdc-webhook";

/// A confirmed booking of whose payment a part was refunded by hand and all is disputed, and none of
/// that is heard of yet. Returns the two events.
async fn untold() -> (Town, Booked, String, [Value; 2]) {
    let town = Town::new();
    let booked = town.pending().await;
    let payment = town.pay(&booked, CARD).await;
    town.settle().await;
    town.withhold_events(true);
    town.refund_by_hand(&payment, Some(300));
    town.dispute(&payment, true);
    town.withhold_events(false);
    let events = ["refund.created", "charge.dispute.created"].map(|kind| told(&town, kind));
    town.forget_calls();
    (town, booked, payment, events)
}

fn assert_both_known(town: &Town, booked: &Booked, payment: &str, what: &str) {
    assert_stands(town, booked);
    let row = town.row(booked);
    assert_eq!(row["payments"][0]["returned"]["amount"], 300, "{what}");
    assert_eq!(row["disputes"].as_object().unwrap().len(), 1, "{what}");
    let known = town.payment(payment);
    assert_eq!(known["refunds"].as_object().unwrap().len(), 1, "{what}");
    assert_eq!(known["disputes"].as_object().unwrap().len(), 1, "{what}");
    assert_eq!(town.cases(), ["disputed"], "{what}");
    town.assert_money_is_accounted_for();
}

/// Posts an event as the provider does: again, until it is taken.
async fn redeliver(town: &Town, event: &Value) {
    for _ in 0..16 {
        let status = town.webhook(event).await.status;
        if status == 200 {
            return;
        }
        assert!(status >= 500, "only our own failures: {status}");
    }
    panic!("never taken");
}

#[tokio::test]
async fn a_fault_at_any_call_of_a_report_is_made_good_when_it_comes_again() {
    let (town, booked, payment, [refund, dispute]) = untold().await;
    take(&town, &refund).await;
    let mut plan: Vec<(String, u32)> = Vec::new();
    for call in town.calls(WEBHOOK) {
        let nth = plan.iter().filter(|(known, _)| *known == call).count() + 1;
        plan.push((call, u32::try_from(nth).unwrap()));
    }
    take(&town, &dispute).await;
    assert_both_known(&town, &booked, &payment, "without faults");
    assert!(plan.iter().any(|(call, _)| call == "TransactWriteItems"));
    for (operation, nth) in plan {
        for fault in FaultKind::ALL {
            let what = format!("{operation} {nth} {fault:?}");
            let (town, booked, payment, [refund, dispute]) = untold().await;
            let rule = FaultRule::once(WEBHOOK, &operation, fault)
                .nth(nth)
                .times(3);
            town.fleet.cloud.faults().add(rule);
            redeliver(&town, &refund).await;
            town.fleet.cloud.faults().clear();
            town.settle().await;
            take(&town, &dispute).await;
            assert_both_known(&town, &booked, &payment, &what);
        }
    }
}

#[tokio::test]
async fn two_reports_of_one_payment_woven_at_every_call_are_both_taken_in() {
    for calls in 0.. {
        let (town, booked, payment, [refund, dispute]) = untold().await;
        let (slow, fast) = (town.webhook(&refund), town.webhook(&dispute));
        let (slow, fast, was_under_way) = weave(&town, WEBHOOK, calls, slow, fast).await;
        assert_eq!((slow.status, fast.status), (200, 200));
        town.settle().await;
        assert_both_known(&town, &booked, &payment, &format!("after {calls}"));
        if !was_under_way {
            assert!(calls >= 3, "{calls}");
            break;
        }
    }
}

#[tokio::test]
async fn one_report_delivered_twice_at_once_is_taken_in_once() {
    for calls in 0.. {
        let (town, booked, payment, [refund, dispute]) = untold().await;
        let (slow, fast) = (town.webhook(&refund), town.webhook(&refund));
        let (slow, fast, was_under_way) = weave(&town, WEBHOOK, calls, slow, fast).await;
        assert_eq!((slow.status, fast.status), (200, 200));
        take(&town, &dispute).await;
        take(&town, &refund).await;
        assert_both_known(&town, &booked, &payment, &format!("after {calls}"));
        if !was_under_way {
            break;
        }
    }
}

#[tokio::test]
async fn a_report_woven_with_the_payment_itself_is_not_lost() {
    for report_is_slow in [true, false] {
        for calls in 0.. {
            let town = Town::new();
            let booked = town.pending().await;
            town.withhold_events(true);
            let payment = town.pay(&booked, CARD).await;
            town.refund_by_hand(&payment, Some(300));
            town.dispute(&payment, true);
            town.withhold_events(false);
            let [completed, refund, dispute] = [
                "checkout.session.completed",
                "refund.created",
                "charge.dispute.created",
            ]
            .map(|kind| told(&town, kind));
            // Warm: the one that is slow holds no secret that the other waits for.
            let warm_up = json!({"id": "evt_0", "type": "foo", "created": 0, "livemode": false,
                "data": {"object": {}}});
            take(&town, &warm_up).await;
            town.forget_calls();
            let (slow, fast) = match report_is_slow {
                true => (town.webhook(&refund), town.webhook(&completed)),
                false => (town.webhook(&completed), town.webhook(&refund)),
            };
            let (slow, fast, was_under_way) = weave(&town, WEBHOOK, calls, slow, fast).await;
            assert_eq!((slow.status, fast.status), (200, 200));
            take(&town, &dispute).await;
            assert_both_known(&town, &booked, &payment, &format!("after {calls}"));
            if !was_under_way {
                break;
            }
        }
    }
}

#[tokio::test]
async fn reports_that_come_a_month_late_are_taken_in_and_move_nothing_back() {
    let town = Town::new();
    let booked = town.pending().await;
    let payment = town.pay(&booked, CARD).await;
    town.settle().await;
    let dispute = town.dispute(&payment, false);
    town.settle().await;
    let opened = told(&town, "charge.dispute.created");
    town.move_dispute(&dispute, "won");
    town.settle().await;
    let before = (town.row(&booked), town.payment(&payment));
    town.advance(Duration::hours(30)).await;
    let mut again = opened;
    again["id"] = json!("evt_months_late");
    take(&town, &again).await;
    assert_eq!(town.row(&booked)["disputes"], before.0["disputes"]);
    assert_eq!(town.payment(&payment), before.1);
}

/// A booking that was called off, whose refund was asked for and not answered.
async fn unanswered() -> (Town, Booked, String) {
    let town = Town::new();
    let booked = town.pending().await;
    let payment = town.pay(&booked, CARD).await;
    town.settle().await;
    town.withhold_events(true);
    let lost = FaultRule::once(CASHIER, "POST /v1/refunds", FaultKind::AnswerLost).times(12);
    town.fleet.cloud.faults().add(lost);
    staff(&town, &booked, "cancel", &json!({"by": "business"})).await;
    town.fleet.cloud.faults().clear();
    town.withhold_events(false);
    town.advance(Duration::minutes(14)).await;
    let row = town.payment(&payment);
    assert!(row["due_at"].is_string(), "to be looked up: {row}");
    town.forget_calls();
    (town, booked, payment)
}

fn assert_made_once(town: &Town, payment: &str, what: &str) {
    assert_refunded_once(town, payment, 2000);
    let row = town.payment(payment);
    let refunds = row["refunds"].as_object().unwrap();
    assert_eq!(refunds.len(), 1, "{what}");
    assert_eq!(refunds.values().next().unwrap()["progress"], "succeeded");
    assert_no_cases(town);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn the_cashiers_sweep_woven_with_the_webhook_its_job_or_another_sweep_notes_one_refund() {
    for beside in ["webhook", "job", "sweep"] {
        for calls in 0.. {
            let (town, _, payment) = unanswered().await;
            town.advance(Duration::minutes(2)).await;
            let report = told(&town, "refund.created");
            let job = cashier_job(&town, "refund");
            let fast = async {
                match beside {
                    "webhook" => assert_eq!(town.webhook(&report).await.status, 200),
                    "job" => assert_eq!(try_to_deliver(&town, &job).await, Some(true)),
                    _ => assert_eq!(sweep(&town, CASHIER).await["failed"], 0),
                }
            };
            let slow = sweep(&town, CASHIER);
            let (swept, (), was_under_way) = weave(&town, CASHIER, calls, slow, fast).await;
            assert_eq!(swept["failed"], 0);
            town.settle().await;
            assert_made_once(&town, &payment, &format!("{beside} after {calls}"));
            if !was_under_way {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_lookup_that_comes_twice_or_late_changes_nothing_more() {
    let (town, _, payment) = unanswered().await;
    town.advance(Duration::hours(2)).await;
    assert_made_once(&town, &payment, "by the sweep of the schedule");
    let before = town.payment(&payment);
    for _ in 0..2 {
        assert_eq!(sweep(&town, CASHIER).await["looked_at"], 0);
        town.advance(Duration::hours(1)).await;
    }
    assert_eq!(town.payment(&payment), before);
}

#[tokio::test]
async fn a_report_that_is_not_what_its_type_says_comes_again_and_one_of_no_payment_is_ignored() {
    let (town, booked, payment, [refund, dispute]) = untold().await;
    let before = (town.row(&booked), town.payment(&payment), town.events());
    // What we can't read yet may be news: it comes again. A sum that makes no sense, or in a
    // currency that we don't take, is no deposit's.
    let (again, ignored) = ((500, "unreadable_report"), (200, ""));
    for (event, field, value, expected) in [
        (&refund, "amount", json!("300"), again),
        (&refund, "status", json!("something_new"), again),
        (&dispute, "status", json!("something_new"), again),
        (&dispute, "amount", Value::Null, again),
        (&refund, "amount", json!(-300), ignored),
        (&refund, "currency", json!("gold"), ignored),
    ] {
        let mut odd = event.clone();
        odd["id"] = json!(format!("evt_odd_{field}"));
        odd["data"]["object"][field] = value;
        let answer = town.webhook(&odd).await;
        assert_eq!((answer.status, answer.code().as_str()), expected, "{field}");
    }
    for event in [&refund, &dispute] {
        let mut other = event.clone();
        other["id"] = json!("evt_other");
        other["data"]["object"]["payment_intent"] = Value::Null;
        assert_eq!(town.webhook(&other).await.status, 200);
    }
    town.settle().await;
    let after = (town.row(&booked), town.payment(&payment), town.events());
    assert_eq!(after, before);
    for event in [&refund, &dispute] {
        take(&town, event).await;
    }
    assert_both_known(&town, &booked, &payment, "afterwards");
}
