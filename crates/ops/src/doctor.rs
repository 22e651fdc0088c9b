//! What silently breaks dunning: looked at from outside, and judged one by one.
//!
//! [`look`] asks AWS and the provider; [`examine`] judges what it saw and asks nobody, so each line has
//! a test that breaks it. Nothing is changed, and no secret is shown.

mod look;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use paidonce_core::dunning::business_days::covered_until;
use paidonce_core::dunning::events::HANDLED;
use paidonce_core::dunning::policy::{Policy, Terms};
use provider::{Account, EndpointStatus, WebhookEndpoint};

pub use look::{Sources, look};

/// What a deployment writes into a secret that somebody must set.
const PLACEHOLDER: &str = "to-be-set-by-the-operator";
/// The secrets of dunning.
pub const SECRETS: [&str; 5] = [
    "dunr/gatekeeper/tokens",
    "dunr/links/secret",
    "dunr/stripe/api-key",
    "dunr/stripe/portal-key",
    "dunr/stripe/webhook-secret",
];
/// A secret that signs must be at least this long, in bytes.
const SIGNING_BYTES_MIN: usize = 32;
/// How long before its end the holiday data is to be brought up to date, in days.
const HOLIDAY_DAYS_MIN: i64 = 60;

/// How a deployment is meant to be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Where `dunr-webhook` is; if absent, any endpoint with the right events will do.
    pub webhook_url: Option<String>,
    /// Such as `2026-07-29.dahlia`.
    pub api_version: String,
    pub livemode: bool,
    /// Somebody looked that the provider writes no mails of its own about failed payments.
    pub provider_mails_off: bool,
    /// The policy as it is deployed.
    pub policy: String,
    pub now: DateTime<Utc>,
}

/// What was seen; or why it could not be seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub account: Result<Account, String>,
    pub endpoints: Result<Vec<WebhookEndpoint>, String>,
    /// Open invoices that the provider means to charge by itself.
    pub retried_by_provider: Result<Vec<String>, String>,
    /// By their names.
    pub secrets: BTreeMap<&'static str, Result<String, String>>,
    pub mail: Result<MailAccount, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailAccount {
    pub production_access: bool,
    pub sending_enabled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Fine,
    /// It may be as it should be.
    Warn,
    /// Dunning does not work like this.
    Fail,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One line: what was looked at, and what to do if it is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// Such as `webhook.events`.
    pub about: &'static str,
    pub text: String,
}

fn fine(about: &'static str, text: impl Into<String>) -> Finding {
    finding(Level::Fine, about, text)
}

fn warn(about: &'static str, text: impl Into<String>) -> Finding {
    finding(Level::Warn, about, text)
}

fn fail(about: &'static str, text: impl Into<String>) -> Finding {
    finding(Level::Fail, about, text)
}

fn finding(level: Level, about: &'static str, text: impl Into<String>) -> Finding {
    Finding {
        level,
        about,
        text: text.into(),
    }
}

/// Judges what was seen.
pub fn examine(seen: &Seen, expected: &Expected) -> Vec<Finding> {
    let mut findings = vec![account(&seen.account)];
    findings.extend(endpoints(&seen.endpoints, expected));
    findings.push(own_retries(&seen.retried_by_provider));
    findings.push(own_mails(expected.provider_mails_off));
    findings.extend(secrets(&seen.secrets, expected.livemode));
    findings.push(mail(&seen.mail));
    findings.extend(policy(expected));
    findings
}

fn account(account: &Result<Account, String>) -> Finding {
    const ABOUT: &str = "provider.account";
    match account {
        Ok(account) if account.charges_enabled => {
            fine(ABOUT, format!("account {} takes payments", account.id))
        }
        Ok(account) => fail(
            ABOUT,
            format!(
                "account {} takes no payments: finish its set-up in the provider's dashboard",
                account.id
            ),
        ),
        Err(why) => fail(
            ABOUT,
            format!("the provider was not asked: {why}; check the key and PROVIDER_URL"),
        ),
    }
}

