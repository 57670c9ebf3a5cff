//! The file of pending updates: updates of other programs are adopted once, and none is lost.
#![expect(clippy::disallowed_methods, reason = "the test is another program that writes into the directory")]
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{Record, UpdateChange, UpdatesRead};
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::{OpenParams, OpenedJournal, Paths};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

struct TestDirectory {
    dir: TempDir,
}

impl TestDirectory {
    fn new() -> Self {
        let house = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(house.dir.path().join("state")).unwrap();
        house
    }

    fn open(&self) -> OpenedJournal {
        let disk = std::sync::Arc::new(journal::disk::RealDisk);
        let paths = Paths::new(self.dir.path());
        journal::open(OpenParams { paths, disk, zone: TimeZone::UTC, now: NOW, pid: 1 }).unwrap()
    }

    fn texts(opened: &OpenedJournal) -> Vec<String> {
        opened.state.updates.waiting.iter().map(|report| report.text.clone()).collect()
    }

    fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("state/pending_updates.json")).ok()
    }

    fn replace_file(&self, text: &str) {
        std::fs::write(self.dir.path().join("state/pending_updates.json"), text).unwrap();
    }
}

fn write(opened: &OpenedJournal, change: UpdateChange) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(vec![Record::Update(change)])).unwrap();
}

const THEIRS: &str = r#"[{"ts": "2026-01-02T03:04:05+01:00", "message": "two mails"}]"#;

/// PU-1, PU-4: an update of another program is adopted once, also after a crash in between.
#[test]
fn updates_of_other_programs_are_adopted_once() {
    let house = TestDirectory::new();
    house.replace_file(THEIRS);
    assert_eq!(TestDirectory::texts(&house.open()), ["two mails"]);
    // As if the process had died before the file was updated.
    house.replace_file(THEIRS);
    let opened = house.open();
    assert_eq!(TestDirectory::texts(&opened), ["two mails"]);
    assert_eq!(opened.state.updates.waiting[0].source, "elsewhere");
}

/// PU-1, PU-6: an update added to the file while the daemon runs survives our next write.
#[test]
fn updates_added_while_the_daemon_runs_are_preserved() {
    let house = TestDirectory::new();
    let opened = house.open();
    house.replace_file(THEIRS);
    let report = |id, text: &str| PendingUpdate {
        id: UpdateId(id),
        at: NOW,
        source: "fork/a".to_owned(),
        text: text.to_owned(),
        label: domain::label::Label::PLAIN,
    };
    write(&opened, UpdateChange::Left(report(1, "ours")));
    write(&opened, UpdateChange::Left(report(2, "ours too")));
    let read = UpdatesRead { quoted: vec![UpdateId(1)], counted: Vec::new(), entry: None };
    write(&opened, UpdateChange::Read(read));
    drop(opened);
    assert_eq!(TestDirectory::texts(&house.open()), ["ours too", "two mails"]);
}

/// DD-56, PU-5: a damaged file is kept and reported, and the pending updates are preserved.
#[test]
fn a_damaged_file_loses_no_pending_update() {
    let house = TestDirectory::new();
    let report = PendingUpdate {
        id: UpdateId(1),
        at: NOW,
        source: "fork/a".to_owned(),
        text: "ours".to_owned(),
        label: domain::label::Label::PLAIN,
    };
    write(&house.open(), UpdateChange::Left(report));
    house.replace_file("[{\"ts\": \"2026");
    let opened = house.open();
    assert_eq!(TestDirectory::texts(&opened), ["ours"]);
    assert!(
        opened.notices.iter().any(|notice| notice.contains("pending_updates.json")),
        "{:?}",
        opened.notices
    );
    assert!(house.file().unwrap().contains("ours"));
}
