//! The rows of the log as its index by month has them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as NotNamed, StrDeserializer};

use super::MonthWindow;
use crate::dunning::{Ending, LogEvent, Status};
use crate::money::Money;
use crate::step::{Item, RowError, from_item};

/// What the index keeps of one row; see [`crate::dunning::LogRow`].
#[derive(Clone, Debug, Deserialize)]
pub struct MonthLine {
    pub subscription_id: String,
    pub ts: String,
    pub event: String,
    #[serde(default)]
    pub attempt_no: Option<u32>,
    #[serde(default)]
    pub result: Option<String>,
    #[serde(default)]
    pub failure_code: Option<String>,
    #[serde(default)]
    pub invoice_id: Option<String>,
    #[serde(default)]
    pub amount: Option<Money>,
    /// The status after it.
    #[serde(default)]
    pub after: Option<String>,
}

impl MonthLine {
    /// What happened; nothing if a newer writer has a word that is not known here.
    pub(super) fn event(&self) -> Option<LogEvent> {
        LogEvent::deserialize(word(&self.event)).ok()
    }

    /// Whether the subscription had no open invoice afterwards.
    pub(super) fn leaves_nothing_open(&self) -> bool {
        let after = self.after.as_deref().unwrap_or_default();
        matches!(
            Status::deserialize(word(after)),
            Ok(Status::Active | Status::Recovered)
        )
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        Ending::deserialize(word(self.result.as_deref()?)).ok()
    }
}

fn word(text: &str) -> StrDeserializer<'_, NotNamed> {
    text.into_deserializer()
}

/// The log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum MonthError {
    #[error("the log did not answer")]
    Unanswered(#[source] Box<SdkError<QueryError>>),
    #[error("a row of the log does not fit its type")]
    Unfit(#[from] RowError),
}

/// Reads one page of one partition of the log, as far as it is of this month; and where the next page
/// starts, if there is one.
///
/// # Errors
/// See [`MonthError`].
pub async fn month_page(
    client: &Client,
    log_table: &str,
    window: &MonthWindow,
    partition: &str,
    start: Option<Item>,
) -> Result<(Vec<MonthLine>, Option<Item>), MonthError> {
    let (from, to) = window.bounds();
    let page = client
        .query()
        .table_name(log_table)
        .index_name("month-index")
        .key_condition_expression("#month = :month AND #ts BETWEEN :from AND :to")
        .expression_attribute_names("#month", "month")
        .expression_attribute_names("#ts", "ts")
        .expression_attribute_values(":month", AttributeValue::S(partition.to_owned()))
        .expression_attribute_values(":from", AttributeValue::S(from))
        .expression_attribute_values(":to", AttributeValue::S(to))
        .set_exclusive_start_key(start)
        .send()
        .await
        .map_err(|error| MonthError::Unanswered(Box::new(error)))?;
    let lines = page.items.unwrap_or_default().into_iter().map(from_item);
    let next = page.last_evaluated_key.filter(|key| !key.is_empty());
    Ok((lines.collect::<Result<_, _>>()?, next))
}
