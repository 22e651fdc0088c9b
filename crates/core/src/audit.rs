//! The append-only record of what happened, written in the same step as the change it tells of.
//!
//! A row holds the attributes that the step set and removed, but none about a person, so a state
//! can be rebuilt from its audit rows and a person can still be forgotten.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::step::{Item, Row, Step, from_item};

/// The most pages of one history that are read: a booking has a few dozen rows.
const HISTORY_PAGES_MAX: usize = 10;

/// A history that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("a history was not answered")]
    Unanswered(#[source] Box<SdkError<QueryError>>),
    #[error("an audit row does not fit its type")]
    Unfit(#[from] serde_dynamo::Error),
}

/// Who did what, and why.
#[derive(Clone, Debug)]
pub struct Audit<'a> {
    /// The booking, or another thing that has a history.
    pub subject: &'a str,
    /// The function, and the person or source behind it where there is one.
    pub who: &'a str,
    /// The fact, such as `payment received`.
    pub what: &'a str,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
    pub why: String,
    /// The request or event that all this goes back to.
    pub correlation_id: &'a str,
}

/// One audit row as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditRow {
    pub booking_id: String,
    /// RFC 3339 in UTC with milliseconds, the subject's version and the id of the step, with `#`
    /// between them: unique and in order.
    pub ts: String,
    /// When the step was written; absent from rows of before there was this field.
    #[serde(default)]
    pub at: Option<DateTime<Utc>>,
    pub who: String,
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub why: String,
    pub correlation_id: String,
    /// The command that this step carried out.
    pub causation_id: String,
    #[serde(default)]
    pub set: Map<String, Value>,
    #[serde(default)]
    pub removed: Vec<String>,
}

impl Row for AuditRow {
    const NAME: &'static str = "audit";
    const KEY: &'static str = "booking_id";

    fn key(&self) -> String {
        self.booking_id.clone()
    }
}

impl Step {
    /// Adds the audit row of this step: after the change that it tells of.
    #[must_use]
    pub fn audit(self, table: &str, audit: Audit<'_>) -> Self {
        let at = self
            .now
            .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        // The version keeps steps of one millisecond in order.
        let ts = format!("{at}#{:06}#{}", self.subject_version, self.id);
        self.audit_at(table, ts, audit)
    }

    /// Adds an audit row under a sort key of its own: it can be written once.
    #[must_use]
    pub fn audit_at(mut self, table: &str, ts: String, audit: Audit<'_>) -> Self {
        let diff = std::mem::take(&mut self.diff);
        let at = self.now.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let removed = diff.removed.into_iter().map(AttributeValue::S).collect();
        // By hand: the attributes of the change are in their stored form already.
        let mut item = Item::from([
            ("set".to_owned(), AttributeValue::M(diff.set)),
            ("removed".to_owned(), AttributeValue::L(removed)),
        ]);
        let texts = [
            ("booking_id", Some(audit.subject)),
            ("ts", Some(&ts)),
            ("at", Some(&at)),
            ("who", Some(audit.who)),
            ("what", Some(audit.what)),
            ("before", audit.before),
            ("after", audit.after),
            ("why", Some(&audit.why)),
            ("correlation_id", Some(audit.correlation_id)),
            ("causation_id", Some(&self.command_id)),
        ];
        for (name, text) in texts {
            let text = text.map(|text| AttributeValue::S(text.to_owned()));
            item.extend(text.map(|text| (name.to_owned(), text)));
        }
        let key = audit.subject.to_owned();
        self.put_item::<AuditRow>(table, key, item, "attribute_not_exists(#key)", &[])
    }
}

/// Reads a subject's audit rows whose sort key starts with `prefix`, in order, consistently.
///
/// # Errors
/// If DynamoDB did not answer, or a row does not fit its type.
pub async fn history(
    client: &Client,
    table: &str,
    subject: &str,
    prefix: &str,
) -> Result<Vec<AuditRow>, HistoryError> {
    let mut rows = Vec::new();
    let mut start = None;
    for _ in 0..HISTORY_PAGES_MAX {
        let page = client
            .query()
            .table_name(table)
            .consistent_read(true)
            .key_condition_expression("booking_id = :subject AND begins_with(ts, :prefix)")
            .expression_attribute_values(":subject", AttributeValue::S(subject.to_owned()))
            .expression_attribute_values(":prefix", AttributeValue::S(prefix.to_owned()))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| HistoryError::Unanswered(Box::new(error)))?;
        for item in page.items.unwrap_or_default() {
            rows.push(from_item(item)?);
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            break;
        }
    }
    Ok(rows)
}

/// Rebuilds a row's attributes, but those about a person, from its audit rows.
///
/// By version and not by time: the clocks of two functions may differ.
pub fn rebuild(rows: &[AuditRow]) -> Value {
    let version = |row: &&AuditRow| row.set.get("version").and_then(Value::as_u64);
    let mut changes: Vec<&AuditRow> = rows.iter().filter(|row| version(row).is_some()).collect();
    changes.sort_by_key(version);
    let mut attributes = Map::new();
    for row in changes {
        for name in &row.removed {
            attributes.remove(name);
        }
        for (name, value) in &row.set {
            attributes.insert(name.clone(), value.clone());
        }
    }
    json!(attributes)
}
