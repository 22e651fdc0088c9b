//! Finding due work: page by page in an index that holds nothing else.
//!
//! The index is behind the table and may show a booking twice, or too late: what it says is a hint,
//! and each booking is decided on from its own row.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_async::time::{SharedTimeSource, TimeSource};
use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::booking::{Booking, DUE_SHARDS, State, due_shard};
use crate::dunning::Dunning;
use crate::local_time::stamp;
use crate::planted::{self, Defect};
use crate::refund::{LOOKUP_SHARDS, PaymentRow, lookup_shard};
use crate::step::{Item, Row};

/// One page of due rows, the longest due first.
#[derive(Debug)]
pub struct DuePage {
    pub keys: Vec<String>,
    /// Where the next page starts; absent after the last.
    pub next: Option<Item>,
}

/// Work of one kind: where its index is, and over which partitions it is spread.
#[derive(Clone, Debug)]
pub struct DueWork<'a> {
    table: &'a str,
    key: &'static str,
    shards: Vec<String>,
}

impl<'a> DueWork<'a> {
    /// The due bookings of one state.
    pub fn bookings(table: &'a str, state: State) -> Self {
        Self {
            table,
            key: Booking::KEY,
            shards: (0..DUE_SHARDS).map(|it| due_shard(state, it)).collect(),
        }
    }

    /// The subscriptions of which something is overdue.
    pub fn subscriptions(table: &'a str) -> Self {
        Self {
            table,
            key: Dunning::KEY,
            shards: (0..crate::dunning::DUE_SHARDS)
                .map(crate::dunning::due_shard)
                .collect(),
        }
    }

    /// The payments of which something must be looked up at the provider.
    pub fn lookups(table: &'a str) -> Self {
        Self {
            table,
            key: PaymentRow::KEY,
            shards: (0..LOOKUP_SHARDS).map(lookup_shard).collect(),
        }
    }
}

/// Where to look: one partition of due work, up to `now`.
#[derive(Clone, Copy, Debug)]
pub struct DueQuery<'a> {
    pub table: &'a str,
    pub key: &'static str,
    pub shard: &'a str,
    pub now: DateTime<Utc>,
    pub limit: i32,
}

/// Reads one page of due rows.
///
/// # Errors
/// If DynamoDB did not answer.
pub async fn due_page(
    client: &Client,
    query: DueQuery<'_>,
    start: Option<Item>,
) -> Result<DuePage, Box<SdkError<QueryError>>> {
    let page = client
        .query()
        .table_name(query.table)
        .index_name("due-index")
        .key_condition_expression("state_shard = :shard AND due_at <= :now")
        .expression_attribute_values(":shard", AttributeValue::S(query.shard.to_owned()))
        .expression_attribute_values(":now", AttributeValue::S(stamp(query.now)))
        .limit(query.limit)
        .set_exclusive_start_key(start)
        .send()
        .await
        .map_err(Box::new)?;
    let keys = page
        .items()
        .iter()
        .filter_map(|item| item.get(query.key)?.as_s().ok().cloned())
        .collect();
    let next = page.last_evaluated_key.filter(|key| !key.is_empty());
    Ok(DuePage { keys, next })
}

/// How many due rows one page holds.
const PAGE_ITEMS: i32 = 50;
/// How many rows are handled at a time: each of them waits for others most of its time.
const AT_A_TIME: usize = 8;
/// More pages than any sweep gets to in its time.
const PAGES_MAX: usize = 4_000;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Swept {
    pub looked_at: u32,
    /// Rows that could not be handled; the next sweep finds them again.
    pub failed: u32,
    /// Its time was over before all was looked at: the next sweep goes on.
    pub more: bool,
}

/// Works off what is due, page by page and from each partition in turn, until nothing is left or the
/// time `within` is over. What is under way then is still finished. A row that fails stops none
/// behind it, and a partition full of those stops no other.
///
/// # Errors
/// If the index did not answer.
pub async fn work_off<F, Fut, E>(
    client: &Client,
    work: &DueWork<'_>,
    now: DateTime<Utc>,
    within: Duration,
    mut handle: F,
) -> Result<Swept, Box<SdkError<QueryError>>>
where
    F: FnMut(String) -> Fut,
    Fut: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let is_first_only = planted::is(Defect::FirstPageOnly);
    let timer = Timer::start(client, within);
    let mut swept = Swept::default();
    let first_pages = work.shards.iter().map(|shard| (shard.as_str(), None));
    let mut left: VecDeque<(&str, Option<Item>)> = first_pages.collect();
    for _ in 0..PAGES_MAX {
        let Some((shard, start)) = left.pop_front() else {
            break;
        };
        if timer.is_over() {
            left.push_front((shard, start));
            break;
        }
        let query = DueQuery {
            table: work.table,
            key: work.key,
            shard,
            now,
            limit: if is_first_only { 1 } else { PAGE_ITEMS },
        };
        let page = due_page(client, query, start).await?;
        handle_all(page.keys, &timer, &mut handle, &mut swept).await;
        let next = page.next.filter(|_| !is_first_only);
        left.extend(next.map(|next| (shard, Some(next))));
        if planted::is(Defect::SweepStopsAtBadRow) && swept.failed > 0 {
            break;
        }
    }
    swept.more |= !left.is_empty();
    Ok(swept)
}

/// Handles the rows of a page, some at a time.
async fn handle_all<F, Fut, E>(keys: Vec<String>, timer: &Timer, handle: &mut F, swept: &mut Swept)
where
    F: FnMut(String) -> Fut,
    Fut: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let mut waiting = keys.into_iter();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < AT_A_TIME && !timer.is_over() {
            let Some(key) = waiting.next() else {
                break;
            };
            let handled = handle(key.clone());
            running.push(async move { (key, handled.await) });
        }
        let Some((key, handled)) = running.next().await else {
            break;
        };
        swept.looked_at += 1;
        if let Err(error) = handled {
            swept.failed += 1;
            tracing::error!(due.key = %key, %error, "Due work on `{key}` could not be done");
            if planted::is(Defect::SweepStopsAtBadRow) {
                break;
            }
        }
    }
    swept.more |= waiting.next().is_some();
}

/// How much of its time a sweep has used, by the client's own clock.
struct Timer {
    clock: Option<SharedTimeSource>,
    started: Option<SystemTime>,
    within: Duration,
}

impl Timer {
    fn start(client: &Client, within: Duration) -> Self {
        let clock = client.config().time_source();
        Self {
            started: clock.as_ref().map(TimeSource::now),
            clock,
            within,
        }
    }

    fn is_over(&self) -> bool {
        let now = self.clock.as_ref().map(TimeSource::now);
        let spent = now
            .zip(self.started)
            .and_then(|(now, started)| now.duration_since(started).ok());
        spent.is_some_and(|spent| spent >= self.within)
    }
}