fn endpoints(
    endpoints: &Result<Vec<WebhookEndpoint>, String>,
    expected: &Expected,
) -> Vec<Finding> {
    const ABOUT: &str = "webhook.endpoint";
    let endpoints = match endpoints {
        Ok(endpoints) => endpoints,
        Err(why) => {
            let todo = "give a key in PROVIDER_KEY that may read webhook endpoints";
            return vec![warn(
                ABOUT,
                format!("the endpoints were not read: {why}; {todo}"),
            )];
        }
    };
    let is_ours = |endpoint: &&WebhookEndpoint| match &expected.webhook_url {
        Some(url) => endpoint.url.trim_end_matches('/') == url.trim_end_matches('/'),
        None => endpoint
            .enabled_events
            .iter()
            .any(|event| event == "*" || event == "invoice.payment_failed"),
    };
    let ours: Vec<&WebhookEndpoint> = endpoints.iter().filter(is_ours).collect();
    let wanted = expected.webhook_url.as_deref().unwrap_or("dunr-webhook");
    if ours.is_empty() {
        let text = format!("no endpoint leads to {wanted}: add one, no failed payment is heard of");
        return vec![fail(ABOUT, text)];
    }
    let open: Vec<&&WebhookEndpoint> = ours
        .iter()
        .filter(|it| it.status == EndpointStatus::Enabled)
        .collect();
    if open.is_empty() {
        let text =
            format!("the endpoint to {wanted} is disabled: enable it, then resend its events");
        return vec![fail(ABOUT, text)];
    }
    let mut findings = vec![fine(ABOUT, format!("{} is sent events", open[0].url))];
    for endpoint in open {
        findings.push(events(endpoint));
        findings.push(version(endpoint, &expected.api_version));
        findings.push(mode(endpoint, expected.livemode));
    }
    findings
}

fn events(endpoint: &WebhookEndpoint) -> Finding {
    const ABOUT: &str = "webhook.events";
    let has = |event: &str| {
        endpoint
            .enabled_events
            .iter()
            .any(|it| it == event || it == "*")
    };
    let missing: Vec<&str> = HANDLED.into_iter().filter(|event| !has(event)).collect();
    match missing.is_empty() {
        true => fine(
            ABOUT,
            format!("{} has all {} types", endpoint.id, HANDLED.len()),
        ),
        false => fail(
            ABOUT,
            format!(
                "{} is not sent: {}; add them",
                endpoint.id,
                missing.join(", ")
            ),
        ),
    }
}

/// Versions of one train, such as `dahlia`, are compatible.
fn version(endpoint: &WebhookEndpoint, configured: &str) -> Finding {
    const ABOUT: &str = "webhook.version";
    let train = |version: &str| version.split_once('.').map(|(_, train)| train.to_owned());
    match &endpoint.api_version {
        Some(version) if train(version) == train(configured) => fine(
            ABOUT,
            format!("{} writes its events as {version}", endpoint.id),
        ),
        Some(version) => fail(
            ABOUT,
            format!(
                "{} writes its events as {version}, and {configured} is configured: make an endpoint of that version",
                endpoint.id
            ),
        ),
        None => warn(
            ABOUT,
            format!(
                "{} follows the account's version: pin it to {configured}",
                endpoint.id
            ),
        ),
    }
}

fn mode(endpoint: &WebhookEndpoint, livemode: bool) -> Finding {
    const ABOUT: &str = "webhook.livemode";
    match endpoint.livemode == livemode {
        true => fine(ABOUT, format!("livemode is {livemode} on both sides")),
        false => fail(
            ABOUT,
            format!(
                "livemode of {} is {}, and {livemode} is configured: every event is ignored",
                endpoint.id, endpoint.livemode
            ),
        ),
    }
}

fn own_retries(retried: &Result<Vec<String>, String>) -> Finding {
    const ABOUT: &str = "provider.retries";
    match retried {
        Ok(invoices) if invoices.is_empty() => fine(
            ABOUT,
            "the provider means to charge no open invoice by itself",
        ),
        Ok(invoices) => fail(
            ABOUT,
            format!(
                "the provider's own retries are on (such as for {}): switch them off in its billing settings, or two retry each invoice",
                invoices.first().map_or("", String::as_str)
            ),
        ),
        Err(why) => warn(ABOUT, format!("open invoices were not read: {why}")),
    }
}

fn own_mails(off: bool) -> Finding {
    const ABOUT: &str = "provider.mails";
    match off {
        true => fine(
            ABOUT,
            "somebody says that the provider writes no mails about failed payments",
        ),
        false => warn(
            ABOUT,
            "the provider's own mails can't be read: look in its billing settings, under customer mails, that those about failed payments and expiring cards are off; then say --provider-mails-off",
        ),
    }
}

