//! Everything that must survive a restart beside DynamoDB's own rows, as one value.
//!
//! With a folder, each change is written to `cloud.json` (first to a temporary file, then
//! renamed), so a killed process finds its queues and schedules again. DynamoDB's file is written
//! by itself: after a kill a stream record or message may be delivered again, never lost.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blobs::Blobs;
use crate::error::CloudError;
use crate::messages::Message;
use crate::queue::QueueState;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) now: DateTime<Utc>,
    /// How many ids were given out.
    pub(crate) ids: u64,
    /// How often this state was opened; absent from files of before there was this field.
    #[serde(default)]
    pub(crate) openings: u64,
    pub(crate) queues: BTreeMap<String, QueueState>,
    /// The next firing of each schedule; absent when it never fires again.
    pub(crate) next_firings: BTreeMap<String, DateTime<Utc>>,
    /// The schedules that calls made, by `group/name`.
    #[serde(default)]
    pub(crate) schedules: BTreeMap<String, MadeSchedule>,
    /// Of those that are gone, the last ones.
    #[serde(default)]
    pub(crate) past_schedules: VecDeque<MadeSchedule>,
    /// The last client tokens that the scheduler was given.
    #[serde(default)]
    pub(crate) scheduler_tokens: VecDeque<SpentToken>,
    /// The versions of each object, oldest first, by bucket and key.
    #[serde(default)]
    pub(crate) objects: BTreeMap<String, BTreeMap<String, Vec<ObjectVersion>>>,
    pub(crate) streams: BTreeMap<String, StreamCursor>,
    pub(crate) secrets: BTreeMap<String, Secret>,
    pub(crate) messages: Vec<Message>,
    pub(crate) pending: Vec<PendingInvocation>,
    pub(crate) ttl_swept_at: DateTime<Utc>,
}

/// How far a stream mapping has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamCursor {
    /// The last sequence number that is done with.
    pub(crate) after: Option<String>,
    /// Failures of the batch at the head.
    pub(crate) attempts: u32,
    /// When the batch at the head first failed.
    pub(crate) failing_since: Option<DateTime<Utc>>,
    /// A bisected batch is no larger than this.
    pub(crate) size_max: Option<usize>,
    pub(crate) retry_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Secret {
    pub(crate) current: SecretVersion,
    pub(crate) previous: Option<SecretVersion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SecretVersion {
    pub(crate) id: String,
    pub(crate) value: String,
    pub(crate) created_at: DateTime<Utc>,
}

/// An asynchronous invocation that waits in Lambda's own queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingInvocation {
    pub(crate) id: String,
    pub(crate) function: String,
    pub(crate) event: Value,
    pub(crate) queued_at: DateTime<Utc>,
    pub(crate) due_at: DateTime<Utc>,
    pub(crate) failures: u32,
}

/// A schedule that a call made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeSchedule {
    pub(crate) group: String,
    pub(crate) name: String,
    /// What was asked for, as the API writes it.
    pub(crate) definition: Value,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) modified_at: DateTime<Utc>,
    /// `None`: it does not fire again.
    pub(crate) next_at: Option<DateTime<Utc>>,
}

/// A client token and what was done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpentToken {
    pub(crate) token: String,
    /// The operation, its schedule and its parameters.
    pub(crate) call: String,
}

/// One version of an object. Its bytes are kept beside, by their digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectVersion {
    /// `null` in a bucket without versions.
    pub(crate) id: String,
    pub(crate) sha256: String,
    pub(crate) size: usize,
    pub(crate) etag: String,
    pub(crate) modified_at: DateTime<Utc>,
    /// The headers that come back with the object: its content type, its metadata, its checksum.
    pub(crate) headers: BTreeMap<String, String>,
}

impl State {
    pub(crate) fn new(now: DateTime<Utc>) -> Self {
        Self {
            now,
            ids: 0,
            openings: 0,
            queues: BTreeMap::new(),
            next_firings: BTreeMap::new(),
            schedules: BTreeMap::new(),
            past_schedules: VecDeque::new(),
            scheduler_tokens: VecDeque::new(),
            objects: BTreeMap::new(),
            streams: BTreeMap::new(),
            secrets: BTreeMap::new(),
            messages: Vec::new(),
            pending: Vec::new(),
            ttl_swept_at: now,
        }
    }
}

/// The state, and the file that follows it.
#[derive(Debug)]
pub(crate) struct Store {
    state: Mutex<State>,
    file: Option<PathBuf>,
    blobs: Blobs,
}

impl Store {
    /// Opens the state in `folder`, or starts with an empty one at `now`.
    ///
    /// # Errors
    /// A state file that can't be read.
    pub(crate) fn open(folder: Option<&Path>, now: DateTime<Utc>) -> Result<Self, CloudError> {
        let file = folder.map(|folder| folder.join("cloud.json"));
        let saved = match &file {
            Some(path) if path.exists() => Some(read(path)?),
            Some(_) | None => None,
        };
        Ok(Self {
            state: Mutex::new(saved.unwrap_or_else(|| State::new(now))),
            file,
            blobs: Blobs::new(folder),
        })
    }

    /// The bytes of objects.
    pub(crate) fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Looks at the state.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the state and saves it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        if let Some(path) = &self.file
            && let Err(error) = write(path, &state)
        {
            tracing::error!(error = %error, "The local cloud's state could not be saved");
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<State, CloudError> {
    let problem = |problem: String| CloudError::State {
        path: path.display().to_string(),
        problem,
    };
    let bytes = fs::read(path).map_err(|error| problem(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))
}

fn write(path: &Path, state: &State) -> std::io::Result<()> {
    let temporary = path.with_extension("json.new");
    fs::write(&temporary, serde_json::to_vec(state)?)?;
    fs::rename(&temporary, path)
}
