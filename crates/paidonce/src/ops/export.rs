//! `paidonce ops export`: the books of a period.

use std::path::PathBuf;
use std::process::ExitCode;

use aws_config::SdkConfig;
use chrono::NaiveDate;
use chrono_tz::Tz;
use clap::Args;
use lambda_kit::{Environment, SecretCache};
use ops::Tables;
use ops::books::{Books, Break, Files, Listed, Period, TieOut, Tied, csv, json, read};
use paidonce_core::venue::{BUILT_IN, Venue};
use provider::{Provider, Secret};

use super::{Failure, aws, exit, now, progress, say};

const PROVIDER_SECRET: &str = "bdc-provider-key";
const PROVIDER_URL: &str = "https://api.stripe.com";
const PROVIDER_API_VERSION: &str = "2026-07-29.dahlia";
/// How many breaks are shown; all are in the file.
const BREAKS_SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The first day, such as 2026-07-01.
    #[arg(long, value_name = "DATE")]
    from: NaiveDate,
    /// The last day, which is included.
    #[arg(long, value_name = "DATE")]
    to: NaiveDate,
    /// The folder for the files.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Whose days they are, such as Europe/London; the built-in venue's if not said.
    #[arg(long, value_name = "ZONE")]
    zone: Option<Tz>,
    /// Replace files that are there.
    #[arg(long)]
    force: bool,
    /// Don't ask the provider.
    #[arg(long)]
    no_provider: bool,
    /// Where the provider is; PROVIDER_URL in the environment, or Stripe.
    #[arg(long, value_name = "URL")]
    provider_url: Option<String>,
}

pub(super) async fn run(arguments: ExportArguments) -> Result<ExitCode, Failure> {
    let zone = match arguments.zone {
        Some(zone) => zone,
        None => Venue::from_json(BUILT_IN).map_err(|it| it.join("; "))?.zone,
    };
    let period = Period::new(arguments.from, arguments.to, zone)?;
    let files = Files::new(&arguments.out, &period, arguments.force)?;
    let aws = aws().await;
    let tie_out = match arguments.no_provider {
        true => None,
        false => Some(listed(&aws, arguments.provider_url, &period).await?),
    };
    let dynamodb = lambda_kit::client!(aws_sdk_dynamodb, &aws);
    let mut progress = progress("payments");
    let books = read(
        &dynamodb,
        &Tables::default(),
        period,
        tie_out,
        &mut progress,
    )
    .await?;
    let json = serde_json::to_string_pretty(&json(&books, now()))?;
    files.write(&csv(&books)?, &json)?;
    show(&books, &files);
    Ok(exit(books.are_in_order()))
}

/// What the provider has of the period; its key is PROVIDER_KEY, or the deployed secret.
async fn listed(aws: &SdkConfig, url: Option<String>, period: &Period) -> Result<TieOut, Failure> {
    let environment = Environment::of_process();
    let variable = |name: &str| environment.optional(name);
    let url = url.or_else(|| variable("PROVIDER_URL"));
    let url = url.unwrap_or_else(|| PROVIDER_URL.to_owned());
    let version = variable("PROVIDER_API_VERSION");
    let version = version.unwrap_or_else(|| PROVIDER_API_VERSION.to_owned());
    let key = match variable("PROVIDER_KEY") {
        Some(key) => key,
        None => {
            let secret = SecretCache::new(aws, PROVIDER_SECRET.to_owned());
            secret.get(now()).await?.current().to_owned()
        }
    };
    let provider = Provider::new(aws, &url, &version);
    let listed = Listed::of(&provider, &Secret::new(&key), period).await?;
    Ok(TieOut::new(listed, period))
}

fn show(books: &Books, files: &Files) {
    let (from, to) = (books.period.from(), books.period.to());
    let entries = books.entries.len();
    say(&format!("{from} to {to}: {entries} entries"));
    let mut opening = books.opening.clone();
    for ((currency, account), closing) in &books.closing {
        let opening = opening.remove(&(*currency, *account)).unwrap_or_default();
        if opening == 0 && *closing == 0 {
            continue;
        }
        let account = account.as_str();
        say(&format!(
            "  {currency} {account:<21} {opening:>12} -> {closing:>12} (minor units, debits above zero)"
        ));
    }
    for left_out in &books.left_out {
        say(&format!(
            "  left out: {}, since {}",
            left_out.key, left_out.why
        ));
    }
    match &books.tied {
        Some(tied) => show_tied(tied),
        None => say("The provider was not asked."),
    }
    say(&format!(
        "Written: {} and {}",
        files.csv.display(),
        files.json.display()
    ));
}

fn show_tied(tied: &Tied) {
    let (agreed, others) = (tied.agreed, tied.of_others);
    say(&format!(
        "The provider agrees on {} payments, {} refunds and {} disputes; {}, {} and {} are other products'.",
        agreed.payments,
        agreed.refunds,
        agreed.disputes,
        others.payments,
        others.refunds,
        others.disputes
    ));
    for found in tied.breaks.iter().take(BREAKS_SHOWN) {
        say(&line(found));
    }
    let more = tied.breaks.len().saturating_sub(BREAKS_SHOWN);
    if more > 0 {
        say(&format!("  and {more} more breaks: see the JSON"));
    }
}

fn line(found: &Break) -> String {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".to_owned());
    format!(
        "  {:<15} {:<8} {:<32} here {:<20} there {}",
        found.kind.as_str(),
        found.object,
        found.id,
        side(&found.here),
        side(&found.there)
    )
}
