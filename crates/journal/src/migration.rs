//! Migration of an older journal, which is copied first.
//!
//! A migration is one transaction, so an interrupted one leaves the old format. The copy allows the
//! user to return to the older program, which cannot read the new format.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::db::{
    self, Database, DatabaseError, ReplaceReason, Replacement, Snapshot, known_format, mark_of, old_path_for,
    raise_counter, read_format, read_mark, replace_journal,
};
use crate::disk::{Disk, FileKind, ensure_dir, remove};
use crate::lock::{Lock, LockError};
use crate::open::{OpenError, open_error};
use crate::paths::Paths;

/// Number of copies that are retained.
const COPIES_RETAINED: usize = 3;

/// The parts of a copy's file name: prefix, time, and format.
const NAME_PREFIX: &str = "journal-";
const NAME_TIME_FORMAT: &str = "%Y%m%dT%H%M%SZ";
const NAME_FORMAT_INFIX: &str = "-format-";

/// The format of a journal compared with that of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatStatus {
    /// The format of the journal.
    pub found: i64,
    /// The format that this program writes.
    pub known: i64,
}

impl FormatStatus {
    /// Returns whether a migration is needed.
    pub fn needs_migration(self) -> bool {
        self.found < self.known
    }
}

/// Result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationOutcome {
    /// The formats before.
    pub before: FormatStatus,
    /// The copy of the old journal; `None` if no migration was needed.
    pub copy: Option<PathBuf>,
}

/// Compares the format of the journal of `paths` with that of this program. `None` if there is no
/// journal.
pub fn format_status(paths: &Paths, disk: &dyn Disk) -> Result<Option<FormatStatus>, OpenError> {
    let found = journal_format(paths, disk).map_err(|error| migration_error(paths, &error))?;
    Ok(found.map(|found| FormatStatus { found, known: known_format() }))
}

