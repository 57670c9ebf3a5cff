//! Recovery of a journal that lost its end or a part: everything recoverable is recovered, and the
//! rest is reported as missing.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test damages files without the trait Disk")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use domain::conversation::{Branch, Conversation, Heard, Said, SessionId, Text};
use domain::dice::Dice;
use domain::record::Record;
use engine::ports::Journal as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::disk::{Disk, RealDisk};
use journal::moving::{History, Secrets};
use journal::{Journal, Opened, Paths, Place, Tracked, migration, open, open_with};
use tempfile::TempDir;
use testkit::disk::{FailingDisk, Fault, Lasting};
use testkit::kill::contents;
use tokio::runtime::Runtime;

/// Number of messages.
const SAID: usize = 12;

/// Size of a WAL frame: its header and a page.
const FRAME: usize = 24 + 4096;

type Files = BTreeMap<PathBuf, Vec<u8>>;

struct Desk {
    dir: TempDir,
    runtime: Runtime,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl Desk {
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

    fn place(&self, second: i64) -> Place {
        let paths = self.paths();
        let disk = Arc::new(RealDisk);
        Place { paths, disk, zone: TimeZone::UTC, now: at(second), pid: 1 }
    }

    fn open(&self, second: i64) -> Opened {
        open(self.place(second)).unwrap()
    }

    /// Opens it without durability, for tests with many cases.
    fn open_fast(&self, second: i64) -> Opened {
        open_with(self.place(second), Tracked::Nowhere).unwrap()
    }

    /// Appends `words` to main, one transaction each, one second apart from `second` on.
    fn say(&self, opened: &mut Opened, words: &[String], second: i64) {
        let conversation = &mut opened.memory.conversation;
        if conversation.head(&Branch::Main).is_none() {
            let session = SessionId::read("first-session").unwrap();
            let moved = conversation.create(Branch::Main, session, at(second));
            self.write(&opened.journal, vec![Record::Moved(moved)]);
        }
        for (text, second) in words.iter().zip(second..) {
            let record = said(conversation, text, second);
            self.write(&opened.journal, vec![record]);
        }
    }

    fn write(&self, journal: &Journal, records: Vec<Record>) {
        self.runtime.block_on(journal.write(records)).unwrap();
    }

    fn fold(&self, journal: &Journal) {
        self.runtime.block_on(journal.fold_when_idle()).unwrap();
        self.runtime.block_on(journal.fold_when_idle()).unwrap();
    }

    fn heard(&self, opened: &Opened) -> Vec<String> {
        let recent = self.runtime.block_on(opened.journal.recent(Branch::Main, None, 1000)).unwrap();
        recent.iter().map(|entry| entry.said.text()).collect()
    }

    /// Restores exactly the files in `found`.
    fn lay_out(&self, found: &Files) {
        std::fs::remove_dir_all(self.paths().state()).unwrap();
        std::fs::create_dir_all(self.paths().backups()).unwrap();
        found.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }

    /// The state files after `words` were appended and the process was killed. The first `folded`
    /// ones are checkpointed.
    fn killed_after(&self, words: &[String], folded: usize) -> Files {
        let mut opened = self.open(0);
        self.say(&mut opened, &words[..folded], 0);
        if folded > 0 {
            self.fold(&opened.journal);
        }
        self.say(&mut opened, &words[folded..], folded as i64);
        self.state()
    }

    fn state(&self) -> Files {
        let mut files = contents(&self.paths().state());
        files.retain(|path, _| path.is_file());
        files
    }

    /// Starts and compares the conversation with `said`: it is a prefix of that, the notice names
    /// all that is missing, damaged files are kept, and the next start has no further notice.
    /// Returns the number of entries and the notice.
    fn check(&self, said: &[String], case: &str) -> (usize, Option<String>) {
        let before = self.state();
        let opened = self.open_fast(100);
        let heard = self.heard(&opened);
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
                let kept = self.state().into_iter().any(|(path, kept)| {
                    path.to_string_lossy().contains("journal.db.corrupt-") && kept == *bytes
                });
                assert!(kept, "{case}: {name} is kept as it was found");
            }
        }
        opened.journal.told();
        drop(opened);
        let again = self.open_fast(200);
        assert_eq!(again.notices, Vec::<String>::new(), "{case}: it is told once");
        assert_eq!(self.heard(&again), heard, "{case}: it stays");
        (heard.len(), notice)
    }
}

