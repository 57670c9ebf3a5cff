//! Recovery of a damaged database: sets it aside, recovers what is left, and reports what is
//! missing.
//!
//! Candidates are the database with the intact transactions of its WAL, the database alone (where
//! its WAL was checkpointed before the damage), a backup, and a backup with the WAL. Each is
//! checked in a scratch file; the one with the most commits replaces the damaged database.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Zoned};

use super::backups::list_backups;
use super::commits::{Extent, FIRST_COMMIT};
use super::mark::{self, Mark};
use super::replacement::{FILE_SUFFIXES, ReplaceReason, Replacement, replace_journal, with_suffix};
use super::wal::Wal;
use super::{Database, DatabaseError, creation, gzip};
use crate::disk::Disk;
use crate::error_class::ErrorClass;

/// Origin of a recovered database.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RescueSource {
    /// The damaged database itself.
    Original,
    /// Its WAL alone.
    Wal,
    /// The backup of this name.
    Backup(String),
    /// The backup of this name with the WAL written since.
    BackupAndWal(String),
    /// An empty database.
    New,
}

/// A database that could replace the damaged one.
struct Candidate {
    source: RescueSource,
    bytes: Vec<u8>,
    extent: Extent,
}

/// Replaces the damaged database at `path`; the notice for the user is stored next to it. A disk
/// error aborts the recovery and leaves the damaged database in place. A bad or unreadable backup
/// is skipped for an older one, but no empty database is created while an unreadable backup may
/// become readable.
pub fn rescue(
    path: &Path,
    backups_dir: &Path,
    now: &Zoned,
    disk: &dyn Disk,
) -> Result<Database, DatabaseError> {
    let mark = mark::read_mark(path, disk).map_err(DatabaseError::from_io)?;
    let mut search = Search {
        scratch: with_suffix(path, ".rescue.tmp"),
        now: now.timestamp(),
        disk,
        expected: mark.extent().copied(),
        best: None,
    };
    let base = read_or_empty(path, disk)?;
    let wal = Wal::read(&read_or_empty(&with_suffix(path, "-wal"), disk)?);
    if !base.is_empty() {
        if let Some(whole) = wal.with_intact_transactions(&base) {
            search.consider(RescueSource::Original, whole)?;
        }
        search.consider(RescueSource::Original, base)?;
    }
    let unread = search.consider_backups(backups_dir, &wal)?;
    if !wal.is_empty() && !search.is_complete() {
        let new = creation::empty_database(&search.scratch, disk)?;
        search.consider_with_wal(&new, FIRST_COMMIT, &wal, RescueSource::Wal)?;
    }
    if let (None, Some(unread)) = (&search.best, unread) {
        return Err(unread);
    }
    search.remove_scratch()?;
    let (source, bytes, extent) = match search.best.take() {
        Some(best) => (best.source, best.bytes, best.extent),
        None => (RescueSource::New, creation::empty_database(&search.scratch, disk)?, Extent::default()),
    };
    let ended = search.check_in_scratch(&bytes, |sketch| {
        // Above the mark, so that the new database does not look as if it had lost data.
        let reached = search.expected.unwrap_or_default().commits.max(extent.commits);
        sketch.set_counter_above(reached).map_err(DatabaseError::from_sqlite)?;
        // The acceptances may be lost with the damaged database and must not be granted implicitly.
        sketch.require_acceptance(search.now).map_err(DatabaseError::from_sqlite)
    })?;
    if ended.is_none() {
        return Err(DatabaseError::Temporary("a new one cannot be made".to_owned(), ErrorClass::Temporary));
    }
    let missing = match &mark {
        Mark::At(reached) => reached
            .missing_from(&extent, now.time_zone())
            .map_or(MissingData::Nothing, MissingData::Described),
        Mark::Missing | Mark::Damaged => MissingData::Unknown,
    };
    let tell = |laid: &Replacement| notice(&source, laid, &missing);
    replace_journal(&search.scratch, path, ReplaceReason::Damaged, search.now, &tell, disk)?;
    Database::open(path)
}

