//! The evidence as the provider takes it, by its own names of the fields.
//!
//! Source: Stripe's API reference, the evidence of a dispute. Texts are sent as they stand, and all of
//! them together may have 150,000 characters; what it calls a file is uploaded first, so `files` has
//! the text of each.

use serde_json::{Map, Value, json};

use super::Sources;
use crate::booking::{Booking, State};
use crate::local_time::{human, stamp};
use crate::terms;

/// What the provider takes over all fields, in characters.
const CHARACTERS_MAX: usize = 150_000;

pub(super) fn fields(sources: Sources<'_>) -> Value {
    let texts = [
        ("product_description", product(sources)),
        ("service_date", service_date(sources.booking)),
        ("customer_name", sources.booking.name.clone()),
        ("customer_email_address", email(sources.booking)),
        ("cancellation_policy_disclosure", disclosure(sources)),
        ("refund_policy_disclosure", disclosure(sources)),
        ("refund_refusal_explanation", refusal(sources.booking)),
        // Last, so that it is what is cut.
        ("uncategorized_text", story(sources)),
    ];
    let mut left = CHARACTERS_MAX;
    let mut fields = Map::new();
    for (name, text) in texts {
        if let Some(text) = fitting(text, left) {
            left -= text.chars().count();
            fields.insert(name.to_owned(), Value::String(text));
        }
    }
    json!({
        "texts": fields,
        "files": {
            "cancellation_policy": terms::shown(sources.booking),
            "customer_communication": communication(sources),
            "service_documentation": attendance(sources.booking),
        },
    })
}

/// As much of a text as there is room for, cut where a line ends; nothing if that is nothing.
fn fitting(text: String, characters_max: usize) -> Option<String> {
    if text.chars().count() <= characters_max {
        return Some(text).filter(|text| !text.is_empty());
    }
    let end = text.char_indices().nth(characters_max).map(|(at, _)| at)?;
    let kept = text.get(..end)?;
    let line_end = kept.rfind('\n').unwrap_or(end);
    kept.get(..line_end)
        .filter(|kept| !kept.is_empty())
        .map(str::to_owned)
}

fn product(sources: Sources<'_>) -> String {
    let booking = sources.booking;
    format!(
        "Deposit of {} for a booking at {}: {} for {}, {}.",
        booking.deposit.display(),
        sources.venue,
        booking.place.label,
        booking.party,
        human(booking.place.starts_at, booking.place.zone),
    )
}

/// The day of the visit at the venue.
fn service_date(booking: &Booking) -> String {
    let local = booking.place.starts_at.with_timezone(&booking.place.zone);
    local.format("%Y-%m-%d").to_string()
}

fn email(booking: &Booking) -> String {
    let email = booking.email.as_ref();
    email
        .map(|email| email.as_str().to_owned())
        .unwrap_or_default()
}

/// How and when the customer was shown the terms.
fn disclosure(sources: Sources<'_>) -> String {
    let booking = sources.booking;
    let mut sentences = vec![format!(
        "The page from which the customer goes on to pay shows these terms: \"{}\"",
        terms::shown(booking)
    )];
    let pressed: Vec<String> = sources
        .times_of("payment page intended")
        .map(stamp)
        .collect();
    if !pressed.is_empty() {
        sentences.push(format!(
            "The customer went on to pay at {}.",
            pressed.join(", ")
        ));
    }
    if let Some(at) = booking.consented_at {
        sentences.push(format!(
            "The customer agreed to the terms on the booking form at {}.",
            stamp(at)
        ));
    }
    sentences.join(" ")
}

/// Why no refund is due, where none is.
fn refusal(booking: &Booking) -> String {
    if booking.kept().minor() == 0 {
        return String::new();
    }
    match booking.state {
        State::Forfeited => format!(
            "The customer did not come and had not cancelled in time. {}",
            terms::cancellation(booking)
        ),
        State::Cancelled => format!(
            "The customer cancelled after the time up to which the deposit is given back. {}",
            terms::cancellation(booking)
        ),
        State::Applied => "The customer came, and the deposit counted towards the bill.".to_owned(),
        State::Pending | State::Confirmed | State::Released => String::new(),
    }
}

fn attendance(booking: &Booking) -> String {
    match &booking.attendance {
        Some(mark) => format!(
            "{} marked at {} that the customer {}.",
            mark.marked_by,
            stamp(mark.marked_at),
            if mark.attended {
                "came"
            } else {
                "did not come"
            },
        ),
        None => "Nobody marked whether the customer came.".to_owned(),
    }
}

fn communication(sources: Sources<'_>) -> String {
    let lines = sources.messages().into_iter().map(|message| {
        let text = |name: &str| message[name].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} sent by {}",
            text("at"),
            text("kind").replace('_', " "),
            text("channel")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// All that happened, a line each.
fn story(sources: Sources<'_>) -> String {
    let lines = sources.facts().map(|row| {
        let at = row.at.map(stamp).unwrap_or_default();
        format!("{at} {} ({}), {}", row.what, row.why, row.who)
    });
    let lines: Vec<String> = lines.collect();
    format!(
        "{}\n{}\n{}",
        attendance(sources.booking),
        communication(sources),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditRow;
    use crate::booking::tests::booking;

    fn row(number: usize, what: &str) -> AuditRow {
        AuditRow {
            booking_id: "bkg_1".to_owned(),
            ts: format!("2026-07-01T12:00:00.000Z#{number:06}#x"),
            at: Some(chrono::DateTime::UNIX_EPOCH),
            who: "bdc-intake".to_owned(),
            what: what.to_owned(),
            before: None,
            after: None,
            why: "é".repeat(200),
            correlation_id: String::new(),
            causation_id: String::new(),
            set: Map::new(),
            removed: Vec::new(),
        }
    }

    fn texts(audit: &[AuditRow]) -> Map<String, Value> {
        let booking = booking(State::Forfeited);
        let sources = Sources {
            venue: "The Anchor",
            booking: &booking,
            audit,
            payments: &[],
        };
        fields(sources)["texts"].as_object().unwrap().clone()
    }

    #[test]
    fn all_texts_together_keep_to_what_the_provider_takes() {
        let audit: Vec<AuditRow> = (0..2000)
            .map(|number| row(number, "attendance marked"))
            .collect();
        let texts = texts(&audit);
        let count = |text: &Value| text.as_str().unwrap().chars().count();
        let all: usize = texts.values().map(count).sum();
        assert!((140_000..=CHARACTERS_MAX).contains(&all), "{all}");
        let story = texts["uncategorized_text"].as_str().unwrap();
        assert!(story.ends_with("bdc-intake"), "it ends with a whole line");
    }

    #[test]
    fn a_forfeit_says_why_nothing_goes_back() {
        let texts = texts(&[row(1, "payment page intended")]);
        let refusal = texts["refund_refusal_explanation"].as_str().unwrap();
        assert!(
            refusal.starts_with("The customer did not come"),
            "{refusal}"
        );
        assert_eq!(texts["service_date"], "2026-07-11");
        let disclosure = texts["cancellation_policy_disclosure"].as_str().unwrap();
        assert!(
            disclosure.contains("Cancel by Fri 10 Jul 20:00"),
            "{disclosure}"
        );
        assert!(
            disclosure.contains("to pay at 1970-01-01T00:00:00Z"),
            "{disclosure}"
        );
        assert!(!texts.contains_key("customer_email_address"));
    }
}
