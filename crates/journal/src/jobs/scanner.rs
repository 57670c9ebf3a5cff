//! Scans the job files and reports what changed.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use domain::schedule::{JobFileChange, PlannedJob};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::kind::{JobFileName, JobKind};
use super::tracked_file::ScanResult;
use super::tracked_files::TrackedFiles;
use crate::Paths;
use crate::acceptance::{AcceptedPermissions, FileNotices};
use crate::disk::{Disk, FileEntry, Stamp};

/// Scans the job files of a data directory.
pub struct JobFileScanner {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    zone: TimeZone,
    files: TrackedFiles,
    /// The unreadable directories and the reasons.
    unreadable_dirs: BTreeMap<JobKind, String>,
    /// True if notices are stored over restarts.
    stores_notices: bool,
}

/// A file to read, with its stamp; `None` if it disappeared.
type ChangedFile = (JobFileName, io::Result<Option<Stamp>>);

/// Above this number of files, several threads read them.
const FILES_PER_THREAD: usize = 1_000;

impl JobFileScanner {
    /// A scanner for the data directory at `paths`. The first scan reports everything. Times
    /// without an offset are in `zone`.
    pub fn open(disk: Arc<dyn Disk>, paths: &Paths, zone: TimeZone) -> Self {
        let root = paths.root().to_owned();
        Self {
            disk,
            root,
            zone,
            files: TrackedFiles::default(),
            unreadable_dirs: BTreeMap::new(),
            stores_notices: false,
        }
    }

    /// Marks notices that the user has already received, also before a restart. For the daemon.
    #[must_use]
    pub fn with_stored_notices(self) -> Self {
        Self { stores_notices: true, ..self }
    }

    /// Scans all files and reports what changed since the last scan. Reads only changed files.
    pub fn scan(&mut self, now: Timestamp) -> Vec<JobFileChange> {
        let mut news = Vec::new();
        let is_first = self.files.is_new();
        let mut changed = self.unsettled_files();
        self.files.begin_scan();
        for kind in JobKind::ALL {
            match self.list_dir(kind) {
                Ok(listed) => {
                    let directory = || JobFileChange::Repaired(kind.directory().to_owned());
                    news.extend(self.unreadable_dirs.remove(&kind).map(|_| directory()));
                    changed.extend(self.changed_files(kind, listed));
                }
                Err(error) => news.extend(self.report_unreadable_dir(kind, &error)),
            }
        }
        news.extend(self.read_files(changed, now));
        if is_first {
            self.prune_notices(&news);
        }
        self.mark_notices(news, now)
    }

    /// Removes stored notices about files that are valid or gone now. The first scan reports all
    /// others.
    fn prune_notices(&self, news: &[JobFileChange]) {
        if !self.stores_notices {
            return;
        }
        let wrong = news.iter().filter_map(|news| match news {
            JobFileChange::Invalid { file, .. } | JobFileChange::Withheld { file, .. } => Some(file.clone()),
            JobFileChange::Planned(_) | JobFileChange::Removed(_) | JobFileChange::Repaired(_) => None,
        });
        if let Some(told) = FileNotices::open(&Paths::new(&self.root)) {
            told.retain(&wrong.collect());
        }
    }

    /// Scans `paths` and the unsettled files, and reports what changed.
    pub fn scan_paths(&mut self, paths: &[PathBuf], now: Timestamp) -> Vec<JobFileChange> {
        let mut changed = self.unsettled_files();
        let ours = paths.iter().filter_map(|path| JobFileName::parse(path, &self.root));
        changed.extend(ours.map(|file| self.with_stamp(file)));
        let news = self.read_files(changed, now);
        self.mark_notices(news, now)
    }

    /// Marks notices that the user has already received, and stores the others.
    fn mark_notices(&self, news: Vec<JobFileChange>, now: Timestamp) -> Vec<JobFileChange> {
        if !self.stores_notices
            || !news.iter().any(|news| !matches!(news, JobFileChange::Planned(_) | JobFileChange::Removed(_)))
        {
            return news;
        }
        match FileNotices::open(&Paths::new(&self.root)) {
            Some(told) => news.into_iter().map(|news| told.mark(news, now)).collect(),
            None => news,
        }
    }

