//! What the functions log, as lines of the terminal.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

use super::Failure;
use super::terminal::{Look, Terminal};

/// Sends logs that pass `filter` to the terminal.
///
/// # Errors
/// A filter that can't be read.
pub(crate) fn init(filter: &str, terminal: Terminal) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--logs {filter}: {error}"))?;
    Registry::default()
        .with(filter)
        .with(Lines(terminal))
        .try_init()?;
    Ok(())
}

struct Lines(Terminal);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // A metric is a log line on AWS; here the meter has it.
        if event.metadata().target() == "metric" {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let look = match *event.metadata().level() {
            Level::ERROR => Look::Failure,
            Level::WARN => Look::Warning,
            _ => Look::Faint,
        };
        let what = format!("{}{}", text.message, text.fields);
        self.0
            .line(self.0.now(), &who(event.metadata().target()), look, &what);
    }
}

/// The message, and the fields that it does not say already.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        if field.name() == "message" {
            self.message = value;
        } else if !self.message.contains(value.trim_matches('"')) {
            let _ = write!(self.fields, " ({}: {value})", field.name());
        }
    }
}

/// `bdc_intake::place` is `bdc-intake`.
fn who(target: &str) -> String {
    let module = target.split("::").next().unwrap_or_default();
    match module {
        "relay" => "bdc-relay".to_owned(),
        "paidonce_core" | "lambda_kit" => "functions".to_owned(),
        _ => module.replace('_', "-"),
    }
}
