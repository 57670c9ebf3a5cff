//! Rollback: restores the previous program with a journal that it can read.
//!
//! A mark is written before anything moves, with the path for the newer journal. After an
//! interruption the next start completes the rollback and can report all of it.

use std::path::PathBuf;

use jiff::Timestamp;
use journal::Paths;
use journal::db::Unopened;
use journal::disk::Disk;
use journal::migration;

use super::beside;
use super::mark::{self, GoingBack, Mark, Unproven};
use super::proving::{Proof, leave};

/// Restores the previous program with a journal that it can read. If that is impossible, the new
/// program stays. If the disk fails temporarily, the next start tries again.
pub fn go_back(disk: &dyn Disk, paths: &Paths, why: &str, now: Timestamp) -> Proof {
    let (mut going, begun) = match mark::read(disk, &paths.state()) {
        Some(Mark::Unproven(unproven)) => (GoingBack { why: why.to_owned(), aside: None, unproven }, false),
        Some(Mark::GoingBack(going)) => (going, true),
        Some(Mark::Pulling { .. } | Mark::WentBack { .. } | Mark::Refused { .. } | Mark::Stayed { .. })
        | None => return Proof::None,
    };
    let previous = beside(&going.unproven.program, ".previous");
    // Complete an interrupted replacement of the journal first; until then it is unknown which
    // journal is in place.
    let found = migration::finish_laying(paths, disk).map_err(|error| error.to_string());
    let found = found.and_then(|_| disk.look(&previous).map_err(|error| error.to_string()));
    let there = match found {
        Ok(previous) => previous.is_some(),
        Err(error) => return not_now(&error),
    };
    // If the rollback was begun and `.previous` is gone, it is already back in place.
    let kept = match readable(disk, paths, &going.unproven) {
        _ if !there && !begun => return stay(disk, paths, going, "it is not there any more"),
        Err(Unopened::NotNow(why, _)) => return not_now(&why),
        Ok(None) | Err(Unopened::Damaged(_) | Unopened::Newer { .. } | Unopened::Disk(_)) => {
            return stay(disk, paths, going, "there is no journal that it could read");
        }
        Ok(Some(Readable::AsItIs)) => None,
        Ok(Some(Readable::Kept(kept))) => Some(kept),
    };
    if kept.is_some() {
        going.aside = Some(migration::aside(paths, now));
    }
    if let Err(error) = mark::write(disk, &paths.state(), &Mark::GoingBack(going.clone())) {
        return not_now(&error.to_string());
    }
    let laid = kept.map_or(Ok(()), |kept| migration::lay_back(paths, disk, &kept, now).map(drop));
    let put = laid.and_then(|()| {
        if there {
            disk.rename(&previous, &going.unproven.program).map_err(Unopened::of_disk)
        } else {
            Ok(())
        }
    });
    match put {
        Ok(()) => ended(disk, paths, going),
        Err(Unopened::NotNow(why, _)) => return not_now(&why),
        // The next start will restore the older journal, so the new program must not be started
        // with it.
        Err(error) if migration::is_laying(paths, disk) => return not_now(&error.to_string()),
        Err(Unopened::Disk(why)) => return stay(disk, paths, going, &why),
        Err(error @ (Unopened::Damaged(_) | Unopened::Newer { .. })) => {
            return stay(disk, paths, going, &error.to_string());
        }
    }
    if there { Proof::Back } else { Proof::None }
}

/// The previous program is back. This is recorded once the directory is synced.
fn ended(disk: &dyn Disk, paths: &Paths, GoingBack { why, aside, unproven }: GoingBack) {
    let sure = unproven.program.parent().map_or(Ok(()), |dir| disk.sync_dir(dir));
    match sure {
        Ok(()) => {
            let aside = kept(disk, aside);
            let from = Some(unproven.from);
            leave(disk, &paths.state(), &Mark::WentBack { why, aside, from });
        }
        Err(error) => tracing::warn!(%error, "The program from before may not keep its place."),
    }
}

fn stay(disk: &dyn Disk, paths: &Paths, GoingBack { why, aside, .. }: GoingBack, not: &str) -> Proof {
    tracing::error!(not, "The program from before could not be put back.");
    let why = format!("{why}; the one before could not be put back: {not}");
    leave(disk, &paths.state(), &Mark::Stayed { why, aside: kept(disk, aside) });
    Proof::None
}

fn not_now(error: &str) -> Proof {
    tracing::error!(error, "The program from before cannot be put back now.");
    Proof::NotNow(error.to_owned())
}

/// Returns the path only if the file exists.
fn kept(disk: &dyn Disk, aside: Option<PathBuf>) -> Option<PathBuf> {
    aside.filter(|aside| matches!(disk.look(aside), Ok(Some(_))))
}

/// A journal that the previous program can read.
enum Readable {
    /// The current journal.
    AsItIs,
    /// This earlier copy.
    Kept(PathBuf),
}

