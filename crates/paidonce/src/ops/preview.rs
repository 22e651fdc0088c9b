//! `paidonce ops preview` and `check-venue`: a venue before it is deployed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use copywriter::{Kind, Language, Preview, previews};
use paidonce_core::booking::MessageKind;
use paidonce_core::money::Money;
use paidonce_core::sms::Encoding;
use paidonce_core::venue::{BUILT_IN, Venue};

use super::{Failure, exit, now, say};

#[derive(Debug, Args)]
pub(crate) struct PreviewArguments {
    /// One kind of message, such as reminder; all if not said.
    #[arg(long, value_parser = kind)]
    kind: Option<MessageKind>,
    /// The language of the texts, such as de; all if not said.
    #[arg(long, value_parser = language)]
    language: Option<Language>,
    /// A venue's policy; the built-in one if not said.
    #[arg(long, value_name = "FILE")]
    venue: Option<PathBuf>,
    /// What one part of a text costs, in the venue's currency, such as 0.04; the venue's own price
    /// if not said.
    #[arg(long, value_name = "AMOUNT")]
    part_price: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckVenueArguments {
    /// The venue's policy, as in policy/venue.json.
    file: PathBuf,
}

fn kind(text: &str) -> Result<MessageKind, String> {
    let known = MessageKind::ALL.into_iter();
    let mut known = known.filter(|kind| kind.as_str() == text);
    known.next().ok_or_else(|| {
        let names = MessageKind::ALL.map(MessageKind::as_str).join(", ");
        format!("there are {names}")
    })
}

fn language(text: &str) -> Result<Language, String> {
    let mut known = Language::ALL.into_iter().filter(|it| it.as_str() == text);
    known.next().ok_or_else(|| {
        let names = Language::ALL.map(Language::as_str).join(", ");
        format!("there are {names}")
    })
}

pub(super) fn run(arguments: &PreviewArguments) -> Result<ExitCode, Failure> {
    let venue = match &arguments.venue {
        Some(path) => match read(path)? {
            Ok(venue) => venue,
            Err(complaints) => return Ok(complain(path, &complaints)),
        },
        None => Venue::from_json(BUILT_IN).map_err(|it| it.join("; "))?,
    };
    let price = arguments.part_price.as_deref();
    let price = price
        .map(|text| Money::parse(text, venue.currency))
        .transpose()?;
    let price = price.unwrap_or(venue.sms.part_price);
    let wanted = |it: &(Kind, Language, Preview)| {
        arguments.kind.is_none_or(|kind| kind == it.0)
            && arguments.language.is_none_or(|language| language == it.1)
    };
    for (kind, language, preview) in previews(&venue, now()).iter().filter(|it| wanted(it)) {
        show(*kind, *language, preview, preview.price(price)?);
    }
    Ok(exit(true))
}

fn show(kind: Kind, language: Language, preview: &Preview, price: Money) {
    let encoding = match preview.encoding {
        Encoding::Gsm7 => "GSM-7",
        Encoding::Ucs2 => "UCS-2",
    };
    let (units, parts) = (preview.units, preview.parts);
    let part = if parts == 1 { "part" } else { "parts" };
    say(&format!(
        "{}, {}: {encoding}, {units} units, {parts} {part}, {}",
        kind.as_str(),
        language.as_str(),
        price.display()
    ));
    for line in preview.text.lines() {
        say(&format!("  {line}"));
    }
    say("");
}

pub(super) fn check_venue(arguments: &CheckVenueArguments) -> Result<ExitCode, Failure> {
    match read(&arguments.file)? {
        Ok(venue) => {
            let resources = venue.resources.len();
            say(&format!("{}: fine, {resources} resources", venue.name));
            Ok(exit(true))
        }
        Err(complaints) => Ok(complain(&arguments.file, &complaints)),
    }
}

/// The venue, or all that is wrong with it.
fn read(path: &Path) -> Result<Result<Venue, Vec<String>>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("`{}` can't be read: {error}", path.display()))?;
    Ok(Venue::from_json(&text))
}

fn complain(path: &Path, complaints: &[String]) -> ExitCode {
    say(&format!("{} is no venue:", path.display()));
    for complaint in complaints {
        say(&format!("  {complaint}"));
    }
    exit(false)
}
