//! Fixture for job files: a disk in memory, a simulated clock, and a scanner.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::cost::CostSource;
use domain::schedule::JobFileChange;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::Paths;
use journal::disk::Disk;
use journal::jobs::JobFileScanner;
use testkit::disk::MemoryDisk;

pub struct JobFixture {
    pub disk: Arc<MemoryDisk>,
    pub scanner: JobFileScanner,
    pub now: Timestamp,
}

impl JobFixture {
    pub fn new() -> Self {
        let disk = Arc::new(MemoryDisk::default());
        let book = JobFileScanner::open(disk.clone(), &Paths::new("/data"), TimeZone::UTC);
        let mut desk = Self { disk, scanner: book, now: Timestamp::constant(1_794_700_000, 0) };
        desk.advance(0);
        desk
    }

    pub fn advance(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
        self.disk.set_time(self.now);
    }

    pub fn scan(&mut self) -> Vec<JobFileChange> {
        self.scanner.scan(self.now)
    }

    /// Scans twice, the second time after all files have settled. Returns the news of both scans.
    pub fn scan_settled(&mut self) -> Vec<JobFileChange> {
        let mut news = self.scan();
        self.advance(2_000);
        news.extend(self.scan());
        news
    }

    pub fn scan_file(&mut self, file: &str) -> Vec<JobFileChange> {
        self.scanner.scan_paths(&[at(file)], self.now)
    }

    pub fn write(&self, file: &str, text: &str) {
        self.disk.put(at(file), text.as_bytes());
    }

    pub fn touch(&self, file: &str) {
        let bytes = self.disk.read(&at(file)).unwrap_or_default();
        self.disk.put(at(file), &bytes);
    }

    pub fn rename(&self, from: &str, to: &str) {
        let _ = self.disk.rename(&at(from), &at(to));
    }

    pub fn remove(&self, file: &str) {
        let _ = self.disk.remove(&at(file));
    }

    /// The text of the routine `id`, if it is planned.
    pub fn routine_text(&self, id: &str) -> Option<String> {
        let source = CostSource::Routine(id.to_owned());
        let planned = self.scanner.planned().find(|planned| planned.source() == source)?;
        Some(planned.prompt().to_string())
    }
}

fn at(file: &str) -> PathBuf {
    Path::new("/data").join(file)
}
