//! What a campaign did, as Markdown: for a terminal, a log and docs.

use std::fmt::{self, Display, Formatter};

use chrono::TimeDelta;

use crate::campaign::{Campaign, Tally};
use crate::kinds::Kind;
use crate::life::Life;
use crate::matrix::MatrixTally;
use crate::plan::Plan;

/// A campaign's tally, to be printed.
pub struct Report<'a> {
    pub campaign: &'a Campaign,
    pub tally: &'a Tally,
}

impl Display for Report<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let tally = self.tally;
        writeln!(to, "| what was simulated | |")?;
        writeln!(to, "|---|---:|")?;
        for (system, lives) in &tally.lives {
            writeln!(to, "| lives of {} | {} |", system.name(), grouped(*lives))?;
        }
        writeln!(to, "| virtual time | {} |", in_words(tally.lasted))?;
        for (what, count) in [
            ("actions of people, banks and clocks", tally.actions),
            ("calls of functions to AWS and the provider", tally.calls),
            ("messages that reached somebody", tally.messages),
            ("checks of all promises", tally.checks),
        ] {
            writeln!(to, "| {what} | {} |", grouped(count))?;
        }
        let failed = tally.failed.len().try_into().unwrap_or(u64::MAX);
        writeln!(
            to,
            "| lives in which a promise was broken | {} |",
            grouped(failed)
        )?;
        writeln!(
            to,
            "| digest of all traces | `{}` |",
            &tally.digest[..16.min(tally.digest.len())]
        )?;
        writeln!(to, "\n| fault | what happened | times |")?;
        writeln!(to, "|---|---|---:|")?;
        for kind in Kind::ALL {
            let times = tally.faults.get(kind).copied().unwrap_or_default();
            let times = match self.campaign.kinds.contains(kind) {
                true => grouped(times),
                false => "off".to_owned(),
            };
            writeln!(to, "| `{}` | {} | {times} |", kind.name(), kind.what())?;
        }
        broken(to, tally.failed.iter())
    }
}

/// What a matrix tried, to be printed.
pub struct MatrixReport<'a>(pub &'a MatrixTally);

impl Display for MatrixReport<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        writeln!(to, "| story | calls struck | lives |")?;
        writeln!(to, "|---|---:|---:|")?;
        for (story, (calls, lives)) in &self.0.stories {
            writeln!(to, "| {story} | {calls} | {lives} |")?;
        }
        writeln!(to, "\n| fault | times |")?;
        writeln!(to, "|---|---:|")?;
        for (fault, times) in &self.0.faults {
            writeln!(to, "| `{fault}` | {} |", grouped(*times))?;
        }
        writeln!(
            to,
            "\nLives in which a promise was broken: {}",
            self.0.failed.len()
        )?;
        broken(to, self.0.failed.iter().map(|(_, life)| life))
    }
}

/// Each life that broke a promise, in a line; nothing if none did.
fn broken<'a>(
    to: &mut Formatter<'_>,
    lives: impl ExactSizeIterator<Item = &'a Life>,
) -> fmt::Result {
    if lives.len() > 0 {
        writeln!(to, "\n| seed | promise that was broken | how |")?;
        writeln!(to, "|---:|---|---|")?;
    }
    for life in lives {
        if let Some(violation) = &life.violation {
            let (promise, what) = (violation.promise, &violation.what);
            writeln!(to, "| {} | {promise} | {what} |", life.seed)?;
        }
    }
    Ok(())
}

/// A broken promise and how it came to that, for a person.
pub struct Story<'a> {
    pub plan: &'a Plan,
    pub life: &'a Life,
    /// The command that lives the whole life again.
    pub command: &'a str,
}

impl Display for Story<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Some(violation) = &self.life.violation else {
            return writeln!(to, "seed {}: every promise was kept", self.life.seed);
        };
        writeln!(
            to,
            "seed {} broke a promise: {}",
            self.life.seed, violation.promise
        )?;
        writeln!(to, "  {}", violation.what)?;
        writeln!(
            to,
            "  at {}, after action #{}",
            violation.at, violation.step
        )?;
        let kinds: Vec<&str> = self
            .plan
            .weather
            .kinds
            .iter()
            .map(|kind| kind.name())
            .collect();
        writeln!(
            to,
            "  with {}",
            if kinds.is_empty() {
                "no fault".to_owned()
            } else {
                kinds.join(", ")
            }
        )?;
        for (ordinal, fault) in self.plan.script.iter().flatten() {
            writeln!(to, "  with {} at call {ordinal}", fault.name())?;
        }
        writeln!(to, "\nThe shortest way to it that was found:\n")?;
        for line in self.life.trace.short().lines() {
            writeln!(to, "  {line}")?;
        }
        writeln!(to, "\nAgain, whole: {}", self.command)
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|digit| char::from(*digit)));
    }
    text
}

fn in_words(time: TimeDelta) -> String {
    let days = time.num_days();
    match days / 365 {
        0 => format!("{days} days"),
        years => format!("{years} years {} days", days % 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        let numbers = [0, 7, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!(in_words(TimeDelta::days(740)), "2 years 10 days");
        assert_eq!(in_words(TimeDelta::hours(50)), "2 days");
    }
}