fn said(conversation: &mut Conversation, text: &str, second: i64) -> Record {
    let heard = Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() };
    Record::Said(Branch::Main, conversation.say(&Branch::Main, Said::Human(heard), at(second)).unwrap())
}

/// Texts of many lengths, so that pages fill and split.
fn words(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n} {}", "and more ".repeat(n * n % 97))).collect()
}

fn clock(second: usize) -> String {
    at(second as i64).to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The WAL contains the newest part of the journal, on the first day all of it, and is removed.
#[test]
fn a_write_ahead_log_that_was_removed_is_noticed() {
    let said = words(82);
    for folded in [0, 50] {
        let desk = Desk::new();
        let mut found = desk.killed_after(&said, folded);
        assert!(found.remove(&desk.file("journal.db-wal")).is_some());
        desk.lay_out(&found);
        let (heard, notice) = desk.check(&said, "removed");
        assert_eq!(heard, folded);
        let notice = notice.unwrap();
        assert!(notice.starts_with("the journal was damaged. i kept it as "), "{notice}");
    }
}

#[test]
fn a_write_ahead_log_that_was_cut_anywhere_is_noticed() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 3);
    let log = desk.file("journal.db-wal");
    let frames = (found[&log].len() - 32) / FRAME;
    assert!(frames > 2 * SAID, "{frames} frames");
    let mut reached = 0;
    for frame in 0..=frames {
        for more in [[0, 24], [0, 2000]][frame % 2] {
            let mut cut = found.clone();
            cut.get_mut(&log).unwrap().truncate(32 + frame * FRAME + more);
            desk.lay_out(&cut);
            let (heard, _) = desk.check(&said, &format!("cut after {frame} frames and {more} bytes"));
            assert!(heard >= reached.max(3));
            reached = heard;
        }
    }
    assert_eq!(reached, SAID);
}

/// A flipped bit is repaired where the checksum identifies it, which holds for the lower half of
/// each word except in the last frame. Otherwise the notice names what is missing.
#[test]
fn one_flipped_bit_of_a_write_ahead_log_is_repaired_or_noticed() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 3);
    let log = desk.file("journal.db-wal");
    let frames = (found[&log].len() - 32) / FRAME;
    let end = 32 + frames * FRAME;
    let mut dice = Dice::new(24);
    // All parts of the headers, and random bits of pages.
    let mut bits: Vec<usize> = (0..32 * 8).step_by(11).collect();
    bits.extend((0..24 * 8).step_by(7).map(|bit| (32 + 5 * FRAME) * 8 + bit));
    bits.extend((1..30).step_by(4).map(|back| (32 + 9 * FRAME) * 8 - back));
    bits.extend((0..30).map(|_| usize::try_from(dice.roll()).unwrap() % (end * 8)));
    let cases = bits.len();
    let mut healed = 0;
    for bit in bits {
        let mut flipped = found.clone();
        flipped.get_mut(&log).unwrap()[bit / 8] ^= 1 << (bit % 8);
        desk.lay_out(&flipped);
        let (heard, _) = desk.check(&said, &format!("bit {bit} of {}", end * 8));
        let is_certain = (bit / 8) % 4 < 2 && bit / 8 + FRAME < end;
        assert!(heard == SAID || !is_certain, "bit {bit}: {heard} of {SAID}");
        healed += usize::from(heard == SAID);
    }
    assert!(healed * 10 >= cases * 8, "{healed} of {cases} cost nothing");
}

#[test]
fn what_is_overwritten_in_a_write_ahead_log_is_named() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 0);
    let log = desk.file("journal.db-wal");
    let mut dice = Dice::new(7);
    for case in 0..24 {
        let mut overwritten = found.clone();
        let bytes = overwritten.get_mut(&log).unwrap();
        let start = usize::try_from(dice.roll()).unwrap() % bytes.len();
        let end = (start + 512).min(bytes.len());
        bytes[start..end].fill([0, 0xa5][case % 2]);
        desk.lay_out(&overwritten);
        desk.check(&said, &format!("overwritten from {start}"));
    }
}

