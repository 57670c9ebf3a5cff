//! Walks a data directory and visits each file once, following links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::manifest::ExcludedFile;
use super::pack_error::UnreadableFile;
use super::path::relative_name;
use super::secrets::{contains_secret, depends_on_content, is_secret};
use super::selection::{ExclusionReason, GitHistory, Secrets, exclusion, ignored_reason};
use crate::disk::{Disk, FileKind};

/// A file that is included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SelectedFile {
    /// Its path in the data directory.
    pub name: String,
    pub path: PathBuf,
    /// Its size when it was found.
    pub bytes: u64,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// The included files, by name.
    pub files: Vec<SelectedFile>,
    pub excluded: Vec<ExcludedFile>,
}

/// Walks `root`.
pub fn walk(
    disk: &dyn Disk,
    root: &Path,
    choice: (Secrets, GitHistory),
) -> Result<WalkResult, UnreadableFile> {
    walk_dir(disk, (root, root), choice)
}

/// Walks `dir`, which is `root` or inside of it.
pub fn walk_dir(
    disk: &dyn Disk,
    (root, dir): (&Path, &Path),
    (secrets, history): (Secrets, GitHistory),
) -> Result<WalkResult, UnreadableFile> {
    let home = disk.canonicalize(root).map_err(UnreadableFile::at_path(root, root))?;
    let mut walker = Walker {
        disk,
        root,
        real_root: home.clone(),
        secrets,
        history,
        visited: BTreeSet::from([home]),
        walk: WalkResult::default(),
    };
    walker.visit_dir(dir)?;
    let mut walk = walker.walk;
    walk.files.sort();
    walk.excluded.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(walk)
}

struct Walker<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
    real_root: PathBuf,
    secrets: Secrets,
    history: GitHistory,
    /// The real paths of the visited directories, because links may form a cycle.
    visited: BTreeSet<PathBuf>,
    walk: WalkResult,
}

impl Walker<'_> {
    fn visit_dir(&mut self, dir: &Path) -> Result<(), UnreadableFile> {
        for listed in self.disk.list(dir).map_err(UnreadableFile::at_path(self.root, dir))? {
            let path = listed.path;
            let Some(name) = relative_name(self.root, &path) else {
                let name = path.strip_prefix(self.root).unwrap_or(&path).to_string_lossy().into_owned();
                self.exclude(name, ExclusionReason::Strange);
                continue;
            };
            match (exclusion(&name).or_else(|| ignored_reason(&name)), listed.stamp.kind) {
                (Some(why), _) => self.exclude(name, why),
                (None, Some(_)) if name == ".git" && self.history == GitHistory::Exclude => {
                    self.exclude(name, ExclusionReason::History);
                }
                (None, Some(FileKind::File(bytes))) => self.add_file(name, path, bytes)?,
                (None, Some(FileKind::Directory)) => self.visit_linked_dir(name, &path)?,
                (None, Some(FileKind::Other)) => self.exclude(name, ExclusionReason::Strange),
                (None, None) => self.exclude(name, ExclusionReason::Gone),
            }
        }
        Ok(())
    }

    fn add_file(&mut self, name: String, path: PathBuf, bytes: u64) -> Result<(), UnreadableFile> {
        let text = || self.disk.read(&path).map_err(UnreadableFile::named(&name));
        let secret = is_secret(&name) || (depends_on_content(&name) && contains_secret(&name, &text()?));
        match (self.secrets, secret) {
            (Secrets::Exclude, true) => self.exclude(name, ExclusionReason::Secret),
            (Secrets::Include, _) | (_, false) => self.walk.files.push(SelectedFile { name, path, bytes }),
        }
        Ok(())
    }

    /// Includes the target of a link that leads out of the data directory, because the assistant
    /// reads it too. A link to something inside is excluded, because it is recreated.
    fn visit_linked_dir(&mut self, name: String, dir: &Path) -> Result<(), UnreadableFile> {
        let real = self.disk.canonicalize(dir).map_err(UnreadableFile::named(&name))?;
        let within = real.starts_with(&self.real_root);
        let is_link = within && real != self.real_root.join(&name);
        if is_link || !self.visited.insert(real) {
            self.exclude(name, ExclusionReason::Link);
            return Ok(());
        }
        self.visit_dir(dir)
    }

    fn exclude(&mut self, path: String, why: ExclusionReason) {
        self.walk.excluded.push(ExcludedFile { path, why });
    }
}
