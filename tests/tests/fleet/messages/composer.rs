//! At most one text for each booking and kind, whatever is repeated, late, lost or refused.

use fleet_tests::{PHONE_E164, Town};
use futures::future::join_all;
use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::messages::support::*;

const COMPOSER: &str = "bdc-composer";

#[tokio::test]
async fn a_job_that_comes_twice_is_one_text() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = queue_event(&[job(&town, &booked, "deposit_request")]);
    for _ in 0..2 {
        let reply = town.fleet.cloud.invoke(COMPOSER, event.clone()).await;
        assert_eq!(failed_ids(&reply.unwrap()), Vec::<&str>::new());
    }
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(
        ledger(&town, &booked, "deposit_request"),
        ["1-intent", "2-sent"]
    );
}

#[tokio::test]
async fn a_job_that_comes_twice_in_one_batch_is_one_text() {
    let town = Town::new();
    let booked = town.book(&town.wish()).await;
    let job = job(&town, &booked, "deposit_request");
    let event = queue_event(&[job.as_str(), job.as_str(), job.as_str()]);
    let reply = town.fleet.cloud.invoke(COMPOSER, event).await.unwrap();
    assert_eq!(failed_ids(&reply), Vec::<&str>::new());
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn a_job_that_comes_late_says_nothing_that_is_no_longer_so() {
    let town = Town::new();
    let [cancelled, confirmed] = [
        wish_at(&town, "table-4", "2026-07-11T18:00"),
        wish_at(&town, "table-5", "2026-07-11T18:00"),
    ];
    let cancelled = town.book(&cancelled).await;
    let confirmed = town.book(&confirmed).await;
    let by_customer = json!({"by": "customer", "reason": "ill"});
    let answer = town.staff(&cancelled, "cancel", &by_customer).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let paid = fleet_tests::deposit_paid(&town, &confirmed, "evt_late", "pi_late");
    assert_eq!(town.webhook(&paid).await.status, 200);
    town.settle().await;
    let mut kinds = town.kinds();
    kinds.sort();
    assert_eq!(kinds, ["cancelled", "confirmation"]);
    assert_eq!(
        ledger(&town, &cancelled, "deposit_request"),
        Vec::<String>::new()
    );

    let answer = town.staff(&confirmed, "cancel", &by_customer).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    town.settle().await;
    let old = queue_event(&[
        job(&town, &confirmed, "deposit_request"),
        job(&town, &confirmed, "confirmation"),
    ]);
    let reply = town.fleet.cloud.invoke(COMPOSER, old).await.unwrap();
    assert_eq!(failed_ids(&reply), Vec::<&str>::new());
    assert_eq!(
        town.texts().len(),
        3,
        "the second cancellation, and no more"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_that_is_done_beside_itself_is_one_text() {
    let town = Town::new();
    for (round, starts_at) in times().enumerate() {
        let booked = town.book(&wish_at(&town, "table-4", &starts_at)).await;
        let event = queue_event(&[job(&town, &booked, "deposit_request")]);
        let racers = (0..8).map(|_| {
            let (cloud, event) = (town.fleet.cloud.clone(), event.clone());
            tokio::spawn(async move { cloud.invoke(COMPOSER, event).await })
        });
        for raced in join_all(racers).await {
            raced.unwrap().unwrap();
        }
        assert_eq!(town.texts().len(), round + 1, "round {round}");
        assert_eq!(
            ledger(&town, &booked, "deposit_request"),
            ["1-intent", "2-sent"]
        );
    }
    town.settle().await;
    assert_eq!(town.texts().len(), times().count());
    assert_eq!(town.cases(), Vec::<String>::new());
}

#[tokio::test]
async fn a_moved_booking_is_told_of_each_move_once() {
    let town = Town::new();
    let booked = town.confirmed().await;
    for starts_at in ["2026-07-11T18:00", "2026-07-11T16:00"] {
        let answer = town
            .staff(&booked, "reschedule", &json!({"starts_at": starts_at}))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        town.settle().await;
    }
    let rows = outbox_of(&town, &booked);
    let event = queue_event(&rows.iter().map(message_of).collect::<Vec<_>>());
    town.fleet.cloud.invoke(COMPOSER, event).await.unwrap();
    let moves = town.kinds();
    let moves = moves.iter().filter(|kind| *kind == "rescheduled");
    assert_eq!(moves.count(), 2);
}

#[tokio::test]
async fn a_text_that_the_service_refused_is_tried_again_and_sent_once() {
    let town = Town::new();
    let refused = FaultRule::once(COMPOSER, "Publish", FaultKind::Throttled).times(3);
    town.fleet.cloud.faults().add(refused);
    let booked = town.pending().await;
    assert_eq!(town.texts(), []);
    assert_eq!(
        ledger(&town, &booked, "deposit_request"),
        ["1-intent", "2-failed"]
    );
    town.advance(redelivery() * 4).await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(waiting(&town, "bdc-jobs-dlq"), Vec::<String>::new());
    let ends = ledger(&town, &booked, "deposit_request");
    assert_eq!(ends.last().unwrap(), "2-sent", "{ends:?}");
}

#[tokio::test]
async fn a_text_that_was_refused_five_times_waits_for_a_person_and_is_sent_when_it_is_redriven() {
    let town = Town::new();
    let refused = FaultRule::once(COMPOSER, "Publish", FaultKind::Throttled).times(5);
    town.fleet.cloud.faults().add(refused);
    town.pending().await;
    town.advance(all_redeliveries()).await;
    assert_eq!(town.texts(), []);
    let dead = waiting(&town, "bdc-jobs-dlq");
    assert_eq!(dead.len(), 1);
    send(&town, "bdc-jobs", &dead[0]).await;
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn a_send_that_was_not_answered_is_never_sent_again_and_becomes_one_case() {
    let (sent, unsent) = (1, 0);
    for (fault, texts) in [
        (FaultKind::AnswerLost, sent),
        (FaultKind::Slow, sent),
        (FaultKind::CrashAfter, sent),
        (FaultKind::NotSent, unsent),
        (FaultKind::InternalError, unsent),
        (FaultKind::CrashBefore, unsent),
    ] {
        let town = Town::new();
        let rule = FaultRule::once(COMPOSER, "Publish", fault);
        town.fleet.cloud.faults().add(rule);
        let booked = town.pending().await;
        assert_eq!(town.cases(), Vec::<String>::new(), "{fault:?}: not yet");
        town.advance(all_redeliveries()).await;
        assert_eq!(town.texts().len(), texts, "{fault:?}");
        assert_eq!(town.cases(), ["unanswered_send"], "{fault:?}");
        assert_eq!(town.mails().len(), 1, "{fault:?}");
        assert_eq!(
            ledger(&town, &booked, "deposit_request"),
            ["1-intent", "2-unanswered"],
            "{fault:?}"
        );
        let job = queue_event(&[job(&town, &booked, "deposit_request")]);
        town.fleet.cloud.invoke(COMPOSER, job).await.unwrap();
        assert_eq!(town.texts().len(), texts, "{fault:?}: and never again");
    }
}

#[tokio::test]
async fn the_sms_client_never_repeats_a_call_by_itself() {
    for fault in [
        FaultKind::NotSent,
        FaultKind::AnswerLost,
        FaultKind::Throttled,
        FaultKind::InternalError,
    ] {
        let town = Town::new();
        let rule = FaultRule::once(COMPOSER, "Publish", fault).times(9);
        town.fleet.cloud.faults().add(rule);
        town.pending().await;
        let calls = town.calls(COMPOSER);
        let published = calls.iter().filter(|call| *call == "Publish");
        assert_eq!(published.count(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_job_that_can_not_be_done_ends_in_the_dead_letters_and_stops_none_behind_it() {
    let town = Town::new();
    send(&town, "bdc-jobs", "not json").await;
    let unknown = json!({
        "event_id": "01JZZZZZZZZZZZZZZZZZZZZZZZ", "type": "message.compose", "schema_version": 1,
        "aggregate": "booking#bkg_none", "occurred_at": "2026-07-09T12:00:00Z",
        "payload": {"booking_id": "bkg_none", "kind": "reminder", "occasion": "reminder"},
    });
    send(&town, "bdc-jobs", &unknown.to_string()).await;
    town.pending().await;
    assert_eq!(town.kinds(), ["deposit_request"], "behind both, and sent");
    town.advance(redelivery() * 4).await;
    assert_eq!(waiting(&town, "bdc-jobs-dlq"), Vec::<String>::new());
    town.advance(redelivery() * 2).await;
    let mut dead = waiting(&town, "bdc-jobs-dlq");
    dead.sort();
    assert_eq!(dead, ["not json".to_owned(), unknown.to_string()].sorted());
    assert_eq!(waiting(&town, "bdc-jobs"), Vec::<String>::new());
    assert_eq!(town.texts().len(), 1);
}

trait Sorted {
    fn sorted(self) -> Self;
}

impl Sorted for [String; 2] {
    fn sorted(mut self) -> Self {
        self.sort();
        self
    }
}

/// Only between the call and its record is it not known whether a text went out.
fn may_be_both(rule: &FaultRule) -> bool {
    let operation = rule.operation.as_deref();
    operation == Some("Publish") || (operation == Some("TransactWriteItems") && rule.nth == 2)
}

#[tokio::test]
async fn any_fault_at_any_call_ends_in_one_text_or_one_case() {
    let calls = {
        let town = Town::new();
        town.pending().await;
        town.calls(COMPOSER)
    };
    assert_eq!(
        calls,
        [
            "Query",
            "GetItem",
            "Converse",
            "GetSecretValue",
            "GetSecretValue",
            "CheckIfPhoneNumberIsOptedOut",
            "GetSecretValue",
            "GetSecretValue",
            "TransactWriteItems",
            "Publish",
            "TransactWriteItems"
        ]
    );
    for rule in every_fault(COMPOSER, calls) {
        let town = Town::new();
        town.fleet.cloud.faults().add(rule.clone());
        let booked = town.pending().await;
        town.advance(all_redeliveries()).await;
        assert_struck(&town, &rule);
        let (texts, cases) = (town.texts(), town.cases());
        assert!(texts.len() <= 1, "{rule:?}: {texts:?}");
        assert!(cases.len() <= 1, "{rule:?}: {cases:?}");
        match texts.len() + cases.len() {
            1 => {}
            2 => assert!(
                may_be_both(&rule),
                "{rule:?}: a case for a text that was sent"
            ),
            _ => panic!("{rule:?}: the message was lost in silence"),
        }
        for queue in ["bdc-jobs", "bdc-handovers", "bdc-jobs-dlq", "bdc-relay-dlq"] {
            assert_eq!(waiting(&town, queue), Vec::<String>::new(), "{rule:?}");
        }
        assert_eq!(pending(&town), Vec::<serde_json::Value>::new(), "{rule:?}");
        for text in texts {
            assert_eq!(text.to, PHONE_E164);
            assert!(text.text.ends_with(booked.pay_url()), "{rule:?}");
        }
    }
}
