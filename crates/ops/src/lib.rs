//! What an operator does from a shell: books, forgetting a person, a look at the messages.
//!
//! A library, so that tests call it with a town's clients; `paidonce ops` is its command line. It
//! reads the deployed tables page by page, and writes by core's steps alone. Nothing in here has a
//! clock, prints, or shows a name, a phone or a text of a customer.

pub mod books;
pub mod doctor;
pub mod explain;
pub mod forget;
mod tables;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::scan::ScanError;
use paidonce_core::step::{ReadError, RowError, WriteError};

pub use tables::{Progress, Tables};

/// What kept a command from its end.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    #[error("the table `{table}` was not read")]
    Scan {
        table: String,
        #[source]
        source: Box<SdkError<ScanError>>,
    },
    #[error("the table `{table}` was not asked")]
    Query {
        table: String,
        #[source]
        source: Box<SdkError<QueryError>>,
    },
    #[error("rows of the table `{table}` were not read")]
    Batch {
        table: String,
        #[source]
        source: Box<SdkError<BatchGetItemError>>,
    },
    #[error("the table `{0}` gave too little at a time; try again later")]
    Throttled(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("a row does not fit its type")]
    Unfit(#[from] RowError),
    #[error("a secret was not read")]
    Secret(#[from] lambda_kit::SecretError),
    /// What the provider said, without what was asked.
    #[error("the provider's {list} were not read: {reason}")]
    Provider { list: &'static str, reason: String },
    #[error("others kept writing; run it again")]
    Contended,
    #[error("the secret `{0}` is too short to hide a phone")]
    WeakSalt(String),
}
