//! The file of pending updates: updates of other programs are adopted once, and none is lost.
#![expect(clippy::disallowed_methods, reason = "the test is another program that writes into the directory")]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use domain::record::{Reading, Record, ReportChange};
use domain::report::{Report, ReportId};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::{Opened, Paths, Place};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

struct House {
    dir: TempDir,
}

impl House {
    fn new() -> Self {
        let house = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(house.dir.path().join("state")).unwrap();
        house
    }

    fn open(&self) -> Opened {
        let disk = std::sync::Arc::new(journal::disk::RealDisk);
        let paths = Paths::new(self.dir.path());
        journal::open(Place { paths, disk, zone: TimeZone::UTC, now: NOW, pid: 1 }).unwrap()
    }

    fn texts(opened: &Opened) -> Vec<String> {
        opened.memory.reports.waiting.iter().map(|report| report.text.clone()).collect()
    }

    fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("state/pending_updates.json")).ok()
    }

    fn put(&self, text: &str) {
        std::fs::write(self.dir.path().join("state/pending_updates.json"), text).unwrap();
    }
}

fn write(opened: &Opened, change: ReportChange) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(vec![Record::Report(change)])).unwrap();
}

const THEIRS: &str = r#"[{"ts": "2026-01-02T03:04:05+01:00", "message": "two mails"}]"#;

/// PU-1, PU-4: an update of another program is adopted once, also after a crash in between.
#[test]
fn what_others_left_is_taken_over_once() {
    let house = House::new();
    house.put(THEIRS);
    assert_eq!(House::texts(&house.open()), ["two mails"]);
    // As if the process had died before the file was updated.
    house.put(THEIRS);
    let opened = house.open();
    assert_eq!(House::texts(&opened), ["two mails"]);
    assert_eq!(opened.memory.reports.waiting[0].from, "elsewhere");
}

/// PU-1, PU-6: an update added to the file while the daemon runs survives our next write.
#[test]
fn what_others_leave_meanwhile_is_kept() {
    let house = House::new();
    let opened = house.open();
    house.put(THEIRS);
    let report = |id, text: &str| Report {
        id: ReportId(id),
        at: NOW,
        from: "fork/a".to_owned(),
        text: text.to_owned(),
        label: domain::label::Label::PLAIN,
    };
    write(&opened, ReportChange::Left(report(1, "ours")));
    write(&opened, ReportChange::Left(report(2, "ours too")));
    let read = Reading { quoted: vec![ReportId(1)], counted: Vec::new(), entry: None };
    write(&opened, ReportChange::Read(read));
    drop(opened);
    assert_eq!(House::texts(&house.open()), ["ours too", "two mails"]);
}

/// DD-56, PU-5: a damaged file is kept and reported, and the pending updates are preserved.
#[test]
fn a_damaged_file_takes_nothing_with_it() {
    let house = House::new();
    let report = Report {
        id: ReportId(1),
        at: NOW,
        from: "fork/a".to_owned(),
        text: "ours".to_owned(),
        label: domain::label::Label::PLAIN,
    };
    write(&house.open(), ReportChange::Left(report));
    house.put("[{\"ts\": \"2026");
    let opened = house.open();
    assert_eq!(House::texts(&opened), ["ours"]);
    assert!(
        opened.notices.iter().any(|notice| notice.contains("pending_updates.json")),
        "{:?}",
        opened.notices
    );
    assert!(house.file().unwrap().contains("ours"));
}
