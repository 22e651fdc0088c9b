//! Indexes that are behind their tables.
//!
//! While this is on, the indexes live in a second database, which gets every write when its rolled lag
//! is over, row by row in the order of writing, as DynamoDB's own replication does it. A query or scan
//! of a global secondary index is answered from there as long as a write to its table is on its way.
//! The table itself is never behind.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Duration, Utc};
use dynoxide::Database;
use rand::Rng;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use super::dynamodb;
use crate::cloud::Cloud;
use crate::error::CloudError;
use crate::roll;
use crate::template::Table;
use crate::wire::{Answer, AwsRequest};

const PAGES_MAX: usize = 100_000;

/// How far indexes may be behind: of all writes, half reach them at once and the others up to `max`
/// later, as the seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLag {
    pub seed: u64,
    pub max: Duration,
}

/// The indexes' own database, while there is one.
#[derive(Default)]
pub(crate) struct Indexes(Mutex<Option<Replica>>);

struct Replica {
    database: Database,
    lag: IndexLag,
    dice: ChaCha12Rng,
    /// Of each table, what has not reached the indexes, in the order of writing.
    on_their_way: BTreeMap<String, VecDeque<Write>>,
}

struct Write {
    visible_at: DateTime<Utc>,
    key: Value,
    /// The row after the write; nothing when it is gone.
    row: Option<Value>,
}

