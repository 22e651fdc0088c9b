//! The files of a journal: whole or not there, and never over another one by accident.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Period;

/// Where a journal is written.
#[derive(Clone, Debug)]
pub struct Files {
    pub csv: PathBuf,
    pub json: PathBuf,
    may_replace: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{0}` is there already; --force replaces it")]
    Exists(PathBuf),
    #[error("`{path}` was not written")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Files {
    /// Names the files of a period in a folder, and sees to it that they can be written, before
    /// anything takes long.
    ///
    /// # Errors
    /// A file that is there, unless it may be replaced; a folder that can't be made.
    pub fn new(folder: &Path, period: &Period, may_replace: bool) -> Result<Self, FileError> {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        let name = |ending: &str| {
            let (from, to) = (period.from(), period.to());
            folder.join(format!("journal-{from}-{to}.{ending}"))
        };
        let files = Self {
            csv: name("csv"),
            json: name("json"),
            may_replace,
        };
        for path in [&files.csv, &files.json] {
            if !may_replace && path.exists() {
                return Err(FileError::Exists(path.clone()));
            }
        }
        Ok(files)
    }

    /// # Errors
    /// See [`FileError`]. What is there by then is whole.
    pub fn write(&self, csv: &str, json: &str) -> Result<(), FileError> {
        self.put(&self.csv, csv)?;
        self.put(&self.json, json)
    }

    fn put(&self, path: &Path, text: &str) -> Result<(), FileError> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        let draft = PathBuf::from(draft);
        let written = write_through(&draft, text).and_then(|()| self.name(&draft, path));
        if written.is_err() {
            // It may not be there.
            drop(fs::remove_file(&draft));
        }
        written.map_err(|source| {
            if source.kind() == io::ErrorKind::AlreadyExists {
                FileError::Exists(path.to_owned())
            } else {
                failed(path, source)
            }
        })
    }

    /// Gives a finished file its name: in one step, and if need be only if nobody has it.
    fn name(&self, draft: &Path, path: &Path) -> io::Result<()> {
        if self.may_replace {
            return fs::rename(draft, path);
        }
        fs::hard_link(draft, path)?;
        fs::remove_file(draft)
    }
}

fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError::Io {
        path: path.to_owned(),
        source,
    }
}
