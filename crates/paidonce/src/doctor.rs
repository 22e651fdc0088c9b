//! `paidonce doctor`: whether dunning can work as it is set up.

use std::path::PathBuf;
use std::process::ExitCode;

use ::ops::doctor::{Expected, Finding, Level, Sources, examine, look};
use clap::Args;
use lambda_kit::{Environment, SecretCache};
use paidonce_core::dunning::policy::BUILT_IN;
use provider::{Provider, Secret};

use crate::ops::{Failure, aws, now, say};

const API_KEY: &str = "dunr/stripe/api-key";
const PROVIDER_URL: &str = "https://api.stripe.com";
const PROVIDER_API_VERSION: &str = "2026-07-29.dahlia";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The output `DunningWebhookUrl` of the stack.
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// Real money is taken.
    #[arg(long)]
    livemode: bool,
    /// You looked that the provider writes no mails of its own about failed payments.
    #[arg(long)]
    provider_mails_off: bool,
    /// The policy that is deployed, if it is not the built-in one.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Where the provider is; PROVIDER_URL in the environment, or Stripe.
    #[arg(long, value_name = "URL")]
    provider_url: Option<String>,
}

pub(crate) async fn run(arguments: DoctorArguments) -> Result<ExitCode, Failure> {
    let aws = aws().await;
    let environment = Environment::of_process();
    let variable = |name: &str| environment.optional(name);
    let url = arguments.provider_url.or_else(|| variable("PROVIDER_URL"));
    let version = variable("PROVIDER_API_VERSION");
    let version = version.unwrap_or_else(|| PROVIDER_API_VERSION.to_owned());
    let key = match variable("PROVIDER_KEY") {
        Some(key) => key,
        None => {
            let secret = SecretCache::new(&aws, API_KEY.to_owned());
            let secret = secret.get(now()).await;
            secret.map_or_else(|_| String::new(), |secret| secret.current().to_owned())
        }
    };
    let policy = match arguments.policy {
        Some(path) => std::fs::read_to_string(path)?,
        None => BUILT_IN.to_owned(),
    };
    let provider = Provider::new(&aws, url.as_deref().unwrap_or(PROVIDER_URL), &version);
    let sources = Sources {
        aws: &aws,
        provider: &provider,
        key: &Secret::new(&key),
    };
    let expected = Expected {
        webhook_url: arguments.webhook_url,
        api_version: version,
        livemode: arguments.livemode,
        provider_mails_off: arguments.provider_mails_off,
        policy,
        now: now(),
    };
    let findings = examine(&look(&sources).await, &expected);
    findings.iter().for_each(|finding| say(&line(finding)));
    let fails = findings.iter().any(|finding| finding.level == Level::Fail);
    Ok(if fails {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn line(finding: &Finding) -> String {
    format!(
        "{:<5} {:<27} {}",
        finding.level.as_str(),
        finding.about,
        finding.text
    )
}
