//! The tree: all files below a folder, by name, as far as they may be seen.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::Files;
use super::place::Inside;
use super::root::{Trouble, may_list};

/// The most names that are looked at.
const NAMES: usize = 100_000;
/// The most folders within one another.
const DEPTH: usize = 48;

/// One file on the way.
pub struct Leaf<'a> {
    /// The folder it is in.
    pub dir: BorrowedFd<'a>,
    /// What it is called there.
    pub name: &'a str,
    /// What it is called from the data directory on.
    pub path: &'a str,
}

/// How far the look went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All there is.
    All,
    /// It was ended before, by whoever looked.
    Enough,
    /// There is more than can be looked at.
    TooMuch,
}

impl Seen {
    /// What is told if not everything was seen.
    pub fn told(self) -> Option<String> {
        let told =
            format!("(there are more than {NAMES} names here, and not all were looked at: name a folder)");
        (self == Self::TooMuch).then_some(told)
    }
}

impl Files {
    /// Shows `visit` every file below the folder `inside`, sorted, without following links.
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
            // What is closed, or gone, is not there for whoever looks.
            if kind == FileType::Directory
                && let Ok(folder) = self.files.root.folder_in(dir.as_fd(), &name)
            {
                self.at(&folder, format!("{path}/"), depth + 1)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// What is in `dir`, sorted: nothing, if there is too much.
    fn names(&mut self, dir: &OwnedFd, depth: usize) -> Option<Vec<(String, FileType)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(dir).ok()?.flatten() {
            self.left = self.left.checked_sub(1)?;
            // A name that is not text cannot be asked for.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !may_list(depth, name) || name.chars().any(char::is_control) {
                continue;
            }
            // Some file systems do not say.
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
