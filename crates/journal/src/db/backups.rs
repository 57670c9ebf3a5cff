//! Daily backups of the database: verified copies, retained for a week.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Database, gzip};
use crate::disk::Disk;
use crate::paths::Paths;

/// Prefix and time format of a backup's file name.
const NAME_PREFIX: &str = "journal-";
const NAME_TIME_FORMAT: &str = "%Y%m%dT%H%M%SZ";
/// Number of backups that are retained.
const BACKUPS_RETAINED: usize = 7;

/// Age of the newest backup after which another one is due.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// Backs up the database of `paths`, unless there is a backup from the last day or the journal is
/// empty. An unsound copy means that the original is damaged too.
pub fn back_up_daily(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Result<Option<PathBuf>, String> {
    if newest_backup(paths, disk, now).is_some_and(|made| now.duration_since(made) < MAX_AGE) {
        return Ok(None);
    }
    let database = Database::open_read_only(&paths.database()).map_err(|error| error.to_string())?;
    // Skips an empty journal; otherwise the messages of the first day would not be in any backup
    // until the second day.
    if database.first_move_at().is_none() {
        return Ok(None);
    }
    shrink_cache(&database.connection).map_err(|error| error.to_string())?;
    let path = create_backup(&database, &paths.backups(), now, disk)?;
    Ok(Some(path))
}

/// The time of the newest backup of `paths`. Ignores backups dated in the future.
pub fn newest_backup(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Option<Timestamp> {
    let found = list_backups(&paths.backups(), disk).unwrap_or_default();
    found.iter().filter_map(|path| made_at(path)).find(|made| *made <= now)
}

fn create_backup(
    database: &Database,
    dir: &Path,
    now: Timestamp,
    disk: &dyn Disk,
) -> Result<PathBuf, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    disk.create_dir(dir).map_err(|error| failed("making the backup folder", &error))?;
    let path = dir.join(format!("{NAME_PREFIX}{}.db", now.strftime(NAME_TIME_FORMAT)));
    let half = path.with_extension("tmp");
    let _ = disk.remove(&half);
    // Created by us first, so that its permissions do not depend on the umask of the process.
    disk.create(&half, &[]).map_err(|error| failed("making the backup", &error))?;
    let copied = copy_to(database, &half).map_err(|error| failed("copying the journal", &error));
    let sound = copied.and_then(|()| match Database::open_read_only(&half) {
        Ok(copy) if shrink_cache(&copy.connection).is_ok() && copy.is_sound() => Ok(()),
        Ok(_) | Err(_) => Err("the journal is damaged somewhere; the last good backup is kept".to_owned()),
    });
    if let Err(error) = sound {
        let _ = disk.remove(&half);
        return Err(error);
    }
    rename_future_backups(dir, now, disk);
    disk.rename(&half, &path).map_err(|error| failed("naming the backup", &error))?;
    disk.sync_dir(dir).map_err(|error| failed("keeping the backup", &error))?;
    rotate(dir, disk);
    Ok(path)
}

/// Renames backups dated in the future to times just before `now`.
///
/// Afterwards the order of the names is the order of creation, whatever the clock said: a backup
/// dated in the future is newer than all others, because each new backup renames them. Until then
/// it counts as the newest one, also when a damaged journal is restored; later it is rotated out
/// like the others.
fn rename_future_backups(dir: &Path, now: Timestamp, disk: &dyn Disk) {
    let ahead = |path: &PathBuf| made_at(path).is_some_and(|made| made > now);
    for (seconds, path) in (1..).zip(list_backups(dir, disk).unwrap_or_default().into_iter().filter(ahead)) {
        let earlier = now - SignedDuration::from_secs(seconds);
        let end = if gzip::is_compressed(&path) { "db.gz" } else { "db" };
        let named = dir.join(format!("{NAME_PREFIX}{}.{end}", earlier.strftime(NAME_TIME_FORMAT)));
        if let Err(error) = disk.rename_new(&path, &named) {
            tracing::warn!(%error, path = %path.display(), "A backup keeps a name from the future.");
        }
    }
}

/// Compresses all backups but the newest and removes surplus ones. A backup that cannot be
/// compressed stays as it is.
fn rotate(dir: &Path, disk: &dyn Disk) {
    let Ok(all) = list_backups(dir, disk) else { return };
    for old in all.iter().skip(1).filter(|path| !gzip::is_compressed(path)).take(BACKUPS_RETAINED) {
        if let Err(error) = gzip::compress(old, disk) {
            tracing::warn!(%error, "A copy of the journal stays as large as it is.");
        }
    }
    let mut kept: Vec<Option<Timestamp>> = all.iter().map(|path| made_at(path)).collect();
    kept.dedup();
    kept.truncate(BACKUPS_RETAINED);
    for old in
        list_backups(dir, disk).unwrap_or_default().into_iter().filter(|path| !kept.contains(&made_at(path)))
    {
        let _ = disk.remove(&old);
    }
}

impl Database {
    /// The time of the first move, by the clock at that time.
    pub fn first_move_at(&self) -> Option<Timestamp> {
        let first = "SELECT at FROM moves ORDER BY id LIMIT 1";
        let first = self.connection.query_row(first, [], |row| row.get(0)).ok()?;
        Timestamp::from_microsecond(first).ok()
    }

    /// Returns whether every page is intact. Reads the whole database.
    pub fn is_sound(&self) -> bool {
        self.quick_check().unwrap_or(false)
    }

    fn quick_check(&self) -> rusqlite::Result<bool> {
        self.check_passes("PRAGMA quick_check(1)")
    }

    /// Returns whether every page is intact and all indexes match their tables.
    pub(super) fn integrity_check(&self) -> rusqlite::Result<bool> {
        self.check_passes("PRAGMA integrity_check(1)")
    }

    fn check_passes(&self, question: &str) -> rusqlite::Result<bool> {
        let answer = self.connection.query_row(question, [], |row| row.get::<_, String>(0));
        answer.map(|answer| answer == "ok")
    }
}

fn copy_to(database: &Database, to: &Path) -> rusqlite::Result<()> {
    let mut target = rusqlite::Connection::open(to)?;
    shrink_cache(&target)?;
    rusqlite::backup::Backup::new(&database.connection, &mut target)?.run_to_completion(
        256,
        Duration::ZERO,
        None,
    )?;
    // A single file without a WAL.
    target.pragma_update(None, "journal_mode", "DELETE")
}

/// Shrinks the page cache for a connection that reads each page once, because a thread's memory is
/// not returned to the system.
fn shrink_cache(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -64)
}

/// Lists the backups, newest first. Empty if the directory does not exist.
pub(super) fn list_backups(dir: &Path, disk: &dyn Disk) -> io::Result<Vec<PathBuf>> {
    let listed = match disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let mut found: Vec<PathBuf> = listed
        .into_iter()
        .filter(|listed| {
            let whole = listed.path.extension().is_some_and(|extension| extension == "db");
            listed.is_file() && (whole || gzip::is_compressed(&listed.path))
        })
        .map(|listed| listed.path)
        .collect();
    found.sort();
    found.reverse();
    Ok(found)
}

fn made_at(backup: &Path) -> Option<Timestamp> {
    let stamp = backup.file_name()?.to_str()?.strip_prefix(NAME_PREFIX)?.split('.').next()?;
    let time = jiff::civil::DateTime::strptime(NAME_TIME_FORMAT, stamp).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}
