//! Scans the job files and reports what changed.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use domain::schedule::{FileNews, Planned};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::kind::{FileName, Kind};
use super::sheet::Found;
use super::shelf::Shelf;
use crate::Paths;
use crate::acceptance::{Accepted, ToldFiles};
use crate::disk::{Disk, Listed, Stamp};

/// Scans the job files of a data directory.
pub struct JobBook {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    zone: TimeZone,
    shelf: Shelf,
    /// The unreadable directories and the reasons.
    shut: BTreeMap<Kind, String>,
    /// True if notices are stored over restarts.
    remembers: bool,
}

/// A file to read, with its stamp; `None` if it disappeared.
type Changed = (FileName, io::Result<Option<Stamp>>);

/// Above this number of files, several threads read them.
const HANDFUL: usize = 1_000;

impl JobBook {
    /// A scanner for the data directory at `paths`. The first scan reports everything. Times
    /// without an offset are in `zone`.
    pub fn open(disk: Arc<dyn Disk>, paths: &Paths, zone: TimeZone) -> Self {
        let root = paths.root().to_owned();
        Self { disk, root, zone, shelf: Shelf::default(), shut: BTreeMap::new(), remembers: false }
    }

    /// Marks notices that the user has already received, also before a restart. For the daemon.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { remembers: true, ..self }
    }

    /// Scans all files and reports what changed since the last scan. Reads only changed files.
    pub fn look(&mut self, now: Timestamp) -> Vec<FileNews> {
        let mut news = Vec::new();
        let is_first = self.shelf.is_new();
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
        if is_first {
            self.forget_mended(&news);
        }
        self.remember(news, now)
    }

    /// Removes stored notices about files that are valid or gone now. The first scan reports all
    /// others.
    fn forget_mended(&self, news: &[FileNews]) {
        if !self.remembers {
            return;
        }
        let wrong = news.iter().filter_map(|news| match news {
            FileNews::Broken { file, .. } | FileNews::Held { file, .. } => Some(file.clone()),
            FileNews::Plans(_) | FileNews::Gone(_) | FileNews::Mended(_) => None,
        });
        if let Some(told) = ToldFiles::open(&Paths::new(&self.root)) {
            told.forget_all_but(&wrong.collect());
        }
    }

    /// Scans `paths` and the unsettled files, and reports what changed.
    pub fn look_at(&mut self, paths: &[PathBuf], now: Timestamp) -> Vec<FileNews> {
        let mut changed = self.waiting();
        let ours = paths.iter().filter_map(|path| FileName::of(path, &self.root));
        changed.extend(ours.map(|file| self.stamped(file)));
        let news = self.read(changed, now);
        self.remember(news, now)
    }

    /// Marks notices that the user has already received, and stores the others.
    fn remember(&self, news: Vec<FileNews>, now: Timestamp) -> Vec<FileNews> {
        if !self.remembers || !news.iter().any(|news| !matches!(news, FileNews::Plans(_) | FileNews::Gone(_)))
        {
            return news;
        }
        match ToldFiles::open(&Paths::new(&self.root)) {
            Some(told) => news.into_iter().map(|news| told.marked(news, now)).collect(),
            None => news,
        }
    }

    /// The time at which unsettled files, which may still be being saved, should be scanned again.
    pub fn again(&self) -> Option<Timestamp> {
        self.shelf.waiting().map(|(_, then)| then).min()
    }

    /// The plans that were reported.
    pub fn planned(&self) -> impl Iterator<Item = &Arc<Planned>> {
        self.shelf.planned()
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The directories of the job files, and the one that changes when the user accepts something.
    pub(super) fn watched(&self) -> [PathBuf; 3] {
        let [routines, reminders] = Kind::ALL.map(|kind| self.root.join(kind.directory()));
        [routines, reminders, Paths::new(&self.root).marks()]
    }

    fn waiting(&self) -> Vec<Changed> {
        self.shelf.waiting().map(|(file, _)| self.stamped(file.clone())).collect()
    }

    fn stamped(&self, file: FileName) -> Changed {
        let stamp = self.disk.stamp(&file.path(&self.root));
        (file, stamp)
    }

    /// Lists the directory of `kind`; empty if it is missing.
    fn list(&self, kind: Kind) -> io::Result<Vec<Listed>> {
        match self.disk.list(&self.root.join(kind.directory())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Reports an unreadable directory once. Its plans stay.
    fn shut_out(&mut self, kind: Kind, error: &io::Error) -> Option<FileNews> {
        let why = format!("it cannot be read ({error}); make it a directory that this account can read");
        let before = self.shut.insert(kind, why.clone());
        let file = kind.directory().to_owned();
        let news = FileNews::Broken { file, source: None, why: why.clone(), told_before: false };
        (before != Some(why)).then_some(news)
    }

    /// The files of `kind` that changed or disappeared.
    fn changed(&mut self, kind: Kind, listed: Vec<Listed>) -> Vec<Changed> {
        let named = |listed: Listed| Some((FileName::in_directory(kind, &listed.path)?, listed.stamp));
        let ours = listed.into_iter().filter_map(named);
        let new = ours.filter(|(file, stamp)| !self.shelf.recognise(file, *stamp));
        let mut changed: Vec<Changed> = new.map(|(file, stamp)| (file, Ok(Some(stamp)))).collect();
        changed.extend(self.shelf.unseen(kind).map(|file| (file.clone(), Ok(None))));
        changed
    }

    fn read(&mut self, changed: Vec<Changed>, now: Timestamp) -> Vec<FileNews> {
        let book = &*self;
        let read = |handful: &[Changed]| -> Vec<(FileName, Found)> {
            handful.iter().map(|(file, stamp)| (file.clone(), book.found(file, stamp, now))).collect()
        };
        let found = match changed.len() {
            0..=HANDFUL => read(&changed),
            // The first scan of many files: most of the time is spent on reading.
            many => thread::scope(|scope| {
                let threads = thread::available_parallelism().map_or(1, usize::from);
                let shares = changed.chunks(many.div_ceil(threads));
                let readers: Vec<_> = shares.map(|share| scope.spawn(|| read(share))).collect();
                readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect()
            }),
        };
        let found = self.within(found);
        self.shelf.settle(found, now)
    }

    /// Removes permissions that are not accepted.
    fn within(&self, found: Vec<(FileName, Found)>) -> Vec<(FileName, Found)> {
        if !found.iter().any(|(_, found)| found.asks()) {
            return found;
        }
        let accepted = Accepted::look(&Paths::new(&self.root));
        found.into_iter().map(|(file, found)| (file, found.within(&accepted))).collect()
    }

    fn found(&self, file: &FileName, stamp: &io::Result<Option<Stamp>>, now: Timestamp) -> Found {
        match stamp {
            Ok(Some(stamp)) => Found::read(&*self.disk, &self.root, &self.zone, file, *stamp, now),
            Ok(None) => Found::missing(now),
            Err(error) => Found::unseen(error, now),
        }
    }
}
