//! The monthly report to the team: numbers that we counted, and a few sentences about them.
//!
//! The model may word the sentences. It gets nothing but the counted facts, and every number and
//! amount in its draft must be one of them, spelled as they are; or the plain sentences stand.

use std::sync::LazyLock;

use aws_sdk_bedrockruntime::Client;
use chrono::NaiveDate;
use minijinja::{AutoEscape, Environment, context};
use paidonce_core::dunning::summary::{Summary, Tally};
use serde::Serialize;
use serde_json::json;

use crate::check::{Doubt, check_line};
use crate::draft::{DraftError, ask};

const TOKENS_MAX: i32 = 400;
const NARRATIVE_LETTERS_MAX: usize = 700;

const SYSTEM_PROMPT: &str = "\
You word the beginning of a monthly report to the team of a business: what came of subscription \
payments that did not go through. You get one JSON object. Its field \"plain\" would do; answer with a \
better wording of it in English, and with nothing else: one paragraph of two to five sentences, at \
most 600 characters, no list, no heading, no quotation marks, no explanation.\n\
Copy every number, amount and month letter by letter from \"plain\". Add no other number, amount, date, \
comparison, cause, advice or promise.";

/// What a report can't know, so a draft must not say it.
const LOADED: &[&str] = &[
    "because",
    "due to",
    "trend",
    "record",
    "best",
    "worst",
    "better",
    "worse",
    "improved",
    "increase",
    "increased",
    "decrease",
    "decreased",
    "rose",
    "fell",
    "compared",
    "last month",
    "next month",
    "previous month",
    "doubled",
    "should",
    "must",
    "recommend",
    "expect",
    "expected",
    "likely",
    "fraud",
    "most",
    "all",
    "none",
    "every",
    "average",
];

const TEXT: &str = "summary.txt";
const HTML: &str = "summary.html";

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_keep_trailing_newline(true);
    templates.set_trim_blocks(true);
    templates.set_auto_escape_callback(|name| match name {
        HTML => AutoEscape::Html,
        _ => AutoEscape::None,
    });
    for (name, source) in [
        (TEXT, include_str!("templates/summary.txt")),
        (HTML, include_str!("templates/summary.html")),
    ] {
        templates
            .add_template(name, source)
            .expect("the template is compiled in, and a test renders it");
    }
    templates
});

/// The report of a month, as it is mailed and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    what: &'static str,
    count: u32,
    /// Such as `£40.00 and €5.00`; empty where no money is counted.
    value: String,
}

/// Puts a report together. The same summary and narrative give the same bytes.
pub fn report(business: &str, summary: &Summary, narrative: &str) -> Report {
    let month = month_name(&summary.month);
    let facts = context! {
        business,
        month,
        narrative,
        zone => summary.zone,
        invoices => invoice_lines(summary),
        counts => count_lines(summary),
        codes => summary.by_code,
        is_empty => summary.is_empty(),
    };
    let render = |name: &str| {
        TEMPLATES
            .get_template(name)
            .and_then(|template| template.render(&facts))
            .expect("the template is compiled in, and a test renders it")
    };
    Report {
        subject: format!("Failed payments in {month}"),
        text: render(TEXT),
        html: render(HTML),
    }
}

/// The sentences without a model.
pub fn plain_narrative(summary: &Summary) -> String {
    let month = month_name(&summary.month);
    if summary.is_empty() {
        return format!("No invoice failed in {month}, and nothing else happened.");
    }
    let mut sentences = vec![format!(
        "In {month}, {} failed{}.",
        invoices(summary.failed.invoices),
        worth(&summary.failed)
    )];
    let paid_otherwise = [
        (&summary.paid_by_customer, "customers paid"),
        (&summary.paid_by_provider, "the provider's own retries took"),
        (&summary.paid_out_of_band, "were paid outside the provider:"),
        (
            &summary.paid_by_unknown,
            "are paid, and it is not known by whom:",
        ),
    ];
    sentences.push(format!(
        "Our charges recovered {}{}.",
        invoices(summary.recovered_by_us.invoices),
        worth(&summary.recovered_by_us)
    ));
    let otherwise: Vec<String> = paid_otherwise
        .into_iter()
        .filter(|(tally, _)| tally.invoices > 0)
        .map(|(tally, how)| format!("{how} {}{}", invoices(tally.invoices), worth(tally)))
        .collect();
    if !otherwise.is_empty() {
        sentences.push(format!("Beside that, {}.", otherwise.join("; ")));
    }
    sentences.push(format!(
        "Still open: {}{}.",
        invoices(summary.still_open.invoices),
        worth(&summary.still_open)
    ));
    sentences.join(" ")
}

