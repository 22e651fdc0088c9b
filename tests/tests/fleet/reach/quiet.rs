//! B30: no text that nobody waits for rings in the night.

use fleet_tests::Town;
use local_cloud::{FaultKind, FaultRule};
use serde_json::json;

use crate::reach::support::*;

/// Half past ten in the evening in London: quiet.
const NIGHT: &str = "2026-07-09T21:30:00Z";
/// At half past seven the next morning, so the deposit is due at half past five, and the reminder
/// at two in the night: the evening before is over.
const STARTS_AT: &str = "2026-07-10T07:30";
const AFTER_THE_REMINDER: &str = "2026-07-10T01:10:00Z";
const AFTER_THE_RELEASE: &str = "2026-07-10T04:40:00Z";

#[tokio::test]
async fn b30_a_reminder_that_is_due_in_quiet_hours_goes_by_mail() {
    let town = Town::at(NIGHT);
    let booked = booked(&town, &at_time(with_email(&town), STARTS_AT)).await;
    town.advance_to(AFTER_THE_REMINDER).await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    let mails = mails(&town);
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!(
        (mails[0].kind.as_str(), mails[0].to.as_str()),
        ("reminder", EMAIL)
    );
    assert!(
        mails[0].text.contains(booked.pay_url()),
        "{}",
        mails[0].text
    );
    assert_eq!(ends(&town, &booked, "reminder"), ["1-intent", "2-sent"]);
    assert_eq!(
        said(&town, &booked, "reminder"),
        "message sent, by mail: quiet hours"
    );
}

#[tokio::test]
async fn b30_a_reminder_without_an_address_is_skipped_and_the_release_is_never_moved() {
    let town = Town::at(NIGHT);
    let booked = booked(&town, &at_time(town.wish(), STARTS_AT)).await;
    town.advance_to(AFTER_THE_REMINDER).await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(ends(&town, &booked, "reminder"), ["suppressed"]);
    assert_eq!(
        said(&town, &booked, "reminder"),
        "message suppressed: quiet hours"
    );
    assert_eq!(town.cases(), Vec::<String>::new());
    town.advance_to(AFTER_THE_RELEASE).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(
        town.kinds(),
        ["deposit_request", "released"],
        "this all must know"
    );
}

#[tokio::test]
async fn b30_a_release_in_quiet_hours_is_told_by_mail_if_there_is_an_address() {
    let town = Town::at(NIGHT);
    let booked = booked(&town, &at_time(with_email(&town), STARTS_AT)).await;
    town.advance_to(AFTER_THE_RELEASE).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(mail_kinds(&town), ["reminder", "released"]);
}

#[tokio::test]
async fn b30_by_day_a_reminder_and_a_release_are_texts() {
    let town = Town::new();
    let booked = booked(&town, &with_email(&town)).await;
    town.advance_to("2026-07-10T12:10:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.kinds(), ["deposit_request", "reminder", "released"]);
    assert_eq!(mail_kinds(&town), Vec::<String>::new());
}

#[tokio::test]
async fn b30_what_answers_a_customers_own_act_is_a_text_at_any_hour() {
    let town = Town::at(NIGHT);
    let booked = booked(&town, &with_email(&town)).await;
    paid(&town, &booked, "evt_1", "pi_1").await;
    paid(&town, &booked, "evt_2", "pi_2").await;
    ordered(
        &town,
        &booked,
        "reschedule",
        json!({"starts_at": "2026-07-11T18:00"}),
    )
    .await;
    let by_customer = json!({"by": "customer", "reason": ""});
    ordered(&town, &booked, "cancel", by_customer).await;
    let kinds = [
        "deposit_request",
        "confirmation",
        "second_refund",
        "rescheduled",
        "cancelled",
    ];
    assert_eq!(town.kinds(), kinds);
    assert_eq!(mail_kinds(&town), Vec::<String>::new());
}

#[tokio::test]
async fn b30_a_reminder_whose_job_comes_late_is_judged_by_the_hour_at_which_it_comes() {
    let town = Town::new();
    let booked = booked(&town, &at_time(with_email(&town), "2026-07-10T08:00")).await;
    // Due at six in the morning, so reminded ten minutes before the night; and then it takes time.
    let down = FaultRule::once(COMPOSER, "Query", FaultKind::CrashBefore);
    town.fleet.cloud.faults().add(down.times(4));
    town.advance_to("2026-07-09T20:20:00Z").await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    assert_eq!(mail_kinds(&town), ["reminder"]);
    assert_eq!(
        said(&town, &booked, "reminder"),
        "message sent, by mail: quiet hours"
    );
}
