//! Recovery of a journal that lost its end or a part: everything recoverable is recovered, and the
//! rest is reported as missing.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test damages files without the trait Disk")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use domain::conversation::{Branch, Conversation, EntryContent, SessionId, Text, UserInput};
use domain::record::Record;
use domain::rng::Rng;
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::archive::{GitHistory, Secrets};
use journal::disk::{Disk, RealDisk};
use journal::{HistoryMode, Journal, OpenParams, OpenedJournal, Paths, migration, open, open_with_history};
use tempfile::TempDir;
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};
use testkit::process::read_tree;
use tokio::runtime::Runtime;

/// Number of messages.
const MESSAGES: usize = 12;

/// Size of a WAL frame: its header and a page.
const FRAME_SIZE: usize = 24 + 4096;

type Files = BTreeMap<PathBuf, Vec<u8>>;

struct TestJournal {
    dir: TempDir,
    runtime: Runtime,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl TestJournal {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), runtime }
    }

    fn paths(&self) -> Paths {
        Paths::new(self.dir.path())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.paths().state().join(name)
    }

    fn place(&self, second: i64) -> OpenParams {
        let paths = self.paths();
        let disk = Arc::new(RealDisk);
        OpenParams { paths, disk, zone: TimeZone::UTC, now: at(second), pid: 1 }
    }

    fn open(&self, second: i64) -> OpenedJournal {
        open(self.place(second)).unwrap()
    }

    /// Opens it without durability, for tests with many cases.
    fn open_fast(&self, second: i64) -> OpenedJournal {
        open_with_history(self.place(second), HistoryMode::Disabled).unwrap()
    }

    /// Appends `words` to main, one transaction each, one second apart from `second` on.
    fn say(&self, opened: &mut OpenedJournal, words: &[String], second: i64) {
        let conversation = &mut opened.state.conversation;
        if conversation.head(&Branch::Main).is_none() {
            let session = SessionId::parse("first-session").unwrap();
            let moved = conversation.create(Branch::Main, session, at(second));
            self.write(&opened.journal, vec![Record::BranchMoved(moved)]);
        }
        for (text, second) in words.iter().zip(second..) {
            let record = message_record(conversation, text, second);
            self.write(&opened.journal, vec![record]);
        }
    }

    fn write(&self, journal: &Journal, records: Vec<Record>) {
        self.runtime.block_on(journal.write(records)).unwrap();
    }

    fn checkpoint(&self, journal: &Journal) {
        self.runtime.block_on(journal.checkpoint_when_idle()).unwrap();
        self.runtime.block_on(journal.checkpoint_when_idle()).unwrap();
    }

    fn texts(&self, opened: &OpenedJournal) -> Vec<String> {
        let recent = self.runtime.block_on(opened.journal.recent_entries(Branch::Main, None, 1000)).unwrap();
        recent.iter().map(|entry| entry.content.text()).collect()
    }

    /// Restores exactly the files in `found`.
    fn restore_files(&self, found: &Files) {
        std::fs::remove_dir_all(self.paths().state()).unwrap();
        std::fs::create_dir_all(self.paths().backups()).unwrap();
        found.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }

    /// The state files after `words` were appended and the process was killed. The first `folded`
    /// ones are checkpointed.
    fn files_after_kill(&self, words: &[String], folded: usize) -> Files {
        let mut opened = self.open(0);
        self.say(&mut opened, &words[..folded], 0);
        if folded > 0 {
            self.checkpoint(&opened.journal);
        }
        self.say(&mut opened, &words[folded..], folded as i64);
        self.state_files()
    }

    fn state_files(&self) -> Files {
        let mut files = read_tree(&self.paths().state());
        files.retain(|path, _| path.is_file());
        files
    }

    /// Starts and compares the conversation with `said`: it is a prefix of that, the notice names
    /// all that is missing, damaged files are kept, and the next start has no further notice.
    /// Returns the number of entries and the notice.
    fn check_recovery(&self, said: &[String], case: &str) -> (usize, Option<String>) {
        let before = self.state_files();
        let opened = self.open_fast(100);
        let heard = self.texts(&opened);
        assert_eq!(heard, said[..heard.len()], "{case}");
        let notice = opened.notices.first().cloned();
        let missing = said.len() - heard.len();
        match &notice {
            None => assert_eq!(missing, 0, "{case}: {missing} entries are missing, and nothing was said"),
            Some(notice) if missing == 0 => {
                assert!(
                    notice.contains("nothing is missing") || notice.contains("No message is missing"),
                    "{case}: {notice}"
                );
            }
            Some(notice) => {
                let entries = if missing == 1 { "entry" } else { "entries" };
                assert!(notice.contains(&format!("missing: {missing} {entries} of our")), "{case}: {notice}");
                assert!(notice.contains(&format!("until {}", clock(said.len() - 1))), "{case}: {notice}");
                if missing < said.len() {
                    assert!(
                        notice.contains(&format!("after {}", clock(heard.len() - 1))),
                        "{case}: {notice}"
                    );
                }
            }
        }
        if notice.is_some() {
            for name in ["journal.db", "journal.db-wal"] {
                let Some(bytes) = before.get(&self.file(name)) else { continue };
                let kept = self.state_files().into_iter().any(|(path, kept)| {
                    path.to_string_lossy().contains("journal.db.corrupt-") && kept == *bytes
                });
                assert!(kept, "{case}: {name} is kept as it was found");
            }
        }
        opened.journal.remove_rescue_notices();
        drop(opened);
        let again = self.open_fast(200);
        assert_eq!(again.notices, Vec::<String>::new(), "{case}: it is told once");
        assert_eq!(self.texts(&again), heard, "{case}: it stays");
        (heard.len(), notice)
    }
}