/// Asks the model once for better sentences. They are not to be used before [`check_narrative`]
/// took them.
///
/// # Errors
/// See [`DraftError`]; none of them is a reason not to send the plain sentences.
pub async fn draft_narrative(
    client: &Client,
    model_id: &str,
    business: &str,
    summary: &Summary,
) -> Result<String, DraftError> {
    let question = json!({"business": business, "plain": plain_narrative(summary)}).to_string();
    ask(client, model_id, SYSTEM_PROMPT, question, TOKENS_MAX).await
}

/// Returns the draft if every number, amount and date in it is one that was counted.
///
/// # Errors
/// The first [`Doubt`] found.
pub fn check_narrative(draft: &str, business: &str, summary: &Summary) -> Result<String, Doubt> {
    let month = month_name(&summary.month);
    let mut known = vec![month, business.to_owned()];
    for tally in told_tallies(summary) {
        known.push(invoices(tally.invoices));
        known.extend(tally.value.iter().map(|sum| sum.display()));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let plain = plain_narrative(summary);
    check_line(draft, NARRATIVE_LETTERS_MAX, &known, &plain, LOADED)
}

/// Those that the plain sentences speak of.
fn told_tallies(summary: &Summary) -> [&Tally; 7] {
    [
        &summary.failed,
        &summary.recovered_by_us,
        &summary.paid_by_customer,
        &summary.paid_by_provider,
        &summary.paid_out_of_band,
        &summary.paid_by_unknown,
        &summary.still_open,
    ]
}

fn invoice_lines(summary: &Summary) -> Vec<Line> {
    let line = |what, tally: &Tally| Line {
        what,
        count: tally.invoices,
        value: value(tally),
    };
    vec![
        line("Failed", &summary.failed),
        line("Recovered by our charges", &summary.recovered_by_us),
        line("Paid by the customer", &summary.paid_by_customer),
        line(
            "Taken by the provider's own retries",
            &summary.paid_by_provider,
        ),
        line("Paid outside the provider", &summary.paid_out_of_band),
        line("Paid, not known by whom", &summary.paid_by_unknown),
        line("Written off", &summary.written_off),
        line("Voided", &summary.voided),
        line("Covered, or too small to charge", &summary.needing_no_money),
        line("Still open", &summary.still_open),
    ]
}

fn count_lines(summary: &Summary) -> Vec<Line> {
    let line = |what, count| Line {
        what,
        count,
        value: String::new(),
    };
    vec![
        line("Subscriptions paused", summary.paused),
        line("Paused by an operator", summary.paused_by_operators),
        line("Subscriptions cancelled", summary.cancelled),
        line("Given up", summary.given_up),
        line("Charges made", summary.charges.made),
        line("Charges that succeeded", summary.charges.succeeded),
        line("Charges that were declined", summary.charges.declined),
        line("Charges without an answer", summary.charges.unanswered),
        line("Mails sent", summary.mails.sent),
        line("Mails without an answer", summary.mails.unanswered),
    ]
}

fn value(tally: &Tally) -> String {
    let sums: Vec<String> = tally.value.iter().map(|sum| sum.display()).collect();
    sums.join(" and ")
}

fn worth(tally: &Tally) -> String {
    match tally.value.is_empty() {
        true => String::new(),
        false => format!(", worth {}", value(tally)),
    }
}

fn invoices(count: u32) -> String {
    match count {
        1 => "1 invoice".to_owned(),
        _ => format!("{count} invoices"),
    }
}

/// `November 2026` for `2026-11`.
fn month_name(month: &str) -> String {
    let first = NaiveDate::parse_from_str(&format!("{month}-01"), "%Y-%m-%d");
    first.map_or_else(|_| month.to_owned(), |day| day.format("%B %Y").to_string())
}

#[cfg(test)]
mod tests;