/// Finds the journal for the program before `unproven`; `None` if there is none or its format is
/// unknown.
fn readable(disk: &dyn Disk, paths: &Paths, unproven: &Unproven) -> Result<Option<Readable>, Unopened> {
    let since = unproven.at.and_then(|at| Timestamp::from_second(at).ok());
    Ok(match (migration::format(paths, disk)?, unproven.journal) {
        (None, _) => Some(Readable::AsItIs),
        (Some(found), Some(known)) if found <= known => Some(Readable::AsItIs),
        (Some(_), Some(known)) => migration::kept_for(paths, disk, known, since)?.map(Readable::Kept),
        (Some(_), None) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use journal::disk::RealDisk;
    use testkit::disk::{FailingDisk, Fault, Lasting};

    use super::super::proving::{prove, told};
    use super::*;

    /// Creates a journal with a newer format than the previous program knows, and its WAL file;
    /// `kept` lists the formats of the earlier copies.
    fn migrated(dir: &Path, kept: &[i64]) -> Paths {
        let paths = Paths::new(dir.join("data"));
        RealDisk.create_dir(&paths.before_migration()).unwrap();
        let log = |path: &Path, format: i64| {
            let log = rusqlite::Connection::open(path).unwrap();
            log.pragma_update(None, "user_version", format).unwrap();
        };
        log(&paths.database(), 7);
        RealDisk.create(&beside(&paths.database(), "-wal"), b"").unwrap();
        kept.iter().for_each(|format| log(&kept_as(&paths, *format), *format));
        let program = dir.join("ollim-bot");
        RealDisk.create(&program, b"new").unwrap();
        RealDisk.create(&beside(&program, ".previous"), b"old").unwrap();
        let from = "abc".to_owned();
        let commits = Vec::new();
        let unproven = Unproven { from, commits, program, starts: 2, journal: Some(6), at: None };
        mark::write(&RealDisk, &paths.state(), &Mark::Unproven(unproven)).unwrap();
        paths
    }

    fn kept_as(paths: &Paths, format: i64) -> PathBuf {
        paths.before_migration().join(format!("journal-20261117T00000{format}Z-format-{format}.db"))
    }

    /// Returns whether the earlier copy with format 6 is in place.
    fn is_old(paths: &Paths) -> bool {
        RealDisk.read(&paths.database()).unwrap() == RealDisk.read(&kept_as(paths, 6)).unwrap()
    }

    /// L2, B11: A rollback after a migration keeps the newer journal and reports its path.
    #[test]
    fn going_back_throws_no_journal_away() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[4, 6, 7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(prove(&RealDisk, &paths, Timestamp::UNIX_EPOCH), Proof::Back);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"old");
        assert!(is_old(&paths), "the newest that it reads");
        let Some(Mark::WentBack { aside: Some(aside), .. }) = mark::read(&RealDisk, &paths.state()) else {
            panic!("it is told")
        };
        assert_eq!(RealDisk.read(&aside).unwrap(), newer);
        assert!(RealDisk.look(&beside(&aside, "-wal")).unwrap().is_some(), "with what belongs to it");
        assert_eq!(RealDisk.look(&beside(&paths.database(), "-wal")).unwrap(), None);
        let told = told(&RealDisk, &paths).unwrap();
        assert!(told.contains("i went back") && told.contains(&*aside.to_string_lossy()), "{told}");
    }

    /// L2: Without a journal that the previous program can read, the new one stays and reports it.
    #[test]
    fn nobody_goes_back_to_a_journal_that_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[7]);
        let newer = RealDisk.read(&paths.database()).unwrap();
        assert_eq!(prove(&RealDisk, &paths, Timestamp::UNIX_EPOCH), Proof::None);
        assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"new");
        assert_eq!(RealDisk.read(&paths.database()).unwrap(), newer);
        let told = told(&RealDisk, &paths).unwrap();
        assert!(told.contains("there is no journal that it could read") && told.contains("i stay"), "{told}");
    }

    /// L2: A rollback does not use a journal from long before the update, because too much would be
    /// lost.
    #[test]
    fn nobody_goes_back_to_a_journal_of_long_ago() {
        let updated: Timestamp = "2026-11-17T00:00:06Z".parse().unwrap();
        for (second, back) in [(1, false), (0, true)] {
            let dir = tempfile::tempdir().unwrap();
            let paths = migrated(dir.path(), &[4, 6]);
            let Some(Mark::Unproven(mut unproven)) = mark::read(&RealDisk, &paths.state()) else { panic!() };
            unproven.at = Some(updated.as_second() + second);
            mark::write(&RealDisk, &paths.state(), &Mark::Unproven(unproven)).unwrap();
            assert_eq!(
                prove(&RealDisk, &paths, updated) == Proof::Back,
                back,
                "{second} s after it was kept"
            );
            let told = told(&RealDisk, &paths).unwrap();
            assert_eq!(told.contains("there is no journal that it could read"), !back, "{told}");
            assert_eq!(is_old(&paths), back, "{told}");
        }
    }

    /// B1, L2: The next start completes an interrupted rollback and reports all of it: the previous
    /// program with a readable journal, and the newer journal kept.
    #[test]
    fn what_is_cut_short_on_the_way_back_is_done_to_the_end() {
        for call in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let paths = migrated(dir.path(), &[4, 6, 7]);
            let newer = RealDisk.read(&paths.database()).unwrap();
            // All later calls fail too, as after a crash.
            let failing = FailingDisk::new(Arc::new(RealDisk), call, Fault::Broken, Lasting::Forever);
            prove(&failing, &paths, Timestamp::UNIX_EPOCH);
            let later = Timestamp::from_second(60).unwrap();
            prove(&RealDisk, &paths, later);
            assert_eq!(RealDisk.read(&dir.path().join("ollim-bot")).unwrap(), b"old", "call {call}");
            assert!(is_old(&paths), "call {call}");
            let told = told(&RealDisk, &paths).unwrap();
            assert!(told.contains("i went back to the one before"), "call {call}: {told}");
            let aside = told.split("kept as ").nth(1).and_then(|rest| rest.split(", and").next()).unwrap();
            assert_eq!(RealDisk.read(Path::new(aside)).unwrap(), newer, "call {call}");
            let log = beside(Path::new(aside), "-wal");
            assert!(RealDisk.look(&log).unwrap().is_some(), "call {call}");
            if failing.calls() <= call {
                assert!(call > 15, "going back has hardly touched the disk: {call} calls");
                return;
            }
        }
    }

    /// L2: A temporary failure only postpones the rollback to the next start. If the new program
    /// stays, no older journal has been restored.
    #[test]
    fn trouble_that_passes_only_puts_going_back_off() {
        for fault in Fault::ALL {
            let mut put_off = 0;
            for call in 0.. {
                let dir = tempfile::tempdir().unwrap();
                let paths = migrated(dir.path(), &[4, 6, 7]);
                let failing = FailingDisk::new(Arc::new(RealDisk), call, fault, Lasting::Once);
                let proof = prove(&failing, &paths, Timestamp::UNIX_EPOCH);
                if failing.calls() <= call {
                    assert!(call > 15 && put_off > 3, "{fault:?}: {put_off} of {call} calls put it off");
                    break;
                }
                put_off += u32::from(matches!(proof, Proof::NotNow(_)));
                if let Some(Mark::Stayed { why, .. }) = mark::read(&RealDisk, &paths.state()) {
                    assert_eq!(fault, Fault::ReadOnly, "call {call}: {why}");
                    assert!(!migration::is_laying(&paths, &RealDisk), "call {call}: {why}");
                    continue;
                }
                prove(&RealDisk, &paths, Timestamp::from_second(60).unwrap());
                let placed = RealDisk.read(&dir.path().join("ollim-bot")).unwrap();
                assert!(placed == b"old" && is_old(&paths), "{fault:?} {call}");
            }
        }
    }

    /// L2: A start after the program was restored, but before that was recorded, only reports it.
    #[test]
    fn who_is_back_already_only_tells_it() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[6]);
        let Some(Mark::Unproven(unproven)) = mark::read(&RealDisk, &paths.state()) else {
            panic!("it is owed")
        };
        let now = Timestamp::UNIX_EPOCH;
        let aside = migration::lay_back(&paths, &RealDisk, &kept_as(&paths, 6), now).unwrap();
        RealDisk.rename(&beside(&unproven.program, ".previous"), &unproven.program).unwrap();
        let going = GoingBack { why: "it fell".to_owned(), aside: aside.clone(), unproven };
        mark::write(&RealDisk, &paths.state(), &Mark::GoingBack(going)).unwrap();

        assert_eq!(prove(&RealDisk, &paths, now), Proof::None, "nothing is to be started but what starts");

        let told = told(&RealDisk, &paths).unwrap();
        assert!(
            told.contains("(it fell), so i went back") && told.contains(&*aside.unwrap().to_string_lossy())
        );
        assert_eq!(mark::read(&RealDisk, &paths.state()), Some(Mark::Refused { from: "abc".to_owned() }));
        assert_eq!(super::super::proving::told(&RealDisk, &paths), None, "it is told once");
    }

    /// L2: Two concurrent starts do not both roll back.
    #[test]
    fn nobody_goes_back_where_somebody_is_at_work() {
        let dir = tempfile::tempdir().unwrap();
        let paths = migrated(dir.path(), &[6]);
        let state = paths.state();
        let Some(Mark::Unproven(unproven)) = mark::read(&RealDisk, &state) else { panic!("it is owed") };
        let going = GoingBack { why: "it fell".to_owned(), aside: None, unproven: unproven.clone() };
        let now = Timestamp::UNIX_EPOCH;
        for mark in [Mark::Unproven(unproven), Mark::GoingBack(going)] {
            mark::write(&RealDisk, &state, &mark).unwrap();
            let held = journal::Lock::take(&state, std::process::id()).unwrap();
            assert_eq!(prove(&RealDisk, &paths, now), Proof::None);
            assert_eq!(mark::read(&RealDisk, &state), Some(mark));
            drop(held);
        }
        assert_eq!(prove(&RealDisk, &paths, now), Proof::Back);
    }
}
