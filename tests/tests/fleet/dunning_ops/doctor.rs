//! `doctor`, looking at the local fleet as it is, and after something was broken.

use fleet_tests::Town;
use local_cloud::MailAccount;
use ops::doctor::{Expected, Level, Sources, examine, look};
use paidonce_core::dunning::policy::BUILT_IN;
use provider::{Provider, Secret};

const MONDAY: &str = "2026-11-30T09:00:00Z";

/// The lines that are not fine.
async fn found(town: &Town, livemode: bool) -> Vec<(Level, &'static str)> {
    let aws = town.fleet.cloud.operator();
    let url = format!("{}/stripe", town.fleet.base_url());
    let provider = Provider::new(&aws, &url, "2026-07-29.dahlia");
    let sources = Sources {
        aws: &aws,
        provider: &provider,
        key: &Secret::new("rk_test_local"),
    };
    let expected = Expected {
        webhook_url: Some(town.fleet.url("dunr-webhook")),
        api_version: "2026-07-29.dahlia".to_owned(),
        livemode,
        provider_mails_off: true,
        policy: BUILT_IN.to_owned(),
        now: town.now(),
    };
    let findings = examine(&look(&sources).await, &expected).into_iter();
    findings
        .filter(|finding| finding.level != Level::Fine)
        .map(|finding| (finding.level, finding.about))
        .collect()
}

#[tokio::test]
async fn the_local_fleet_is_as_it_should_be() {
    let town = Town::at(MONDAY);
    assert_eq!(found(&town, false).await, []);
}

#[tokio::test]
async fn what_is_broken_in_the_fleet_is_a_line_that_fails() {
    let town = Town::at(MONDAY);
    town.fleet.cloud.set_mail_account(MailAccount {
        production_access_enabled: false,
        sending_enabled: true,
    });
    town.fleet
        .cloud
        .set_secret("dunr/stripe/webhook-secret", "to-be-set-by-the-operator");
    let broken = [
        (Level::Fail, "dunr/stripe/webhook-secret"),
        (Level::Fail, "mail.account"),
    ];
    assert_eq!(found(&town, false).await, broken);
}

#[tokio::test]
async fn a_set_up_for_tests_is_not_taken_for_a_live_one() {
    let town = Town::at(MONDAY);
    let modes = [
        (Level::Fail, "webhook.livemode"),
        (Level::Fail, "dunr/stripe/api-key"),
        (Level::Fail, "dunr/stripe/portal-key"),
    ];
    assert_eq!(found(&town, true).await, modes);
}
