//! `paidonce ops`: what an operator does with a deployed fleet, or with `paidonce dev`.
//!
//! AWS is reached as the AWS CLI reaches it: by the profile, region and `AWS_ENDPOINT_URL` of the
//! environment. All work is in the crate `ops`; this reads arguments, and prints.

mod explain;
mod export;
mod forget;
mod preview;

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use chrono::{DateTime, Utc};
use clap::Subcommand;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// It ran, and what it found needs a look.
const FOUND_SOMETHING: u8 = 3;
/// How often a long reading says how far it is.
const ROWS_PER_WORD: u64 = 5_000;

const EXAMPLES: &str = "\
Examples:
  paidonce ops export --from 2026-07-01 --to 2026-07-31 --out books
  paidonce ops explain sub_1NXWPnCo6bFb1KQto6C8OWvE
  paidonce ops forget --phone +447700900123 --by maria --dry-run
  AWS_ENDPOINT_URL=http://127.0.0.1:8787/_aws AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x \\
    paidonce ops export --provider-url http://127.0.0.1:8787/stripe --from … --to …";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct OpsArguments {
    #[command(subcommand)]
    command: OpsCommand,
}

#[derive(Debug, Subcommand)]
enum OpsCommand {
    /// Write the journal of a period, and compare it with what the provider has.
    ///
    /// Exit code 0: the books balance and agree with the provider; 3: they don't.
    Export(export::ExportArguments),
    /// Say why a subscription stands where it stands: what happened by which rule, and what follows.
    ///
    /// Exit code 0: nothing needs a person; 3: something does.
    Explain(explain::ExplainArguments),
    /// Forget a person: name, phone, address and words go, the money's record stays.
    ///
    /// Exit code 0: done, or there was nothing left; 3: refused, since a booking is still to come.
    Forget(forget::ForgetArguments),
    /// Print every message that customers get, with its size and price.
    Preview(preview::PreviewArguments),
    /// Check a venue's policy, and say all that is wrong with it.
    CheckVenue(preview::CheckVenueArguments),
}

/// Runs one command.
///
/// # Errors
/// What kept it from its end.
pub(crate) async fn run(arguments: OpsArguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        OpsCommand::Export(arguments) => export::run(arguments).await,
        OpsCommand::Explain(arguments) => explain::run(arguments).await,
        OpsCommand::Forget(arguments) => forget::run(arguments).await,
        OpsCommand::Preview(arguments) => preview::run(&arguments),
        OpsCommand::CheckVenue(arguments) => preview::check_venue(&arguments),
    }
}

/// The operator's own AWS configuration, in the region of the fleet unless they say another.
pub(crate) async fn aws() -> SdkConfig {
    let chain = aws_config::meta::region::RegionProviderChain::default_provider();
    let region = chain.or_else(Region::from_static("eu-west-2"));
    let loader = aws_config::defaults(BehaviorVersion::latest());
    loader.region(region).load().await
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a command gets its time"
)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "what is no result")]
fn tell(text: &str) {
    eprintln!("{text}");
}

/// Says how far a long reading is, on the terminal's other channel.
fn progress(what: &'static str) -> impl FnMut(u64) + Send {
    let mut told = 0;
    let is_terminal = std::io::stderr().is_terminal();
    move |rows| {
        if rows / ROWS_PER_WORD > told {
            told = rows / ROWS_PER_WORD;
            let hint = if is_terminal {
                " (Ctrl-C stops it; nothing is half done)"
            } else {
                ""
            };
            tell(&format!("{what}: {rows} rows so far{hint}"));
        }
    }
}

fn exit(is_fine: bool) -> ExitCode {
    match is_fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FOUND_SOMETHING),
    }
}