/// Damage to a checkpointed WAL has no effect, even if SQLite would read old pages from its start.
#[test]
fn damage_to_a_log_that_was_folded_in_costs_nothing() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut found = desk.killed_after(&said, 0);
    let base = desk.file("journal.db");
    let log = desk.file("journal.db-wal");
    desk.lay_out(&found);
    let connection = rusqlite::Connection::open(&base).unwrap();
    let row = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    assert_eq!(connection.query_row("PRAGMA wal_checkpoint(FULL)", [], row).unwrap(), 0);
    found.insert(base.clone(), std::fs::read(&base).unwrap());
    drop(connection);
    let frames = (found[&log].len() - 32) / FRAME;
    for frame in (0..frames).step_by(4) {
        let mut overwritten = found.clone();
        overwritten.get_mut(&log).unwrap()[32 + frame * FRAME + 100..][..2000].fill(1);
        desk.lay_out(&overwritten);
        assert_eq!(desk.check(&said, &format!("frame {frame} of {frames}")).0, SAID);
    }
    found.remove(&log);
    desk.lay_out(&found);
    assert_eq!(desk.check(&said, "removed"), (SAID, None));
}

/// A journal is recovered from its WAL alone on the first day, and from a backup with the WAL
/// written since.
#[test]
fn a_database_that_was_removed_comes_back_from_its_log() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut found = desk.killed_after(&said, 0);
    found.remove(&desk.file("journal.db"));
    desk.lay_out(&found);
    let (heard, notice) = desk.check(&said, "no database");
    assert_eq!(heard, SAID, "{notice:?}");

    for folds_before in [true, false] {
        let desk = Desk::new();
        let mut opened = desk.open(0);
        desk.say(&mut opened, &said[..10], 0);
        if folds_before {
            desk.fold(&opened.journal);
        }
        let backup = desk.runtime.block_on(opened.journal.back_up(at(15))).unwrap();
        assert!(backup.is_some());
        desk.say(&mut opened, &said[10..], 10);
        let mut found = desk.state();
        drop(opened);
        found.get_mut(&desk.file("journal.db")).unwrap().fill(0);
        desk.lay_out(&found);
        let (heard, notice) = desk.check(&said, "no database, and a backup");
        assert_eq!(heard, SAID, "{notice:?}");
    }
}

/// A WAL is applied to a backup only if the backup is not older than the start of the WAL.
#[test]
fn a_log_is_not_laid_over_a_backup_that_is_too_old() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut opened = desk.open(0);
    desk.say(&mut opened, &said[..5], 0);
    assert!(desk.runtime.block_on(opened.journal.back_up(at(6))).unwrap().is_some());
    desk.say(&mut opened, &said[5..10], 5);
    desk.fold(&opened.journal);
    desk.say(&mut opened, &said[10..], 10);
    let mut found = desk.state();
    drop(opened);
    found.remove(&desk.file("journal.db"));
    desk.lay_out(&found);
    let (heard, _) = desk.check(&said, "an old backup");
    assert_eq!(heard, 5);
}

#[test]
fn a_damaged_database_is_noticed_and_its_log_heals_what_it_can() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 6);
    let base = desk.file("journal.db");
    for page in 0..found[&base].len() / 4096 {
        let mut overwritten = found.clone();
        overwritten.get_mut(&base).unwrap()[page * 4096..][..4096].fill(0xa5);
        desk.lay_out(&overwritten);
        let opened = desk.open_fast(100);
        let recent = desk.runtime.block_on(opened.journal.recent(Branch::Main, None, 1000));
        let heard = recent.map(|entries| entries.len()).unwrap_or_default();
        let told = opened.notices.iter().any(|notice| notice.starts_with("the journal was damaged"));
        let is_sound = journal::peek(&desk.paths()).unwrap().is_none_or(|database| database.is_sound());
        // Deeper damage is found by the next backup.
        assert!(heard == SAID || told || !is_sound, "page {page}: {heard}, {:?}", opened.notices);
    }
}

#[test]
fn a_removed_index_and_a_kill_are_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 3);
    desk.lay_out(&found);
    assert_eq!(desk.check(&said, "killed"), (SAID, None));
    let mut unindexed = found.clone();
    assert!(unindexed.remove(&desk.file("journal.db-shm")).is_some());
    desk.lay_out(&unindexed);
    assert_eq!(desk.check(&said, "no index"), (SAID, None));
}