fn message_record(conversation: &mut Conversation, text: &str, second: i64) -> Record {
    let heard = UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() };
    Record::EntryAppended(
        Branch::Main,
        conversation.append(&Branch::Main, EntryContent::User(heard), at(second)).unwrap(),
    )
}

/// Texts of many lengths, so that pages fill and split.
fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n} {}", "and more ".repeat(n * n % 97))).collect()
}

fn clock(second: usize) -> String {
    at(second as i64).to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The WAL contains the newest part of the journal, on the first day all of it, and is removed.
#[test]
fn a_removed_wal_is_detected() {
    let said = texts(82);
    for folded in [0, 50] {
        let desk = TestJournal::new();
        let mut found = desk.files_after_kill(&said, folded);
        assert!(found.remove(&desk.file("journal.db-wal")).is_some());
        desk.restore_files(&found);
        let (heard, notice) = desk.check_recovery(&said, "removed");
        assert_eq!(heard, folded);
        let notice = notice.unwrap();
        assert!(notice.starts_with("the journal was damaged. i kept it as "), "{notice}");
    }
}

#[test]
fn a_truncated_wal_is_detected() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 3);
    let log = desk.file("journal.db-wal");
    let frames = (found[&log].len() - 32) / FRAME_SIZE;
    assert!(frames > 2 * MESSAGES, "{frames} frames");
    let mut reached = 0;
    for frame in 0..=frames {
        for more in [[0, 24], [0, 2000]][frame % 2] {
            let mut cut = found.clone();
            cut.get_mut(&log).unwrap().truncate(32 + frame * FRAME_SIZE + more);
            desk.restore_files(&cut);
            let (heard, _) =
                desk.check_recovery(&said, &format!("cut after {frame} frames and {more} bytes"));
            assert!(heard >= reached.max(3));
            reached = heard;
        }
    }
    assert_eq!(reached, MESSAGES);
}

