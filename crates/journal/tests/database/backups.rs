//! Backups of the database: how often, how many, and which one is used for recovery.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use journal::db::{DatabaseError, rescue};
use journal::disk::RealDisk;
use journal::{HistoryMode, OpenError, OpenParams, OpenedJournal, open_with_history};
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};
use testkit::process::read_tree;

use crate::{TestJournal, at, damage, day};

/// B12: seven backups are retained, and all but the newest are compressed.
#[test]
fn a_backup_is_made_once_a_day_and_seven_are_retained() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    let day = |number: i64| day(number) + SignedDuration::from_secs(60);

    let made: Vec<bool> = (0..10).map(|n| desk.back_up(day(n)).is_some()).collect();
    assert_eq!(made, [true; 10]);
    assert_eq!(desk.back_up(day(9)), None, "one is from today");
    let kept: Vec<_> = std::fs::read_dir(desk.paths().backups()).unwrap().map(Result::unwrap).collect();
    assert_eq!(kept.len(), 7);
    let modes = kept.iter().map(|copy| copy.metadata().unwrap().permissions().mode() & 0o777);
    assert!(modes.into_iter().all(|mode| mode == 0o600), "a copy is for its owner alone");
    let mut names: Vec<String> =
        kept.iter().map(|copy| copy.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let packed = names.iter().filter(|name| name.ends_with(".db.gz")).count();
    assert_eq!((packed, names.last().map(|name| name.ends_with(".db"))), (6, Some(true)), "{names:?}");
}

/// B5, B12: backups continue after the clock was ahead. A backup dated in the future is the newest
/// until the next one is made, and then one of the older ones.
#[test]
fn backups_continue_after_the_clock_was_ahead() {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    desk.back_up(day(0)).unwrap();
    desk.say(&["two"]);
    desk.back_up(day(4_000)).unwrap();
    let heard_again = || {
        damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));
        desk.texts(&desk.open(day(1))).unwrap()
    };
    assert_eq!(heard_again(), ["one", "two"], "nothing newer was kept");

    desk.say(&["three"]);
    assert!(desk.back_up(day(1)).is_some(), "the last one was made a day ago");
    assert_eq!(heard_again(), ["one", "two", "three"]);
    let copies = || {
        let copies = std::fs::read_dir(desk.paths().backups()).unwrap();
        let mut names: Vec<_> = copies.map(|copy| copy.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let names =
        ["journal-20270115T080000Z.db.gz", "journal-20270116T075959Z.db.gz", "journal-20270116T080000Z.db"];
    assert_eq!(copies(), names);
    for number in 2..9 {
        assert!(desk.back_up(day(number)).is_some(), "day {number}");
    }
    assert_eq!((copies().len(), copies()[0].as_str()), (7, "journal-20270117T080000Z.db.gz"));
}

/// B5, B12: a compressed backup is used for recovery; a leftover of an interrupted compression is
/// removed.
#[test]
fn a_compressed_backup_is_used_if_the_newer_one_is_damaged() {
    let desk = TestJournal::new();
    desk.say(&["one", "two"]);
    let first = desk.back_up(at(10)).unwrap();
    let half = first.with_extension("db.tmp");
    std::fs::write(&half, "half").unwrap();
    desk.say(&["three"]);
    let newest = desk.back_up(at(86_500)).unwrap();
    assert!(!half.exists() && !first.exists() && first.with_extension("db.gz").exists());
    damage(&newest, |bytes| bytes.fill(7));
    let damaged = damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));
    let opened = desk.open(at(86_600));
    assert_eq!(desk.texts(&opened).unwrap(), ["one", "two"]);
    assert!(opened.notices[0].contains(".db.gz"), "{:?}", opened.notices);
    let [aside] = &desk.damaged_copies()[..] else { panic!("one file is kept aside") };
    assert!(std::fs::read(aside).unwrap() == damaged, "as it was found");
}

