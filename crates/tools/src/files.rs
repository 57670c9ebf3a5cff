//! The file tools: reading, writing and searching in the data directory, and nowhere else.
//!
//! A path is first parsed as text (`data_path`) and then opened name by name through directory
//! descriptors (`root`), never through a link, so no part of it can be swapped meanwhile. Files of
//! the program itself are closed twice: by name and by identity on disk.

mod data_path;
mod edit;
mod glob;
mod grep;
mod read;
mod root;
mod tree;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use edit::EDIT;
pub(crate) use glob::GLOB;
pub(crate) use grep::GREP;
pub(crate) use read::READ;
pub(crate) use write::WRITE;

use crate::{ToolEnv, ToolFuture};
pub use data_path::BaseDirs;
use data_path::DataPath;
pub(crate) use data_path::is_closed;
use root::DataRoot;

/// Versions the written files. Its methods must return at once and cannot fail.
pub trait FileHistory: Send + Sync {
    /// Records that `path` was written; `message` names the change.
    fn record_write(&self, path: &Path, message: String);

    /// Notes that the user permits `after` to be written to the file `path` of the data directory,
    /// replacing `before` or prepended by it. The write follows.
    fn permit_write(&self, path: &str, before: Option<&str>, after: &str);
}

/// The files of a data directory.
pub struct Files {
    folders: BaseDirs,
    root: DataRoot,
    /// Top-level folders whose files have no history.
    unversioned: Vec<String>,
    history: Arc<dyn FileHistory>,
}

impl Files {
    /// Opens the files beneath `folders.data`. Files in the top-level folders `unversioned` have no
    /// history.
    pub fn open(
        folders: BaseDirs,
        unversioned: Vec<String>,
        history: Arc<dyn FileHistory>,
    ) -> std::io::Result<Self> {
        let root = DataRoot::open(&folders.data)?;
        Ok(Self { folders: folders.canonicalized(), root, unversioned, history })
    }

    /// Parses `text` as a path in the data directory.
    fn parse_path(&self, text: &str) -> Result<DataPath, String> {
        DataPath::parse(text, &self.folders)
    }

    /// DD-14, DD-15: records a written note in the history.
    fn record_write(&self, path: &DataPath, verb: &str) {
        let top = path.parts().first();
        let fleeting = top.is_some_and(|top| self.unversioned.contains(top));
        if !fleeting && path.display().ends_with(".md") {
            let absolute: PathBuf = self.folders.data.join(path.display());
            self.history.record_write(&absolute, format!("auto: {verb} {}", path.display()));
        }
    }
}

/// Runs `work` on the blocking pool, for the tool `name`.
fn run_blocking<'a>(
    workshop: &'a ToolEnv,
    name: &'static str,
    work: impl FnOnce(&Files) -> Result<String, String> + Send + 'static,
) -> ToolFuture<'a> {
    Box::pin(async move {
        let files = Arc::clone(workshop.files.get(name)?);
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.unwrap_or_else(|_| Err(format!("`{name}` broke. nothing is known about what it did.")))
    })
}

#[cfg(test)]
mod tests;