/// A flipped bit is repaired where the checksum identifies it, which holds for the lower half of
/// each word except in the last frame. Otherwise the notice names what is missing.
#[test]
fn a_flipped_bit_in_the_wal_is_repaired_or_detected() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 3);
    let log = desk.file("journal.db-wal");
    let frames = (found[&log].len() - 32) / FRAME_SIZE;
    let end = 32 + frames * FRAME_SIZE;
    let mut dice = Rng::new(24);
    // All parts of the headers, and random bits of pages.
    let mut bits: Vec<usize> = (0..32 * 8).step_by(11).collect();
    bits.extend((0..24 * 8).step_by(7).map(|bit| (32 + 5 * FRAME_SIZE) * 8 + bit));
    bits.extend((1..30).step_by(4).map(|back| (32 + 9 * FRAME_SIZE) * 8 - back));
    bits.extend((0..30).map(|_| usize::try_from(dice.next_u64()).unwrap() % (end * 8)));
    let cases = bits.len();
    let mut healed = 0;
    for bit in bits {
        let mut flipped = found.clone();
        flipped.get_mut(&log).unwrap()[bit / 8] ^= 1 << (bit % 8);
        desk.restore_files(&flipped);
        let (heard, _) = desk.check_recovery(&said, &format!("bit {bit} of {}", end * 8));
        let is_certain = (bit / 8) % 4 < 2 && bit / 8 + FRAME_SIZE < end;
        assert!(heard == MESSAGES || !is_certain, "bit {bit}: {heard} of {MESSAGES}");
        healed += usize::from(heard == MESSAGES);
    }
    assert!(healed * 10 >= cases * 8, "{healed} of {cases} cost nothing");
}

#[test]
fn an_overwritten_part_of_the_wal_is_reported() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 0);
    let log = desk.file("journal.db-wal");
    let mut dice = Rng::new(7);
    for case in 0..24 {
        let mut overwritten = found.clone();
        let bytes = overwritten.get_mut(&log).unwrap();
        let start = usize::try_from(dice.next_u64()).unwrap() % bytes.len();
        let end = (start + 512).min(bytes.len());
        bytes[start..end].fill([0, 0xa5][case % 2]);
        desk.restore_files(&overwritten);
        desk.check_recovery(&said, &format!("overwritten from {start}"));
    }
}

/// Damage to a checkpointed WAL has no effect, even if SQLite would read old pages from its start.
#[test]
fn damage_to_a_checkpointed_wal_has_no_effect() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut found = desk.files_after_kill(&said, 0);
    let base = desk.file("journal.db");
    let log = desk.file("journal.db-wal");
    desk.restore_files(&found);
    let connection = rusqlite::Connection::open(&base).unwrap();
    let row = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    assert_eq!(connection.query_row("PRAGMA wal_checkpoint(FULL)", [], row).unwrap(), 0);
    found.insert(base.clone(), std::fs::read(&base).unwrap());
    drop(connection);
    let frames = (found[&log].len() - 32) / FRAME_SIZE;
    for frame in (0..frames).step_by(4) {
        let mut overwritten = found.clone();
        overwritten.get_mut(&log).unwrap()[32 + frame * FRAME_SIZE + 100..][..2000].fill(1);
        desk.restore_files(&overwritten);
        assert_eq!(desk.check_recovery(&said, &format!("frame {frame} of {frames}")).0, MESSAGES);
    }
    found.remove(&log);
    desk.restore_files(&found);
    assert_eq!(desk.check_recovery(&said, "removed"), (MESSAGES, None));
}