/// A journal with two good backups that is damaged, and its bytes.
fn damaged_journal() -> (TestJournal, Vec<u8>) {
    let desk = TestJournal::new();
    desk.say(&["one"]);
    desk.back_up(day(0)).unwrap();
    desk.say(&["two"]);
    desk.back_up(day(1)).unwrap();
    desk.say(&["three"]);
    let damaged = damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));
    (desk, damaged)
}

/// B3, B5: a disk error during a recovery does not count as a missing backup. This recovery or the
/// next one succeeds, the damaged file is kept, and no new conversation is started.
#[test]
fn a_disk_error_during_a_recovery_loses_no_conversation() {
    let (desk, damaged) = damaged_journal();
    let database = desk.paths().database();
    let backups = desk.paths().backups();
    let found = read_tree(&desk.paths().state());
    for fault in DiskFault::ALL {
        for call in 0.. {
            restore_files(&desk, &found);
            let failing = FailingDisk::new(Arc::new(RealDisk), call, fault, FaultDuration::Once);
            let rescued = rescue(&database, &backups, &at(86_600).to_zoned(TimeZone::UTC), &failing);
            match rescued.map(drop) {
                Ok(()) => {}
                Err(DatabaseError::Temporary(..)) if fault != DiskFault::ReadOnly => {}
                Err(DatabaseError::Disk(_)) if fault == DiskFault::ReadOnly => {}
                Err(other) => panic!("{fault:?} {call}: {other}"),
            }
            let opened = open_with_history(desk.place(at(86_700)), HistoryMode::Disabled).unwrap();
            assert_eq!(desk.texts(&opened).unwrap(), ["one", "two"], "{fault:?} {call}");
            assert_eq!(opened.notices.len(), 1, "{fault:?} {call}: {:?}", opened.notices);
            let [aside] = &desk.damaged_copies()[..] else {
                panic!("{fault:?} {call}: {:?}", desk.damaged_copies())
            };
            assert!(std::fs::read(aside).unwrap() == damaged, "{fault:?} {call}: as it was found");
            assert!(opened.notices.iter().all(|notice| notice.contains(aside.to_str().unwrap())));
            if failing.calls() <= call {
                assert!(call > 10, "a rescue has hardly touched the disk: {call} calls");
                break;
            }
        }
    }
}

/// B3, B5: if the journal is missing, a disk error does not count as a first start. The notice is
/// repeated from the first successful start until it is acknowledged.
#[test]
fn a_disk_error_starts_no_new_conversation() {
    let (desk, _) = damaged_journal();
    let mut found = read_tree(&desk.paths().state());
    found.remove(&desk.paths().database());
    let hears = |opened: &OpenedJournal| {
        assert_eq!(desk.texts(opened).unwrap(), ["one", "two"]);
        opened.notices.iter().filter(|notice| notice.starts_with("the journal was ")).count()
    };
    for call in 0.. {
        restore_files(&desk, &found);
        let failing =
            Arc::new(FailingDisk::new(Arc::new(RealDisk), call, DiskFault::Broken, FaultDuration::Once));
        let place = OpenParams { disk: failing.clone(), ..desk.place(at(86_600)) };
        match open_with_history(place, HistoryMode::Disabled) {
            Ok(opened) => assert_eq!(hears(&opened), 1, "call {call}"),
            Err(OpenError::Temporary(_)) => {}
            Err(other) => panic!("call {call}: {other}"),
        }
        let opened = open_with_history(desk.place(at(86_700)), HistoryMode::Disabled).unwrap();
        assert_eq!(hears(&opened), 1, "call {call}: nobody said that it was told");
        if failing.calls() <= call {
            assert!(call > 30, "a start has hardly touched the disk: {call} calls");
            opened.journal.remove_rescue_notices();
            break;
        }
    }
    let opened = open_with_history(desk.place(at(86_800)), HistoryMode::Disabled).unwrap();
    assert_eq!(hears(&opened), 0, "it was told");
}