/// A crash between a transaction and its mark leaves the mark behind, which is no damage, and the
/// next start updates it.
#[test]
fn a_mark_that_is_behind_is_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut found = desk.killed_after(&said, 0);
    let mark = found.get_mut(&desk.file("journal.mark")).unwrap();
    let end = mark.len() - 2;
    let cut = mark[..end].iter().rposition(|byte| *byte == b'\n').unwrap();
    mark.truncate(cut);
    desk.lay_out(&found);
    let opened = desk.open(100);
    assert_eq!((desk.heard(&opened).len(), &opened.notices[..]), (SAID, &[][..]));
    drop(opened);
    // The mark is updated at the start, so a WAL that is removed later is noticed.
    assert_eq!(reached(&desk), commits(&desk));
}

fn reached(desk: &Desk) -> Option<u64> {
    let mark = journal::read_mark(&desk.paths().database(), &RealDisk).unwrap();
    mark.extent().map(|extent| extent.commits)
}

fn commits(desk: &Desk) -> Option<u64> {
    Some(journal::peek(&desk.paths()).unwrap()?.extent().unwrap().commits)
}

#[test]
fn a_mark_that_is_gone_or_damaged_is_told_once_and_written_anew() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 0);
    let mark = desk.file("journal.mark");
    for damaged in [None, Some(&b"\0\0\0"[..]), Some(b"")] {
        let mut found = found.clone();
        match damaged {
            None => drop(found.remove(&mark)),
            Some(bytes) => drop(found.insert(mark.clone(), bytes.to_vec())),
        }
        desk.lay_out(&found);
        let opened = desk.open(100);
        assert_eq!(desk.heard(&opened).len(), SAID);
        let [notice] = &opened.notices[..] else { panic!("one notice: {:?}", opened.notices) };
        assert!(notice.contains("journal.mark was ") && notice.contains(&clock(SAID - 1)), "{notice}");
        drop(opened);
        assert_eq!(desk.open(200).notices, Vec::<String>::new(), "told once");
        assert_eq!(reached(&desk), commits(&desk));
    }
}

/// A journal of an earlier version has neither counter nor mark. It gets both without a notice and
/// is protected from then on.
#[test]
fn a_journal_of_an_earlier_version_is_guarded_from_its_first_start_on() {
    let desk = Desk::new();
    let said = words(SAID);
    desk.killed_after(&said[..10], 10);
    std::fs::remove_file(desk.file("journal.mark")).unwrap();
    let connection = rusqlite::Connection::open(desk.paths().database()).unwrap();
    connection.execute("DELETE FROM keepsakes WHERE name = 'commits'", []).unwrap();
    drop(connection);
    let mut opened = desk.open(10);
    assert_eq!(opened.notices, Vec::<String>::new());
    desk.say(&mut opened, &said[10..], 10);
    let mut found = desk.state();
    drop(opened);
    found.remove(&desk.file("journal.db-wal"));
    desk.lay_out(&found);
    assert_eq!(desk.check(&said, "removed").0, 10);
}

/// An interrupted checkpoint leaves pages of different times in the database. If the WAL is removed
/// then, the counter alone does not detect it.
#[test]
fn a_database_that_is_mixed_from_different_times_is_noticed() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut found = desk.killed_after(&said, 3);
    found.remove(&desk.file("journal.db-wal"));
    desk.lay_out(&found);
    let mark = journal::read_mark(&desk.paths().database(), &RealDisk).unwrap();
    let commits = mark.extent().unwrap().commits;
    let connection = rusqlite::Connection::open(desk.paths().database()).unwrap();
    let sql = "UPDATE keepsakes SET value = ? WHERE name = 'commits'";
    connection.execute(sql, [commits.to_string()]).unwrap();
    connection.close().unwrap();
    assert_eq!(desk.check(&said, "mixed").0, 3);
}

/// An older journal copied into place counts as damaged: it is reported, and the newest backup is
/// used.
#[test]
fn an_older_journal_in_its_place_is_noticed() {
    let desk = Desk::new();
    let said = words(SAID);
    let old = desk.killed_after(&said[..8], 8).remove(&desk.file("journal.db")).unwrap();
    let mut opened = desk.open(8);
    desk.say(&mut opened, &said[8..], 8);
    drop(opened);
    std::fs::write(desk.paths().database(), old).unwrap();
    let (heard, notice) = desk.check(&said, "older");
    assert_eq!(heard, 8, "{notice:?}");
}