/// Search for the candidate with the most commits.
struct Search<'a> {
    /// The scratch file in which candidates are checked.
    scratch: PathBuf,
    now: Timestamp,
    disk: &'a dyn Disk,
    /// The extent of the damaged database, if it is known.
    expected: Option<Extent>,
    best: Option<Candidate>,
}

impl Search<'_> {
    /// Returns whether no better candidate is possible.
    fn is_complete(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.extent.commits);
        self.expected.is_some_and(|reached| best >= Some(reached.commits))
    }

    /// Checks `bytes` as a candidate, unless a complete one was found. Returns their extent if they
    /// are sound.
    fn consider(&mut self, source: RescueSource, bytes: Vec<u8>) -> Result<Option<Extent>, DatabaseError> {
        if self.is_complete() {
            return Ok(None);
        }
        let Some(mut extent) = self.check_in_scratch(&bytes, |_| Ok(()))? else { return Ok(None) };
        // Its counter is newer than the rest.
        if self.expected.is_some_and(|reached| reached.contradicts(&extent)) {
            extent.commits -= 1;
        }
        if self.best.as_ref().is_none_or(|best| extent.commits > best.extent.commits) {
            self.best = Some(Candidate { source, bytes, extent });
        }
        Ok(Some(extent))
    }

    /// Checks the newest good backup, with and without the WAL. Returns the error of an unreadable
    /// backup.
    fn consider_backups(&mut self, dir: &Path, wal: &Wal) -> Result<Option<DatabaseError>, DatabaseError> {
        let mut unread = None;
        for backup in list_backups(dir, self.disk).map_err(read_error(dir))? {
            if self.is_complete() {
                break;
            }
            // Retries once: a transient disk error is no reason to lose a day.
            let bytes = match gzip::read_decompressed(&backup, self.disk)
                .or_else(|_| gzip::read_decompressed(&backup, self.disk))
            {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) => {
                    tracing::warn!(%error, path = %backup.display(), "A backup cannot be read.");
                    unread = unread.or_else(|| Some(read_error(&backup)(error)));
                    continue;
                }
            };
            if bytes.is_empty() {
                continue;
            }
            let name = backup.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(extent) = self.consider(RescueSource::Backup(name.clone()), bytes.clone())? else {
                continue;
            };
            self.consider_with_wal(&bytes, extent.commits, wal, RescueSource::BackupAndWal(name))?;
            break;
        }
        Ok(unread)
    }

    /// Checks `base`, which has `commits` commits, together with the WAL. The WAL contains every
    /// page changed since its start, so it applies exactly if `base` is not older than that start.
    fn consider_with_wal(
        &mut self,
        base: &[u8],
        commits: u64,
        wal: &Wal,
        source: RescueSource,
    ) -> Result<(), DatabaseError> {
        let (Some(first), Some(whole)) =
            (wal.with_first_transaction(base), wal.with_intact_transactions(base))
        else {
            return Ok(());
        };
        let first = self.check_in_scratch(&first, |_| Ok(()))?.map(|extent| extent.commits);
        if first.is_some_and(|first| commits >= FIRST_COMMIT && commits + 1 >= first) {
            self.consider(source, whole)?;
        }
        Ok(())
    }

    /// Writes `bytes` to the scratch file and, if they are a sound database, calls `more` with it.
    /// Returns the extent before that call, and leaves the database there as a single file.
    fn check_in_scratch(
        &self,
        bytes: &[u8],
        more: impl FnOnce(&Database) -> Result<(), DatabaseError>,
    ) -> Result<Option<Extent>, DatabaseError> {
        self.remove_scratch()?;
        let drawn = self.disk.create(&self.scratch, bytes).map_err(DatabaseError::from_io);
        match drawn.and_then(|()| check_database(&self.scratch, more)) {
            Ok(extent) => Ok(Some(extent)),
            Err(DatabaseError::Damaged(_) | DatabaseError::Newer { .. }) => {
                self.remove_scratch().map(|()| None)
            }
            Err(error @ (DatabaseError::Disk(_) | DatabaseError::Temporary(..))) => {
                // Keeps the first error; the next start removes a leftover file.
                let _ = self.remove_scratch();
                Err(error)
            }
        }
    }

    fn remove_scratch(&self) -> Result<(), DatabaseError> {
        FILE_SUFFIXES.iter().try_for_each(|part| match self.disk.remove(&with_suffix(&self.scratch, part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(DatabaseError::from_io(error)),
            Ok(()) | Err(_) => Ok(()),
        })
    }
}

