//! Copies of the database: one is made every day, looked over, and kept for a week.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Database, packed};
use crate::disk::Disk;
use crate::paths::Paths;

/// What a backup is called: this, and the time it was made.
const NAMED: &str = "journal-";
const STAMPED: &str = "%Y%m%dT%H%M%SZ";
/// How many backups are kept.
const BACKUPS: usize = 7;

/// How old the newest copy may be.
const DAILY: SignedDuration = SignedDuration::from_hours(24);

/// Copies the database of `paths`, unless there is a copy from the last day or nothing happened in it yet. A copy that is not
/// sound tells that the original is not either.
pub fn back_up_daily(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Result<Option<PathBuf>, String> {
    if newest_backup(paths, disk, now).is_some_and(|made| now.duration_since(made) < DAILY) {
        return Ok(None);
    }
    let database = Database::open_for_reading(&paths.database()).map_err(|error| error.to_string())?;
    // The first copy is not made of an empty journal, or what is said on the first day would wait for the second copy.
    if database.began().is_none() {
        return Ok(None);
    }
    hold_little(&database.connection).map_err(|error| error.to_string())?;
    let path = back_up(&database, &paths.backups(), now, disk)?;
    Ok(Some(path))
}

/// When the newest backup of `paths` was made. What is from the future says nothing: the clock was ahead then.
pub fn newest_backup(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Option<Timestamp> {
    let found = backups(&paths.backups(), disk).unwrap_or_default();
    found.iter().filter_map(|path| made_at(path)).find(|made| *made <= now)
}

fn back_up(database: &Database, dir: &Path, now: Timestamp, disk: &dyn Disk) -> Result<PathBuf, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    disk.create_dir(dir).map_err(|error| failed("making the backup folder", &error))?;
    let path = dir.join(format!("{NAMED}{}.db", now.strftime(STAMPED)));
    let half = path.with_extension("tmp");
    let _ = disk.remove(&half);
    // Made by us and then filled, so that it is never anybody else's to read, whatever the process was started with.
    disk.create(&half, &[]).map_err(|error| failed("making the backup", &error))?;
    let copied = copy(database, &half).map_err(|error| failed("copying the journal", &error));
    let sound = copied.and_then(|()| match Database::open_for_reading(&half) {
        Ok(copy) if hold_little(&copy.connection).is_ok() && copy.is_sound() => Ok(()),
        Ok(_) | Err(_) => Err("the journal is damaged somewhere; the last good backup is kept".to_owned()),
    });
    if let Err(error) = sound {
        let _ = disk.remove(&half);
        return Err(error);
    }
    date_back(dir, now, disk);
    disk.rename(&half, &path).map_err(|error| failed("naming the backup", &error))?;
    disk.sync_dir(dir).map_err(|error| failed("keeping the backup", &error))?;
    thin_out(dir, disk);
    Ok(path)
}

/// Gives backups that were made while the clock was ahead a time right before `now`, at which the next one is made.
///
/// So their names tell in which order they were made, whatever the clock said: all that is there was made before the
/// next one, and what is from the future after all the rest, since with each one that is made there is none any more.
/// Until then the one from the farthest future *is* the newest, also for a damaged journal; from then on it is an older
/// one among others, and goes when its turn comes.
fn date_back(dir: &Path, now: Timestamp, disk: &dyn Disk) {
    let ahead = |path: &PathBuf| made_at(path).is_some_and(|made| made > now);
    for (seconds, path) in (1..).zip(backups(dir, disk).unwrap_or_default().into_iter().filter(ahead)) {
        let earlier = now - SignedDuration::from_secs(seconds);
        let end = if packed::is(&path) { "db.gz" } else { "db" };
        let named = dir.join(format!("{NAMED}{}.{end}", earlier.strftime(STAMPED)));
        if let Err(error) = disk.name(&path, &named) {
            tracing::warn!(%error, path = %path.display(), "A backup keeps a name from the future.");
        }
    }
}

/// All but the newest are packed, and those that are too many go. What cannot be packed stays as it is.
fn thin_out(dir: &Path, disk: &dyn Disk) {
    let Ok(all) = backups(dir, disk) else { return };
    for old in all.iter().skip(1).filter(|path| !packed::is(path)).take(BACKUPS) {
        if let Err(error) = packed::pack(old, disk) {
            tracing::warn!(%error, "A copy of the journal stays as large as it is.");
        }
    }
    let mut kept: Vec<Option<Timestamp>> = all.iter().map(|path| made_at(path)).collect();
    kept.dedup();
    kept.truncate(BACKUPS);
    for old in
        backups(dir, disk).unwrap_or_default().into_iter().filter(|path| !kept.contains(&made_at(path)))
    {
        let _ = disk.remove(&old);
    }
}

impl Database {
    /// When the first thing in it happened, as the clock said.
    pub fn began(&self) -> Option<Timestamp> {
        let first = "SELECT at FROM moves ORDER BY id LIMIT 1";
        let first = self.connection.query_row(first, [], |row| row.get(0)).ok()?;
        Timestamp::from_microsecond(first).ok()
    }

    /// Whether every page is what it should be. Reads all of it.
    pub fn is_sound(&self) -> bool {
        self.soundness().unwrap_or(false)
    }

    fn soundness(&self) -> rusqlite::Result<bool> {
        self.answers_ok("PRAGMA quick_check(1)")
    }

    /// Whether every page is what it should be, and all indexes fit their tables.
    pub(super) fn consistency(&self) -> rusqlite::Result<bool> {
        self.answers_ok("PRAGMA integrity_check(1)")
    }

    fn answers_ok(&self, question: &str) -> rusqlite::Result<bool> {
        let answer = self.connection.query_row(question, [], |row| row.get::<_, String>(0));
        answer.map(|answer| answer == "ok")
    }
}

fn copy(database: &Database, to: &Path) -> rusqlite::Result<()> {
    let mut target = rusqlite::Connection::open(to)?;
    hold_little(&target)?;
    rusqlite::backup::Backup::new(&database.connection, &mut target)?.run_to_completion(
        256,
        Duration::ZERO,
        None,
    )?;
    // One file that needs no other beside it.
    target.pragma_update(None, "journal_mode", "DELETE")
}

/// Whoever looks at each page once keeps none of them: what a thread has held once stays with the process.
fn hold_little(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -64)
}

/// Newest first; none, if there is no such folder.
pub(super) fn backups(dir: &Path, disk: &dyn Disk) -> io::Result<Vec<PathBuf>> {
    let listed = match disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let mut found: Vec<PathBuf> = listed
        .into_iter()
        .filter(|listed| {
            let whole = listed.path.extension().is_some_and(|extension| extension == "db");
            listed.is_file() && (whole || packed::is(&listed.path))
        })
        .map(|listed| listed.path)
        .collect();
    found.sort();
    found.reverse();
    Ok(found)
}

fn made_at(backup: &Path) -> Option<Timestamp> {
    let stamp = backup.file_name()?.to_str()?.strip_prefix(NAMED)?.split('.').next()?;
    let time = jiff::civil::DateTime::strptime(STAMPED, stamp).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}