/// A journal is recovered from its WAL alone on the first day, and from a backup with the WAL
/// written since.
#[test]
fn a_removed_database_is_recovered_from_its_wal() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut found = desk.files_after_kill(&said, 0);
    found.remove(&desk.file("journal.db"));
    desk.restore_files(&found);
    let (heard, notice) = desk.check_recovery(&said, "no database");
    assert_eq!(heard, MESSAGES, "{notice:?}");

    for folds_before in [true, false] {
        let desk = TestJournal::new();
        let mut opened = desk.open(0);
        desk.say(&mut opened, &said[..10], 0);
        if folds_before {
            desk.checkpoint(&opened.journal);
        }
        let backup = desk.runtime.block_on(opened.journal.back_up(at(15))).unwrap();
        assert!(backup.is_some());
        desk.say(&mut opened, &said[10..], 10);
        let mut found = desk.state_files();
        drop(opened);
        found.get_mut(&desk.file("journal.db")).unwrap().fill(0);
        desk.restore_files(&found);
        let (heard, notice) = desk.check_recovery(&said, "no database, and a backup");
        assert_eq!(heard, MESSAGES, "{notice:?}");
    }
}

/// A WAL is applied to a backup only if the backup is not older than the start of the WAL.
#[test]
fn a_wal_is_not_applied_to_a_backup_that_is_too_old() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut opened = desk.open(0);
    desk.say(&mut opened, &said[..5], 0);
    assert!(desk.runtime.block_on(opened.journal.back_up(at(6))).unwrap().is_some());
    desk.say(&mut opened, &said[5..10], 5);
    desk.checkpoint(&opened.journal);
    desk.say(&mut opened, &said[10..], 10);
    let mut found = desk.state_files();
    drop(opened);
    found.remove(&desk.file("journal.db"));
    desk.restore_files(&found);
    let (heard, _) = desk.check_recovery(&said, "an old backup");
    assert_eq!(heard, 5);
}

#[test]
fn a_damaged_database_is_detected_and_recovered_from_its_wal() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 6);
    let base = desk.file("journal.db");
    for page in 0..found[&base].len() / 4096 {
        let mut overwritten = found.clone();
        overwritten.get_mut(&base).unwrap()[page * 4096..][..4096].fill(0xa5);
        desk.restore_files(&overwritten);
        let opened = desk.open_fast(100);
        let recent = desk.runtime.block_on(opened.journal.recent_entries(Branch::Main, None, 1000));
        let heard = recent.map(|entries| entries.len()).unwrap_or_default();
        let told = opened.notices.iter().any(|notice| notice.starts_with("the journal was damaged"));
        let is_sound =
            journal::open_read_only(&desk.paths()).unwrap().is_none_or(|database| database.is_sound());
        // Deeper damage is found by the next backup.
        assert!(heard == MESSAGES || told || !is_sound, "page {page}: {heard}, {:?}", opened.notices);
    }
}

#[test]
fn a_kill_and_a_removed_wal_index_cause_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 3);
    desk.restore_files(&found);
    assert_eq!(desk.check_recovery(&said, "killed"), (MESSAGES, None));
    let mut unindexed = found.clone();
    assert!(unindexed.remove(&desk.file("journal.db-shm")).is_some());
    desk.restore_files(&unindexed);
    assert_eq!(desk.check_recovery(&said, "no index"), (MESSAGES, None));
}

/// A crash between a transaction and its mark leaves the mark behind, which is no damage, and the
/// next start updates it.
#[test]
fn a_mark_that_is_behind_causes_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut found = desk.files_after_kill(&said, 0);
    let mark = found.get_mut(&desk.file("journal.mark")).unwrap();
    let end = mark.len() - 2;
    let cut = mark[..end].iter().rposition(|byte| *byte == b'\n').unwrap();
    mark.truncate(cut);
    desk.restore_files(&found);
    let opened = desk.open(100);
    assert_eq!((desk.texts(&opened).len(), &opened.notices[..]), (MESSAGES, &[][..]));
    drop(opened);
    // The mark is updated at the start, so a WAL that is removed later is noticed.
    assert_eq!(mark_commits(&desk), journal_commits(&desk));
}

fn mark_commits(desk: &TestJournal) -> Option<u64> {
    let mark = journal::read_mark(&desk.paths().database(), &RealDisk).unwrap();
    mark.extent().map(|extent| extent.commits)
}

