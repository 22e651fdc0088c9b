//! The lines that a developer reads while the fleet runs.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, NaiveDate, Utc};
use lambda_kit::Environment;
use local_cloud::Clock;

const WHO_WIDTH: usize = 17;

/// The terminal. Clones write to the same one.
#[derive(Clone)]
pub(crate) struct Terminal {
    has_colours: bool,
    is_silent: bool,
    clock: Arc<OnceLock<Clock>>,
    /// The day of the latest line.
    day: Arc<Mutex<Option<NaiveDate>>>,
    /// How many lines said that something is wrong.
    complaints: Arc<AtomicU64>,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    Plain,
    Bold,
    Faint,
    Name,
    Warning,
    Failure,
}

impl Look {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Faint => "2",
            Self::Name => "36",
            Self::Warning => "33",
            Self::Failure => "31",
        }
    }
}

impl Terminal {
    /// Colours are for people: not in a pipe, and not where `NO_COLOR` is set.
    pub(crate) fn of_process() -> Self {
        let is_plain = Environment::of_process().optional("NO_COLOR").is_some();
        Self {
            has_colours: std::io::stdout().is_terminal() && !is_plain,
            is_silent: false,
            clock: Arc::default(),
            day: Arc::default(),
            complaints: Arc::default(),
        }
    }

    /// For tests: nothing is printed.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self {
            has_colours: false,
            is_silent: true,
            clock: Arc::default(),
            day: Arc::default(),
            complaints: Arc::default(),
        }
    }

    /// From now on, lines carry the time of this clock.
    pub(crate) fn show_times_of(&self, clock: Clock) {
        let _ = self.clock.set(clock);
    }

    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        match (self.has_colours, look) {
            (false, _) | (true, Look::Plain) => text.to_owned(),
            (true, Look::Bold | Look::Faint | Look::Name | Look::Warning | Look::Failure) => {
                format!("\x1b[{}m{text}\x1b[0m", look.code())
            }
        }
    }

    /// One fact of now.
    pub(crate) fn fact(&self, who: &str, what: &str) {
        self.line(self.now(), who, Look::Plain, what);
    }

    pub(crate) fn now(&self) -> Option<DateTime<Utc>> {
        self.clock.get().map(Clock::now)
    }

    pub(crate) fn complaints(&self) -> u64 {
        self.complaints.load(Ordering::Relaxed)
    }

    /// `HH:MM:SS who what`, the time in UTC on the virtual clock, under a line for each new day.
    pub(crate) fn line(&self, at: Option<DateTime<Utc>>, who: &str, look: Look, what: &str) {
        if let Some(at) = at {
            let mut day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
            if day.replace(at.date_naive()) != Some(at.date_naive()) {
                let title = at.format("%A %-d %B %Y").to_string();
                self.print(&self.paint(Look::Bold, &title));
            }
        }
        let at = at.map_or_else(
            || "--:--:--".to_owned(),
            |at| at.format("%H:%M:%S").to_string(),
        );
        match look {
            Look::Warning | Look::Failure => {
                self.complaints.fetch_add(1, Ordering::Relaxed);
            }
            Look::Plain | Look::Bold | Look::Faint | Look::Name => {}
        }
        let time = self.paint(Look::Faint, &at);
        let who = self.paint(Look::Name, &format!("{who:<WHO_WIDTH$}"));
        let what = self.paint(look, &one_line(what));
        self.print(&format!("{time}  {who}  {what}"));
    }

    pub(crate) fn print(&self, text: &str) {
        if self.is_silent {
            return;
        }
        // A reader that has closed its pipe is no reason to stop.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// Text from outside stays on its line and can't steer the terminal.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => ' ',
            character if character.is_control() => '\u{fffd}',
            character => character,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_can_not_steer_the_terminal() {
        assert_eq!(one_line("a\nb\x1b[2J"), "a b\u{fffd}[2J");
    }
}
