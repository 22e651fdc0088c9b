//! `paidonce simulate --plant`: what finds a defect that is put in on purpose, or each of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use paidonce_core::planted::Defect;
use simulator::{Found, Search, Story, shrink};

use super::SimulateArguments;
use crate::ops::{Failure, say};

/// So many lives of each system are lived without a defect before all defects are searched for.
const STUDIED: usize = 300;

/// From so many defects on it pays to know which lives come to which places.
const WORTH_STUDYING: usize = 20;

const HEAD: &str = "\
# What finds each planted defect

`paidonce simulate --plant all --report docs/teeth.md` makes this page.

| defect | what is wrong | found by | promise that is broken |
|---|---|---|---|
";

/// Which defects a search is for.
#[derive(Clone, Debug)]
pub(super) enum Planted {
    One(Defect),
    Many(Vec<Defect>),
}

impl SimulateArguments {
    /// Searches for one defect, and tells how it shows.
    pub(super) fn find(&self, defect: Defect) -> ExitCode {
        let campaign = self.campaign();
        let Some(found) = Search::new(campaign.clone()).find(defect) else {
            say(&format!(
                "`{}` was found by no life of {} seeds and no race",
                defect.name(),
                campaign.seeds
            ));
            return ExitCode::FAILURE;
        };
        match &found {
            Found::Life { plan, life } => {
                let mut campaign = campaign;
                campaign.systems = vec![plan.system];
                campaign.defect = Some(defect);
                let (shrunk, short) = shrink(&campaign, life);
                let command = self.again(plan.seed, Some(plan.system));
                let story = Story {
                    plan: &shrunk,
                    life: &short,
                    command: &command,
                };
                say(&story.to_string());
            }
            Found::Race {
                promise,
                what,
                order,
                ..
            } => say(&format!(
                "an order of calls broke a promise: {promise}\n  {what}\n\n{order}"
            )),
        }
        say(&format!(
            "`{}` was found by {}",
            defect.name(),
            named(&found)
        ));
        ExitCode::SUCCESS
    }

    /// Searches for each defect, says as it goes what finds it, and makes a table of it.
    pub(super) fn find_all(&self, defects: &[Defect]) -> Result<ExitCode, Failure> {
        let campaign = self.campaign();
        let mut search = Search::new(campaign.clone());
        if defects.len() >= WORTH_STUDYING {
            search.study(STUDIED.min(campaign.seeds));
        }
        let mut table = HEAD.to_owned();
        let mut missed = Vec::new();
        for defect in defects {
            let Some(found) = search.find(*defect) else {
                let reached = search.reached(*defect);
                eprintln(&format!(
                    "{} | nothing, reached by {reached}",
                    defect.name()
                ));
                missed.push(defect.name());
                continue;
            };
            say(&format!(
                "{} | {} | {}",
                defect.name(),
                found.by(),
                found.promise()
            ));
            let _ = writeln!(
                table,
                "| `{}` | {} | {} | {} |",
                defect.name(),
                defect.what(),
                named(&found),
                found.promise()
            );
        }
        if let Some(path) = &self.report {
            std::fs::write(path, &table)?;
        }
        if missed.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        eprintln(&format!("Found by nothing: {}", missed.join(", ")));
        Ok(ExitCode::FAILURE)
    }
}

/// What finds a defect, for a person.
fn named(found: &Found) -> String {
    match found {
        Found::Life { plan, .. } => format!("seed {} of {}", plan.seed, plan.system.name()),
        Found::Race {
            name,
            is_dying: true,
            ..
        } => format!("the race “{name}” whose first party dies"),
        Found::Race { name, .. } => format!("the race “{name}”"),
    }
}

fn eprintln(line: &str) {
    use std::io::Write as _;
    // Nobody may be listening.
    let _ = writeln!(std::io::stderr(), "{line}");
}