    /// The time at which unsettled files, which may still be being saved, should be scanned again.
    pub fn next_scan_at(&self) -> Option<Timestamp> {
        self.files.unsettled().map(|(_, then)| then).min()
    }

    /// The plans that were reported.
    pub fn planned(&self) -> impl Iterator<Item = &Arc<PlannedJob>> {
        self.files.planned()
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The directories of the job files, and the one that changes when the user accepts something.
    pub(super) fn watched_dirs(&self) -> [PathBuf; 3] {
        let [routines, reminders] = JobKind::ALL.map(|kind| self.root.join(kind.directory()));
        [routines, reminders, Paths::new(&self.root).marks()]
    }

    fn unsettled_files(&self) -> Vec<ChangedFile> {
        self.files.unsettled().map(|(file, _)| self.with_stamp(file.clone())).collect()
    }

    fn with_stamp(&self, file: JobFileName) -> ChangedFile {
        let stamp = self.disk.stamp(&file.path(&self.root));
        (file, stamp)
    }

    /// Lists the directory of `kind`; empty if it is missing.
    fn list_dir(&self, kind: JobKind) -> io::Result<Vec<FileEntry>> {
        match self.disk.list(&self.root.join(kind.directory())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Reports an unreadable directory once. Its plans stay.
    fn report_unreadable_dir(&mut self, kind: JobKind, error: &io::Error) -> Option<JobFileChange> {
        let why = format!("it cannot be read ({error}); make it a directory that this account can read");
        let before = self.unreadable_dirs.insert(kind, why.clone());
        let file = kind.directory().to_owned();
        let news = JobFileChange::Invalid { file, source: None, reason: why.clone(), reported_before: false };
        (before != Some(why)).then_some(news)
    }

    /// The files of `kind` that changed or disappeared.
    fn changed_files(&mut self, kind: JobKind, listed: Vec<FileEntry>) -> Vec<ChangedFile> {
        let named = |listed: FileEntry| Some((JobFileName::in_directory(kind, &listed.path)?, listed.stamp));
        let ours = listed.into_iter().filter_map(named);
        let new = ours.filter(|(file, stamp)| !self.files.mark_seen(file, *stamp));
        let mut changed: Vec<ChangedFile> = new.map(|(file, stamp)| (file, Ok(Some(stamp)))).collect();
        changed.extend(self.files.unseen_files(kind).map(|file| (file.clone(), Ok(None))));
        changed
    }

    fn read_files(&mut self, changed: Vec<ChangedFile>, now: Timestamp) -> Vec<JobFileChange> {
        let book = &*self;
        let read = |handful: &[ChangedFile]| -> Vec<(JobFileName, ScanResult)> {
            handful.iter().map(|(file, stamp)| (file.clone(), book.scan_file(file, stamp, now))).collect()
        };
        let found = match changed.len() {
            0..=FILES_PER_THREAD => read(&changed),
            // The first scan of many files: most of the time is spent on reading.
            many => thread::scope(|scope| {
                let threads = thread::available_parallelism().map_or(1, usize::from);
                let shares = changed.chunks(many.div_ceil(threads));
                let readers: Vec<_> = shares.map(|share| scope.spawn(|| read(share))).collect();
                readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect()
            }),
        };
        let found = self.without_unaccepted(found);
        self.files.apply(found, now)
    }

    /// Removes permissions that are not accepted.
    fn without_unaccepted(&self, found: Vec<(JobFileName, ScanResult)>) -> Vec<(JobFileName, ScanResult)> {
        if !found.iter().any(|(_, found)| found.requests_permissions()) {
            return found;
        }
        let accepted = AcceptedPermissions::load(&Paths::new(&self.root));
        found.into_iter().map(|(file, found)| (file, found.without_unaccepted(&accepted))).collect()
    }

    fn scan_file(&self, file: &JobFileName, stamp: &io::Result<Option<Stamp>>, now: Timestamp) -> ScanResult {
        match stamp {
            Ok(Some(stamp)) => ScanResult::read(&*self.disk, &self.root, &self.zone, file, *stamp, now),
            Ok(None) => ScanResult::missing(now),
            Err(error) => ScanResult::unreadable(error, now),
        }
    }
}
