//! Fixture for job files: a disk in memory, a simulated clock, and a scanner.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::cost::Source;
use domain::schedule::FileNews;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::Paths;
use journal::disk::Disk;
use journal::jobs::JobBook;
use testkit::disk::MemoryDisk;

pub struct Desk {
    pub disk: Arc<MemoryDisk>,
    pub book: JobBook,
    pub now: Timestamp,
}

impl Desk {
    pub fn new() -> Self {
        let disk = Arc::new(MemoryDisk::default());
        let book = JobBook::open(disk.clone(), &Paths::new("/data"), TimeZone::UTC);
        let mut desk = Self { disk, book, now: Timestamp::constant(1_794_700_000, 0) };
        desk.pass(0);
        desk
    }

    pub fn pass(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
        self.disk.set_time(self.now);
    }

    pub fn look(&mut self) -> Vec<FileNews> {
        self.book.look(self.now)
    }

    /// Scans twice, the second time after all files have settled. Returns the news of both scans.
    pub fn settled(&mut self) -> Vec<FileNews> {
        let mut news = self.look();
        self.pass(2_000);
        news.extend(self.look());
        news
    }

    pub fn look_at(&mut self, file: &str) -> Vec<FileNews> {
        self.book.look_at(&[at(file)], self.now)
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
    pub fn words(&self, id: &str) -> Option<String> {
        let source = Source::Routine(id.to_owned());
        let planned = self.book.planned().find(|planned| planned.source() == source)?;
        Some(planned.message().to_string())
    }
}

fn at(file: &str) -> PathBuf {
    Path::new("/data").join(file)
}
