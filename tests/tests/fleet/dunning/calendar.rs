//! Dates by the calendar of the business: bank holidays by region, clock changes, nights.

use chrono::TimeDelta;
use fleet_tests::{Town, dunning_policy};
use serde_json::{Value, json};

use crate::dunning::support::{GOOD_CARD, customers_mails};

fn policy_with(field: &str, value: &Value) -> String {
    dunning_policy(|policy| policy["terms"][field] = value.clone())
}

/// The first date of an invoice that fails when the town begins, as its schedule has it.
async fn first_date(start: &str, policy: String) -> String {
    let town = Town::with_dunning_policy(start, policy);
    let who = town.subscriber(GOOD_CARD).await;
    town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&who).await;
    let schedules = town.schedules();
    assert_eq!(schedules.len(), 1, "{schedules:?}");
    assert_eq!(schedules[0].zone, "UTC");
    schedules[0].expression.clone()
}

#[tokio::test]
async fn b55_each_region_keeps_its_own_bank_holidays_and_each_business_its_own_weekend() {
    // Monday 30 November 2026 is Saint Andrew's Day.
    let friday = "2026-11-27T12:00:00Z";
    let in_region = |region: &str| policy_with("region", &json!(region));
    let england = first_date(friday, in_region("england-and-wales")).await;
    assert_eq!(england, "at(2026-11-30T10:00:00)");
    let scotland = first_date(friday, in_region("scotland")).await;
    assert_eq!(scotland, "at(2026-12-01T10:00:00)");
    // The Twelfth of July is kept in Northern Ireland alone; in 2026 it is made up for on the 13th.
    let friday = "2026-07-10T12:00:00Z";
    let belfast = first_date(friday, in_region("northern-ireland")).await;
    assert_eq!(belfast, "at(2026-07-14T09:00:00)");
    let weekend = policy_with("weekend", &json!(["Fri", "Sat"]));
    let sunday = first_date("2026-11-26T12:00:00Z", weekend).await;
    assert_eq!(sunday, "at(2026-11-29T10:00:00)");
}

#[tokio::test]
async fn b55_over_christmas_and_the_end_of_a_year_no_date_is_lost() {
    let policy = policy_with("region", &json!("england-and-wales"));
    // Christmas Day is a Friday, Boxing Day is made up for on Monday.
    let date = first_date("2026-12-24T12:00:00Z", policy).await;
    assert_eq!(date, "at(2026-12-29T10:00:00)");
}

#[tokio::test]
async fn b55_a_year_without_data_is_a_case_for_a_person_and_no_guess() {
    let town = Town::of_dunning("2028-12-29T12:00:00Z");
    let who = town.subscriber(GOOD_CARD).await;
    town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&who).await;
    let row = town.dunning(&who);
    assert!(row["cases"]["no_holiday_data"].is_string(), "{row}");
    assert_eq!(town.schedules(), []);
    let team: Vec<_> = town.dunning_mails();
    assert_eq!(team.len(), 1);
    assert!(
        team[0].text.contains("bank holiday data"),
        "{}",
        team[0].text
    );
    town.advance(TimeDelta::days(2)).await;
    assert_eq!(town.dunning_mails().len(), 1, "it is told once");
    assert_eq!(town.gate(&who).await.json()["access"], "granted");
}

#[tokio::test]
async fn b56_a_date_is_an_hour_on_the_wall_and_a_schedule_an_instant() {
    let policy = policy_with("region", &json!("england-and-wales"));
    // The clocks go forward on Sunday 29 March 2026: 10:00 in London is 09:00 UTC from then on.
    let spring = first_date("2026-03-27T12:00:00Z", policy.clone()).await;
    assert_eq!(spring, "at(2026-03-30T09:00:00)");
    let autumn = first_date("2026-10-23T12:00:00Z", policy).await;
    assert_eq!(autumn, "at(2026-10-26T10:00:00)");
}

#[tokio::test]
async fn b56_nobody_is_asked_for_money_at_night() {
    let town = Town::of_dunning("2026-12-01T03:00:00Z");
    let who = town.subscriber(GOOD_CARD).await;
    town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    town.advance(TimeDelta::hours(5)).await;
    assert_eq!(customers_mails(&town), []);
    town.advance_to("2026-12-01T09:30:00Z").await;
    let mails = customers_mails(&town);
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].at.to_rfc3339(), "2026-12-01T09:00:00+00:00");
    assert!(mails[0].text.contains("2 December"), "{}", mails[0].text);
}

#[tokio::test]
async fn bug_g10_a_sweep_beside_a_payment_changes_nothing() {
    let town = Town::of_dunning("2026-12-01T09:00:00Z");
    let who = town.subscriber(GOOD_CARD).await;
    let invoice = town.fail_renewal(&who, "insufficient_funds");
    town.settle().await;
    town.advance_to_retry(&who).await;
    let name = town.schedules()[0].name.clone();
    assert!(town.fleet.cloud.drop_schedule(&name));
    town.advance(TimeDelta::days(1) - TimeDelta::hours(1)).await;
    let paid = json!({"card": "4000056655665556"});
    town.control(&format!("invoices/{invoice}/pay"), &paid);
    // The index still shows the row as overdue while the payment is taken in.
    let sweep = json!({"kind": "sweep"});
    let swept = town.fleet.cloud.invoke("dunr-sweep", sweep.clone());
    let (swept, ()) = tokio::join!(swept, town.settle());
    assert!(swept.is_ok());
    assert!(town.fleet.cloud.invoke("dunr-sweep", sweep).await.is_ok());
    town.settle().await;
    town.advance(TimeDelta::days(3)).await;
    assert_eq!(town.dunning(&who)["status"], "recovered");
    assert_eq!(town.schedules(), []);
    let at_provider = town.at_provider("invoices", &invoice);
    assert_eq!(
        at_provider["successful_charges"].as_array().unwrap().len(),
        1
    );
}