fn journal_commits(desk: &TestJournal) -> Option<u64> {
    Some(journal::open_read_only(&desk.paths()).unwrap()?.extent().unwrap().commits)
}

#[test]
fn a_missing_or_damaged_mark_is_reported_once_and_rewritten() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 0);
    let mark = desk.file("journal.mark");
    for damaged in [None, Some(&b"\0\0\0"[..]), Some(b"")] {
        let mut found = found.clone();
        match damaged {
            None => drop(found.remove(&mark)),
            Some(bytes) => drop(found.insert(mark.clone(), bytes.to_vec())),
        }
        desk.restore_files(&found);
        let opened = desk.open(100);
        assert_eq!(desk.texts(&opened).len(), MESSAGES);
        let [notice] = &opened.notices[..] else { panic!("one notice: {:?}", opened.notices) };
        assert!(notice.contains("journal.mark was ") && notice.contains(&clock(MESSAGES - 1)), "{notice}");
        drop(opened);
        assert_eq!(desk.open(200).notices, Vec::<String>::new(), "told once");
        assert_eq!(mark_commits(&desk), journal_commits(&desk));
    }
}

/// A journal of an earlier version has neither counter nor mark. It gets both without a notice and
/// is protected from then on.
#[test]
fn a_journal_of_an_earlier_version_is_protected_from_its_first_start() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    desk.files_after_kill(&said[..10], 10);
    std::fs::remove_file(desk.file("journal.mark")).unwrap();
    let connection = rusqlite::Connection::open(desk.paths().database()).unwrap();
    connection.execute("DELETE FROM keepsakes WHERE name = 'commits'", []).unwrap();
    drop(connection);
    let mut opened = desk.open(10);
    assert_eq!(opened.notices, Vec::<String>::new());
    desk.say(&mut opened, &said[10..], 10);
    let mut found = desk.state_files();
    drop(opened);
    found.remove(&desk.file("journal.db-wal"));
    desk.restore_files(&found);
    assert_eq!(desk.check_recovery(&said, "removed").0, 10);
}

/// An interrupted checkpoint leaves pages of different times in the database. If the WAL is removed
/// then, the counter alone does not detect it.
#[test]
fn a_database_with_pages_of_different_times_is_detected() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut found = desk.files_after_kill(&said, 3);
    found.remove(&desk.file("journal.db-wal"));
    desk.restore_files(&found);
    let mark = journal::read_mark(&desk.paths().database(), &RealDisk).unwrap();
    let commits = mark.extent().unwrap().commits;
    let connection = rusqlite::Connection::open(desk.paths().database()).unwrap();
    let sql = "UPDATE keepsakes SET value = ? WHERE name = 'commits'";
    connection.execute(sql, [commits.to_string()]).unwrap();
    connection.close().unwrap();
    assert_eq!(desk.check_recovery(&said, "mixed").0, 3);
}

/// An older journal copied into place counts as damaged: it is reported, and the newest backup is
/// used.
#[test]
fn an_older_journal_in_place_is_detected() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let old = desk.files_after_kill(&said[..8], 8).remove(&desk.file("journal.db")).unwrap();
    let mut opened = desk.open(8);
    desk.say(&mut opened, &said[8..], 8);
    drop(opened);
    std::fs::write(desk.paths().database(), old).unwrap();
    let (heard, notice) = desk.check_recovery(&said, "older");
    assert_eq!(heard, 8, "{notice:?}");
}

#[test]
fn a_moved_directory_causes_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let found = desk.files_after_kill(&said, 3);
    let moved = TestJournal::new();
    std::fs::create_dir_all(moved.paths().backups()).unwrap();
    for (path, bytes) in &found {
        std::fs::write(moved.file(path.file_name().unwrap().to_str().unwrap()), bytes).unwrap();
    }
    assert_eq!(moved.check_recovery(&said, "moved"), (MESSAGES, None));
}

