//! The bytes of objects, by their digest: in memory, or as files of the state's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use sha2::{Digest, Sha256};

#[derive(Debug, Default)]
pub(crate) struct Blobs {
    folder: Option<PathBuf>,
    in_memory: Mutex<BTreeMap<String, Bytes>>,
}

impl Blobs {
    pub(crate) fn new(state: Option<&Path>) -> Self {
        Self {
            folder: state.map(|state| state.join("objects")),
            in_memory: Mutex::default(),
        }
    }

    /// Keeps bytes; returns the digest they are found by.
    ///
    /// # Errors
    /// A folder that can't be written to.
    pub(crate) fn keep(&self, bytes: &Bytes) -> std::io::Result<String> {
        let digest = Sha256::digest(bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        match &self.folder {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                let temporary = folder.join(format!("{digest}.new"));
                std::fs::write(&temporary, bytes)?;
                std::fs::rename(&temporary, folder.join(&digest))?;
            }
            None => {
                let mut kept = self
                    .in_memory
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                kept.insert(digest.clone(), bytes.clone());
            }
        }
        Ok(digest)
    }

    /// The bytes of a digest.
    pub(crate) fn get(&self, digest: &str) -> Option<Bytes> {
        match &self.folder {
            Some(folder) => std::fs::read(folder.join(digest)).ok().map(Bytes::from),
            None => {
                let kept = self
                    .in_memory
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                kept.get(digest).cloned()
            }
        }
    }
}
