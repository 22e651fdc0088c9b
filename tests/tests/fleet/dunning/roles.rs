//! The roles of dunning in use: nothing is denied that is needed, nothing is allowed that is not.

use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use chrono::TimeDelta;
use fleet_tests::{Subscriber, Town, dunning_policy};
use local_cloud::{FaultKind, FaultRule, MailFate};
use serde_json::json;

use crate::dunning::support::{GOOD_CARD, MONDAY, OTHER_CARD};

/// Whose mail came back.
const RETURNED: &str = "bartholomew";

/// Each call of an operation takes its function with it, from now on.
fn fault(town: &Town, function: &str, operation: &str) {
    let rule = FaultRule::once(function, operation, FaultKind::CrashBefore);
    town.fleet.cloud.faults().add(rule.times(u32::MAX));
}

/// A subscriber whose renewal failed, with an address that no other mail came back from.
async fn failed(town: &Town, name: &str) -> Subscriber {
    let wish = json!({"card": GOOD_CARD, "email": format!("{name}@mail.example")});
    let who = town.subscriber_with(wish).await;
    town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    who
}

/// The only date, the pause, another card by the link of the mail, a receipt.
async fn to_the_receipt(town: &Town) -> Subscriber {
    let who = failed(town, "philomena").await;
    town.advance_to_retry(&who).await;
    town.advance_to_retry(&who).await;
    assert_eq!(town.dunning(&who)["status"], "paused");
    let mut mails = town.dunning_mails().into_iter();
    let paused = mails.rfind(|mail| mail.kind == "paused").unwrap();
    let page = town
        .open_card_link("GET", paused.card_link().unwrap())
        .await;
    assert_eq!(page.status, 200, "{}", page.text);
    let fresh = paused.card_link().unwrap().replace('?', "/fresh?");
    assert_eq!(town.open_card_link("POST", &fresh).await.status, 200);
    town.settle().await;
    let fresh = town.dunning_mails().pop().unwrap();
    assert_eq!(fresh.kind, "fresh_link");
    town.update_card_by_link(&fresh, OTHER_CARD).await;
    town.advance(TimeDelta::minutes(2)).await;
    assert_eq!(town.dunning(&who)["status"], "recovered");
    who
}

/// The team shuts a subscriber out, and lets the system decide again.
async fn ordered_by_hand(town: &Town, who: &Subscriber) {
    for (order, access) in [
        ("pause", "paused"),
        ("restore", "granted"),
        ("release", "granted"),
    ] {
        let answer = town.order_access(who, order).await;
        assert_eq!(answer.status, 200, "{order}: {}", answer.text);
        assert_eq!(town.gate(who).await.json()["access"], access, "{order}");
    }
}

/// A mail that comes back, and one that is complained about by whom nobody else can be written to.
async fn mails_come_back(town: &Town) {
    for (name, fate) in [
        (RETURNED, MailFate::BouncedForGood),
        ("clementine", MailFate::Complained),
    ] {
        let who = failed(town, name).await;
        town.advance_to_retry(&who).await;
        let mail = town.dunning_mails().pop().unwrap();
        assert_eq!(town.fleet.cloud.decide_mail(&mail.id, fate), 1);
        town.settle().await;
        paid_elsewhere(town, &who).await;
    }
}

/// A subscriber who could not be written to even before their first mail.
async fn nobody_to_write_to(town: &Town) {
    let who = failed(town, RETURNED).await;
    town.advance_to_retry(&who).await;
    assert!(town.dunning(&who)["cases"]["nobody_to_write_to"].is_string());
    paid_elsewhere(town, &who).await;
}

/// The provider's own page takes the money: the schedule that waits is tidied away.
async fn paid_elsewhere(town: &Town, who: &Subscriber) {
    let invoice = town.latest_invoice(who);
    town.control(
        &format!("invoices/{invoice}/pay"),
        &json!({"card": OTHER_CARD}),
    );
    town.settle().await;
    assert_eq!(town.next_retry(who), None);
    assert_eq!(town.dunning(who)["status"], "recovered");
}