/// An archive contains a journal without a mark, so the first start on another machine has nothing to
/// compare it with.
#[test]
fn an_imported_journal_causes_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    drop(desk.files_after_kill(&said, 3));
    let mut archive = Vec::new();
    let order = journal::archive::PackRequest {
        paths: &desk.paths(),
        disk: &RealDisk,
        secrets: Secrets::Exclude,
        history: GitHistory::Exclude,
        now: at(50),
        program: "a test",
    };
    journal::archive::pack(&order, &mut archive, &mut |_| ()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut unpacked = tar::Archive::new(flate2::read::GzDecoder::new(&archive[..]));
    unpacked.unpack(elsewhere.path()).unwrap();
    let there = TestJournal::new();
    std::fs::rename(elsewhere.path().join("data/state"), there.paths().state()).unwrap();
    assert!(!there.file("journal.mark").exists());
    let opened = there.open(100);
    assert_eq!((there.texts(&opened).len(), &opened.notices[..]), (MESSAGES, &[][..]));
    drop(opened);
    assert_eq!(there.open(200).notices, Vec::<String>::new());
}

/// Returning to an earlier version drops newer entries on purpose.
#[test]
fn a_restored_older_journal_causes_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let old = desk.files_after_kill(&said[..8], 8).remove(&desk.file("journal.db")).unwrap();
    let kept = desk.dir.path().join("kept.db");
    std::fs::write(&kept, old).unwrap();
    let mut opened = desk.open(8);
    desk.say(&mut opened, &said[8..], 8);
    drop(opened);
    migration::restore_copy(&desk.paths(), &RealDisk, &kept, at(90)).unwrap();
    assert_eq!(desk.check_recovery(&said[..8], "laid back"), (8, None));
}

/// A mark that cannot be written falls behind, which causes neither data loss nor a notice.
#[test]
fn a_mark_behind_because_of_a_full_disk_causes_no_notice() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    drop(desk.files_after_kill(&said[..4], 4));
    let disk =
        |call| Arc::new(FailingDisk::new(Arc::new(RealDisk), call, DiskFault::Full, FaultDuration::Forever));
    let counting = disk(usize::MAX);
    drop(open(OpenParams { disk: counting.clone(), ..desk.place(4) }).unwrap());
    let full: Arc<dyn Disk> = disk(counting.calls());
    let mut opened = open(OpenParams { disk: full, ..desk.place(4) }).unwrap();
    desk.say(&mut opened, &said[4..], 4);
    drop(opened);
    assert_eq!(desk.check_recovery(&said, "full"), (MESSAGES, None));
}

/// An idle journal is a single file that does not depend on a WAL.
#[test]
fn an_idle_journal_needs_no_wal() {
    let desk = TestJournal::new();
    let said = texts(MESSAGES);
    let mut opened = desk.open(0);
    desk.say(&mut opened, &said, 0);
    let size = || std::fs::metadata(desk.file("journal.db-wal")).unwrap().len();
    desk.runtime.block_on(opened.journal.checkpoint_when_idle()).unwrap();
    assert!(size() > 0, "something was written since the last look");
    desk.runtime.block_on(opened.journal.checkpoint_when_idle()).unwrap();
    assert_eq!(size(), 0);
    let mut found = desk.state_files();
    drop(opened);
    found.remove(&desk.file("journal.db-wal"));
    desk.restore_files(&found);
    assert_eq!(desk.check_recovery(&said, "folded"), (MESSAGES, None));
}

/// The first backup is made as soon as the journal is not empty.
#[test]
fn the_first_backup_follows_the_first_message() {
    let desk = TestJournal::new();
    let mut opened = desk.open(0);
    assert_eq!(desk.runtime.block_on(opened.journal.back_up(at(30))).unwrap(), None);
    desk.say(&mut opened, &texts(1), 40);
    assert!(desk.runtime.block_on(opened.journal.back_up(at(60))).unwrap().is_some());
}
