//! Collecting all that is wrong with a venue or a policy, each with its field.

use chrono::{NaiveTime, Timelike};
use serde_json::Value;

#[derive(Default)]
pub(crate) struct Complaints(Vec<String>);

impl Complaints {
    /// Notes what must hold, unless it does; `what` starts with the field and says what is allowed.
    pub(crate) fn require(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.0.push(what.into());
        }
    }

    /// Takes over the complaints about a part, under its name.
    pub(crate) fn under(&mut self, part: &str, complaints: Self) {
        let named = complaints.0.iter().map(|what| format!("{part}.{what}"));
        self.0.extend(named);
    }

    /// Takes over the complaints about the same part.
    pub(crate) fn extend(&mut self, complaints: Self) {
        self.0.extend(complaints.0);
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// Whether a time of a rule has no seconds, so that a clock on the wall can show it.
pub(crate) fn is_whole_minute(time: NaiveTime) -> bool {
    time.second() == 0 && time.nanosecond() == 0
}

/// What a text says under `path` that the type which was read from it does not know.
///
/// For types that are also stored on rows: there a field that a newer version wrote is left alone.
pub(crate) fn unknown_fields(path: &str, given: &Value, known: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    note_unknown(path, given, known, &mut unknown);
    unknown
}

fn note_unknown(path: &str, given: &Value, known: &Value, unknown: &mut Vec<String>) {
    for (name, value) in given.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match known.get(name) {
            Some(known) => note_unknown(&path, value, known, unknown),
            None => unknown.push(format!("{path}: is not a rule")),
        }
    }
}
