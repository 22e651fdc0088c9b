//! Sweeps that would find nothing. Each costs as many calls as one that finds something, and there are many
//! more of them, so most are left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use local_cloud::LocalCloud;
use serde_json::Value;

use super::text;

/// Of so many sweeps that would find nothing one takes place. Prime, so that none is always left out
/// where several are due at once.
const ONE_OF: u64 = 7;

/// No clock is wrong by more.
const CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::minutes(5);

/// What a sweep reads: the rows of one table that its index has, from a time on.
struct Work {
    table: &'static str,
    /// The index's partition, and what its names start with.
    shard: (&'static str, Prefix),
    due: &'static str,
}

enum Prefix {
    Any,
    Is(&'static str),
    IsNot(&'static str),
}

/// What a function reads when its schedule fires, if that is all that it does.
fn work_of(function: &str) -> Option<Work> {
    let (table, shard, due) = match function {
        "bdc-release-sweep" => ("bdc-bookings", Prefix::Is("PENDING"), "due_at"),
        "bdc-settle-sweep" => ("bdc-bookings", Prefix::IsNot("PENDING"), "due_at"),
        "bdc-cashier" => ("bdc-payments", Prefix::Any, "due_at"),
        "dunr-sweep" => ("dunr-dunning", Prefix::Any, "due_at"),
        "bdc-relay" => ("bdc-outbox", Prefix::Any, "created_at"),
        "dunr-relay" => ("dunr-outbox", Prefix::Any, "created_at"),
        _ => return None,
    };
    let partition = match due {
        "created_at" => "pending_shard",
        _ => "state_shard",
    };
    Some(Work {
        table,
        shard: (partition, shard),
        due,
    })
}

impl Work {
    fn has(&self, row: &Value, now: DateTime<Utc>) -> bool {
        let (partition, prefix) = &self.shard;
        let Some(shard) = row[*partition].as_str() else {
            return false;
        };
        let is_own = match prefix {
            Prefix::Any => true,
            Prefix::Is(prefix) => shard.starts_with(prefix),
            Prefix::IsNot(prefix) => !shard.starts_with(prefix),
        };
        // What can't be read is for the sweep to find.
        let due = text(row, self.due).parse::<DateTime<Utc>>();
        is_own && due.map_or(true, |at| at <= now + CLOCKS_DIFFER_BY)
    }
}

/// Whether a function would find nothing if its schedule fired.
pub(super) fn is_idle(cloud: &LocalCloud, function: &str) -> bool {
    let rows = |table: &str| cloud.shared_table(table).unwrap_or_default();
    finds_nothing(function, cloud.clock().now(), &rows)
}

/// Leaves out most of the sweeps that would find nothing.
pub(super) fn leave_out(cloud: &LocalCloud, seed: u64) {
    let clock = cloud.clock();
    let idle = AtomicU64::new(seed % ONE_OF);
    cloud.leave_out_firings(move |function, rows| {
        finds_nothing(function, clock.now(), rows)
            && !idle.fetch_add(1, Ordering::Relaxed).is_multiple_of(ONE_OF)
    });
}

fn finds_nothing(
    function: &str,
    now: DateTime<Utc>,
    rows: &dyn Fn(&str) -> Arc<Vec<Value>>,
) -> bool {
    let work = work_of(function);
    work.is_some_and(|work| !rows(work.table).iter().any(|row| work.has(row, now)))
}
