//! A case: something that a person must decide, with all that is needed to.
//!
//! There is one open case for each subject and reason. What is handed over again about the same
//! payment adds nothing; about another one it joins the open case, and the team hears of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::booking::Reason;
use crate::booking_step::Handover;
use crate::step::Row;

/// The most entries of one case; beyond it the oldest that the team was told of makes way.
const ENTRIES_MAX: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    Open,
    Closed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The subject and the reason.
    pub case_id: String,
    pub subject: String,
    pub reason: Reason,
    pub status: Status,
    pub entries: Vec<Entry>,
    pub opened_at: DateTime<Utc>,
    pub version: u64,
}

/// One thing that was handed over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub event_id: String,
    /// The payment that it is about, or nothing.
    pub about: String,
    pub facts: Value,
    pub at: DateTime<Utc>,
    /// When the mail to the team was taken by the mail service.
    pub mailed_at: Option<DateTime<Utc>>,
}

impl Row for Case {
    const NAME: &'static str = "case";
    const KEY: &'static str = "case_id";

    fn key(&self) -> String {
        self.case_id.clone()
    }
}

/// What a handover does to the case that there is.
#[derive(Clone, Debug)]
pub enum Escalation {
    /// It is known, and the team has been told.
    Known,
    /// It is known, but the mail to the team was not taken yet.
    Untold(Box<Case>),
    /// The case as it will stand; the old one is replaced under its version.
    New(Box<Case>),
}

pub fn case_id(handover: &Handover) -> String {
    format!("{}#{}", handover.subject, handover.reason.as_str())
}

/// Decides what a handover does.
pub fn escalate(
    case: Option<&Case>,
    event_id: &str,
    handover: &Handover,
    now: DateTime<Utc>,
) -> Escalation {
    let about = about(handover);
    let entry = Entry {
        event_id: event_id.to_owned(),
        about: about.clone(),
        facts: handover.facts.clone(),
        at: now,
        mailed_at: None,
    };
    let Some(case) = case else {
        return Escalation::New(Box::new(Case {
            case_id: case_id(handover),
            subject: handover.subject.clone(),
            reason: handover.reason,
            status: Status::Open,
            entries: vec![entry],
            opened_at: now,
            version: 1,
        }));
    };
    let seen = case.entries.iter().find(|entry| entry.event_id == event_id);
    let same = case
        .entries
        .iter()
        .find(|entry| case.status == Status::Open && entry.about == about);
    match seen.or(same) {
        Some(entry) if entry.mailed_at.is_some() => Escalation::Known,
        Some(_) => Escalation::Untold(Box::new(case.clone())),
        None => {
            let mut case = case.clone();
            if case.status == Status::Closed {
                case.status = Status::Open;
                case.opened_at = now;
            }
            case.make_room();
            case.entries.push(entry);
            case.version += 1;
            Escalation::New(Box::new(case))
        }
    }
}

impl Case {
    /// The entries that the team has not been told of.
    pub fn untold(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.mailed_at.is_none())
    }

    fn make_room(&mut self) {
        let told = |entry: &Entry| entry.mailed_at.is_some();
        if self.entries.len() >= ENTRIES_MAX
            && let Some(oldest) = self.entries.iter().position(told)
        {
            self.entries.remove(oldest);
        }
    }

    /// The case after a mail that told of everything in it.
    #[must_use]
    pub fn told(&self, now: DateTime<Utc>) -> Self {
        let mut case = self.clone();
        for entry in &mut case.entries {
            entry.mailed_at.get_or_insert(now);
        }
        case.version += 1;
        case
    }
}

fn about(handover: &Handover) -> String {
    let payment = handover.facts.get("payment_ref").and_then(Value::as_str);
    let occasion = handover.facts.get("occasion").and_then(Value::as_str);
    payment.or(occasion).unwrap_or_default().to_owned()
}
