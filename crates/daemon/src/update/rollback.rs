//! Rollback: restores the previous program with a journal that it can read.
//!
//! A mark is written before anything moves, with the path for the newer journal. After an
//! interruption the next start completes the rollback and can report all of it.

use std::path::PathBuf;

use jiff::Timestamp;
use journal::Paths;
use journal::db::DatabaseError;
use journal::disk::Disk;
use journal::migration;

use super::mark::{self, PendingRollback, UnprovenUpdate, UpdateMark};
use super::probation::{UpdateStatus, write_or_log};
use super::with_suffix;

/// Restores the previous program with a journal that it can read. If that is impossible, the new
/// program stays. If the disk fails temporarily, the next start tries again.
pub fn roll_back(disk: &dyn Disk, paths: &Paths, why: &str, now: Timestamp) -> UpdateStatus {
    let (mut going, begun) = match mark::read(disk, &paths.state()) {
        Some(UpdateMark::Unproven(unproven)) => {
            (PendingRollback { why: why.to_owned(), aside: None, unproven }, false)
        }
        Some(UpdateMark::GoingBack(going)) => (going, true),
        Some(
            UpdateMark::Pulling { .. }
            | UpdateMark::WentBack { .. }
            | UpdateMark::Refused { .. }
            | UpdateMark::Stayed { .. },
        )
        | None => return UpdateStatus::None,
    };
    let previous = with_suffix(&going.unproven.program, ".previous");
    // Complete an interrupted replacement of the journal first; until then it is unknown which
    // journal is in place.
    let found = migration::finish_replacement(paths, disk).map_err(|error| error.to_string());
    let found = found.and_then(|_| disk.file_kind(&previous).map_err(|error| error.to_string()));
    let there = match found {
        Ok(previous) => previous.is_some(),
        Err(error) => return postpone(&error),
    };
    // If the rollback was begun and `.previous` is gone, it is already back in place.
    let kept = match find_readable_journal(disk, paths, &going.unproven) {
        _ if !there && !begun => return keep_new_program(disk, paths, going, "it is not there any more"),
        Err(DatabaseError::Temporary(why, _)) => return postpone(&why),
        Ok(None) | Err(DatabaseError::Damaged(_) | DatabaseError::Newer { .. } | DatabaseError::Disk(_)) => {
            return keep_new_program(disk, paths, going, "there is no journal that it could read");
        }
        Ok(Some(ReadableJournal::Current)) => None,
        Ok(Some(ReadableJournal::Earlier(kept))) => Some(kept),
    };
    if kept.is_some() {
        going.aside = Some(migration::replaced_journal_path(paths, now));
    }
    if let Err(error) = mark::write(disk, &paths.state(), &UpdateMark::GoingBack(going.clone())) {
        return postpone(&error.to_string());
    }
    let laid = kept.map_or(Ok(()), |kept| migration::restore_copy(paths, disk, &kept, now).map(drop));
    let put = laid.and_then(|()| {
        if there {
            disk.rename(&previous, &going.unproven.program).map_err(DatabaseError::from_io)
        } else {
            Ok(())
        }
    });
    match put {
        Ok(()) => record_rollback(disk, paths, going),
        Err(DatabaseError::Temporary(why, _)) => return postpone(&why),
        // The next start will restore the older journal, so the new program must not be started
        // with it.
        Err(error) if migration::is_replacement_pending(paths, disk) => return postpone(&error.to_string()),
        Err(DatabaseError::Disk(why)) => return keep_new_program(disk, paths, going, &why),
        Err(error @ (DatabaseError::Damaged(_) | DatabaseError::Newer { .. })) => {
            return keep_new_program(disk, paths, going, &error.to_string());
        }
    }
    if there { UpdateStatus::RolledBack } else { UpdateStatus::None }
}

