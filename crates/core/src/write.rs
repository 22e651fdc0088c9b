//! Sending a step, telling a refusal from contention, and reading rows consistently.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};
use aws_smithy_async::rt::sleep::AsyncSleep;
use serde::de::DeserializeOwned;
use std::time::Duration;
use ulid::Ulid;

use crate::planted::{self, Defect};
use crate::step::{Found, Part, Row, Step, Written};

/// How often a contended step is sent in all.
const SENDS_MAX: u32 = 4;
/// The wait before the second send; it doubles from there, less up to half by chance.
const FIRST_WAIT: Duration = Duration::from_millis(20);

/// A step that was not answered, or could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It may or may not have been written: carry out the same command again to find out.
    #[error("a write was not answered")]
    Unanswered(#[source] Box<SdkError<TransactWriteItemsError>>),
    /// It was refused as malformed or not allowed, and will be again.
    #[error("a write was refused")]
    Refused(#[source] Box<SdkError<TransactWriteItemsError>>),
    /// It was cancelled for a reason that is neither a condition nor contention.
    #[error("a write was cancelled: {0}")]
    Cancelled(String),
    /// The step could not be built.
    #[error("a step could not be built: {0}")]
    Defect(String),
}

/// A row that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("a read was not answered")]
    Unanswered(#[source] Box<SdkError<GetItemError>>),
    #[error("a row does not fit its type")]
    Unfit(#[from] serde_dynamo::Error),
}

/// Writes `step` whole or not at all, again a few times while others hold its rows.
///
/// # Errors
/// See [`WriteError`]; after `Unanswered` the caller fails too, and its repetition finds out.
pub async fn write(client: &Client, step: &Step) -> Result<Written, WriteError> {
    let parts = step.checked().map_err(WriteError::Defect)?;
    if planted::is(Defect::EventBeforeWork)
        && let Some((guard, work)) = guarded_by_its_event(step)
    {
        match Box::pin(write(client, &guard)).await? {
            Written::Applied => return Box::pin(write(client, &work)).await,
            written @ (Written::Stale(_) | Written::Contended) => return Ok(written),
        }
    }
    for send in 1..=SENDS_MAX {
        match send_once(client, step, parts).await? {
            Written::Contended if send < SENDS_MAX => wait(client, step, send).await,
            written @ (Written::Applied | Written::Stale(_) | Written::Contended) => {
                return Ok(written);
            }
        }
    }
    Ok(Written::Contended)
}

/// The step of an event in two: that it was seen, and what it does. Nothing else has a guard by the
/// name of its own command.
fn guarded_by_its_event(step: &Step) -> Option<(Step, Step)> {
    let (guard, work) = step.parts.split_first()?;
    if guard.key != step.command_id || work.is_empty() {
        return None;
    }
    let (mut seen, mut done) = (step.clone(), step.clone());
    (seen.parts, done.parts) = (vec![guard.clone()], work.to_vec());
    // A step of its own, and whoever finds it there takes it for another's.
    seen.id = Ulid::from(u128::from(step.id) ^ 1);
    seen.command_id = String::new();
    Some((seen, done))
}

async fn send_once(client: &Client, step: &Step, parts: &[Part]) -> Result<Written, WriteError> {
    #[expect(clippy::disallowed_methods, reason = "the one sender of writes")]
    let sent = client
        .transact_write_items()
        .client_request_token(step.id.to_string())
        .set_transact_items(Some(parts.iter().map(|part| part.item.clone()).collect()))
        .send()
        .await;
    let Err(error) = sent else {
        return Ok(Written::Applied);
    };
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled_as(step, parts, cancelled.cancellation_reasons())
        }
        Some(service) if is_contention(service.code()) => Ok(Written::Contended),
        Some(_)
            if error
                .raw_response()
                .is_some_and(|raw| raw.status().as_u16() < 500) =>
        {
            Err(WriteError::Refused(Box::new(error)))
        }
        _ => Err(WriteError::Unanswered(Box::new(error))),
    }
}

/// A cancelled transaction names a reason for each part, and all of them count: a condition that
/// did not hold beside a conflict is a conflict, since the part in conflict was never looked at.
fn cancelled_as(
    step: &Step,
    parts: &[Part],
    reasons: &[CancellationReason],
) -> Result<Written, WriteError> {
    let codes: Vec<&str> = reasons
        .iter()
        .map(|reason| reason.code().unwrap_or("None"))
        .collect();
    let is_refusal = planted::is(Defect::ContentionIsRefusal);
    if !is_refusal && codes.iter().any(|code| is_contention(Some(code))) {
        return Ok(Written::Contended);
    }
    if let Some(other) = codes
        .iter()
        .filter(|code| !(is_refusal && is_contention(Some(code))))
        .find(|code| !matches!(**code, "None" | "ConditionalCheckFailed"))
    {
        return Err(WriteError::Cancelled((*other).to_owned()));
    }
    let found: Vec<Found> = parts
        .iter()
        .zip(reasons)
        .filter(|(_, reason)| {
            let contended = is_refusal && is_contention(reason.code());
            reason.code() == Some("ConditionalCheckFailed") || contended
        })
        .map(|(part, reason)| Found {
            name: part.name,
            key: part.key.clone(),
            row: reason.item().cloned().filter(|row| !row.is_empty()),
        })
        .collect();
    if found
        .iter()
        .any(|found| is_own_write(found, &step.command_id))
    {
        return Ok(Written::Applied);
    }
    Ok(Written::Stale(found))
}