/// Somebody else's schedule bears the name that the first plan's will have.
async fn odd_schedule(town: &Town) {
    let who = town.subscriber(GOOD_CARD).await;
    let setup = town.fleet.cloud.setup("dunr-scheduler").unwrap();
    let setting = |name: &str| setup.environment.text(name);
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
    let target = Target::builder()
        .arn(setting("RETRIER_ARN"))
        .role_arn(setting("SCHEDULES_ROLE_ARN"))
        .input(r#"{"subscription_id":"sub_other","n":9}"#);
    let client = lambda_kit::client!(aws_sdk_scheduler, &town.fleet.cloud.operator());
    let foreign = client
        .create_schedule()
        .group_name("dunr")
        .name(format!("dunr-retry-{}-1", who.subscription_id))
        .schedule_expression("at(2027-12-01T00:00:00)")
        .flexible_time_window(window.build().unwrap())
        .target(target.build().unwrap());
    foreign.send().await.unwrap();
    town.fail_renewal(&who, "lost_card");
    town.settle().await;
    town.advance_to_retry(&who).await;
    assert_eq!(town.dunning(&who)["status"], "retrying");
}

fn is_empty(town: &Town, queue: &str) -> bool {
    town.fleet.cloud.queues()[queue]
        .as_array()
        .unwrap()
        .is_empty()
}

/// Lets minutes go by until something is given up.
async fn until_given_up(town: &Town, queue: &str) {
    for _ in 0..150 {
        if !is_empty(town, queue) {
            return town.fleet.cloud.faults().clear();
        }
        town.advance(TimeDelta::minutes(1)).await;
    }
    panic!("nothing is in {queue}");
}

/// A row that the stream gives up on, a retry and a notification that Lambda gives up on.
async fn given_up(town: &Town) {
    fault(town, "dunr-relay", "SendMessageBatch");
    let who = failed(town, "gwendoline").await;
    until_given_up(town, "dunr-relay-dlq").await;
    // The relay's sweep brings the order to plan, later.
    for _ in 0..30 {
        if town.next_retry(&who).is_none() {
            town.advance(TimeDelta::minutes(1)).await;
        }
    }
    fault(town, "dunr-retrier", "GetItem");
    town.advance_to_retry(&who).await;
    until_given_up(town, "dunr-schedules-dlq").await;
    let mail = town.dunning_mails().pop().unwrap();
    fault(town, "dunr-feedback", "TransactWriteItems");
    town.fleet
        .cloud
        .decide_mail(&mail.id, MailFate::BouncedForGood);
    until_given_up(town, "dunr-feedback-dlq").await;
}

/// One date is enough for all that a role may do.
fn town_with_one_date() -> Town {
    let policy = dunning_policy(|policy| policy["terms"]["gaps_business_days"] = json!([1]));
    Town::with_dunning_policy(MONDAY, policy)
}

#[tokio::test]
async fn every_permission_of_dunning_is_used_and_none_is_missing() {
    let town = town_with_one_date();
    odd_schedule(&town).await;
    mails_come_back(&town).await;
    nobody_to_write_to(&town).await;
    given_up(&town).await;
    let who = to_the_receipt(&town).await;
    ordered_by_hand(&town, &who).await;
    // The first Monday of the month: the summary is told, and the sweep was there every morning.
    fault(&town, "dunr-sweep", "Query");
    fault(&town, "dunr-summary", "Query");
    town.advance_to("2026-12-07T09:30:00Z").await;
    town.fleet.cloud.faults().clear();
    // A start that failed each time is in the dead letters; an operator starts them again.
    for (function, kind) in [("dunr-sweep", "sweep"), ("dunr-summary", "summary")] {
        let again = town
            .fleet
            .cloud
            .invoke(function, json!({"kind": kind}))
            .await;
        assert!(again.is_ok(), "{function}");
    }
    town.settle().await;
    let mut mails = town.dunning_mails().into_iter();
    assert!(mails.any(|mail| mail.kind == "summary"));
    assert_eq!(town.fleet.cloud.denied(), []);
    let mut unused = town.fleet.cloud.unused_permissions();
    unused.retain(|permission| permission.starts_with("dunr-"));
    assert_eq!(unused, Vec::<String>::new());
}