/// The previous program is back. This is recorded once the directory is synced.
fn record_rollback(
    disk: &dyn Disk,
    paths: &Paths,
    PendingRollback { why, aside, unproven }: PendingRollback,
) {
    let sure = unproven.program.parent().map_or(Ok(()), |dir| disk.sync_dir(dir));
    match sure {
        Ok(()) => {
            let aside = existing(disk, aside);
            let from = Some(unproven.from);
            write_or_log(disk, &paths.state(), &UpdateMark::WentBack { why, aside, from });
        }
        Err(error) => tracing::warn!(%error, "The program from before may not keep its place."),
    }
}

fn keep_new_program(
    disk: &dyn Disk,
    paths: &Paths,
    PendingRollback { why, aside, .. }: PendingRollback,
    not: &str,
) -> UpdateStatus {
    tracing::error!(not, "The program from before could not be put back.");
    let why = format!("{why}; the one before could not be put back: {not}");
    write_or_log(disk, &paths.state(), &UpdateMark::Stayed { why, aside: existing(disk, aside) });
    UpdateStatus::None
}

fn postpone(error: &str) -> UpdateStatus {
    tracing::error!(error, "The program from before cannot be put back now.");
    UpdateStatus::RollbackPostponed(error.to_owned())
}

/// Returns the path only if the file exists.
fn existing(disk: &dyn Disk, aside: Option<PathBuf>) -> Option<PathBuf> {
    aside.filter(|aside| matches!(disk.file_kind(aside), Ok(Some(_))))
}

/// A journal that the previous program can read.
enum ReadableJournal {
    /// The current journal.
    Current,
    /// This earlier copy.
    Earlier(PathBuf),
}

