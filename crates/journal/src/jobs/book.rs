//! The book of job files: it looks at the disk and tells what changed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::schedule::{FileNews, Planned};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::kind::Kind;
use super::sheet::Found;
use super::shelf::Shelf;
use crate::Paths;
use crate::disk::{Disk, Listed, Stamp};
use crate::files::items::is_markdown;

/// What the job files of a data directory plan.
pub struct JobBook {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    zone: TimeZone,
    shelf: Shelf,
    /// The directories that could not be read, and why.
    shut: BTreeMap<Kind, String>,
}

/// Files to be read again, and what is there: nothing, where one was before.
type Changed = BTreeMap<PathBuf, io::Result<Option<Stamp>>>;

impl JobBook {
    /// The book of the data directory at `paths`. Nothing is in it yet: the first look tells everything. Times
    /// without an offset are times in `zone`.
    pub fn open(disk: Arc<dyn Disk>, paths: &Paths, zone: TimeZone) -> Self {
        let root = paths.root().to_owned();
        Self { disk, root, zone, shelf: Shelf::default(), shut: BTreeMap::new() }
    }

    /// Looks at all files and tells what changed since the last look. Only those that changed are read.
    pub fn look(&mut self, now: Timestamp) -> Vec<FileNews> {
        let mut news = Vec::new();
        let mut changed = self.waiting();
        self.shelf.begin_look();
        for kind in Kind::ALL {
            match self.list(kind) {
                Ok(listed) => {
                    let directory = || FileNews::Mended(kind.directory().to_owned());
                    news.extend(self.shut.remove(&kind).map(|_| directory()));
                    changed.extend(self.changed(kind, listed));
                }
                Err(error) => news.extend(self.shut_out(kind, &error)),
            }
        }
        news.extend(self.read(changed, now));
        news
    }

    /// Looks at these files, and at those that should be looked at again, and tells what changed.
    pub fn look_at(&mut self, paths: &[PathBuf], now: Timestamp) -> Vec<FileNews> {
        let mut changed = self.waiting();
        changed.extend(paths.iter().map(|path| (path.clone(), self.disk.stamp(path))));
        self.read(changed, now)
    }

    /// When some files should be looked at again, because they may still be being saved.
    pub fn again(&self) -> Option<Timestamp> {
        self.shelf.waiting().map(|(_, then)| then).min()
    }

    /// What is planned, as far as it was told.
    pub fn planned(&self) -> impl Iterator<Item = &Arc<Planned>> {
        self.shelf.planned()
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    pub(super) fn directories(&self) -> [PathBuf; 2] {
        Kind::ALL.map(|kind| self.root.join(kind.directory()))
    }

    fn waiting(&self) -> Changed {
        self.shelf.waiting().map(|(path, _)| (path.to_owned(), self.disk.stamp(path))).collect()
    }

    /// What is in the directory of `kind`: nothing, if there is none.
    fn list(&self, kind: Kind) -> io::Result<Vec<Listed>> {
        match self.disk.list(&self.root.join(kind.directory())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// A directory that cannot be read takes nothing away from what is planned, and is told of once.
    fn shut_out(&mut self, kind: Kind, error: &io::Error) -> Option<FileNews> {
        let why = format!("it cannot be read ({error}); make it a directory that this account can read");
        let before = self.shut.insert(kind, why.clone());
        let news = FileNews::Broken { file: kind.directory().to_owned(), source: None, why: why.clone() };
        (before != Some(why)).then_some(news)
    }

    /// The files of `kind` that are not as they were, and those that are no longer there.
    fn changed(&mut self, kind: Kind, listed: Vec<Listed>) -> Changed {
        let ours = listed.into_iter().filter(|listed| is_markdown(&listed.path));
        let new = ours.filter(|listed| !self.shelf.recognise(&listed.path, listed.stamp));
        let mut changed: Changed = new.map(|listed| (listed.path, Ok(Some(listed.stamp)))).collect();
        changed.extend(self.shelf.unseen(kind).map(|path| (path.to_owned(), Ok(None))));
        changed
    }

    fn read(&mut self, changed: Changed, now: Timestamp) -> Vec<FileNews> {
        let found = changed.into_iter().filter_map(|(path, stamp)| {
            let kind = Kind::of(&path, &self.root)?;
            let found = self.found(kind, &path, stamp, now);
            Some((path, found))
        });
        let found: Vec<(PathBuf, Found)> = found.collect();
        self.shelf.settle(found, now)
    }

    fn found(&self, kind: Kind, path: &Path, stamp: io::Result<Option<Stamp>>, now: Timestamp) -> Found {
        match stamp {
            Ok(Some(stamp)) => Found::read((&*self.disk, &self.zone), (kind, path), stamp, now),
            Ok(None) => Found::missing(kind, path, now),
            Err(error) => Found::unseen(kind, path, &error, now),
        }
    }
}