/// Restores exactly the files in `found`.
fn restore_files(desk: &TestJournal, found: &BTreeMap<PathBuf, Vec<u8>>) {
    std::fs::remove_dir_all(desk.paths().state()).unwrap();
    std::fs::create_dir_all(desk.paths().backups()).unwrap();
    found.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
}

/// B5: unusable backups are skipped: an empty file, a truncated archive, a later format.
#[test]
fn unusable_backups_are_skipped() {
    let (desk, damaged) = damaged_journal();
    let file = |name: &str| desk.paths().backups().join(name);
    std::fs::write(file("journal-20270117T080000Z.db"), "").unwrap();
    let packed = std::fs::read(file("journal-20270115T080000Z.db.gz")).unwrap();
    std::fs::write(file("journal-20270118T080000Z.db.gz"), &packed[..packed.len() / 2]).unwrap();
    let later = file("journal-20270119T080000Z.db");
    std::fs::copy(file("journal-20270116T080000Z.db"), &later).unwrap();
    let log = rusqlite::Connection::open(&later).unwrap();
    log.pragma_update(None, "user_version", 99).unwrap();
    log.close().unwrap();

    let opened = desk.open(day(5));

    assert_eq!(desk.texts(&opened).unwrap(), ["one", "two"]);
    assert!(opened.notices[0].contains("the backup journal-20270116T080000Z.db;"), "{:?}", opened.notices);
    let [aside] = &desk.damaged_copies()[..] else { panic!("one file is kept aside") };
    assert!(std::fs::read(aside).unwrap() == damaged, "as it was found");
    let left = std::fs::read_dir(desk.paths().state()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(left.filter(|path| path.file_name().unwrap().to_string_lossy().contains("tmp")).count(), 0);
}

/// B3, B5: an unreadable backup is skipped for an older one. If there is none, no new journal is
/// created, because the backup may become readable.
#[test]
fn an_unreadable_backup_is_skipped_or_waited_for() {
    let (desk, damaged) = damaged_journal();
    let file = |name: &str| desk.paths().backups().join(name);
    let newest = file("journal-20270116T080000Z.db");
    std::fs::remove_file(&newest).unwrap();
    // A file that cannot be read even by root.
    std::os::unix::fs::symlink("/proc/self/mem", &newest).unwrap();
    let older = file("journal-20270115T080000Z.db.gz");
    let packed = std::fs::read(&older).unwrap();
    std::fs::remove_file(&older).unwrap();
    let Err(OpenError::Temporary(told)) = desk.try_open(day(5)) else { panic!("it waits") };
    assert!(told.contains("journal-20270116T080000Z.db cannot be read"), "{told}");
    assert!(std::fs::read(desk.paths().database()).unwrap() == damaged, "nothing was changed");

    std::fs::write(&older, packed).unwrap();
    let opened = desk.open(day(5));
    assert_eq!(desk.texts(&opened).unwrap(), ["one"]);
    assert!(opened.notices[0].contains("the backup journal-20270115T080000Z.db.gz;"), "{:?}", opened.notices);
    let [aside] = &desk.damaged_copies()[..] else { panic!("one file is kept aside") };
    assert!(std::fs::read(aside).unwrap() == damaged, "as it was found");
}

/// B5: if the journal is missing, the notice names no file.
#[test]
fn the_notice_about_a_missing_journal_names_no_file() {
    for backups in [true, false] {
        let (desk, _) = damaged_journal();
        std::fs::remove_file(desk.paths().database()).unwrap();
        if !backups {
            std::fs::remove_dir_all(desk.paths().backups()).unwrap();
        }
        let opened = desk.open(day(5));
        let [notice] = &opened.notices[..] else { panic!("one notice: {:?}", opened.notices) };
        assert!(notice.starts_with("the journal was gone") && !notice.contains("corrupt"), "{notice}");
        assert_eq!(desk.texts(&opened).unwrap().len(), if backups { 2 } else { 0 });
    }
}
