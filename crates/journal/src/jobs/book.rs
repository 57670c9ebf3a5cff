//! The book of job files: it looks at the disk and tells what changed.

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

/// What the job files of a data directory plan.
pub struct JobBook {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    zone: TimeZone,
    shelf: Shelf,
    /// The directories that could not be read, and why.
    shut: BTreeMap<Kind, String>,
    /// Whether what is told is remembered over a restart.
    remembers: bool,
}

/// A file to be read again, and what is there: nothing, where one was before.
type Changed = (FileName, io::Result<Option<Stamp>>);

/// So many files are read by one thread.
const HANDFUL: usize = 1_000;

impl JobBook {
    /// The book of the data directory at `paths`. Nothing is in it yet: the first look tells everything. Times
    /// without an offset are times in `zone`.
    pub fn open(disk: Arc<dyn Disk>, paths: &Paths, zone: TimeZone) -> Self {
        let root = paths.root().to_owned();
        Self { disk, root, zone, shelf: Shelf::default(), shut: BTreeMap::new(), remembers: false }
    }

    /// The same, for the assistant that runs: what is wrong with a file is told once for each content, also over restarts.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { remembers: true, ..self }
    }

    /// Looks at all files and tells what changed since the last look. Only those that changed are read.
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

    /// Forgets what was told before the start of files that are fine or gone now. The first look tells of all others.
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

    /// Looks at these files, and at those that should be looked at again, and tells what changed.
    pub fn look_at(&mut self, paths: &[PathBuf], now: Timestamp) -> Vec<FileNews> {
        let mut changed = self.waiting();
        let ours = paths.iter().filter_map(|path| FileName::of(path, &self.root));
        changed.extend(ours.map(|file| self.stamped(file)));
        let news = self.read(changed, now);
        self.remember(news, now)
    }

    /// Marks what the user was told before the last start, and remembers the rest.
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
        let file = kind.directory().to_owned();
        let news = FileNews::Broken { file, source: None, why: why.clone(), told_before: false };
        (before != Some(why)).then_some(news)
    }

    /// The files of `kind` that are not as they were, and those that are no longer there.
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
            // The first look at very many: most of the time goes into reading.
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

    /// The same without what nobody has accepted.
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