fn is_own_write(found: &Found, command_id: &str) -> bool {
    let row = found.row.as_ref();
    let last = row
        .and_then(|row| row.get("last_command"))
        .and_then(|id| id.as_s().ok());
    last.is_some_and(|last| last == command_id)
}

fn is_contention(code: Option<&str>) -> bool {
    matches!(
        code,
        Some(
            "TransactionConflict"
                | "TransactionConflictException"
                | "TransactionInProgressException"
                | "ThrottlingError"
                | "ThrottlingException"
                | "ProvisionedThroughputExceeded"
                | "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
        )
    )
}

async fn wait(client: &Client, step: &Step, sends: u32) {
    let longest = FIRST_WAIT * 2_u32.pow(sends - 1);
    // The step's id is random: as good a die as any, and the same in a repeated simulation.
    let chance = u32::try_from((step.id.random() >> (8 * sends)) & 0xff).unwrap_or_default();
    let pause = longest - longest * chance / 512;
    if let Some(sleep) = client.config().sleep_impl() {
        sleep.sleep(pause).await;
    }
}

/// Reads one row, consistently.
///
/// # Errors
/// If DynamoDB did not answer, or the row does not fit its type.
pub async fn read<R: Row + DeserializeOwned>(
    client: &Client,
    table: &str,
    key: &str,
) -> Result<Option<R>, ReadError> {
    let answer = client
        .get_item()
        .table_name(table)
        .key(R::KEY, AttributeValue::S(key.to_owned()))
        .consistent_read(true)
        .send()
        .await
        .map_err(|error| ReadError::Unanswered(Box::new(error)))?;
    Ok(answer.item.map(serde_dynamo::from_item).transpose()?)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use ulid::Ulid;

    use super::*;

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    fn verdict(codes: &[&str]) -> String {
        let step = Step::new(Ulid::nil(), "c-1", DateTime::UNIX_EPOCH);
        let reasons: Vec<_> = codes.iter().map(|code| reason(code)).collect();
        let parts: Vec<Part> = codes
            .iter()
            .map(|_| Part {
                name: "row",
                key: "k".to_owned(),
                item: aws_sdk_dynamodb::types::TransactWriteItem::builder().build(),
            })
            .collect();
        match cancelled_as(&step, &parts, &reasons) {
            Ok(Written::Applied) => "applied".to_owned(),
            Ok(Written::Stale(found)) => format!("stale {}", found.len()),
            Ok(Written::Contended) => "contended".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn bug_g03_contention_is_never_a_business_answer() {
        assert_eq!(verdict(&["ConditionalCheckFailed", "None"]), "stale 1");
        assert_eq!(verdict(&["None", "TransactionConflict"]), "contended");
        assert_eq!(
            verdict(&["ConditionalCheckFailed", "TransactionConflict"]),
            "contended"
        );
        assert_eq!(
            verdict(&["ThrottlingError", "TransactionConflict"]),
            "contended"
        );
        assert_eq!(
            verdict(&["ValidationError", "None"]),
            "a write was cancelled: ValidationError"
        );
        let oversized = ["None", "None", "ItemCollectionSizeLimitExceeded"];
        assert_eq!(
            verdict(&oversized),
            "a write was cancelled: ItemCollectionSizeLimitExceeded"
        );
    }

    #[test]
    fn bug_g02_a_writer_knows_its_own_write_and_nobody_elses() {
        let step = Step::new(Ulid::nil(), "c-1", DateTime::UNIX_EPOCH);
        let parts = [Part {
            name: "row",
            key: "k".to_owned(),
            item: aws_sdk_dynamodb::types::TransactWriteItem::builder().build(),
        }];
        let found_by = |command: &str| {
            let row = AttributeValue::S(command.to_owned());
            let reason = CancellationReason::builder()
                .code("ConditionalCheckFailed")
                .item("last_command", row)
                .build();
            cancelled_as(&step, &parts, &[reason])
        };
        assert!(matches!(found_by("c-1"), Ok(Written::Applied)));
        assert!(matches!(found_by("c-2"), Ok(Written::Stale(found)) if found.len() == 1));
    }
}