impl Indexes {
    /// Begins with indexes that are up to date, or ends the lag.
    ///
    /// # Errors
    /// The second database can't be made.
    pub(crate) fn set(&self, cloud: &Cloud, lag: Option<IndexLag>) -> Result<(), CloudError> {
        let replica = lag.map(|lag| Replica::of(cloud, lag)).transpose()?;
        *self.lock() = replica;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Replica>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Performs a call of DynamoDB, with indexes as far behind as they are.
pub(super) fn perform(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Answer {
    if let Some(answer) = from_the_indexes(cloud, caller, request) {
        return answer;
    }
    let answer = dynamodb::perform(cloud, request);
    if answer.error.is_none() && cloud.mischief.indexes.lock().is_some() {
        for (table, key) in written(cloud, request) {
            note(cloud, &table, key);
        }
    }
    answer
}

/// Tells the indexes of a row that was written.
pub(crate) fn note(cloud: &Cloud, table: &str, key: Value) {
    let mut indexes = cloud.mischief.indexes.lock();
    let Some(replica) = &mut *indexes else { return };
    if !cloud.stack.tables.get(table).is_some_and(has_indexes) {
        return;
    }
    let get = json!({"TableName": table, "Key": key, "ConsistentRead": true});
    let row = dynamodb::call(&cloud.database, "GetItem", &get);
    let row = row.ok().and_then(|mut answer| {
        let row = answer["Item"].take();
        (!row.is_null()).then_some(row)
    });
    let visible_at = cloud.clock.now() + replica.roll();
    replica.add(table, key, row, visible_at);
}

/// The answer of an index that is behind; `None` for every other call.
fn from_the_indexes(cloud: &Cloud, caller: &str, request: &AwsRequest) -> Option<Answer> {
    if !matches!(request.operation.as_str(), "Query" | "Scan") || caller == "operator" {
        return None;
    }
    let (table, index) = (&request.body["TableName"], &request.body["IndexName"]);
    let (table, index) = (table.as_str()?, index.as_str()?);
    if !names_of_indexes(cloud.stack.tables.get(table)?).any(|known| known == index) {
        return None;
    }
    let mut indexes = cloud.mischief.indexes.lock();
    let replica = indexes.as_mut()?;
    replica.catch_up(table, cloud.clock.now());
    replica
        .on_their_way
        .get(table)
        .filter(|left| !left.is_empty())?;
    cloud.faults.count("index_behind");
    Some(dynamodb::perform_on(&replica.database, request))
}

impl Replica {
    fn of(cloud: &Cloud, lag: IndexLag) -> Result<Self, CloudError> {
        let failed = |error: dynoxide::DynoxideError| CloudError::DynamoDb(error.to_string());
        let clock = std::sync::Arc::new(cloud.clock.clone());
        let database = Database::memory_with_clock(clock);
        let database = database.map_err(|error| CloudError::DynamoDb(error.to_string()))?;
        for (name, table) in &cloud.stack.tables {
            if !has_indexes(table) {
                continue;
            }
            let mut create = table.create.clone();
            if let Some(create) = create.as_object_mut() {
                create.remove("StreamSpecification");
            }
            dynamodb::call(&database, "CreateTable", &create).map_err(failed)?;
            for row in rows(&cloud.database, name).map_err(failed)? {
                let put = json!({"TableName": name, "Item": row});
                dynamodb::call(&database, "PutItem", &put).map_err(failed)?;
            }
        }
        Ok(Self {
            database,
            lag,
            dice: roll::dice(lag.seed, 0),
            on_their_way: BTreeMap::new(),
        })
    }

    fn roll(&mut self) -> Duration {
        if self.dice.random_bool(0.5) {
            return Duration::zero();
        }
        roll::delay(&mut self.dice, self.lag.max)
    }

    fn add(&mut self, table: &str, key: Value, row: Option<Value>, visible_at: DateTime<Utc>) {
        let writes = self.on_their_way.entry(table.to_owned()).or_default();
        let earlier = writes.iter().rev().find(|write| write.key == key);
        let earlier = earlier.map_or(visible_at, |write| write.visible_at);
        writes.push_back(Write {
            visible_at: visible_at.max(earlier),
            key,
            row,
        });
    }

    /// Lets everything reach the indexes of a table whose time has come.
    fn catch_up(&mut self, table: &str, now: DateTime<Utc>) {
        let Some(writes) = self.on_their_way.get_mut(table) else {
            return;
        };
        let (due, left) = std::mem::take(writes)
            .into_iter()
            .partition(|write: &Write| write.visible_at <= now);
        *writes = left;
        let due: VecDeque<Write> = due;
        for write in due {
            let done = match write.row {
                Some(row) => {
                    let put = json!({"TableName": table, "Item": row});
                    dynamodb::call(&self.database, "PutItem", &put)
                }
                None => {
                    let delete = json!({"TableName": table, "Key": write.key});
                    dynamodb::call(&self.database, "DeleteItem", &delete)
                }
            };
            if let Err(error) = done {
                tracing::error!(error = %error, "An index of `{table}` did not take a row");
            }
        }
    }
}

fn rows(database: &Database, table: &str) -> Result<Vec<Value>, dynoxide::DynoxideError> {
    let mut rows = Vec::new();
    let mut scan = json!({"TableName": table, "ConsistentRead": true});
    for _ in 0..PAGES_MAX {
        let mut page = dynamodb::call(database, "Scan", &scan)?;
        if let Value::Array(items) = page["Items"].take() {
            rows.extend(items);
        }
        if page["LastEvaluatedKey"].is_null() {
            break;
        }
        scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].take();
    }
    Ok(rows)
}

fn names_of_indexes(table: &Table) -> impl Iterator<Item = &str> {
    let indexes = table.create["GlobalSecondaryIndexes"].as_array();
    let indexes = indexes.into_iter().flatten();
    indexes.filter_map(|index| index["IndexName"].as_str())
}

fn has_indexes(table: &Table) -> bool {
    names_of_indexes(table).next().is_some()
}

/// The tables and keys of the rows that a call wrote.
fn written(cloud: &Cloud, request: &AwsRequest) -> Vec<(String, Value)> {
    let body = &request.body;
    match request.operation.as_str() {
        "PutItem" | "UpdateItem" | "DeleteItem" => of_one(cloud, body).into_iter().collect(),
        "TransactWriteItems" => {
            let items = body["TransactItems"].as_array().into_iter().flatten();
            let write = |item: &Value| {
                let mut writes = ["Put", "Update", "Delete"].into_iter();
                writes.find_map(|kind| of_one(cloud, &item[kind]))
            };
            items.filter_map(write).collect()
        }
        "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            let of_table = |(table, writes): (&String, &Value)| {
                let writes = writes.as_array().into_iter().flatten();
                let key = |write: &Value| {
                    let deleted = &write["DeleteRequest"]["Key"];
                    let key = match deleted.is_null() {
                        true => key_of(cloud, table, &write["PutRequest"]["Item"]),
                        false => deleted.clone(),
                    };
                    (table.clone(), key)
                };
                writes.map(key).collect::<Vec<_>>()
            };
            tables.flat_map(of_table).collect()
        }
        _ => Vec::new(),
    }
}

/// The table and key that one write names.
fn of_one(cloud: &Cloud, write: &Value) -> Option<(String, Value)> {
    let table = write["TableName"].as_str()?;
    let key = write.get("Key").cloned();
    let key = key.unwrap_or_else(|| key_of(cloud, table, &write["Item"]));
    Some((table.to_owned(), key))
}

fn key_of(cloud: &Cloud, table: &str, row: &Value) -> Value {
    let names = cloud.stack.tables.get(table).map(|table| &table.key_names);
    let names = names.into_iter().flatten();
    Value::Object(
        names
            .map(|name| (name.clone(), row[name].clone()))
            .collect(),
    )
}
