use chrono::TimeDelta;
use paidonce_core::dunning::policy::BUILT_IN;

use super::*;

fn expected() -> Expected {
    Expected {
        webhook_url: Some("https://hook.example/".into()),
        api_version: "2026-07-29.dahlia".into(),
        livemode: true,
        provider_mails_off: true,
        policy: BUILT_IN.into(),
        now: "2026-11-30T09:00:00Z".parse().unwrap(),
    }
}

fn endpoint() -> WebhookEndpoint {
    WebhookEndpoint {
        id: "we_1".into(),
        url: "https://hook.example".into(),
        enabled_events: HANDLED.map(str::to_owned).to_vec(),
        api_version: Some("2026-05-01.dahlia".into()),
        status: EndpointStatus::Enabled,
        livemode: true,
    }
}

fn healthy() -> Seen {
    let tokens = r#"{"apps": {"app": "t"}, "entitlement_key": "0123456789abcdef0123456789abcdef"}"#;
    let values = [
        tokens,
        "0123456789abcdef0123456789abcdef",
        "rk_live_1",
        "rk_live_2",
        "whsec_1",
    ];
    Seen {
        account: Ok(Account {
            id: "acct_1".into(),
            country: None,
            default_currency: None,
            charges_enabled: true,
            payouts_enabled: true,
            details_submitted: true,
        }),
        endpoints: Ok(vec![endpoint()]),
        retried_by_provider: Ok(Vec::new()),
        secrets: SECRETS
            .into_iter()
            .zip(values.map(|value| Ok(value.to_owned())))
            .collect(),
        mail: Ok(MailAccount {
            production_access: true,
            sending_enabled: true,
        }),
    }
}

/// The lines that are not fine.
fn found(seen: &Seen, expected: &Expected) -> Vec<(Level, &'static str)> {
    let findings = examine(seen, expected).into_iter();
    findings
        .filter(|finding| finding.level != Level::Fine)
        .map(|finding| (finding.level, finding.about))
        .collect()
}

#[test]
fn a_set_up_as_it_should_be_has_nothing_to_tell() {
    assert_eq!(found(&healthy(), &expected()), []);
}

#[test]
fn each_thing_that_is_broken_is_one_line() {
    type Breaks = fn(&mut Seen);
    let broken: [(Breaks, Level, &str); 18] = [
        (
            |it| it.account = Err("no".into()),
            Level::Fail,
            "provider.account",
        ),
        (
            |it| it.account.as_mut().unwrap().charges_enabled = false,
            Level::Fail,
            "provider.account",
        ),
        (
            |it| it.endpoints = Err("no".into()),
            Level::Warn,
            "webhook.endpoint",
        ),
        (
            |it| it.endpoints = Ok(Vec::new()),
            Level::Fail,
            "webhook.endpoint",
        ),
        (
            |it| it.endpoints.as_mut().unwrap()[0].url = "https://other.example".into(),
            Level::Fail,
            "webhook.endpoint",
        ),
        (
            |it| it.endpoints.as_mut().unwrap()[0].status = EndpointStatus::Disabled,
            Level::Fail,
            "webhook.endpoint",
        ),
        (
            |it| {
                it.endpoints.as_mut().unwrap()[0].enabled_events.pop();
            },
            Level::Fail,
            "webhook.events",
        ),
        (
            |it| it.endpoints.as_mut().unwrap()[0].api_version = Some("2025-01-01.basil".into()),
            Level::Fail,
            "webhook.version",
        ),
        (
            |it| it.endpoints.as_mut().unwrap()[0].api_version = None,
            Level::Warn,
            "webhook.version",
        ),
        (
            |it| it.endpoints.as_mut().unwrap()[0].livemode = false,
            Level::Fail,
            "webhook.livemode",
        ),
        (
            |it| it.retried_by_provider = Ok(vec!["in_1".into()]),
            Level::Fail,
            "provider.retries",
        ),
        (
            |it| set(it, "dunr/stripe/api-key", PLACEHOLDER),
            Level::Fail,
            "dunr/stripe/api-key",
        ),
        (
            |it| set(it, "dunr/stripe/portal-key", "rk_test_1"),
            Level::Fail,
            "dunr/stripe/portal-key",
        ),
        (
            |it| set(it, "dunr/stripe/webhook-secret", "sk_1"),
            Level::Fail,
            "dunr/stripe/webhook-secret",
        ),
        (
            |it| set(it, "dunr/links/secret", "short"),
            Level::Fail,
            "dunr/links/secret",
        ),
        (
            |it| set(it, "dunr/gatekeeper/tokens", r#"{"apps": {}}"#),
            Level::Fail,
            "dunr/gatekeeper/tokens",
        ),
        (
            |it| it.mail.as_mut().unwrap().production_access = false,
            Level::Fail,
            "mail.account",
        ),
        (
            |it| it.mail.as_mut().unwrap().sending_enabled = false,
            Level::Fail,
            "mail.account",
        ),
    ];
    for (breaks, level, about) in broken {
        let mut seen = healthy();
        breaks(&mut seen);
        assert_eq!(found(&seen, &expected()), [(level, about)]);
    }
}

fn set(seen: &mut Seen, name: &'static str, value: &str) {
    seen.secrets.insert(name, Ok(value.to_owned()));
}

#[test]
fn what_was_meant_otherwise_is_found_as_well() {
    let with = |change: fn(&mut Expected)| {
        let mut expected = expected();
        change(&mut expected);
        found(&healthy(), &expected)
    };
    let mails = with(|it| it.provider_mails_off = false);
    assert_eq!(mails, [(Level::Warn, "provider.mails")]);
    assert_eq!(
        with(|it| it.policy = "{}".into()),
        [(Level::Fail, "policy")]
    );
    let test_mode = with(|it| it.livemode = false);
    assert_eq!(test_mode.len(), 3, "{test_mode:?}");
    let region = Policy::from_json(BUILT_IN).unwrap().terms.region;
    let end = covered_until(region)
        .and_hms_opt(12, 0, 0)
        .unwrap()
        .and_utc();
    for (left, level) in [(30, Level::Warn), (0, Level::Fail), (-1, Level::Fail)] {
        let mut expected = expected();
        expected.now = end - TimeDelta::days(left);
        assert_eq!(
            found(&healthy(), &expected),
            [(level, "policy.holidays")],
            "{left}"
        );
    }
}

#[test]
fn no_line_shows_a_secret() {
    let mut seen = healthy();
    set(&mut seen, "dunr/stripe/api-key", "sk_test_hidden");
    let told: String = examine(&seen, &expected())
        .into_iter()
        .map(|it| it.text)
        .collect();
    assert!(!told.contains("hidden") && !told.contains("0123456789abcdef"));
}
