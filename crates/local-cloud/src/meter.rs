//! Counts every call, and remembers which permissions were used or missing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::faults::FaultKind;
use crate::iam::Used;

/// One attempt of one call that a function made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    pub at: DateTime<Utc>,
    pub function: String,
    /// The signing name (`dynamodb`), or the base URL of a neighbour.
    pub service: String,
    /// `PutItem`, or a neighbour's `POST /v1/refunds`.
    pub operation: String,
    /// Short names of what was touched: tables, queues, secrets.
    pub resources: Vec<String>,
    /// `ok`, or the code of the error (`ConditionalCheckFailedException`, `404`, `not_sent`).
    pub outcome: String,
    /// The fault that was injected, if any.
    pub fault: Option<FaultKind>,
    /// The number of the invocation that made the call.
    pub invocation: Option<u64>,
    /// Request units of DynamoDB.
    pub units: Option<f64>,
}

/// A call that a role did not allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Denied {
    pub function: String,
    pub action: String,
    pub resource: String,
    pub reason: String,
}

#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Counts>);

/// How many calls are remembered one by one; older ones only count.
const CALLS_KEPT: usize = 100_000;

/// Calls and request units by function, service and operation.
type Totals = BTreeMap<String, BTreeMap<String, (u64, f64)>>;

#[derive(Debug, Default)]
struct Counts {
    calls: VecDeque<Call>,
    totals: Totals,
    denied: Vec<Denied>,
    used: BTreeMap<String, BTreeSet<Used>>,
}

impl Meter {
    pub(crate) fn record(&self, call: Call) {
        let mut counts = self.counts();
        let operations = counts.totals.entry(call.function.clone()).or_default();
        let total = operations
            .entry(format!("{} {}", call.service, call.operation))
            .or_default();
        total.0 = total.0.saturating_add(1);
        total.1 += call.units.unwrap_or_default();
        if counts.calls.len() == CALLS_KEPT {
            counts.calls.pop_front();
        }
        counts.calls.push_back(call);
    }

    pub(crate) fn use_permissions(&self, function: &str, used: Vec<Used>) {
        self.counts()
            .used
            .entry(function.to_owned())
            .or_default()
            .extend(used);
    }

    pub(crate) fn deny(&self, denied: Denied) {
        self.counts().denied.push(denied);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.counts().calls.iter().cloned().collect()
    }

    pub(crate) fn take_calls(&self) -> Vec<Call> {
        let mut counts = self.counts();
        counts.totals.clear();
        std::mem::take(&mut counts.calls).into()
    }

    pub(crate) fn clear_calls(&self) {
        let mut counts = self.counts();
        counts.calls.clear();
        counts.totals.clear();
    }

    pub(crate) fn denied(&self) -> Vec<Denied> {
        self.counts().denied.clone()
    }

    pub(crate) fn used(&self, function: &str) -> BTreeSet<Used> {
        self.counts()
            .used
            .get(function)
            .cloned()
            .unwrap_or_default()
    }

    /// `{"bdc-intake": {"dynamodb PutItem": {"calls": 2, "units": 4.0}}}`.
    pub(crate) fn by_function(&self) -> Value {
        let totals = self.counts().totals.clone();
        let operations = |(name, (calls, units)): (String, (u64, f64))| {
            (name, json!({"calls": calls, "units": units}))
        };
        let functions = totals.into_iter().map(|(function, totals)| {
            (
                function,
                totals
                    .into_iter()
                    .map(operations)
                    .collect::<serde_json::Map<_, _>>()
                    .into(),
            )
        });
        Value::Object(functions.collect())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
