//! The kinds of job files and their names.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use domain::cost::CostSource;
use domain::schedule::{JobSpec, Reminder, Routine};
use jiff::tz::TimeZone;

use crate::files::items::{Item, is_markdown};
use crate::frontmatter::BadText;

/// Kind of a job file, by its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum JobKind {
    Routine,
    Reminder,
}

impl JobKind {
    pub(super) const ALL: [Self; 2] = [Self::Routine, Self::Reminder];

    /// The directory of the files, relative to the data directory.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Routine => Routine::DIRECTORY,
            Self::Reminder => Reminder::DIRECTORY,
        }
    }

    /// Parses a file. Times without an offset are in `zone`.
    pub(super) fn read(self, text: &str, zone: &TimeZone) -> Result<JobSpec, BadText> {
        match self {
            Self::Routine => Routine::read(text, zone).map(JobSpec::Routine),
            Self::Reminder => Reminder::read(text, zone).map(JobSpec::Reminder),
        }
    }

    /// The source of the job with the id `id`.
    pub(super) fn source(self, id: String) -> CostSource {
        match self {
            Self::Routine => CostSource::Routine(id),
            Self::Reminder => CostSource::Reminder(id),
        }
    }
}

/// Kind and name of a job file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct JobFileName {
    pub(super) kind: JobKind,
    pub(super) name: OsString,
}

impl JobFileName {
    /// The name of the file at `path` in the data directory `root`. `None` if it is no job file.
    pub(super) fn parse(path: &Path, root: &Path) -> Option<Self> {
        let directory = path.parent()?.strip_prefix(root).ok()?;
        let kind =
            JobKind::ALL.into_iter().find(|kind| directory.as_os_str() == OsStr::new(kind.directory()))?;
        Self::in_directory(kind, path)
    }

    /// The name of a file in the directory of `kind`.
    pub(super) fn in_directory(kind: JobKind, path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_owned();
        is_markdown(path).then_some(Self { kind, name })
    }

    /// The path in the data directory `root`.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        root.join(self.kind.directory()).join(&self.name)
    }
}

impl fmt::Display for JobFileName {
    /// The path relative to the data directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.directory(), self.name.to_string_lossy())
    }
}
