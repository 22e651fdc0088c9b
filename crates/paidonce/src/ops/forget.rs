//! `paidonce ops forget`: a person asks to be forgotten.

use std::io::Read;
use std::process::ExitCode;

use clap::Args;
use lambda_kit::{Entropy, SecretCache};
use ops::Tables;
use ops::forget::{Forgetting, Forgotten, Outcome, PRIVACY_SALT};
use paidonce_core::booking::State;
use paidonce_core::phone::Phone;
use paidonce_core::venue::{BUILT_IN, Venue};

use super::{Failure, aws, exit, now, progress, say};

const NAME_BYTES_MAX: usize = 60;
const PHONE_BYTES_MAX: u64 = 100;

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    /// Their phone, such as +447700900123; `-` reads it from the input, so that no history keeps it.
    #[arg(long, allow_hyphen_values = true)]
    phone: String,
    /// Who does it, for the audit.
    #[arg(long, value_name = "NAME", value_parser = name)]
    by: String,
    /// Only say what would be done, by ids.
    #[arg(long)]
    dry_run: bool,
}

fn name(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text.len() <= NAME_BYTES_MAX;
    match fits && !text.contains(|letter: char| letter.is_control()) {
        true => Ok(text.trim().to_owned()),
        false => Err(format!("a name has 1 to {NAME_BYTES_MAX} bytes")),
    }
}

pub(super) async fn run(arguments: ForgetArguments) -> Result<ExitCode, Failure> {
    let phone = match arguments.phone.as_str() {
        "-" => phone(&std::io::read_to_string(
            std::io::stdin().take(PHONE_BYTES_MAX),
        )?)?,
        text => phone(text)?,
    };
    let aws = aws().await;
    let dynamodb = lambda_kit::client!(aws_sdk_dynamodb, &aws);
    let privacy_salt = SecretCache::new(&aws, PRIVACY_SALT.to_owned());
    let forgetting = Forgetting {
        client: &dynamodb,
        tables: &Tables::default(),
        privacy_salt: &privacy_salt,
        by: &arguments.by,
        entropy: &Entropy::from_os(),
        now: now(),
        dry_run: arguments.dry_run,
    };
    let mut progress = progress("bookings");
    match forgetting.person(&phone, &mut progress).await? {
        Outcome::Forgotten(forgotten) => {
            show(&forgotten, arguments.dry_run);
            Ok(exit(true))
        }
        Outcome::Standing(standing) => {
            say("Nothing was changed: these bookings are still to come.");
            for (id, state) in standing {
                say(&format!("  {id} {}: {}", state.as_str(), what_to_do(state)));
            }
            Ok(exit(false))
        }
    }
}

/// As it is stored, whether or not the number is still given out; else as people write it.
fn phone(text: &str) -> Result<Phone, Failure> {
    if let Ok(phone) = Phone::try_from(text.trim().to_owned()) {
        return Ok(phone);
    }
    let venue = Venue::from_json(BUILT_IN).map_err(|problems| problems.join("; "))?;
    Ok(Phone::parse(text, &venue.phone_region)?)
}

fn show(forgotten: &Forgotten, dry_run: bool) {
    if forgotten.is_nothing() {
        return say("There is nothing left to forget.");
    }
    let done = if dry_run { "Would forget" } else { "Forgot" };
    for id in &forgotten.bookings {
        say(&format!("{done} the person of booking {id}"));
    }
    if forgotten.optout {
        let done = if dry_run { "Would hide" } else { "Hid" };
        say(&format!(
            "{done} the phone of what they said about messages"
        ));
    }
}

fn what_to_do(state: State) -> &'static str {
    match state {
        State::Pending => "cancel it, or wait until it is paid or released",
        State::Confirmed => "cancel it, or wait until it is settled",
        State::Released | State::Cancelled | State::Applied | State::Forfeited => "run it again",
    }
}
