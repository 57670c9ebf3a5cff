//! The files that plan something, as far as the page changes them: kept by whoever wired us together.
//!
//! The page changes a file as an editor would. Whoever follows the files notices, and what they say holds.

use std::fmt;

use domain::schedule::{Rest, What};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::notes::{Note, Noted};

/// The most bytes of a name.
const LONGEST: usize = 255;

/// The name of a file that plans something, from the data directory on: `routines/mail.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile(String);

impl JobFile {
    /// Reads a name. It leads into one of the two directories and no further.
    pub fn parse(text: &str) -> Option<Self> {
        let (directory, name) = text.split_once('/')?;
        let known = matches!(directory, "routines" | "reminders");
        let plain = name.ends_with(".md") && !name.starts_with('.') && name.len() <= LONGEST;
        let inside = !name.contains(['/', '\\', '\0']);
        (known && plain && inside).then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a file was not read or changed. It is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchanged {
    /// There is no such file.
    #[error("there is no file `{0}` any more.")]
    Missing(String),
    /// Somebody else changed it meanwhile.
    #[error("{0} was changed by somebody else since you opened it. copy what you wrote, and open it again.")]
    Moved(String),
    /// What it should say cannot be read: the line, what is wrong, and what would be right.
    #[error("{0}")]
    Bad(String),
    /// The disk does not do it.
    #[error("{0}")]
    Failed(String),
}

/// The name of a version: letters and digits, so that it is never taken for anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionId(String);

impl VersionId {
    /// Reads a name.
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

/// What a file said at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its name.
    pub id: VersionId,
    /// Since when.
    pub at: Timestamp,
    /// What was done then.
    pub what: String,
}

/// Who keeps the files.
pub trait JobFiles: Send + Sync {
    /// What `file` says.
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, Unchanged>>;

    /// What would be planned if `file` said `text`.
    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<What, Unchanged>>;

    /// Lets `file` say `text`, if that can be read and the file still says what it said `before`.
    fn rewrite(&self, file: JobFile, before: String, text: String) -> BoxFuture<'_, Result<(), Unchanged>>;

    /// What `file` said before, newest first: nothing, if nobody keeps its history.
    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, Unchanged>>;

    /// What `file` said in the version `id`.
    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, Unchanged>>;

    /// The texts beside them that plan nothing.
    fn notes(&self) -> BoxFuture<'_, Result<Noted, Unchanged>>;

    /// What `note` says.
    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, Unchanged>>;

    /// Lets `file` say that its job rests like this, and leaves all else in it as it is.
    fn rest(&self, file: JobFile, rest: Rest) -> BoxFuture<'_, Result<(), Unchanged>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_the_two_directories() {
        for good in ["routines/mail.md", "reminders/call mum-2.md", "routines/a..b.md"] {
            assert_eq!(JobFile::parse(good).unwrap().as_str(), good);
        }
        let long = format!("routines/{}.md", "x".repeat(LONGEST));
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
