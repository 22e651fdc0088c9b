//! B13 under faults: every call of the cashier's refund goes wrong in every way, and the provider
//! gives the money back exactly once.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet::FleetOptions;
use fleet_tests::{Booked, CARD, NOON, Town};
use http::{Request, Response};
use local_cloud::{Delivery, FaultKind, FaultRule, Neighbour};
use sandbox::Sandbox;
use serde_json::{Value, json};

use crate::hard_cases::support::{
    CASHIER, assert_no_cases, assert_refunded_once, cashier_job, refunds_of, staff, sweep,
    try_to_deliver,
};

const CREATE: &str = "POST /v1/refunds";
const LIST: &str = "GET /v1/refunds";
/// As often as anything is tried in one invocation.
const ALL_TRIES: u32 = 12;

/// A booking that the business has just called off; the order to refund it has not left yet. The
/// provider's own events of it stay there.
async fn called_off(town: &Town) -> (Booked, String) {
    let booked = town.pending().await;
    let payment = town.pay(&booked, CARD).await;
    town.settle().await;
    town.withhold_events(true);
    let order = json!({"by": "business"});
    assert_eq!(town.staff(&booked, "cancel", &order).await.status, 200);
    (booked, payment)
}

/// All faults are over, and time passes until the sweep has looked up what is open.
async fn let_it_end(town: &Town) {
    town.fleet.cloud.faults().clear();
    town.settle().await;
    for _ in 0..3 {
        town.advance(Duration::minutes(31)).await;
    }
}

fn assert_ended_well(town: &Town, payment: &str, what: &str) {
    assert_eq!(
        refunds_of(town, payment),
        [(2000, "succeeded".to_owned())],
        "{what}"
    );
    let row = town.payment(payment);
    let refunds = row["refunds"].as_object().unwrap();
    assert_eq!(refunds.len(), 1, "{what}");
    assert_eq!(refunds.values().next().unwrap()["progress"], "succeeded");
    assert_no_cases(town);
    town.assert_money_is_accounted_for();
}

/// The calls of a cold cashier's refund in a run without faults, with their count so far.
async fn plan() -> Vec<(String, u32)> {
    let town = Town::new();
    let (_, payment) = called_off(&town).await;
    town.forget_calls();
    town.settle().await;
    assert_refunded_once(&town, &payment, 2000);
    let mut plan: Vec<(String, u32)> = Vec::new();
    for call in town.calls(CASHIER) {
        // The queue's own calls are not the function's.
        if call == "ReceiveMessage" || call == "DeleteMessage" {
            continue;
        }
        let nth = plan.iter().filter(|(known, _)| *known == call).count() + 1;
        plan.push((call, u32::try_from(nth).unwrap()));
    }
    plan
}

#[tokio::test]
async fn b13_a_fault_at_any_call_of_a_refund_gives_the_money_back_once() {
    let plan = plan().await;
    assert!(plan.iter().any(|(call, _)| call == CREATE), "{plan:?}");
    for (operation, nth) in plan {
        for fault in FaultKind::ALL {
            let what = format!("{operation} {nth} {fault:?}");
            let town = Town::new();
            let (_, payment) = called_off(&town).await;
            let times = match fault {
                FaultKind::Slow
                | FaultKind::CrashBefore
                | FaultKind::CrashAfter
                | FaultKind::Late
                | FaultKind::FailedEntries
                | FaultKind::Paused
                | FaultKind::ThrottledThrough => 1,
                FaultKind::NotSent
                | FaultKind::AnswerLost
                | FaultKind::Throttled
                | FaultKind::Conflict
                | FaultKind::InternalError => ALL_TRIES,
            };
            let rule = FaultRule::once(CASHIER, &operation, fault);
            town.fleet.cloud.faults().add(rule.nth(nth).times(times));
            town.settle().await;
            let_it_end(&town).await;
            assert_ended_well(&town, &payment, &what);
        }
    }
}

