//! The crash matrix: every call of every handler in a few stories, and every fault that it can suffer.

mod stories;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use chrono::{DateTime, Utc};
use local_cloud::{Call, FaultKind};

use crate::life::{Life, live};
use crate::plan::Plan;

pub use stories::STORIES;

/// One call of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    function: String,
    service: String,
    operation: String,
    resources: Vec<String>,
    invocation: Option<u64>,
    pub(crate) at: DateTime<Utc>,
}

impl Point {
    pub(crate) fn of(call: Call) -> Self {
        Self {
            function: call.function,
            service: call.service,
            operation: call.operation,
            resources: call.resources,
            invocation: call.invocation,
            at: call.at,
        }
    }

    /// Whether it changed nothing.
    pub(crate) fn only_looks(&self) -> bool {
        let reads = ["GetItem", "Query", "GetSecretValue", "GetObject"];
        reads.contains(&self.operation.as_str()) || self.operation.starts_with("GET ")
    }

    /// The invoice that it asks the provider to charge.
    pub(crate) fn charged_invoice(&self) -> Option<&str> {
        let path = self.operation.strip_prefix("POST /v1/invoices/")?;
        path.strip_suffix("/pay")
    }

    /// Whether money hangs on it: a request that changes something at the provider, or the writes
    /// around it.
    fn is_about_money(&self) -> bool {
        const FUNCTIONS: [&str; 5] = [
            "bdc-webhook",
            "bdc-cashier",
            "bdc-release-sweep",
            "dunr-webhook",
            "dunr-retrier",
        ];
        let writes = self.operation == "TransactWriteItems" || self.operation.starts_with("POST ");
        writes && FUNCTIONS.contains(&self.function.as_str())
    }
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Two faults in one life, on the calls that money hangs on, instead of one on any.
    pub pairs: bool,
    pub threads: usize,
    /// Only the stories whose name has this.
    pub only: Option<String>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct MatrixTally {
    /// By story: how many calls it has that were struck, and how many lives that took.
    pub stories: BTreeMap<&'static str, (usize, usize)>,
    /// How often each fault struck.
    pub faults: BTreeMap<&'static str, u64>,
    pub failed: Vec<(Plan, Life)>,
}

const FAILED_MAX: usize = 8;

/// The faults that pairs are made of: those that leave something half done.
const IN_PAIRS: [FaultKind; 5] = [
    FaultKind::CrashBefore,
    FaultKind::CrashAfter,
    FaultKind::AnswerLost,
    FaultKind::Late,
    FaultKind::ThrottledThrough,
];

impl Matrix {
    /// Lives every story under every fault. `progress` is told of how many lives how many are done.
    pub fn run(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> MatrixTally {
        let mut tally = MatrixTally::default();
        let mut cells: Vec<Plan> = Vec::new();
        let stories = STORIES.iter().enumerate();
        let wanted = |name: &str| self.only.as_deref().is_none_or(|only| name.contains(only));
        for (number, story) in stories.filter(|(_, story)| wanted(story.name)) {
            let plan = story.plan(number);
            let fair = live(&plan);
            if fair.violation.is_some() {
                tally.failed.push((plan, fair));
                continue;
            }
            let struck = worth_striking(&fair.points);
            let scripts = match self.pairs {
                true => pairs(&fair.points, &struck),
                false => singles(&fair.points, &struck),
            };
            tally
                .stories
                .insert(story.name, (struck.len(), scripts.len()));
            cells.extend(scripts.into_iter().map(|script| Plan {
                script: Some(script),
                ..plan.clone()
            }));
        }
        self.live_all(&cells, &mut tally, progress);
        tally
    }

    fn live_all(
        &self,
        cells: &[Plan],
        tally: &mut MatrixTally,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) {
        let next = AtomicUsize::new(0);
        let shared = Mutex::new(tally);
        let work = || {
            while let Some(plan) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                let life = live(plan);
                let mut tally = shared.lock().unwrap_or_else(PoisonError::into_inner);
                for (_, fault) in plan.script.iter().flatten() {
                    *tally.faults.entry(fault.name()).or_default() += 1;
                }
                if life.violation.is_some() && tally.failed.len() < FAILED_MAX {
                    tally.failed.push((plan.clone(), life));
                }
                progress(next.load(Ordering::Relaxed).min(cells.len()), cells.len());
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(work);
            }
        });
    }
}

/// The numbers of the calls that differ in something: an invocation that only looked at an index and
/// found nothing is the same wherever it stands, so it is struck once per function.
fn worth_striking(points: &[Point]) -> Vec<usize> {
    let mut idle = BTreeMap::new();
    for point in points {
        let only_looks =
            point.operation == "Query" && point.resources.iter().all(|it| it.contains("/index/"));
        let idle = idle
            .entry((&point.function, point.invocation))
            .or_insert(true);
        *idle &= only_looks;
    }
    let mut first: BTreeMap<&String, Option<u64>> = BTreeMap::new();
    let mut worth = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let is_idle = idle[&(&point.function, point.invocation)];
        let invocation = *first.entry(&point.function).or_insert(point.invocation);
        if !is_idle || invocation == point.invocation {
            worth.push(number);
        }
    }
    worth
}

fn ordinal(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX).saturating_add(1)
}

fn singles(points: &[Point], struck: &[usize]) -> Vec<Vec<(u64, FaultKind)>> {
    let mut scripts = Vec::new();
    for number in struck {
        let point = &points[*number];
        let fits = |fault: &FaultKind| fault.fits(&point.service, &point.operation);
        let faults = FaultKind::EVERY.into_iter().filter(fits);
        scripts.extend(faults.map(|fault| vec![(ordinal(*number), fault)]));
    }
    scripts
}

/// All ordered pairs: after the first fault the story goes another way, so the second strikes what has
/// its number then.
fn pairs(points: &[Point], struck: &[usize]) -> Vec<Vec<(u64, FaultKind)>> {
    let about_money = |number: &&usize| points[**number].is_about_money();
    let struck: Vec<usize> = struck.iter().filter(about_money).copied().collect();
    let mut scripts = Vec::new();
    for (index, first) in struck.iter().enumerate() {
        for second in struck.get(index + 1..).unwrap_or_default() {
            for one in IN_PAIRS {
                for other in IN_PAIRS {
                    scripts.push(vec![(ordinal(*first), one), (ordinal(*second), other)]);
                }
            }
        }
    }
    scripts
}
