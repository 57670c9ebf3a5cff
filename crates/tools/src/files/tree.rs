//! Walks all files below a folder in the order of their names.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::Files;
use super::place::Inside;
use super::root::{Trouble, may_list};

/// The maximum number of names in one walk.
const NAMES: usize = 100_000;
/// The maximum depth of nested folders.
const DEPTH: usize = 48;

pub struct Leaf<'a> {
    /// The folder it is in.
    pub dir: BorrowedFd<'a>,
    pub name: &'a str,
    /// The path relative to the data directory.
    pub path: &'a str,
}

/// The completeness of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    All,
    /// The visitor ended it.
    Enough,
    /// A limit was reached.
    TooMuch,
}

impl Seen {
    /// The notice for an incomplete walk.
    pub fn told(self) -> Option<String> {
        let told =
            format!("(there are more than {NAMES} names here, and not all were looked at: name a folder)");
        (self == Self::TooMuch).then_some(told)
    }
}

impl Files {
    /// Calls `visit` for every file below the folder `path`, sorted, without following links.
    pub(super) fn below(
        &self,
        inside: &Inside,
        visit: impl FnMut(Leaf<'_>) -> ControlFlow<()>,
    ) -> Result<Seen, Trouble> {
        let folder = self.root.folder(inside.parts())?;
        let prefix = inside.parts().iter().map(|part| format!("{part}/")).collect();
        let mut look = Look { files: self, visit, left: NAMES };
        Ok(match look.at(&folder, prefix, inside.parts().len()) {
            ControlFlow::Continue(()) => Seen::All,
            ControlFlow::Break(seen) => seen,
        })
    }
}

struct Look<'a, V> {
    files: &'a Files,
    visit: V,
    left: usize,
}

impl<V: FnMut(Leaf<'_>) -> ControlFlow<()>> Look<'_, V> {
    fn at(&mut self, dir: &OwnedFd, prefix: String, depth: usize) -> ControlFlow<Seen> {
        let names = match self.names(dir, depth) {
            Some(names) if depth < DEPTH => names,
            Some(_) | None => return ControlFlow::Break(Seen::TooMuch),
        };
        for (name, kind) in names {
            let path = format!("{prefix}{name}");
            if kind == FileType::RegularFile {
                let leaf = Leaf { dir: dir.as_fd(), name: &name, path: &path };
                if (self.visit)(leaf).is_break() {
                    return ControlFlow::Break(Seen::Enough);
                }
            }
            // Closed or vanished folders are skipped.
            if kind == FileType::Directory
                && let Ok(folder) = self.files.root.folder_in(dir.as_fd(), &name)
            {
                self.at(&folder, format!("{path}/"), depth + 1)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the sorted entries of `dir`, or `None` beyond the limit.
    fn names(&mut self, dir: &OwnedFd, depth: usize) -> Option<Vec<(String, FileType)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(dir).ok()?.flatten() {
            self.left = self.left.checked_sub(1)?;
            // A name that is not UTF-8 cannot be requested.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !may_list(depth, name) || name.chars().any(char::is_control) {
                continue;
            }
            // Some file systems do not report the file type.
            let looked = || statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = if entry.file_type() == FileType::Unknown {
                looked().map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            } else {
                entry.file_type()
            };
            names.push((name.to_owned(), kind));
        }
        names.sort_by(|one, other| one.0.cmp(&other.0));
        Some(names)
    }
}
