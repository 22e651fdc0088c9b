//! The whole course of one subscription, from a failed renewal to the receipt.

use chrono::TimeDelta;
use fleet_tests::{Subscriber, Town};

use crate::dunning::support::{OTHER_CARD, customers_mails, with_subscriber};

async fn access(town: &Town, who: &Subscriber) -> String {
    let answer = town.gate(who).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["access"].as_str().unwrap().to_owned()
}

/// Lets the look and every date of the calendar go by.
async fn until_paused(town: &Town, who: &Subscriber) -> Vec<String> {
    town.settle().await;
    town.advance_to_retry(who).await;
    let mut dates = Vec::new();
    for _ in 0..4 {
        assert_eq!(access(town, who).await, "granted", "until the last date");
        let due = town.next_retry(who).unwrap();
        dates.push(due.format("%a %d %b %H:%M").to_string());
        town.advance_to_retry(who).await;
    }
    dates
}

#[tokio::test]
async fn four_dates_four_mails_a_pause_and_by_the_mailed_link_one_charge_access_and_a_receipt() {
    let (town, who) = with_subscriber().await;
    let invoice = town.fail_renewal(&who, "insufficient_funds");
    let dates = until_paused(&town, &who).await;
    assert_eq!(
        dates,
        [
            "Tue 01 Dec 10:00",
            "Fri 04 Dec 10:00",
            "Wed 09 Dec 10:00",
            "Mon 14 Dec 10:00"
        ]
    );
    assert_eq!(town.dunning(&who)["status"], "paused");
    assert_eq!(access(&town, &who).await, "paused");
    let mails = customers_mails(&town);
    let kinds: Vec<_> = mails.iter().map(|mail| mail.kind.as_str()).collect();
    assert_eq!(kinds, ["failed", "failed", "failed", "failed", "paused"]);
    for (mail, day) in mails
        .iter()
        .zip(["1 December", "4 December", "9 December", "14 December"])
    {
        assert!(mail.text.contains(day), "{day} is in: {}", mail.text);
        assert!(mail.text.contains("£20.00"), "{}", mail.text);
    }
    assert!(
        !mails[4].text.contains("December"),
        "none follows: {}",
        mails[4].text
    );
    assert_eq!(town.schedules(), [], "nothing is planned any more");

    town.update_card_by_link(&mails[4], OTHER_CARD).await;
    town.advance(TimeDelta::minutes(2)).await;

    let at_provider = town.at_provider("invoices", &invoice);
    assert_eq!(
        at_provider["successful_charges"].as_array().unwrap().len(),
        1
    );
    assert_eq!(at_provider["failed_charges"].as_array().unwrap().len(), 5);
    assert_eq!(town.dunning(&who)["status"], "recovered");
    assert_eq!(access(&town, &who).await, "granted");
    let mails = customers_mails(&town);
    assert_eq!(mails.len(), 6);
    assert_eq!(mails[5].kind, "receipt");
    assert_eq!(town.schedules(), []);
}

#[tokio::test]
async fn nothing_more_happens_in_the_months_after_it_was_paid() {
    let (town, who) = with_subscriber().await;
    let invoice = town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&who).await;
    town.control(
        &format!("invoices/{invoice}/pay"),
        &serde_json::json!({"card": OTHER_CARD}),
    );
    town.settle().await;
    let mails = customers_mails(&town).len();
    town.advance(TimeDelta::days(60)).await;
    assert_eq!(town.dunning(&who)["status"], "recovered");
    assert_eq!(customers_mails(&town).len(), mails);
    assert_eq!(town.schedules(), []);
    let at_provider = town.at_provider("invoices", &invoice);
    assert_eq!(
        at_provider["successful_charges"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn who_never_pays_is_reminded_for_a_while_and_then_left_alone_but_never_cancelled() {
    let (town, who) = with_subscriber().await;
    town.fail_renewal(&who, "insufficient_funds");
    until_paused(&town, &who).await;
    town.advance(TimeDelta::days(100)).await;
    let row = town.dunning(&who);
    assert_eq!(
        (row["status"].as_str(), row["closed"].as_str()),
        (Some("paused"), Some("abandoned"))
    );
    let kinds: Vec<_> = town
        .dunning_mails()
        .into_iter()
        .map(|mail| mail.kind)
        .collect();
    let reminders = kinds.iter().filter(|kind| *kind == "reminder").count();
    assert_eq!(reminders, 4, "{kinds:?}");
    assert_eq!(access(&town, &who).await, "paused");
    let subscription = town.at_provider("subscriptions", &who.subscription_id);
    assert_eq!(subscription["canceled_by"], serde_json::Value::Null);
}
