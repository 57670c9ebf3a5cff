//! The file tools: reading, writing and searching in the data directory, and nowhere else.
//!
//! A path is first parsed as text (`data_path`) and then opened name by name through directory
//! descriptors (`root`), never through a link, so no part of it can be swapped meanwhile. Files of
//! the program itself are closed twice: by name and by identity on disk.

mod edit;
mod glob;
mod grep;
mod place;
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

use crate::{Done, Workshop};
pub use place::Folders;
use place::Inside;
pub(crate) use place::is_closed;
use root::Root;

/// Versions the written files. Its methods must return at once and cannot fail.
pub trait Keeper: Send + Sync {
    /// Records that `path` was written; `message` names the change.
    fn written(&self, path: &Path, message: String);

    /// Notes that the user permits `after` to be written to the file `path` of the data directory,
    /// replacing `before` or prepended by it. The write follows.
    fn let_through(&self, shown: &str, before: Option<&str>, after: &str);
}

/// The files of a data directory.
pub struct Files {
    folders: Folders,
    root: Root,
    /// Top-level folders whose files have no history.
    fleeting: Vec<String>,
    keeper: Arc<dyn Keeper>,
}

impl Files {
    /// Opens the files beneath `folders.data`. Files in the top-level folders `unversioned` have no
    /// history.
    pub fn open(folders: Folders, fleeting: Vec<String>, keeper: Arc<dyn Keeper>) -> std::io::Result<Self> {
        let root = Root::open(&folders.data)?;
        Ok(Self { folders: folders.resolved(), root, fleeting, keeper })
    }

    /// Parses `text` as a path in the data directory.
    fn place(&self, text: &str) -> Result<Inside, String> {
        Inside::read(text, &self.folders)
    }

    /// DD-14, DD-15: records a written note in the history.
    fn keep(&self, inside: &Inside, verb: &str) {
        let top = inside.parts().first();
        let fleeting = top.is_some_and(|top| self.fleeting.contains(top));
        if !fleeting && inside.shown().ends_with(".md") {
            let path: PathBuf = self.folders.data.join(inside.shown());
            self.keeper.written(&path, format!("auto: {verb} {}", inside.shown()));
        }
    }
}

/// Runs `work` on the blocking pool, for the tool `name`.
fn aside<'a>(
    workshop: &'a Workshop,
    name: &'static str,
    work: impl FnOnce(&Files) -> Result<String, String> + Send + 'static,
) -> Done<'a> {
    Box::pin(async move {
        let files = Arc::clone(workshop.files.get(name)?);
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.unwrap_or_else(|_| Err(format!("`{name}` broke. nothing is known about what it did.")))
    })
}

#[cfg(test)]
mod tests;
