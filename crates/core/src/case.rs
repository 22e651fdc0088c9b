//! A case: something that a person must decide, with all that is needed to.
//!
//! There is one open case for each subject and reason. What is handed over again about the same
//! payment adds nothing; about another one it joins the open case, and the team hears of it. A
//! person closes it, or the team's daily digest does if the matter has settled itself; something
//! new opens it again.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::Audit;
use crate::booking::Reason;
use crate::booking_step::{Handover, Origin};
use crate::local_time::stamp;
use crate::step::{Item, Row, Step};

/// The most entries of one case; beyond it the oldest that the team was told of makes way.
const ENTRIES_MAX: usize = 50;
/// The index of the cases that are open, by when they were opened.
const OPEN_INDEX: &str = "open-index";
/// All open cases are in one partition: they are few, since people work them off.
const OPEN: &str = "OPEN";

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
    #[serde(default)]
    pub closed: Option<Closed>,
    /// Why, in somebody's own words.
    #[serde(default)]
    pub closed_reason: Option<String>,
    pub version: u64,
}

/// Who closed a case, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub by: String,
    pub at: DateTime<Utc>,
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
    const PERSONAL: &'static [&'static str] = &["closed_reason"];

    fn key(&self) -> String {
        self.case_id.clone()
    }

    // The index is sparse: its two attributes are there only while the case is open.
    fn item(&self) -> Result<Item, serde_dynamo::Error> {
        let mut item: Item = serde_dynamo::to_item(self)?;
        item.retain(|_, value| !value.is_null());
        if self.status == Status::Open {
            let text = |text: String| AttributeValue::S(text);
            item.insert("open_shard".to_owned(), text(OPEN.to_owned()));
            item.insert("open_since".to_owned(), text(stamp(self.opened_at)));
        }
        Ok(item)
    }
}

/// What an order to close a case does.
#[derive(Clone, Debug)]
pub enum Closing {
    /// It is closed already.
    Already,
    /// The case as it will stand; see [`Step::close_case`].
    Closed(Box<Case>),
}

/// Decides what an order to close a case does. `reason` is in somebody's own words, and stays with
/// the case.
pub fn close(case: &Case, by: &str, reason: &str, now: DateTime<Utc>) -> Closing {
    match case.status {
        Status::Closed => Closing::Already,
        Status::Open => Closing::Closed(Box::new(Case {
            status: Status::Closed,
            closed: Some(Closed {
                by: by.to_owned(),
                at: now,
            }),
            closed_reason: Some(reason.to_owned()),
            version: case.version + 1,
            ..case.clone()
        })),
    }
}

impl Step {
    /// Writes a case as it stands after [`close`], and tells the history of its subject.
    #[must_use]
    pub fn close_case(
        self,
        cases_table: &str,
        audit_table: &str,
        before: &Case,
        after: &Case,
        origin: Origin<'_>,
    ) -> Self {
        let audit = Audit {
            subject: &after.subject,
            who: origin.who,
            what: "case closed",
            before: None,
            after: None,
            why: after.reason.as_str().to_owned(),
            correlation_id: origin.correlation_id,
        };
        // The subject's history names the case; the case's attributes stay with the case.
        self.change(cases_table, before, after, before.version)
            .without_diff()
            .audit(audit_table, audit)
    }
}

/// An open case as the index has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCase {
    pub case_id: String,
    pub subject: String,
    pub reason: Reason,
    pub since: DateTime<Utc>,
}

/// Up to `limit` of the open cases, oldest first. The index lags behind the table a little.
///
/// # Errors
/// If DynamoDB did not answer.
pub async fn open_cases(
    client: &Client,
    table: &str,
    limit: usize,
) -> Result<Vec<OpenCase>, Box<SdkError<QueryError>>> {
    let mut open = Vec::new();
    let mut from = None;
    while open.len() < limit {
        let page = client
            .query()
            .table_name(table)
            .index_name(OPEN_INDEX)
            .key_condition_expression("open_shard = :open")
            .expression_attribute_values(":open", AttributeValue::S(OPEN.to_owned()))
            .set_exclusive_start_key(from)
            .send()
            .await
            .map_err(Box::new)?;
        open.extend(page.items().iter().filter_map(OpenCase::from_index));
        from = page.last_evaluated_key;
        if from.is_none() {
            break;
        }
    }
    open.truncate(limit);
    Ok(open)
}

impl OpenCase {
    /// `None` for one that was closed by a hand that left it in the index.
    fn from_index(item: &Item) -> Option<Self> {
        let text = |name: &str| item.get(name)?.as_s().ok();
        if text("status")? != OPEN {
            return None;
        }
        Some(Self {
            case_id: text("case_id")?.clone(),
            subject: text("subject")?.clone(),
            reason: serde_dynamo::from_attribute_value(item.get("reason")?.clone()).ok()?,
            since: text("open_since")?.parse().ok()?,
        })
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
            closed: None,
            closed_reason: None,
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
                case.closed = None;
                case.closed_reason = None;
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
    // Two refunds of one payment may fail, and a person must hear of both.
    let parts: Vec<&str> = payment.into_iter().chain(occasion).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    fn handover(payment_ref: &str) -> Handover {
        Handover {
            subject: "bkg_1".to_owned(),
            reason: Reason::LatePayment,
            facts: json!({"payment_ref": payment_ref}),
        }
    }

    fn opened() -> Case {
        match escalate(None, "e-1", &handover("pi_1"), at(0)) {
            Escalation::New(case) => *case,
            other @ (Escalation::Known | Escalation::Untold(_)) => panic!("{other:?}"),
        }
    }

    fn closed(case: &Case) -> Case {
        match close(case, "ada", "Philippa was called", at(5)) {
            Closing::Closed(case) => *case,
            Closing::Already => panic!("it was open"),
        }
    }

    #[test]
    fn a_case_is_closed_once_and_leaves_the_index() {
        let case = opened();
        let open = case.item().unwrap();
        assert_eq!(open["open_shard"].as_s().unwrap(), "OPEN");
        assert_eq!(open["open_since"].as_s().unwrap(), &stamp(at(0)));
        let closed = closed(&case);
        assert_eq!((closed.status, closed.version), (Status::Closed, 2));
        let changes = closed.changes_from(&case).unwrap();
        assert!(changes.removed.contains("open_shard") && changes.removed.contains("open_since"));
        assert!(matches!(
            close(&closed, "ada", "again", at(6)),
            Closing::Already
        ));
    }

    #[test]
    fn something_new_opens_a_closed_case_again_and_a_repeat_does_not() {
        let closed = closed(&opened().told(at(1)));
        let repeat = escalate(Some(&closed), "e-1", &handover("pi_1"), at(7));
        assert!(matches!(repeat, Escalation::Known), "{repeat:?}");
        let Escalation::New(again) = escalate(Some(&closed), "e-2", &handover("pi_2"), at(8))
        else {
            panic!("it is news");
        };
        assert_eq!((again.status, again.opened_at), (Status::Open, at(8)));
        assert_eq!((&again.closed, &again.closed_reason), (&None, &None));
        assert_eq!(again.entries.len(), 2);
    }

    #[test]
    fn a_row_from_before_cases_could_be_closed_is_read() {
        let mut old = opened().item().unwrap();
        for name in ["open_shard", "open_since"] {
            old.remove(name);
        }
        let case: Case = crate::step::from_item(old).unwrap();
        assert_eq!((case.status, case.closed), (Status::Open, None));
    }
}
