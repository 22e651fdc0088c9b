//! Reading many rows of one table at once.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use serde::de::DeserializeOwned;

use crate::step::{Row, from_item};

/// DynamoDB's own limit on the keys of one batch read.
const BATCH_KEYS_MAX: usize = 100;
/// How often the keys that a batch read left out are asked for again.
const BATCH_READS_MAX: usize = 20;

/// Many rows could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BatchReadError {
    #[error("a batch of rows was not answered")]
    Unanswered(#[source] Box<SdkError<BatchGetItemError>>),
    #[error("a batch of rows could not be asked for")]
    Unaskable(#[from] BuildError),
    #[error("a row does not fit its type")]
    Unfit(#[from] serde_dynamo::Error),
    #[error("a batch of rows could not be read in full")]
    Incomplete,
}

/// Reads the rows of these keys that there are, consistently, in no order; of each only the
/// attributes that `T` needs, if they are named.
///
/// # Errors
/// If DynamoDB did not answer in full, or a row does not fit its type.
pub(crate) async fn read_many<R: Row, T: DeserializeOwned>(
    client: &Client,
    table: &str,
    keys: &[String],
    attributes: &[&str],
) -> Result<Vec<T>, BatchReadError> {
    let mut rows = Vec::new();
    for batch in keys.chunks(BATCH_KEYS_MAX) {
        read_batch(client, table, batch_of::<R>(batch, attributes)?, &mut rows).await?;
    }
    Ok(rows)
}

async fn read_batch<T: DeserializeOwned>(
    client: &Client,
    table: &str,
    batch: KeysAndAttributes,
    rows: &mut Vec<T>,
) -> Result<(), BatchReadError> {
    let mut request = Some(batch);
    for _ in 0..BATCH_READS_MAX {
        let Some(keys) = request.take() else {
            return Ok(());
        };
        let mut answer = client
            .batch_get_item()
            .request_items(table, keys)
            .send()
            .await
            .map_err(|error| BatchReadError::Unanswered(Box::new(error)))?;
        let found = answer
            .responses
            .as_mut()
            .and_then(|tables| tables.remove(table));
        for row in found.unwrap_or_default() {
            rows.push(from_item(row)?);
        }
        request = answer
            .unprocessed_keys
            .and_then(|mut tables| tables.remove(table));
    }
    Err(BatchReadError::Incomplete)
}

fn batch_of<R: Row>(keys: &[String], attributes: &[&str]) -> Result<KeysAndAttributes, BuildError> {
    let mut batch = KeysAndAttributes::builder().consistent_read(true);
    for key in keys {
        let value = AttributeValue::S(key.clone());
        batch = batch.keys(HashMap::from([(R::KEY.to_owned(), value)]));
    }
    let aliases: Vec<String> = (0..attributes.len()).map(|at| format!("#a{at}")).collect();
    if !aliases.is_empty() {
        batch = batch.projection_expression(aliases.join(", "));
    }
    for (alias, name) in aliases.into_iter().zip(attributes) {
        batch = batch.expression_attribute_names(alias, *name);
    }
    batch.build()
}
