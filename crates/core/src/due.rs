//! Finding due work: page by page in an index that holds nothing else.
//!
//! The index is behind the table and may show a booking twice, or too late: what it says is a hint,
//! and each booking is decided on from its own row.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};

use crate::booking::{DUE_SHARDS, State, due_shard};
use crate::local_time::stamp;
use crate::step::Item;

/// One page of due bookings, the longest due first.
#[derive(Debug)]
pub struct DuePage {
    pub booking_ids: Vec<String>,
    /// Where the next page starts; absent after the last.
    pub next: Option<Item>,
}

/// Where to look: one state's due work in one shard, up to `now`.
#[derive(Clone, Copy, Debug)]
pub struct DueQuery<'a> {
    pub table: &'a str,
    pub state: State,
    pub shard: u64,
    pub now: DateTime<Utc>,
    pub limit: i32,
}

/// Reads one page of due bookings.
///
/// # Errors
/// If DynamoDB did not answer.
pub async fn due_page(
    client: &Client,
    query: DueQuery<'_>,
    start: Option<Item>,
) -> Result<DuePage, Box<SdkError<QueryError>>> {
    let shard = due_shard(query.state, query.shard);
    let page = client
        .query()
        .table_name(query.table)
        .index_name("due-index")
        .key_condition_expression("state_shard = :shard AND due_at <= :now")
        .expression_attribute_values(":shard", AttributeValue::S(shard))
        .expression_attribute_values(":now", AttributeValue::S(stamp(query.now)))
        .limit(query.limit)
        .set_exclusive_start_key(start)
        .send()
        .await
        .map_err(Box::new)?;
    let booking_ids = page
        .items()
        .iter()
        .filter_map(|item| item.get("booking_id")?.as_s().ok().cloned())
        .collect();
    let next = page.last_evaluated_key.filter(|key| !key.is_empty());
    Ok(DuePage { booking_ids, next })
}

/// How many due bookings one page holds.
const PAGE_ITEMS: i32 = 50;
/// How many pages one sweep reads in each shard; what is left is the next sweep's.
const PAGES_MAX: usize = 20;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Swept {
    pub looked_at: u32,
    /// Bookings that could not be handled; the next sweep finds them again.
    pub failed: u32,
}

/// Works off the due bookings of one state, page by page. One that fails stops none behind it.
///
/// # Errors
/// If the index did not answer.
pub async fn work_off<F, Fut, E>(
    client: &Client,
    table: &str,
    state: State,
    now: DateTime<Utc>,
    mut handle: F,
) -> Result<Swept, Box<SdkError<QueryError>>>
where
    F: FnMut(String) -> Fut,
    Fut: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let mut swept = Swept::default();
    for shard in 0..DUE_SHARDS {
        let query = DueQuery {
            table,
            state,
            shard,
            now,
            limit: PAGE_ITEMS,
        };
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let page = due_page(client, query, start).await?;
            for booking_id in page.booking_ids {
                swept.looked_at += 1;
                if let Err(error) = handle(booking_id.clone()).await {
                    swept.failed += 1;
                    tracing::error!(booking.id = %booking_id, %error, "Due booking `{booking_id}` could not be handled");
                }
            }
            start = page.next;
            if start.is_none() {
                break;
            }
        }
    }
    Ok(swept)
}
