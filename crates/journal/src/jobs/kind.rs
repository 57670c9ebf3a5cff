//! The two kinds of job files.

use std::ffi::OsStr;
use std::path::Path;

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

    /// The kind of a file in the data directory `root`: nothing, if it is no job file.
    pub(super) fn of(path: &Path, root: &Path) -> Option<Self> {
        let inside = path.strip_prefix(root).ok()?;
        let directory = inside.parent()?;
        let kind =
            Self::ALL.into_iter().find(|kind| directory.as_os_str() == OsStr::new(kind.directory()))?;
        is_markdown(path).then_some(kind)
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
