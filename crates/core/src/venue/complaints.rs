//! Collecting all that is wrong with a venue, each with its field.

use chrono::{NaiveTime, Timelike};

#[derive(Default)]
pub(super) struct Complaints(Vec<String>);

impl Complaints {
    /// Notes what must hold, unless it does; `what` starts with the field and says what is allowed.
    pub(super) fn require(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.0.push(what.into());
        }
    }

    /// Takes over the complaints about a part, under its name.
    pub(super) fn under(&mut self, part: &str, complaints: Self) {
        let named = complaints.0.iter().map(|what| format!("{part}.{what}"));
        self.0.extend(named);
    }

    /// Takes over the complaints about the same part.
    pub(super) fn extend(&mut self, complaints: Self) {
        self.0.extend(complaints.0);
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// Whether a time of a rule has no seconds, so that a clock on the wall can show it.
pub(super) fn is_whole_minute(time: NaiveTime) -> bool {
    time.second() == 0 && time.nanosecond() == 0
}
