//! Port for reading and changing job files from the page. The page edits a file like an editor
//! would; the file watcher notices and plans accordingly.

use std::fmt;

use domain::schedule::{JobSpec, PauseState};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::notes::{Note, NoteList};

/// Maximum length of a file name in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Path of a job file relative to the data directory, such as `routines/mail.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile(String);

impl JobFile {
    /// Parses a path. It must be a file directly in one of the two directories.
    pub fn parse(text: &str) -> Option<Self> {
        let (directory, name) = text.split_once('/')?;
        let known = matches!(directory, "routines" | "reminders");
        let plain = name.ends_with(".md") && !name.starts_with('.') && name.len() <= MAX_NAME_BYTES;
        let inside = !name.contains(['/', '\\', '\0']);
        (known && plain && inside).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a file was not read or changed. It is unmodified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFileError {
    #[error("there is no file `{0}` any more.")]
    Missing(String),
    /// Changed by another program in the meantime.
    #[error("{0} was changed by somebody else since you opened it. copy what you wrote, and open it again.")]
    Conflict(String),
    /// The content is invalid, with the line and a correction.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Io(String),
}

/// Id of a version: hexadecimal digits, so that it is never mistaken for an option or path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionId(String);

impl VersionId {
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Content of a file at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub id: VersionId,
    /// When it was written.
    pub at: Timestamp,
    /// Description of the change.
    pub change: String,
}

/// Access to the job files.
pub trait JobFiles: Send + Sync {
    /// Returns the text of `file`.
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, JobFileError>>;

    /// Parses `text` as the content of `file` without writing it.
    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<JobSpec, JobFileError>>;

    /// Replaces the content of `file`, if `text` is valid and the file still contains `before`.
    fn rewrite(&self, file: JobFile, before: String, text: String)
    -> BoxFuture<'_, Result<(), JobFileError>>;

    /// Returns the versions of `file`, newest first; none if there is no history.
    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, JobFileError>>;

    /// Returns the text of `file` in version `id`.
    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, JobFileError>>;

    /// Returns the list of notes.
    fn notes(&self) -> BoxFuture<'_, Result<NoteList, JobFileError>>;

    /// Returns the text of `note`.
    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, JobFileError>>;

    /// Sets the pause of the job in `file` and leaves the rest unchanged.
    fn set_pause(&self, file: JobFile, rest: PauseState) -> BoxFuture<'_, Result<(), JobFileError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_limited_to_the_two_directories() {
        for good in ["routines/mail.md", "reminders/call mum-2.md", "routines/a..b.md"] {
            assert_eq!(JobFile::parse(good).unwrap().as_str(), good);
        }
        let long = format!("routines/{}.md", "x".repeat(MAX_NAME_BYTES));
        for bad in [
            "",
            "mail.md",
            "routines/",
            "routines/mail.txt",
            "routines/.md",
            "routines/.hidden.md",
            "state/config.md",
            "routines/../state/x.md",
            "/routines/mail.md",
            "routines//mail.md",
            "routines/a\\b.md",
            "../routines/x.md",
            "routines/a\0.md",
            &long,
        ] {
            assert_eq!(JobFile::parse(bad), None, "{bad:?}");
        }
    }
}