/// The format of the journal of `paths`, if there is one.
pub fn journal_format(paths: &Paths, disk: &dyn Disk) -> Result<Option<i64>, DatabaseError> {
    match disk.file_kind(&paths.database()).map_err(DatabaseError::from_io)? {
        Some(FileKind::File(bytes)) if bytes > 0 => read_format(&paths.database()).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Migrates the journal of `paths` for the process `pid`. `None` if there is no journal.
pub fn migrate(
    paths: &Paths,
    disk: &dyn Disk,
    now: Timestamp,
    pid: u32,
) -> Result<Option<MigrationOutcome>, OpenError> {
    if format_status(paths, disk)?.is_none() {
        return Ok(None);
    }
    let _lock = Lock::take(&paths.state(), pid).map_err(|error| match error {
        LockError::Running(_) => OpenError::Running(error),
        LockError::Disk(error) => open_error(paths, &error),
    })?;
    let Some(before) = format_status(paths, disk)? else { return Ok(None) };
    if !before.needs_migration() {
        return Ok(Some(MigrationOutcome { before, copy: None }));
    }
    let kept = save_copy(paths, disk, now).map_err(|error| {
        let text = format!("the journal could not be copied first ({error}). nothing was changed.");
        match migration_error(paths, &error) {
            OpenError::Unusable(_) => OpenError::Unusable(text),
            OpenError::Temporary(_) | OpenError::Running(_) => OpenError::Temporary(text),
        }
    })?;
    let database = Database::open(&paths.database()).map_err(|error| migration_error(paths, &error))?;
    if database.is_sound() {
        Ok(Some(MigrationOutcome { before, copy: Some(kept) }))
    } else {
        Err(OpenError::Temporary(format!(
            "the journal is damaged. the one from before is kept as {}; the next start goes on from a good copy.",
            kept.display()
        )))
    }
}

/// The error of a failed migration. Damage is reported as temporary, because a start recovers a
/// damaged journal.
fn migration_error(paths: &Paths, error: &DatabaseError) -> OpenError {
    match error {
        DatabaseError::Damaged(_) => {
            OpenError::Temporary(format!("{error}. the next start goes on from a good copy."))
        }
        DatabaseError::Newer { .. } | DatabaseError::Disk(_) | DatabaseError::Temporary(..) => {
            open_error(paths, error)
        }
    }
}

/// Copies the journal of `paths` if it is about to be migrated. Returns a notice.
pub fn copy_before_migration(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Option<String> {
    let FormatStatus { found, known } = format_status(paths, disk)
        .ok()
        .flatten()
        .filter(|standing| standing.needs_migration() && standing.found > 0)?;
    Some(match save_copy(paths, disk, now) {
        Ok(kept) => format!(
            "the journal was brought from format {found} to {known}. the one from before is kept as {}.",
            kept.display()
        ),
        Err(error) => {
            tracing::warn!(%error, "The journal could not be copied before it was brought up to date.");
            format!(
                "the journal was brought from format {found} to {known}; there was no room to keep the one from before."
            )
        }
    })
}

/// The newest copy that was made before a migration at `since` or later and has a format up to
/// `known`. An older copy belongs to an earlier migration and may lack much.
pub fn copy_readable_by(
    paths: &Paths,
    disk: &dyn Disk,
    known: i64,
    since: Option<Timestamp>,
) -> Result<Option<PathBuf>, DatabaseError> {
    let since = since.map(|since| since.strftime(NAME_TIME_FORMAT).to_string()).unwrap_or_default();
    let fits = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_prefix(NAME_PREFIX)?.strip_suffix(".db")?;
        let (stamp, format) = name.split_once(NAME_FORMAT_INFIX)?;
        Some(stamp >= since.as_str() && format.parse::<i64>().ok()? <= known)
    };
    let kept = match disk.list(&paths.before_migration()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(DatabaseError::from_io)?,
    };
    Ok(kept.into_iter().map(|it| it.path).filter(|path| fits(path) == Some(true)).max())
}

/// The path to which the journal of `paths` is moved if a copy replaces it at `now`.
pub fn replaced_journal_path(paths: &Paths, now: Timestamp) -> PathBuf {
    old_path_for(&paths.database(), ReplaceReason::Newer, now)
}

/// Replaces the journal of `paths` by a copy of `kept`. Returns where the old journal was moved.
pub fn restore_copy(
    paths: &Paths,
    disk: &dyn Disk,
    kept: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, DatabaseError> {
    let journal = paths.database();
    let half = journal.with_extension("db.back.tmp");
    // Everything that needs disk space comes first, so that nothing has changed if it fails.
    let copied = remove(disk, &half).and_then(|_| disk.create(&half, &disk.read(kept)?));
    copied.map_err(|error| {
        let _ = disk.remove(&half);
        DatabaseError::from_io(error)
    })?;
    // The newer content is dropped on purpose, so the mark must not be ahead of the restored
    // journal.
    if let Some(reached) = read_mark(&journal, disk).map_err(DatabaseError::from_io)?.extent()
        && !raise_counter(&half, reached.commits)?
    {
        remove(disk, &mark_of(&journal)).map_err(DatabaseError::from_io)?;
    }
    replace_journal(&half, &journal, ReplaceReason::Newer, now, &Replacement::notice, disk)
}

/// Completes an interrupted replacement of the journal of `paths`, if there is one.
pub fn finish_replacement(paths: &Paths, disk: &dyn Disk) -> Result<Option<Replacement>, DatabaseError> {
    db::finish_laying(&paths.database(), disk)
}

/// Returns whether a replacement of the journal is pending. True if that cannot be determined.
pub fn is_replacement_pending(paths: &Paths, disk: &dyn Disk) -> bool {
    db::is_replacement_pending(&paths.database(), disk)
}

fn save_copy(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Result<PathBuf, DatabaseError> {
    let dir = paths.before_migration();
    ensure_dir(disk, &dir).map_err(DatabaseError::from_io)?;
    let snapshot = Snapshot::take(&paths.database())?;
    let format = read_format(&paths.database())?;
    let path =
        dir.join(format!("{NAME_PREFIX}{}{NAME_FORMAT_INFIX}{format}.db", now.strftime(NAME_TIME_FORMAT)));
    // Without a number at the end, because that would be read as a process id.
    let half = path.with_extension("db.tmp");
    let _ = disk.remove(&half);
    let copied = snapshot.copy(&half, &mut |_, _| {}).and_then(|()| finish_copy(disk, &half, &path));
    if copied.is_err() {
        let _ = disk.remove(&half);
    }
    copied?;
    remove_older_copies(&dir, disk);
    Ok(path)
}

/// Syncs the copy and gives it its final name.
fn finish_copy(disk: &dyn Disk, half: &Path, path: &Path) -> Result<(), DatabaseError> {
    disk.append(half, b"").map_err(DatabaseError::from_io)?;
    disk.rename(half, path).map_err(DatabaseError::from_io)?;
    path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir)).map_err(DatabaseError::from_io)
}

fn remove_older_copies(dir: &Path, disk: &dyn Disk) {
    let mut kept: Vec<PathBuf> = disk.list(dir).unwrap_or_default().into_iter().map(|it| it.path).collect();
    kept.sort();
    kept.reverse();
    for old in
        kept.into_iter().filter(|path| path.extension().is_some_and(|end| end == "db")).skip(COPIES_RETAINED)
    {
        let _ = disk.remove(&old);
    }
}
