//! The log as it is at one moment, for whoever takes it away while others go on writing.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{Database, PATIENCE, Unopened};

/// How many pages are copied between two words about it.
const PAGES: i32 = 1_024;

/// How long to wait for a page that somebody else holds.
const APART: Duration = Duration::from_millis(5);

/// The log at one moment. What is written later is not in it.
#[derive(Debug)]
pub struct Snapshot {
    frozen: Connection,
    watching: Connection,
    version: i64,
}

impl Snapshot {
    /// The log at `path` as it is now, whatever format it has.
    pub fn of(path: &Path) -> Result<Self, Unopened> {
        let watching = look_at(path)?;
        let frozen = look_at(path)?;
        let version = version(&watching).map_err(Unopened::sorted)?;
        frozen.execute_batch("BEGIN").map_err(Unopened::sorted)?;
        // The moment is that of the first reading.
        let seen = frozen.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        seen.map_err(Unopened::sorted)?;
        Ok(Self { frozen, watching, version })
    }

    /// Whether nothing was written since.
    pub fn is_newest(&self) -> bool {
        version(&self.watching).is_ok_and(|now| now == self.version)
    }

    /// Copies it into a new file at `to`, which needs no other beside it, and tells how many pages of how many are
    /// done.
    pub fn copy(&self, to: &Path, tell: &mut dyn FnMut(u64, u64)) -> Result<(), Unopened> {
        let mut target = Connection::open(to).map_err(Unopened::sorted)?;
        // Whoever takes a copy away brings it to the disk as a whole.
        target.pragma_update(None, "synchronous", "OFF").map_err(Unopened::sorted)?;
        step_by_step(&self.frozen, &mut target, tell).map_err(Unopened::sorted)?;
        target.pragma_update(None, "journal_mode", "DELETE").map_err(Unopened::sorted)?;
        target.close().map_err(|(_, error)| Unopened::sorted(error))
    }
}

/// Forgets the paired browsers in the copy at `path`, down to the bytes.
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

/// The format of the log at `path`, and whether every page of it is what it should be.
pub fn examine(path: &Path) -> Result<(i64, bool), Unopened> {
    let database = Database { connection: look_at(path)?, mark: None };
    let format = super::schema::check_known(&database.connection)?;
    Ok((format, database.is_sound()))
}

/// The format of the log at `path`, if this program knows it.
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
    reason = "another process holds the page, and no clock of ours tells when"
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
