//! The two kinds of job files, and how a file is called.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use domain::cost::Source;
use domain::schedule::{Reminder, Routine, What};
use jiff::tz::TimeZone;

use crate::files::items::{Item, is_markdown};
use crate::frontmatter::BadText;

/// Which kind a file is, by its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Routine,
    Reminder,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Routine, Self::Reminder];

    /// The directory of its files, in the data directory.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Routine => Routine::DIRECTORY,
            Self::Reminder => Reminder::DIRECTORY,
        }
    }

    /// Reads the text of a file. A time without an offset is one in `zone`.
    pub(super) fn read(self, text: &str, zone: &TimeZone) -> Result<What, BadText> {
        match self {
            Self::Routine => Routine::read(text, zone).map(What::Routine),
            Self::Reminder => Reminder::read(text, zone).map(What::Reminder),
        }
    }

    /// Whose a file is that says it is `id`.
    pub(super) fn source(self, id: String) -> Source {
        match self {
            Self::Routine => Source::Routine(id),
            Self::Reminder => Source::Reminder(id),
        }
    }
}

/// What a job file is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileName {
    pub(super) kind: Kind,
    pub(super) name: OsString,
}

impl FileName {
    /// The name of the file at `path` in the data directory `root`: nothing, if that is no job file.
    pub(super) fn of(path: &Path, root: &Path) -> Option<Self> {
        let directory = path.parent()?.strip_prefix(root).ok()?;
        let kind =
            Kind::ALL.into_iter().find(|kind| directory.as_os_str() == OsStr::new(kind.directory()))?;
        Self::in_directory(kind, path)
    }

    /// The name of a file that is in the directory of `kind`.
    pub(super) fn in_directory(kind: Kind, path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_owned();
        is_markdown(path).then_some(Self { kind, name })
    }

    /// Where it is in the data directory `root`.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        root.join(self.kind.directory()).join(&self.name)
    }
}

impl fmt::Display for FileName {
    /// As it is called from the data directory on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.directory(), self.name.to_string_lossy())
    }
}
