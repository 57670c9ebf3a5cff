//! Why there is no archive, told so that whoever reads it knows what to change.

use std::io;
use std::path::Path;

use crate::db::Unopened;
use crate::passing::Lasts;

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum NotPacked {
    /// There is nothing to pack.
    #[error("{0} is not there, so there is nothing to export. name another with --data-dir.")]
    Nothing(String),
    /// The journal is damaged.
    #[error(
        "{0}. start ollim-bot once: it keeps a damaged journal aside and goes on from a good copy. then export again."
    )]
    Damaged(String),
    /// The journal was written by a later version.
    #[error("{0}")]
    Newer(String),
    /// The journal cannot be copied.
    #[error("{0}")]
    Uncopied(String),
    /// Something cannot be read.
    #[error("{0}")]
    Unread(#[from] Unread),
    /// Something was written meanwhile.
    #[error("{0} was written while i read it. try again.")]
    Changed(String),
    /// Whoever takes the archive does not let us.
    #[error("the archive could not be written: {0}.")]
    Disk(#[from] io::Error),
}

/// What cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` cannot be read: {error}. make it readable or move it away, and try again.")]
pub struct Unread {
    name: String,
    error: io::Error,
}

impl Unread {
    /// That of the thing called `name`.
    pub fn of(name: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { name: name.to_owned(), error }
    }

    /// That of the thing at `path`, which is in `root` or is that.
    pub fn at(root: &Path, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let inside = path.strip_prefix(root).ok().filter(|name| !name.as_os_str().is_empty());
            Self { name: inside.unwrap_or(path).to_string_lossy().into_owned(), error }
        }
    }

    /// Whether it was there a moment ago, and is not any more: somebody is at work.
    pub fn is_gone(&self) -> bool {
        self.error.kind() == io::ErrorKind::NotFound
    }
}

/// What is told of a journal in `dir` that cannot be copied beside itself.
pub fn uncopied(dir: &Path, error: Unopened) -> NotPacked {
    let text = error.to_string();
    let dir = dir.display();
    match error {
        Unopened::Damaged(_) => NotPacked::Damaged(text),
        Unopened::Newer { .. } => NotPacked::Newer(text),
        Unopened::NotNow(why, Lasts::UntilThereIsRoom) => NotPacked::Uncopied(format!(
            "there is no room left in {dir} for a copy of the journal ({why}). make some, and try again."
        )),
        Unopened::NotNow(why, _) | Unopened::Disk(why) => NotPacked::Uncopied(format!(
            "the journal in {dir} cannot be copied ({why}). look after the disk, and try again."
        )),
    }
}
