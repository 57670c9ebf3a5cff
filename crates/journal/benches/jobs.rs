//! Cost of the job files: the first scan of many files, and a scan after one file changed.
//!
//! Uses `/dev/shm` where it exists, so that a slow disk is not measured.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]
#![expect(clippy::disallowed_methods, reason = "here an editor writes, not the assistant")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divan::{Bencher, black_box};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::Paths;
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// One year after the files were written, so that all of them count as settled.
const NOW: Timestamp = Timestamp::constant(1_830_000_000, 0);

struct JobDirectory(TempDir);

impl JobDirectory {
    fn new(jobs: usize) -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let shelf = Self(dir);
        fs::create_dir_all(shelf.0.path().join("routines")).unwrap();
        for n in 0..jobs {
            shelf.write(n, "Look at the mail and say what needs an answer today.");
        }
        shelf
    }

    fn path(&self, n: usize) -> PathBuf {
        self.0.path().join(format!("routines/job-{n:06}.md"))
    }

    fn write(&self, n: usize, words: &str) {
        let minute = n % 60;
        let hour = n % 24;
        let text = format!(
            "---\nid: \"{n:08x}\"\ncron: \"{minute} {hour} * * 1-5\"\nbackground: true\ndescription: \"Job {n}\"\n---\n{words}\n"
        );
        fs::write(self.path(n), text).unwrap();
    }

    fn store(&self) -> JobFileScanner {
        JobFileScanner::open(Arc::new(RealDisk), &Paths::new(self.0.path()), TimeZone::UTC)
    }
}

#[divan::bench(args = [60, 1_000, 100_000], sample_count = 5, sample_size = 1)]
fn first_look(bencher: Bencher, jobs: usize) {
    let shelf = JobDirectory::new(jobs);
    bencher.with_inputs(|| shelf.store()).bench_values(|mut book| black_box(book.scan(NOW).len()));
}

#[divan::bench(args = [60, 1_000, 100_000], sample_count = 5, sample_size = 1)]
fn nothing_changed(bencher: Bencher, jobs: usize) {
    let shelf = JobDirectory::new(jobs);
    let mut book = shelf.store();
    book.scan(NOW);
    bencher.bench_local(|| assert!(book.scan(NOW).is_empty()));
}

#[divan::bench(args = [60, 1_000, 100_000], sample_count = 20, sample_size = 1)]
fn one_changed_file(bencher: Bencher, jobs: usize) {
    let shelf = JobDirectory::new(jobs);
    let mut book = shelf.store();
    book.scan(NOW);
    let mut n = 0;
    let change = || {
        n += 1;
        shelf.write(jobs / 2, &format!("Words {n}."));
    };
    bencher
        .with_inputs(change)
        .bench_local_values(|()| assert_eq!(book.scan_paths(&[shelf.path(jobs / 2)], NOW).len(), 1));
}
