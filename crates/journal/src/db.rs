//! The SQLite database: conversation tree, turns, approvals, plans, inbox and outbox.
//!
//! WAL with full synchronisation: a committed transaction survives a power cut. The schema has a
//! version number; a database with a later version is not touched.

mod accepted;
mod approvals;
mod aside;
mod attention;
mod body;
mod cards;
mod changes;
mod commits;
mod damage;
mod deliveries;
mod devices;
mod embed_body;
mod explain;
mod fresh;
mod history;
mod laying;
mod lineage;
mod mark;
mod numbers;
mod openings;
mod packed;
mod past;
mod path;
mod plans;
mod posts;
mod ranking;
mod read;
mod replanned;
mod rescue;
mod runs;
mod schema;
mod search;
mod sent;
mod sheet_body;
mod snapshot;
mod spending;
mod untold;
mod wal;
mod work;
mod write;

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::passing::{self, Lasts};

pub use commits::{Extent, FIRST, forget_commits, is_counted_at, raise_commits};
pub use damage::{back_up_daily, newest_backup};
pub use devices::KnownDevice;
pub use fresh::make_if_missing;
pub use laying::{Aside, Laid, aside_of, finish as finish_laying, is_decided, lay};
pub use mark::{Mark, Marker, path_of as mark_of, read as read_mark};
pub use numbers::Number;
pub use past::{Prompted, Talk};
pub use path::PathCache;
pub use plans::{JobFile, Work};
pub use rescue::rescue;
pub use schema::known as known_format;
pub use snapshot::{Snapshot, examine as examine_copy, forget_devices, format_of};
pub use untold::{told as told_of_rescue, untold};
pub use write::FileChange;

/// The database of a data directory.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// Records up to which entry this database was written; `None` for a copy or a reader.
    mark: Option<Marker>,
}

/// An error from opening a database.
#[derive(Debug, thiserror::Error)]
pub enum Unopened {
    /// It was written by a later version of this program.
    #[error(
        "the journal has format {found} and this version of ollim-bot knows up to {known}. \
         update ollim-bot; nothing was changed."
    )]
    Newer { found: i64, known: i64 },
    /// It is not a database, or a damaged one.
    #[error("the journal is damaged: {0}")]
    Damaged(String),
    /// A permanent disk error.
    #[error("the journal cannot be opened: {0}")]
    Disk(String),
    /// A disk error that may pass.
    #[error("the journal cannot be opened now: {0}")]
    NotNow(String, Lasts),
}

impl Unopened {
    /// Classifies a disk error by whether it may pass.
    pub fn of_disk(error: std::io::Error) -> Self {
        match passing::of_disk(&error) {
            Lasts::UntilItIsChanged => Self::Disk(error.to_string()),
            lasts @ (Lasts::UntilThereIsRoom | Lasts::ForAWhile) => Self::NotNow(error.to_string(), lasts),
        }
    }

    fn sorted(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(text),
            // A missing table or column: the file opens, but its schema is wrong.
            Some(rusqlite::ErrorCode::Unknown) => Self::Damaged(text),
            Some(code) => match passing::of_journal(Some(code)) {
                Lasts::UntilItIsChanged => Self::Disk(text),
                lasts @ (Lasts::UntilThereIsRoom | Lasts::ForAWhile) => Self::NotNow(text, lasts),
            },
            // A row with a value that this program never writes.
            None => Self::Damaged(text),
        }
    }
}

impl Database {
    /// Opens the database at `path` for writing, creating it if missing.
    pub fn open(path: &Path) -> Result<Self, Unopened> {
        let connection = Connection::open(path).map_err(Unopened::sorted)?;
        let database = Self { connection, mark: None };
        // Closing checkpoints the WAL and removes it. A damaged journal keeps both files unchanged.
        database.fold_when_closed(false).map_err(Unopened::sorted)?;
        let checked = prepare(&database.connection).map_err(Unopened::sorted).and_then(|()| {
            schema::bring_up_to_date(&database.connection)?;
            database.check().map_err(Unopened::sorted)
        });
        if !matches!(checked, Err(Unopened::Damaged(_))) {
            database.fold_when_closed(true).map_err(Unopened::sorted)?;
        }
        checked.map(|()| database)
    }

    /// Sets whether closing the last connection checkpoints the WAL and removes it, which is
    /// SQLite's default.
    pub fn fold_when_closed(&self, fold: bool) -> rusqlite::Result<()> {
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !fold).map(drop)
    }

    /// Keeps `mark` up to date with this database from now on.
    pub fn follow_with(&mut self, mark: Marker) {
        self.mark = Some(mark);
    }

    /// Checkpoints the WAL and truncates it. Does not wait for readers; returns whether it
    /// succeeded.
    pub fn fold(&self) -> rusqlite::Result<bool> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let folded =
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(PATIENCE)?;
        folded.map(|busy| busy == 0)
    }

    /// The number of rows changed by this connection.
    pub fn rows_changed(&self) -> u64 {
        self.connection.total_changes()
    }

    /// Turns off durability: transactions stay atomic but are not synced to the disk.
    pub fn make_fleeting(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "journal_mode", "MEMORY")?;
        self.connection.pragma_update(None, "synchronous", "OFF")?;
        self.connection.pragma_update(None, "cache_size", -65_536)
    }

    /// Opens the database at `path` read-only.
    pub fn open_for_reading(path: &Path) -> Result<Self, Unopened> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(Unopened::sorted)?;
        connection.busy_timeout(PATIENCE).map_err(Unopened::sorted)?;
        if schema::is_current(&connection)? {
            return Ok(Self { connection, mark: None });
        }
        // A database of an older version is migrated in a copy in memory.
        let mut copy = Connection::open_in_memory().map_err(Unopened::sorted)?;
        let copied = Backup::new(&connection, &mut copy)
            .and_then(|backup| backup.run_to_completion(PAGES, Duration::ZERO, None));
        copied.map_err(Unopened::sorted)?;
        schema::bring_up_to_date(&copy)?;
        Ok(Self { connection: copy, mark: None })
    }

    /// Reads everything a start needs, and the last row of every table, to detect damaged pages.
    /// Deeper damage is found by the daily backup.
    fn check(&self) -> rusqlite::Result<()> {
        for table in schema::TABLES {
            let sql = format!("SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1");
            self.connection.prepare(&sql)?.query([])?.next()?;
        }
        self.memory()?;
        self.unmade()?;
        self.devices().map(drop)
    }
}

/// Pages copied per backup step.
const PAGES: i32 = 4_096;

/// The longest wait for a lock of another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Size of the statement cache: as many statements as a background run uses.
const STATEMENTS: usize = 64;

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -1024)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}
