//! Walks all files below a folder in the order of their names.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::Files;
use super::data_path::DataPath;
use super::root::{FileError, may_list};

/// The maximum number of names in one walk.
const MAX_NAMES: usize = 100_000;
/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 48;

pub struct FileEntry<'a> {
    /// The folder it is in.
    pub dir: BorrowedFd<'a>,
    pub name: &'a str,
    /// The path relative to the data directory.
    pub path: &'a str,
}

/// The completeness of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    Complete,
    /// The visitor ended it.
    Stopped,
    /// A limit was reached.
    LimitReached,
}

impl Coverage {
    /// The notice for an incomplete walk.
    pub fn notice(self) -> Option<String> {
        let told = format!(
            "(there are more than {MAX_NAMES} names here, and not all were looked at: name a folder)"
        );
        (self == Self::LimitReached).then_some(told)
    }
}

impl Files {
    /// Calls `visit` for every file below the folder `path`, sorted, without following links.
    pub(super) fn walk(
        &self,
        path: &DataPath,
        visit: impl FnMut(FileEntry<'_>) -> ControlFlow<()>,
    ) -> Result<Coverage, FileError> {
        let folder = self.root.open_folder(path.parts())?;
        let prefix = path.parts().iter().map(|part| format!("{part}/")).collect();
        let mut look = Walker { files: self, visit, remaining: MAX_NAMES };
        Ok(match look.walk_dir(&folder, prefix, path.parts().len()) {
            ControlFlow::Continue(()) => Coverage::Complete,
            ControlFlow::Break(seen) => seen,
        })
    }
}

struct Walker<'a, V> {
    files: &'a Files,
    visit: V,
    remaining: usize,
}

impl<V: FnMut(FileEntry<'_>) -> ControlFlow<()>> Walker<'_, V> {
    fn walk_dir(&mut self, dir: &OwnedFd, prefix: String, depth: usize) -> ControlFlow<Coverage> {
        let names = match self.entries(dir, depth) {
            Some(names) if depth < MAX_DEPTH => names,
            Some(_) | None => return ControlFlow::Break(Coverage::LimitReached),
        };
        for (name, kind) in names {
            let path = format!("{prefix}{name}");
            if kind == FileType::RegularFile {
                let leaf = FileEntry { dir: dir.as_fd(), name: &name, path: &path };
                if (self.visit)(leaf).is_break() {
                    return ControlFlow::Break(Coverage::Stopped);
                }
            }
            // Closed or vanished folders are skipped.
            if kind == FileType::Directory
                && let Ok(folder) = self.files.root.open_folder_in(dir.as_fd(), &name)
            {
                self.walk_dir(&folder, format!("{path}/"), depth + 1)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the sorted entries of `dir`, or `None` beyond the limit.
    fn entries(&mut self, dir: &OwnedFd, depth: usize) -> Option<Vec<(String, FileType)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(dir).ok()?.flatten() {
            self.remaining = self.remaining.checked_sub(1)?;
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
