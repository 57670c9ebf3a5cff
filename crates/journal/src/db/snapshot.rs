//! Snapshot of a database at one moment, for copying it while others write.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{BUSY_TIMEOUT, Database, DatabaseError};

/// Pages copied between two progress reports.
const PAGES_PER_STEP: i32 = 1_024;

/// Delay before a locked page is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// The database at one moment, without later writes.
#[derive(Debug)]
pub struct Snapshot {
    snapshot: Connection,
    monitor: Connection,
    version: i64,
}

impl Snapshot {
    /// Takes a snapshot of the database at `path`, whatever its format.
    pub fn take(path: &Path) -> Result<Self, DatabaseError> {
        let watching = connect_read_only(path)?;
        let frozen = connect_read_only(path)?;
        let version = data_version(&watching).map_err(DatabaseError::from_sqlite)?;
        frozen.execute_batch("BEGIN").map_err(DatabaseError::from_sqlite)?;
        // The first read determines the moment of the snapshot.
        let seen = frozen.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        seen.map_err(DatabaseError::from_sqlite)?;
        Ok(Self { snapshot: frozen, monitor: watching, version })
    }

    /// Returns whether nothing was written since.
    pub fn is_current(&self) -> bool {
        data_version(&self.monitor).is_ok_and(|now| now == self.version)
    }

    /// Copies the snapshot into a new single file at `to`. Calls `progress` with the number of copied
    /// pages and of all pages.
    pub fn copy(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), DatabaseError> {
        let mut target = Connection::open(to).map_err(DatabaseError::from_sqlite)?;
        // The caller syncs the copy as a whole.
        target.pragma_update(None, "synchronous", "OFF").map_err(DatabaseError::from_sqlite)?;
        copy_in_steps(&self.snapshot, &mut target, progress).map_err(DatabaseError::from_sqlite)?;
        target.pragma_update(None, "journal_mode", "DELETE").map_err(DatabaseError::from_sqlite)?;
        target.close().map_err(|(_, error)| DatabaseError::from_sqlite(error))
    }
}

/// Deletes the paired browsers from the copy at `path` and overwrites their bytes.
pub fn remove_devices(path: &Path) -> Result<u64, DatabaseError> {
    let copy = Connection::open(path).map_err(DatabaseError::from_sqlite)?;
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'devices'";
    let there: i64 = copy.query_row(there, [], |row| row.get(0)).map_err(DatabaseError::from_sqlite)?;
    if there == 0 {
        return Ok(0);
    }
    copy.pragma_update(None, "secure_delete", "ON").map_err(DatabaseError::from_sqlite)?;
    copy.execute("DELETE FROM devices", []).map(|gone| gone as u64).map_err(DatabaseError::from_sqlite)
}

/// Returns the format of the database at `path`, and whether every page is intact.
pub fn check_copy(path: &Path) -> Result<(i64, bool), DatabaseError> {
    let database = Database { connection: connect_read_only(path)?, mark_writer: None };
    let format = super::schema::supported_format(&database.connection)?;
    Ok((format, database.is_sound()))
}

/// The format of the database at `path`, if this version supports it.
pub fn read_format(path: &Path) -> Result<i64, DatabaseError> {
    super::schema::supported_format(&connect_read_only(path)?)
}

fn copy_in_steps(
    from: &Connection,
    to: &mut Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> rusqlite::Result<()> {
    let backup = Backup::new(from, to)?;
    loop {
        let done = backup.step(PAGES_PER_STEP)?;
        let pages = backup.progress();
        let count = |pages: i32| u64::try_from(pages).unwrap_or_default();
        progress(count(pages.pagecount - pages.remaining), count(pages.pagecount));
        if done == StepResult::Done {
            return Ok(());
        }
        if matches!(done, StepResult::Busy | StepResult::Locked) {
            wait();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process holds the lock, and the Clock port cannot tell when it releases it"
)]
fn wait() {
    std::thread::sleep(RETRY_DELAY);
}

fn connect_read_only(path: &Path) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(DatabaseError::from_sqlite)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(DatabaseError::from_sqlite)?;
    Ok(connection)
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}
