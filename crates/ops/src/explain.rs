//! Why a subscription stands where it stands: its row and its log, read and explained.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use paidonce_core::dunning::explain::explain;
use paidonce_core::dunning::{Dunning, LogRow};
use paidonce_core::step::{from_item, read};

use crate::OpsError;

/// The most pages of one log that are read; a subscription has a few rows a month.
const PAGES_MAX: usize = 20;

/// The deployed names.
const DUNNING_TABLE: &str = "dunr-dunning";
const LOG_TABLE: &str = "dunr-log";

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub text: String,
    /// A person must look at something.
    pub needs_a_person: bool,
}

/// Explains a subscription; nothing if it never was in dunning.
///
/// # Errors
/// See [`OpsError`].
pub async fn subscription(
    client: &Client,
    subscription_id: &str,
    now: DateTime<Utc>,
) -> Result<Option<Explained>, OpsError> {
    let Some(row) = read::<Dunning>(client, DUNNING_TABLE, subscription_id).await? else {
        return Ok(None);
    };
    let (log, is_whole) = log_of(client, subscription_id).await?;
    let mut text = explain(&row, &log, now);
    if !is_whole {
        text.push_str("  … and later rows, which are not shown\n");
    }
    let needs_a_person = !row.cases.is_empty();
    Ok(Some(Explained {
        text,
        needs_a_person,
    }))
}

/// The rows of a log, the oldest first; and whether these are all.
async fn log_of(client: &Client, subscription_id: &str) -> Result<(Vec<LogRow>, bool), OpsError> {
    let mut rows = Vec::new();
    let mut start = None;
    for _ in 0..PAGES_MAX {
        let page = client
            .query()
            .table_name(LOG_TABLE)
            .key_condition_expression("subscription_id = :subscription")
            .expression_attribute_values(
                ":subscription",
                AttributeValue::S(subscription_id.to_owned()),
            )
            .consistent_read(true)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| OpsError::Query {
                table: LOG_TABLE.to_owned(),
                source: Box::new(error),
            })?;
        for item in page.items.unwrap_or_default() {
            rows.push(from_item(item)?);
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            return Ok((rows, true));
        }
    }
    Ok((rows, false))
}