#[test]
fn a_directory_that_was_moved_is_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    let found = desk.killed_after(&said, 3);
    let moved = Desk::new();
    std::fs::create_dir_all(moved.paths().backups()).unwrap();
    for (path, bytes) in &found {
        std::fs::write(moved.file(path.file_name().unwrap().to_str().unwrap()), bytes).unwrap();
    }
    assert_eq!(moved.check(&said, "moved"), (SAID, None));
}

/// An archive contains a journal without a mark, so the first start on another machine has nothing to
/// compare it with.
#[test]
fn an_imported_journal_is_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    drop(desk.killed_after(&said, 3));
    let mut archive = Vec::new();
    let order = journal::moving::Order {
        paths: &desk.paths(),
        disk: &RealDisk,
        secrets: Secrets::Stay,
        history: History::Stays,
        now: at(50),
        program: "a test",
    };
    journal::moving::pack(&order, &mut archive, &mut |_| ()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut unpacked = tar::Archive::new(flate2::read::GzDecoder::new(&archive[..]));
    unpacked.unpack(elsewhere.path()).unwrap();
    let there = Desk::new();
    std::fs::rename(elsewhere.path().join("data/state"), there.paths().state()).unwrap();
    assert!(!there.file("journal.mark").exists());
    let opened = there.open(100);
    assert_eq!((there.heard(&opened).len(), &opened.notices[..]), (SAID, &[][..]));
    drop(opened);
    assert_eq!(there.open(200).notices, Vec::<String>::new());
}

/// Returning to an earlier version drops newer entries on purpose.
#[test]
fn a_journal_that_was_laid_back_is_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    let old = desk.killed_after(&said[..8], 8).remove(&desk.file("journal.db")).unwrap();
    let kept = desk.dir.path().join("kept.db");
    std::fs::write(&kept, old).unwrap();
    let mut opened = desk.open(8);
    desk.say(&mut opened, &said[8..], 8);
    drop(opened);
    migration::lay_back(&desk.paths(), &RealDisk, &kept, at(90)).unwrap();
    assert_eq!(desk.check(&said[..8], "laid back"), (8, None));
}

/// A mark that cannot be written falls behind, which causes neither data loss nor a notice.
#[test]
fn a_full_disk_that_keeps_the_mark_behind_is_no_alarm() {
    let desk = Desk::new();
    let said = words(SAID);
    drop(desk.killed_after(&said[..4], 4));
    let disk = |call| Arc::new(FailingDisk::new(Arc::new(RealDisk), call, Fault::Full, Lasting::Forever));
    let counting = disk(usize::MAX);
    drop(open(Place { disk: counting.clone(), ..desk.place(4) }).unwrap());
    let full: Arc<dyn Disk> = disk(counting.calls());
    let mut opened = open(Place { disk: full, ..desk.place(4) }).unwrap();
    desk.say(&mut opened, &said[4..], 4);
    drop(opened);
    assert_eq!(desk.check(&said, "full"), (SAID, None));
}

/// An idle journal is a single file that does not depend on a WAL.
#[test]
fn an_idle_journal_needs_no_log() {
    let desk = Desk::new();
    let said = words(SAID);
    let mut opened = desk.open(0);
    desk.say(&mut opened, &said, 0);
    let size = || std::fs::metadata(desk.file("journal.db-wal")).unwrap().len();
    desk.runtime.block_on(opened.journal.fold_when_idle()).unwrap();
    assert!(size() > 0, "something was written since the last look");
    desk.runtime.block_on(opened.journal.fold_when_idle()).unwrap();
    assert_eq!(size(), 0);
    let mut found = desk.state();
    drop(opened);
    found.remove(&desk.file("journal.db-wal"));
    desk.lay_out(&found);
    assert_eq!(desk.check(&said, "folded"), (SAID, None));
}

/// The first backup is made as soon as the journal is not empty.
#[test]
fn the_first_backup_follows_the_first_words() {
    let desk = Desk::new();
    let mut opened = desk.open(0);
    assert_eq!(desk.runtime.block_on(opened.journal.back_up(at(30))).unwrap(), None);
    desk.say(&mut opened, &words(1), 40);
    assert!(desk.runtime.block_on(opened.journal.back_up(at(60))).unwrap().is_some());
}
