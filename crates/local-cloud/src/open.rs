//! Opens a cloud: reads the template, makes the tables, restores or starts the state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use chrono::{DateTime, Duration, Utc};
use dynoxide::Database;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::clock::Clock;
use crate::cloud::Cloud;
use crate::disorder::Dice;
use crate::error::CloudError;
use crate::faults::Faults;
use crate::meter::Meter;
use crate::mischief::Mischief;
use crate::pump::Writes;
use crate::services::{Script, dynamodb, made_up};
use crate::store::{Secret, SecretVersion, Store};
use crate::template::{self, Stack};

const HAPPENINGS_KEPT: usize = 4_096;
const PAGES_MAX: usize = 100_000;

/// What a cloud is made from.
#[derive(Clone, Debug)]
pub struct Options {
    /// The template's parameters; those that are absent keep their defaults.
    pub parameters: BTreeMap<String, String>,
    /// Function URLs become `{base_url}/url/{function}/`.
    pub base_url: String,
    /// The first instant, unless the saved state is later.
    pub start: DateTime<Utc>,
    pub seed: u64,
    /// A folder for the state; everything is in memory when absent.
    pub state: Option<PathBuf>,
}

/// See [`crate::LocalCloud::from_template`].
pub(crate) fn open(template: &str, options: Options) -> Result<Cloud, CloudError> {
    let stack = template::load(template, &options.parameters, &options.base_url)?;
    if let Some(folder) = &options.state {
        std::fs::create_dir_all(folder).map_err(|error| CloudError::State {
            path: folder.display().to_string(),
            problem: error.to_string(),
        })?;
    }
    let store = Store::open(options.state.as_deref(), options.start)?;
    let clock = Clock::new(store.look(|state| state.now).max(options.start));
    let database = database(options.state.as_deref(), &clock)?;
    make_tables(&database, &stack)?;
    let cloud = Cloud {
        clock,
        seed: options.seed,
        stack,
        database,
        store,
        faults: Faults::default(),
        meter: Meter::default(),
        functions: RwLock::default(),
        neighbours: RwLock::default(),
        happenings: broadcast::channel(HAPPENINGS_KEPT).0,
        pump: tokio::sync::Mutex::new(()),
        ttl_lag: Mutex::new(Duration::zero()),
        rates_at_most: Mutex::new(Duration::zero()),
        left_out: Mutex::new(None),
        script: Mutex::new(Script::default()),
        carrier_optouts: Mutex::default(),
        refused_phones: Mutex::default(),
        mail_account: Mutex::default(),
        dice: Dice::default(),
        mischief: Mischief::default(),
        invocations: AtomicU64::new(0),
        writes: Writes::default(),
        rows_read: Mutex::default(),
        expiries: Mutex::default(),
    };
    start_state(&cloud);
    Ok(cloud)
}

/// In a file dynoxide keeps its own clock, which only stamps stream records; rows expire by ours.
fn database(folder: Option<&Path>, clock: &Clock) -> Result<Database, CloudError> {
    let opened = match folder {
        Some(folder) => Database::new(&folder.join("dynamodb.sqlite").to_string_lossy()),
        None => Database::memory_with_clock(Arc::new(clock.clone())),
    };
    opened.map_err(|error| CloudError::DynamoDb(error.to_string()))
}

fn make_tables(database: &Database, stack: &Stack) -> Result<(), CloudError> {
    for (name, table) in &stack.tables {
        let exists =
            dynamodb::call(database, "DescribeTable", &json!({ "TableName": name })).is_ok();
        if !exists {
            dynamodb::call(database, "CreateTable", &table.create).map_err(|error| {
                CloudError::Resource {
                    resource: name.clone(),
                    problem: error.to_string(),
                }
            })?;
        }
    }
    Ok(())
}

/// Gives new secrets a value and new schedules a first firing; forgets what the template lost.
fn start_state(cloud: &Cloud) {
    let now = cloud.clock.now();
    for name in &cloud.stack.secrets {
        if cloud.store.look(|state| !state.secrets.contains_key(name)) {
            let version = SecretVersion {
                id: cloud.new_id("secret"),
                value: made_up(name),
                created_at: now,
            };
            let secret = Secret {
                current: version,
                previous: None,
            };
            cloud
                .store
                .change(|state| state.secrets.insert(name.clone(), secret));
        }
    }
    cloud.store.change(|state| {
        state.now = now;
        state.openings += 1;
        state
            .next_firings
            .retain(|name, _| cloud.stack.schedules.contains_key(name));
        for (name, schedule) in &cloud.stack.schedules {
            if let (false, Some(next)) = (
                state.next_firings.contains_key(name),
                schedule.timing.next(now),
            ) {
                state.next_firings.insert(name.clone(), next);
            }
        }
    });
}

/// The rows of tables as they were last asked for, each with the number of writes before.
pub(crate) type RowsRead = Mutex<BTreeMap<String, (u64, Arc<Vec<Value>>)>>;

/// See [`crate::LocalCloud::table`].
pub(crate) fn rows(cloud: &Cloud, name: &str) -> Result<Arc<Vec<Value>>, CloudError> {
    let written = cloud.writes.count(name);
    let read = || {
        cloud
            .rows_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    if let Some((_, rows)) = read().get(name).filter(|(then, _)| *then == written) {
        return Ok(Arc::clone(rows));
    }
    let rows = Arc::new(scan(cloud, name)?);
    read().insert(name.to_owned(), (written, Arc::clone(&rows)));
    Ok(rows)
}

fn scan(cloud: &Cloud, name: &str) -> Result<Vec<Value>, CloudError> {
    let table = cloud
        .stack
        .tables
        .get(name)
        .ok_or_else(|| CloudError::UnknownTable(name.to_owned()))?;
    let mut rows = Vec::new();
    let mut scan = json!({"TableName": name, "ConsistentRead": true});
    for _ in 0..PAGES_MAX {
        let page = dynamodb::call(&cloud.database, "Scan", &scan);
        let page = page.map_err(|error| CloudError::DynamoDb(error.to_string()))?;
        rows.extend(
            page["Items"]
                .as_array()
                .into_iter()
                .flatten()
                .map(dynamodb::plain_item),
        );
        if page["LastEvaluatedKey"].is_null() {
            break;
        }
        scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
    let key = |row: &Value| -> Vec<String> {
        table
            .key_names
            .iter()
            .map(|part| template::plain(&row[part]))
            .collect()
    };
    rows.sort_by_cached_key(key);
    Ok(rows)
}
