//! Snapshot of a database at one moment, for copying it while others write.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{Database, PATIENCE, Unopened};

/// Pages copied between two progress reports.
const PAGES: i32 = 1_024;

/// Delay before a locked page is tried again.
const APART: Duration = Duration::from_millis(5);

/// The database at one moment, without later writes.
#[derive(Debug)]
pub struct Snapshot {
    frozen: Connection,
    watching: Connection,
    version: i64,
}

impl Snapshot {
    /// Takes a snapshot of the database at `path`, whatever its format.
    pub fn of(path: &Path) -> Result<Self, Unopened> {
        let watching = look_at(path)?;
        let frozen = look_at(path)?;
        let version = version(&watching).map_err(Unopened::sorted)?;
        frozen.execute_batch("BEGIN").map_err(Unopened::sorted)?;
        // The first read determines the moment of the snapshot.
        let seen = frozen.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        seen.map_err(Unopened::sorted)?;
        Ok(Self { frozen, watching, version })
    }

    /// Returns whether nothing was written since.
    pub fn is_newest(&self) -> bool {
        version(&self.watching).is_ok_and(|now| now == self.version)
    }

    /// Copies the snapshot into a new single file at `to`. Calls `progress` with the number of copied
    /// pages and of all pages.
    pub fn copy(&self, to: &Path, tell: &mut dyn FnMut(u64, u64)) -> Result<(), Unopened> {
        let mut target = Connection::open(to).map_err(Unopened::sorted)?;
        // The caller syncs the copy as a whole.
        target.pragma_update(None, "synchronous", "OFF").map_err(Unopened::sorted)?;
        step_by_step(&self.frozen, &mut target, tell).map_err(Unopened::sorted)?;
        target.pragma_update(None, "journal_mode", "DELETE").map_err(Unopened::sorted)?;
        target.close().map_err(|(_, error)| Unopened::sorted(error))
    }
}

/// Deletes the paired browsers from the copy at `path` and overwrites their bytes.
pub fn forget_devices(path: &Path) -> Result<u64, Unopened> {
    let copy = Connection::open(path).map_err(Unopened::sorted)?;
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'devices'";
    let there: i64 = copy.query_row(there, [], |row| row.get(0)).map_err(Unopened::sorted)?;
    if there == 0 {
        return Ok(0);
    }
    copy.pragma_update(None, "secure_delete", "ON").map_err(Unopened::sorted)?;
    copy.execute("DELETE FROM devices", []).map(|gone| gone as u64).map_err(Unopened::sorted)
}

/// Returns the format of the database at `path`, and whether every page is intact.
pub fn examine(path: &Path) -> Result<(i64, bool), Unopened> {
    let database = Database { connection: look_at(path)?, mark: None };
    let format = super::schema::check_known(&database.connection)?;
    Ok((format, database.is_sound()))
}

/// The format of the database at `path`, if this version supports it.
pub fn format_of(path: &Path) -> Result<i64, Unopened> {
    super::schema::check_known(&look_at(path)?)
}

fn step_by_step(
    from: &Connection,
    to: &mut Connection,
    tell: &mut dyn FnMut(u64, u64),
) -> rusqlite::Result<()> {
    let backup = Backup::new(from, to)?;
    loop {
        let done = backup.step(PAGES)?;
        let pages = backup.progress();
        let count = |pages: i32| u64::try_from(pages).unwrap_or_default();
        tell(count(pages.pagecount - pages.remaining), count(pages.pagecount));
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
    std::thread::sleep(APART);
}

fn look_at(path: &Path) -> Result<Connection, Unopened> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(Unopened::sorted)?;
    connection.busy_timeout(PATIENCE).map_err(Unopened::sorted)?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}