fn check_database(
    scratch: &Path,
    more: impl FnOnce(&Database) -> Result<(), DatabaseError>,
) -> Result<Extent, DatabaseError> {
    let database = Database::open(scratch)?;
    if !database.integrity_check().map_err(DatabaseError::from_sqlite)? {
        return Err(DatabaseError::Damaged("some page is not what it should be".to_owned()));
    }
    let extent = database.extent().map_err(DatabaseError::from_sqlite)?;
    more(&database)?;
    // A single file without a WAL.
    database.connection.pragma_update(None, "journal_mode", "DELETE").map_err(DatabaseError::from_sqlite)?;
    Ok(extent)
}

/// Reads the file at `path`; empty if it is missing. Retries once after a disk error.
fn read_or_empty(path: &Path, disk: &dyn Disk) -> Result<Vec<u8>, DatabaseError> {
    match disk.read(path).or_else(|_| disk.read(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(read_error(path)),
    }
}

fn read_error(path: &Path) -> impl Fn(io::Error) -> DatabaseError {
    move |error| {
        let text =
            format!("it is damaged, and {} cannot be read ({error}); nothing was changed", path.display());
        DatabaseError::from_io(io::Error::new(error.kind(), text))
    }
}

/// Describes the data that the recovered database lacks.
enum MissingData {
    /// There is no mark to compare with.
    Unknown,
    Nothing,
    Described(String),
}

fn notice(source: &RescueSource, laid: &Replacement, missing: &MissingData) -> String {
    let aside = laid.old_path.as_ref().map(|aside| aside.display().to_string());
    if *source == RescueSource::New {
        return new_journal_notice(aside, missing);
    }
    let went_on = match source {
        RescueSource::Original => "put it together again from what was intact".to_owned(),
        RescueSource::Wal => "put it together again from its log".to_owned(),
        RescueSource::Backup(name) => format!("went on from the backup {name}"),
        RescueSource::BackupAndWal(name) => {
            format!("went on from the backup {name}, with the log of what was written since")
        }
        RescueSource::New => "started a new one".to_owned(),
    };
    let start = match &aside {
        Some(aside) => format!("the journal was damaged. i kept it as {aside} and {went_on}"),
        None => format!("the journal was gone. i {went_on}"),
    };
    let damaged = if aside.is_some() { ". It may still be found in the damaged file." } else { "." };
    match missing {
        MissingData::Nothing => format!("{start}; nothing is missing."),
        MissingData::Described(missing) => format!("{start}; missing: {missing}{damaged}"),
        MissingData::Unknown if aside.is_some() => format!(
            "{start}; what was said after that is missing here and may still be found in the damaged file."
        ),
        MissingData::Unknown => format!("{start}; what was said after that is missing here."),
    }
}

fn new_journal_notice(aside: Option<String>, missing: &MissingData) -> String {
    let start = match aside {
        Some(aside) => format!(
            "the journal was damaged or gone, and there was no backup. what there was of it is kept as {aside}; i could \
             not read our earlier conversation from it, and started a new one."
        ),
        None => {
            "the journal was gone, and there was no backup. i could not find our earlier conversation, and \
                 started a new one."
                .to_owned()
        }
    };
    match missing {
        MissingData::Described(missing) => format!("{start} Missing: {missing}."),
        MissingData::Unknown | MissingData::Nothing => start,
    }
}