/// Finds the journal for the program before `unproven`; `None` if there is none or its format is
/// unknown.
fn find_readable_journal(
    disk: &dyn Disk,
    paths: &Paths,
    unproven: &UnprovenUpdate,
) -> Result<Option<ReadableJournal>, DatabaseError> {
    let since = unproven.at.and_then(|at| Timestamp::from_second(at).ok());
    Ok(match (migration::journal_format(paths, disk)?, unproven.journal) {
        (None, _) => Some(ReadableJournal::Current),
        (Some(found), Some(known)) if found <= known => Some(ReadableJournal::Current),
        (Some(_), Some(known)) => {
            migration::copy_readable_by(paths, disk, known, since)?.map(ReadableJournal::Earlier)
        }
        (Some(_), None) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use journal::disk::RealDisk;
    use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

    use super::super::probation::{check_update, startup_notice};
    use super::*;

    /// Creates a journal with a newer format than the previous program knows, and its WAL file;
    /// `kept` lists the formats of the earlier copies.
    fn migrated_data(dir: &Path, kept: &[i64]) -> Paths {
        let paths = Paths::new(dir.join("data"));
        RealDisk.create_dir(&paths.before_migration()).unwrap();
        let log = |path: &Path, format: i64| {
            let log = rusqlite::Connection::open(path).unwrap();
            log.pragma_update(None, "user_version", format).unwrap();
        };
        log(&paths.database(), 7);
        RealDisk.create(&with_suffix(&paths.database(), "-wal"), b"").unwrap();
        kept.iter().for_each(|format| log(&earlier_journal(&paths, *format), *format));
        let program = dir.join("ollim-bot");
        RealDisk.create(&program, b"new").unwrap();
        RealDisk.create(&with_suffix(&program, ".previous"), b"old").unwrap();
        let from = "abc".to_owned();
        let commits = Vec::new();
        let unproven = UnprovenUpdate { from, commits, program, starts: 2, journal: Some(6), at: None };
        mark::write(&RealDisk, &paths.state(), &UpdateMark::Unproven(unproven)).unwrap();
        paths
    }

    fn earlier_journal(paths: &Paths, format: i64) -> PathBuf {
        paths.before_migration().join(format!("journal-20261117T00000{format}Z-format-{format}.db"))
    }

    /// Returns whether the earlier copy with format 6 is in place.
    fn is_earlier_journal(paths: &Paths) -> bool {
        RealDisk.read(&paths.database()).unwrap() == RealDisk.read(&earlier_journal(paths, 6)).unwrap()
    }

    /// L2, B11: A rollback after a migration keeps the newer journal and reports its path.
    #[test]
    fn rollback_keeps_the_newer_journal() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated_data(dir.path(), &[4, 6, 7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(check_update(&RealDisk, &paths, Timestamp::UNIX_EPOCH), UpdateStatus::RolledBack);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"old");
        assert!(is_earlier_journal(&paths), "the newest that it reads");
        let Some(UpdateMark::WentBack { aside: Some(aside), .. }) = mark::read(&RealDisk, &paths.state())
        else {
            panic!("it is told")
        };
        assert_eq!(RealDisk.read(&aside).unwrap(), newer);
        assert!(
            RealDisk.file_kind(&with_suffix(&aside, "-wal")).unwrap().is_some(),
            "with what belongs to it"
        );
        assert_eq!(RealDisk.file_kind(&with_suffix(&paths.database(), "-wal")).unwrap(), None);
        let told = startup_notice(&RealDisk, &paths).unwrap();
        assert!(told.contains("i went back") && told.contains(&*aside.to_string_lossy()), "{told}");
    }

    /// L2: Without a journal that the previous program can read, the new one stays and reports it.
    #[test]
    fn rollback_needs_a_readable_journal() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated_data(dir.path(), &[7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(check_update(&RealDisk, &paths, Timestamp::UNIX_EPOCH), UpdateStatus::None);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"new");
        assert_eq!(RealDisk.read(&paths.database()).unwrap(), newer);
        let told = startup_notice(&RealDisk, &paths).unwrap();
        assert!(told.contains("there is no journal that it could read") && told.contains("i stay"), "{told}");
    }

    /// L2: A rollback does not use a journal from long before the update, because too much would be
    /// lost.
    #[test]
    fn rollback_does_not_use_an_old_journal() {
        let updated: Timestamp = "2026-11-17T00:00:06Z".parse().unwrap();
        for (second, back) in [(1, false), (0, true)] {
            let dir = tempfile::tempdir().unwrap();
            let paths = migrated_data(dir.path(), &[4, 6]);
            let Some(UpdateMark::Unproven(mut unproven)) = mark::read(&RealDisk, &paths.state()) else {
                panic!()
            };
            unproven.at = Some(updated.as_second() + second);
            mark::write(&RealDisk, &paths.state(), &UpdateMark::Unproven(unproven)).unwrap();
            assert_eq!(
                check_update(&RealDisk, &paths, updated) == UpdateStatus::RolledBack,
                back,
                "{second} s after it was kept"
            );
            let told = startup_notice(&RealDisk, &paths).unwrap();
            assert_eq!(told.contains("there is no journal that it could read"), !back, "{told}");
            assert_eq!(is_earlier_journal(&paths), back, "{told}");
        }
    }

    /// B1, L2: The next start completes an interrupted rollback and reports all of it: the previous
    /// program with a readable journal, and the newer journal kept.
    #[test]
    fn interrupted_rollback_is_completed() {
        for call in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let paths = migrated_data(dir.path(), &[4, 6, 7]);
            let newer = RealDisk.read(&paths.database()).unwrap();
            // All later calls fail too, as after a crash.
            let failing =
                FailingDisk::new(Arc::new(RealDisk), call, DiskFault::Broken, FaultDuration::Forever);
            check_update(&failing, &paths, Timestamp::UNIX_EPOCH);
            let later = Timestamp::from_second(60).unwrap();
            check_update(&RealDisk, &paths, later);
            assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"old", "call {call}");
            assert!(is_earlier_journal(&paths), "call {call}");
            let told = startup_notice(&RealDisk, &paths).unwrap();
            assert!(told.contains("i went back to the one before"), "call {call}: {told}");
            let aside = told.split("kept as ").nth(1).and_then(|rest| rest.split(", and").next()).unwrap();
            assert_eq!(RealDisk.read(Path::new(aside)).unwrap(), newer, "call {call}");
            let log = with_suffix(Path::new(aside), "-wal");
            assert!(RealDisk.file_kind(&log).unwrap().is_some(), "call {call}");
            if failing.calls() <= call {
                assert!(call > 15, "going back has hardly touched the disk: {call} calls");
                return;
            }
        }
    }

    /// L2: A temporary failure only postpones the rollback to the next start. If the new program
    /// stays, no older journal has been restored.
    #[test]
    fn temporary_failure_postpones_the_rollback() {
        for fault in DiskFault::ALL {
            let mut put_off = 0;
            for call in 0.. {
                let dir = tempfile::tempdir().unwrap();
                let paths = migrated_data(dir.path(), &[4, 6, 7]);
                let failing = FailingDisk::new(Arc::new(RealDisk), call, fault, FaultDuration::Once);
                let proof = check_update(&failing, &paths, Timestamp::UNIX_EPOCH);
                if failing.calls() <= call {
                    assert!(call > 15 && put_off > 3, "{fault:?}: {put_off} of {call} calls put it off");
                    break;
                }
                put_off += u32::from(matches!(proof, UpdateStatus::RollbackPostponed(_)));
                if let Some(UpdateMark::Stayed { why, .. }) = mark::read(&RealDisk, &paths.state()) {
                    assert_eq!(fault, DiskFault::ReadOnly, "call {call}: {why}");
                    assert!(!migration::is_replacement_pending(&paths, &RealDisk), "call {call}: {why}");
                    continue;
                }
                check_update(&RealDisk, &paths, Timestamp::from_second(60).unwrap());
                let placed = RealDisk.read(&dir.path().join("ollim-bot")).unwrap();
                assert!(placed == b"old" && is_earlier_journal(&paths), "{fault:?} {call}");
            }
        }
    }

    /// L2: A start after the program was restored, but before that was recorded, only reports it.
    #[test]
    fn restored_program_only_reports_the_rollback() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated_data(dir.path(), &[6]);
        let Some(UpdateMark::Unproven(unproven)) = mark::read(&RealDisk, &paths.state()) else {
            panic!("it is owed")
        };
        let now = Timestamp::UNIX_EPOCH;
        let aside = migration::restore_copy(&paths, &RealDisk, &earlier_journal(&paths, 6), now).unwrap();
        RealDisk.rename(&with_suffix(&unproven.program, ".previous"), &unproven.program).unwrap();
        let going = PendingRollback { why: "it fell".to_owned(), aside: aside.clone(), unproven };
        mark::write(&RealDisk, &paths.state(), &UpdateMark::GoingBack(going)).unwrap();

        assert_eq!(
            check_update(&RealDisk, &paths, now),
            UpdateStatus::None,
            "nothing is to be started but what starts"
        );

        let told = startup_notice(&RealDisk, &paths).unwrap();
        assert!(
            told.contains("(it fell), so i went back") && told.contains(&*aside.unwrap().to_string_lossy())
        );
        assert_eq!(
            mark::read(&RealDisk, &paths.state()),
            Some(UpdateMark::Refused { from: "abc".to_owned() })
        );
        assert_eq!(super::super::probation::startup_notice(&RealDisk, &paths), None, "it is told once");
    }

    /// L2: Two concurrent starts do not both roll back.
    #[test]
    fn concurrent_starts_do_not_both_roll_back() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated_data(dir.path(), &[6]);
        let state = paths.state();
        let Some(UpdateMark::Unproven(unproven)) = mark::read(&RealDisk, &state) else {
            panic!("it is owed")
        };
        let going = PendingRollback { why: "it fell".to_owned(), aside: None, unproven: unproven.clone() };
        let now = Timestamp::UNIX_EPOCH;
        for mark in [UpdateMark::Unproven(unproven), UpdateMark::GoingBack(going)] {
            mark::write(&RealDisk, &state, &mark).unwrap();
            let held = journal::Lock::take(&state, std::process::id()).unwrap();
            assert_eq!(check_update(&RealDisk, &paths, now), UpdateStatus::None);
            assert_eq!(mark::read(&RealDisk, &state), Some(mark));
            drop(held);
        }
        assert_eq!(check_update(&RealDisk, &paths, now), UpdateStatus::RolledBack);
    }
}
