//! What happened in a life, line by line: the same seed gives the same bytes.

use std::fmt::Write;

use chrono::{DateTime, SecondsFormat, Utc};
use local_cloud::Call;
use sha2::{Digest, Sha256};

/// The lines of one life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    text: String,
}

impl Trace {
    /// Notes what somebody did and what came of it.
    pub(crate) fn action(&mut self, step: usize, at: DateTime<Utc>, what: &str, outcome: &str) {
        let at = at.to_rfc3339_opts(SecondsFormat::Secs, true);
        self.line(&format!("#{step:<3} {at}  {what}  ->  {outcome}"));
    }

    /// Notes a call of a function.
    pub(crate) fn call(&mut self, call: &Call) {
        let fault = call.fault.map(|fault| format!("  !! {}", fault.name()));
        let service = call.service.rsplit('/').next().unwrap_or_default();
        self.line(&format!(
            "       {} {}/{} {} {} [{}] {}{}",
            call.at.to_rfc3339_opts(SecondsFormat::Secs, true),
            call.function,
            call.invocation.unwrap_or_default(),
            service,
            call.operation,
            call.resources.join(" "),
            call.outcome,
            fault.unwrap_or_default(),
        ));
    }

    pub(crate) fn line(&mut self, line: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines of actions and faults: what a person reads first.
    pub fn short(&self) -> String {
        let wanted = |line: &&str| !line.starts_with(' ') || line.contains("  !! ");
        let lines = self.text.lines().filter(wanted);
        lines.fold(String::new(), |text, line| text + line + "\n")
    }

    /// SHA-256 of the text, in hex.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(&self.text))
    }
}