fn secrets(
    secrets: &BTreeMap<&'static str, Result<String, String>>,
    livemode: bool,
) -> Vec<Finding> {
    let judge = |name: &'static str| match secrets.get(name) {
        Some(Ok(value)) => secret(name, value, livemode),
        Some(Err(why)) => fail(name, format!("the secret was not read: {why}")),
        None => fail(name, "the secret was not read"),
    };
    SECRETS.into_iter().map(judge).collect()
}

fn secret(name: &'static str, value: &str, livemode: bool) -> Finding {
    if value.is_empty() || value == PLACEHOLDER {
        return fail(
            name,
            "nobody has set it yet: docs/runbooks/deploy.md says how",
        );
    }
    let wrong = match name {
        "dunr/stripe/api-key" | "dunr/stripe/portal-key" => wrong_key(value, livemode),
        "dunr/stripe/webhook-secret" if !value.starts_with("whsec_") => {
            Some("it is no signing secret: those begin with whsec_")
        }
        "dunr/links/secret" if value.len() < SIGNING_BYTES_MIN => {
            Some("it is too short to sign links")
        }
        "dunr/gatekeeper/tokens" => wrong_tokens(value),
        _ => None,
    };
    match wrong {
        Some(wrong) => fail(name, wrong),
        None => fine(name, "it is set"),
    }
}

fn wrong_key(key: &str, livemode: bool) -> Option<&'static str> {
    match (key.contains("_live_"), livemode) {
        (true, false) => Some("it is a live key in a set-up for tests: it would take real money"),
        (false, true) => Some("it is a test key in a live set-up: nothing is charged"),
        (true, true) | (false, false) => None,
    }
}

fn wrong_tokens(secret: &str) -> Option<&'static str> {
    let Ok(tokens) = serde_json::from_str::<serde_json::Value>(secret) else {
        return Some("it is not JSON: the gatekeeper grants everybody");
    };
    let has_app = tokens["apps"]
        .as_object()
        .is_some_and(|apps| !apps.is_empty());
    let key = tokens["entitlement_key"].as_str().unwrap_or_default();
    match (has_app, key.len() >= SIGNING_BYTES_MIN) {
        (false, _) => Some("no app has a token: nobody is told who is paused"),
        (true, false) => Some("its entitlement_key is shorter than 32 bytes: nothing is signed"),
        (true, true) => None,
    }
}

fn mail(mail: &Result<MailAccount, String>) -> Finding {
    const ABOUT: &str = "mail.account";
    match mail {
        Ok(account) if !account.sending_enabled => fail(
            ABOUT,
            "sending is switched off for this account: see SES's reputation page",
        ),
        Ok(account) if !account.production_access => fail(
            ABOUT,
            "SES is in its sandbox and takes mails to verified addresses alone: ask for production access",
        ),
        Ok(_) => fine(ABOUT, "SES sends to anybody"),
        Err(why) => warn(ABOUT, format!("SES was not asked: {why}")),
    }
}

fn policy(expected: &Expected) -> Vec<Finding> {
    const ABOUT: &str = "policy";
    match Policy::from_json(&expected.policy) {
        Err(problems) => vec![fail(ABOUT, problems.join("; "))],
        Ok(policy) => {
            let terms = &policy.terms;
            let valid = format!("edition {} in {}", terms.edition, terms.zone.name());
            vec![fine(ABOUT, valid), holidays(terms, expected.now)]
        }
    }
}

fn holidays(terms: &Terms, now: DateTime<Utc>) -> Finding {
    const ABOUT: &str = "policy.holidays";
    let until: NaiveDate = covered_until(terms.region);
    let left = (until - now.date_naive()).num_days();
    let region = terms.region.as_str();
    let todo = "bring the data up to date: docs/runbooks/holiday-data.md";
    match left {
        ..1 => fail(
            ABOUT,
            format!("the bank holidays of {region} end on {until}: {todo}"),
        ),
        1..HOLIDAY_DAYS_MIN => warn(
            ABOUT,
            format!("the bank holidays of {region} end in {left} days: {todo}"),
        ),
        _ => fine(
            ABOUT,
            format!("the bank holidays of {region} are known until {until}"),
        ),
    }
}
