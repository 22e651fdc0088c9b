//! The lines that a developer reads while the fleet runs.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use lambda_kit::Environment;
use local_cloud::Clock;

const WHO_WIDTH: usize = 17;

/// The terminal. Clones write to the same one.
#[derive(Clone)]
pub(crate) struct Terminal {
    has_colours: bool,
    clock: Arc<OnceLock<Clock>>,
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
            clock: Arc::default(),
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

    /// `HH:MM:SS who what`, the time in UTC on the virtual clock.
    pub(crate) fn line(&self, at: Option<DateTime<Utc>>, who: &str, look: Look, what: &str) {
        let at = at.map_or_else(
            || "--:--:--".to_owned(),
            |at| at.format("%H:%M:%S").to_string(),
        );
        let time = self.paint(Look::Faint, &at);
        let who = self.paint(Look::Name, &format!("{who:<WHO_WIDTH$}"));
        let what = self.paint(look, &one_line(what));
        self.print(&format!("{time}  {who}  {what}"));
    }

    pub(crate) fn print(&self, text: &str) {
        // A reader that has closed its pipe is no reason to stop.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// Text from outside stays on its line and can't steer the terminal.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => '⏎',
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
        assert_eq!(one_line("a\nb\x1b[2J"), "a⏎b\u{fffd}[2J");
    }
}
