//! Walks a data directory and visits each file once, following links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::choosing::{History, Secrets, Why, refusal, stays_behind};
use super::manifest::LeftOut;
use super::not_packed::Unread;
use super::path::named;
use super::secrets::{holds_secrets, is_secret, is_told_by_its_text};
use crate::disk::{Disk, Seen};

/// A file that is included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chosen {
    /// Its path in the data directory.
    pub name: String,
    pub path: PathBuf,
    /// Its size when it was found.
    pub bytes: u64,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct Walk {
    /// The included files, by name.
    pub chosen: Vec<Chosen>,
    pub left_out: Vec<LeftOut>,
}

/// Walks `root`.
pub fn walk(disk: &dyn Disk, root: &Path, choice: (Secrets, History)) -> Result<Walk, Unread> {
    walk_below(disk, (root, root), choice)
}

/// Walks `dir`, which is `root` or inside of it.
pub fn walk_below(
    disk: &dyn Disk,
    (root, dir): (&Path, &Path),
    (secrets, history): (Secrets, History),
) -> Result<Walk, Unread> {
    let home = disk.real(root).map_err(Unread::at(root, root))?;
    let mut walker = Walker {
        disk,
        root,
        home: home.clone(),
        secrets,
        history,
        been: BTreeSet::from([home]),
        walk: Walk::default(),
    };
    walker.enter(dir)?;
    let mut walk = walker.walk;
    walk.chosen.sort();
    walk.left_out.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(walk)
}

struct Walker<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
    home: PathBuf,
    secrets: Secrets,
    history: History,
    /// The real paths of the visited directories, because links may form a cycle.
    been: BTreeSet<PathBuf>,
    walk: Walk,
}

impl Walker<'_> {
    fn enter(&mut self, dir: &Path) -> Result<(), Unread> {
        for listed in self.disk.list(dir).map_err(Unread::at(self.root, dir))? {
            let path = listed.path;
            let Some(name) = named(self.root, &path) else {
                let name = path.strip_prefix(self.root).unwrap_or(&path).to_string_lossy().into_owned();
                self.leave(name, Why::Strange);
                continue;
            };
            match (refusal(&name).or_else(|| stays_behind(&name)), listed.stamp.seen) {
                (Some(why), _) => self.leave(name, why),
                (None, Some(_)) if name == ".git" && self.history == History::Stays => {
                    self.leave(name, Why::History);
                }
                (None, Some(Seen::File(bytes))) => self.take(name, path, bytes)?,
                (None, Some(Seen::Directory)) => self.follow(name, &path)?,
                (None, Some(Seen::Strange)) => self.leave(name, Why::Strange),
                (None, None) => self.leave(name, Why::Gone),
            }
        }
        Ok(())
    }

    fn take(&mut self, name: String, path: PathBuf, bytes: u64) -> Result<(), Unread> {
        let text = || self.disk.read(&path).map_err(Unread::of(&name));
        let secret = is_secret(&name) || (is_told_by_its_text(&name) && holds_secrets(&name, &text()?));
        match (self.secrets, secret) {
            (Secrets::Stay, true) => self.leave(name, Why::Secret),
            (Secrets::GoAlong, _) | (_, false) => self.walk.chosen.push(Chosen { name, path, bytes }),
        }
        Ok(())
    }

    /// Includes the target of a link that leads out of the data directory, because the assistant
    /// reads it too. A link to something inside is excluded, because it is recreated.
    fn follow(&mut self, name: String, dir: &Path) -> Result<(), Unread> {
        let real = self.disk.real(dir).map_err(Unread::of(&name))?;
        let within = real.starts_with(&self.home);
        let is_link = within && real != self.home.join(&name);
        if is_link || !self.been.insert(real) {
            self.leave(name, Why::Link);
            return Ok(());
        }
        self.enter(dir)
    }

    fn leave(&mut self, path: String, why: Why) {
        self.walk.left_out.push(LeftOut { path, why });
    }
}