#[tokio::test]
async fn b13_two_deliveries_of_one_refund_at_once_refund_once() {
    for turns in 0..8 {
        let town = Town::new();
        let (_, payment) = called_off(&town).await;
        // The job is not delivered by its queue: the story delivers it, twice.
        town.fleet
            .cloud
            .faults()
            .add(FaultRule::once(CASHIER, "GetItem", FaultKind::CrashBefore).times(1));
        town.settle().await;
        town.fleet.cloud.faults().clear();
        let job = cashier_job(&town, "refund");
        let mut slow = Box::pin(try_to_deliver(&town, &job));
        let mut ended = None;
        for _ in 0..turns * 25 {
            if let std::task::Poll::Ready(done) = futures::poll!(&mut slow) {
                ended = Some(done);
                break;
            }
            tokio::task::yield_now().await;
        }
        let fast = try_to_deliver(&town, &job).await;
        let slow = match ended {
            Some(done) => done,
            None => slow.await,
        };
        assert!(fast.is_some() && slow.is_some());
        let_it_end(&town).await;
        assert_ended_well(&town, &payment, &format!("{turns}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b13_twenty_deliveries_of_one_refund_beside_the_sweep_refund_once() {
    for _ in 0..3 {
        let town = Town::new();
        let (_, payment) = called_off(&town).await;
        let strike = FaultRule::once(CASHIER, CREATE, FaultKind::NotSent).times(ALL_TRIES);
        town.fleet.cloud.faults().add(strike);
        town.settle().await;
        town.fleet.cloud.faults().clear();
        let town = Arc::new(town);
        let job = cashier_job(&town, "refund");
        let mut tasks = Vec::new();
        for number in 0..20 {
            let (town, job) = (Arc::clone(&town), job.clone());
            tasks.push(tokio::spawn(async move {
                if number % 5 == 0 {
                    sweep(&town, CASHIER).await;
                } else {
                    try_to_deliver(&town, &job).await;
                }
            }));
        }
        for task in futures::future::join_all(tasks).await {
            task.unwrap();
        }
        let_it_end(&town).await;
        assert_ended_well(&town, &payment, "twenty");
    }
}

#[tokio::test]
async fn bug_d12_a_refund_that_was_not_answered_for_longer_than_keys_live_is_looked_up_first() {
    for (fault, made_at_first) in [(FaultKind::AnswerLost, 1), (FaultKind::NotSent, 0)] {
        let town = Town::new();
        let (_, payment) = called_off(&town).await;
        let faults = town.fleet.cloud.faults();
        faults.add(FaultRule::once(CASHIER, CREATE, fault).times(ALL_TRIES));
        faults.add(FaultRule::once(CASHIER, "GET /v1/refunds*", FaultKind::NotSent).times(10_000));
        town.settle().await;
        assert_eq!(town.refunds().len(), made_at_first);
        // The provider forgets keys after 24 hours; a person hears of it by then.
        town.advance(Duration::hours(30)).await;
        assert_eq!(town.cases(), ["refund_unanswered"]);
        assert_eq!(town.refunds().len(), made_at_first, "nothing blindly");
        town.fleet.cloud.faults().clear();
        town.advance(Duration::hours(7)).await;
        assert_refunded_once(&town, &payment, 2000);
        assert_eq!(town.payment(&payment)["due_at"], Value::Null);
        town.assert_money_is_accounted_for();
    }
}

/// A provider that answers a call with an error of its own, after or before it did what was asked.
struct Moody {
    sandbox: Arc<Sandbox>,
    mood: Mutex<Option<(u16, bool)>>,
}

const MOODY_URL: &str = "http://provider.example/moody";

impl Moody {
    fn town() -> (Town, Arc<Self>) {
        let mut options = FleetOptions::starting(NOON.parse().unwrap());
        let url = ("ProviderUrl".to_owned(), MOODY_URL.to_owned());
        options.parameters.extend([url]);
        let town = Town::with(options);
        let moody = Arc::new(Self {
            sandbox: Arc::clone(&town.fleet.sandbox),
            mood: Mutex::default(),
        });
        town.fleet
            .cloud
            .attach(Arc::clone(&moody) as Arc<dyn Neighbour>);
        (town, moody)
    }
}

impl Neighbour for Moody {
    fn base_url(&self) -> &str {
        MOODY_URL
    }

    fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        let is_refund = request.method() == "POST" && request.uri().path() == "/v1/refunds";
        match *self.mood.lock().unwrap() {
            Some((status, does_it)) if is_refund => {
                if does_it {
                    self.sandbox.call(request, now);
                }
                let body = json!({"error": {"type": "api_error", "message": "oops"}});
                let mut answer = Response::new(Bytes::from(body.to_string()));
                *answer.status_mut() = status.try_into().unwrap();
                answer
            }
            _ => self.sandbox.call(request, now),
        }
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        None
    }

    fn take_due(&self, _: DateTime<Utc>) -> Vec<Delivery> {
        Vec::new()
    }

    fn delivered(&self, _: &str, _: u16, _: DateTime<Utc>) {}
}

#[tokio::test]
async fn b13_an_error_of_the_provider_is_no_answer_whether_it_refunded_or_not() {
    for status in [500, 502, 503, 504, 409, 429, 401, 403] {
        for does_it in [true, false] {
            let what = format!("{status} {does_it}");
            let (town, moody) = Moody::town();
            let (_, payment) = called_off(&town).await;
            *moody.mood.lock().unwrap() = Some((status, does_it));
            town.settle().await;
            assert_eq!(town.refunds().len(), usize::from(does_it), "{what}");
            assert_no_cases(&town);
            *moody.mood.lock().unwrap() = None;
            let_it_end(&town).await;
            assert_ended_well(&town, &payment, &what);
        }
    }
}

#[tokio::test]
async fn b13_a_clear_no_of_the_provider_is_one_case_and_asked_for_no_more() {
    let (town, moody) = Moody::town();
    let (booked, payment) = called_off(&town).await;
    *moody.mood.lock().unwrap() = Some((400, false));
    town.settle().await;
    *moody.mood.lock().unwrap() = None;
    assert_eq!(town.cases(), ["refund_failed"]);
    let job = cashier_job(&town, "refund");
    for _ in 0..2 {
        assert_eq!(try_to_deliver(&town, &job).await, Some(true));
        sweep(&town, CASHIER).await;
    }
    town.settle().await;
    assert_eq!(refunds_of(&town, &payment), []);
    assert_eq!(town.mails().len(), 1);
    assert_eq!(town.state(&booked), "CANCELLED");
    town.assert_money_is_accounted_for();
    // The team does it by hand: known, and nothing more is to come.
    town.withhold_events(false);
    town.refund_by_hand(&payment, None);
    town.settle().await;
    assert_refunded_once(&town, &payment, 2000);
    assert_eq!(town.cases(), ["refund_failed"]);
}

#[tokio::test]
async fn b13_the_webhook_may_come_between_the_intent_and_the_answer() {
    // The answer is lost, the webhook tells, and the job comes again.
    let town = Town::new();
    let (booked, payment) = called_off(&town).await;
    town.withhold_events(false);
    let lost = FaultRule::once(CASHIER, CREATE, FaultKind::AnswerLost).times(ALL_TRIES);
    town.fleet.cloud.faults().add(lost);
    town.settle().await;
    town.fleet.cloud.faults().clear();
    let job = cashier_job(&town, "refund");
    town.forget_calls();
    assert_eq!(try_to_deliver(&town, &job).await, Some(true));
    let asked: Vec<String> = town.calls(CASHIER);
    assert!(
        !asked.iter().any(|call| call == CREATE || call == LIST),
        "{asked:?}"
    );
    let_it_end(&town).await;
    assert_ended_well(&town, &payment, "told by the webhook");
    staff_cannot_refund_again(&town, &booked).await;
}

async fn staff_cannot_refund_again(town: &Town, booked: &Booked) {
    let order = json!({"reason": "again"});
    let answer = town.staff(booked, "refund", &order).await;
    assert!(
        answer.status == 200 || answer.status == 409,
        "{}",
        answer.text
    );
    town.settle().await;
    assert_eq!(town.refunds().len(), 1);
    let cancel = json!({"by": "business"});
    staff(town, booked, "cancel", &cancel).await;
    assert_eq!(town.refunds().len(), 1);
}
