//! Files: reading, writing and searching what is in the data directory, and nothing else.
//!
//! A path is first read as words (`place`), and then walked by directory descriptors (`root`), one name after the other
//! and never through a link, so that nobody can swap a part of the way for another one. What only the program itself may
//! touch is closed twice: by its name, and by what it is on the disk.

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

/// Keeps the history of files that were written. It must return at once, and cannot fail.
pub trait Keeper: Send + Sync {
    /// `path` was written; `message` says by what.
    fn written(&self, path: &Path, message: String);

    /// The human lets `after` be written in the file that is called `shown` in the data directory, over `before`, or having
    /// all of it before them. It is not written yet.
    fn let_through(&self, shown: &str, before: Option<&str>, after: &str);
}

/// The files of a data directory.
pub struct Files {
    folders: Folders,
    root: Root,
    /// Folders at the top whose files have no history.
    fleeting: Vec<String>,
    keeper: Arc<dyn Keeper>,
}

impl Files {
    /// The files beneath `folders.data`. What is in the folders `fleeting` at its top has no history.
    pub fn open(folders: Folders, fleeting: Vec<String>, keeper: Arc<dyn Keeper>) -> std::io::Result<Self> {
        let root = Root::open(&folders.data)?;
        Ok(Self { folders: folders.resolved(), root, fleeting, keeper })
    }

    /// The place that `text` names.
    fn place(&self, text: &str) -> Result<Inside, String> {
        Inside::read(text, &self.folders)
    }

    /// DD-14, DD-15: what is written is kept in the history, if it is a note.
    fn keep(&self, inside: &Inside, verb: &str) {
        let top = inside.parts().first();
        let fleeting = top.is_some_and(|top| self.fleeting.contains(top));
        if !fleeting && inside.shown().ends_with(".md") {
            let path: PathBuf = self.folders.data.join(inside.shown());
            self.keeper.written(&path, format!("auto: {verb} {}", inside.shown()));
        }
    }
}

/// Lets `work` work with the files beside everything else, for the tool `name`.
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
