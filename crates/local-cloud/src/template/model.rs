//! What the cloud takes from a template: plain values, all names resolved.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::iam::Role;

/// A stack as the cloud needs it. All maps are by deployed name.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    pub(crate) tables: BTreeMap<String, Table>,
    pub(crate) queues: BTreeMap<String, Queue>,
    pub(crate) secrets: BTreeSet<String>,
    pub(crate) topics: BTreeMap<String, Vec<String>>,
    pub(crate) functions: BTreeMap<String, Function>,
    /// Managed policies, as the roles that they would make.
    pub(crate) policies: BTreeMap<String, Role>,
    pub(crate) queue_mappings: Vec<QueueMapping>,
    pub(crate) stream_mappings: Vec<StreamMapping>,
    /// Those of the default group by their name, those of others by `group/name`.
    pub(crate) schedules: BTreeMap<String, Schedule>,
    /// Beside the group `default`, which is always there.
    pub(crate) schedule_groups: BTreeSet<String>,
    pub(crate) roles: BTreeMap<String, Role>,
    /// The roles that EventBridge Scheduler may assume.
    pub(crate) scheduler_roles: BTreeSet<String>,
    pub(crate) buckets: BTreeMap<String, Bucket>,
    /// SES's configuration sets, with where each sends its events.
    pub(crate) configuration_sets: BTreeMap<String, Vec<EventDestination>>,
}

impl Stack {
    pub(crate) fn has_schedule_group(&self, group: &str) -> bool {
        group == DEFAULT_GROUP || self.schedule_groups.contains(group)
    }
}

/// The group of schedules that every account has.
pub(crate) const DEFAULT_GROUP: &str = "default";

#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The properties that CreateTable knows, under their wire names.
    pub(crate) create: Value,
    /// `StreamViewType`, when the table has a stream.
    pub(crate) stream_view: Option<String>,
    pub(crate) ttl_attribute: Option<String>,
    pub(crate) key_names: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) visibility_seconds: i64,
    pub(crate) delay_seconds: i64,
    pub(crate) retention_seconds: i64,
    pub(crate) redrive: Option<Redrive>,
}

#[derive(Clone, Debug)]
pub(crate) struct Redrive {
    pub(crate) dead_letter_queue: String,
    pub(crate) max_receive_count: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) role: Role,
    pub(crate) timeout_seconds: i64,
    pub(crate) has_url: bool,
    /// Retries of an asynchronous invocation (0 to 2).
    pub(crate) async_retries: u32,
    /// An asynchronous invocation older than this is given up.
    pub(crate) async_age_max_seconds: i64,
    /// The on-failure destination, told about an asynchronous invocation that failed for good.
    pub(crate) async_failure_queue: Option<String>,
    /// The dead-letter queue, which takes the bare event of such an invocation.
    pub(crate) async_dead_letter_queue: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct QueueMapping {
    pub(crate) queue: String,
    pub(crate) function: String,
    pub(crate) batch_size: usize,
    pub(crate) partial_failures: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct StreamMapping {
    pub(crate) table: String,
    pub(crate) function: String,
    pub(crate) batch_size: usize,
    pub(crate) partial_failures: bool,
    pub(crate) bisect: bool,
    /// `None`: for as long as the record is kept.
    pub(crate) retries_max: Option<u32>,
    pub(crate) record_age_max_seconds: Option<i64>,
    /// Each is a pattern; a record passes when it matches one, or when there is none.
    pub(crate) filters: Vec<Value>,
    pub(crate) failure_queue: Option<String>,
}

impl StreamMapping {
    /// The name under which the position is kept.
    pub(crate) fn id(&self) -> String {
        format!("{}>{}", self.table, self.function)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Whether a new object leaves the one before it as an older version.
    pub(crate) versioned: bool,
}

/// Where SES publishes what becomes of mails.
#[derive(Clone, Debug)]
pub(crate) struct EventDestination {
    /// `bounce`, `complaint`, `renderingfailure`, …
    pub(crate) kinds: BTreeSet<String>,
    pub(crate) topic_arn: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) group: String,
    /// Its properties, as the API names them.
    pub(crate) definition: Value,
    /// The role that the scheduler assumes; absent where SAM makes one.
    pub(crate) role: Option<String>,
    pub(crate) timing: crate::schedule::Timing,
    pub(crate) target: ScheduleTarget,
    pub(crate) input: Value,
    pub(crate) dead_letter_queue: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum ScheduleTarget {
    Function(String),
    Queue(String),
}
