//! The SQLite database: conversation tree, turns, approvals, plans, inbox and outbox.
//!
//! WAL with full synchronisation: a committed transaction survives a power cut. The schema has a
//! version number; a database with a later version is not touched.

mod accepted;
mod approvals;
mod attention;
mod backups;
mod body;
mod cards;
mod changes;
mod commits;
mod conversations;
mod creation;
mod deliveries;
mod devices;
mod embed_body;
mod explain;
mod forks;
mod gzip;
mod history;
mod job_explanation;
mod lineage;
mod mark;
mod metrics;
mod openings;
mod outbox;
mod outbox_body;
mod path;
mod plans;
mod ranking;
mod read;
mod replacement;
mod rescue;
mod rescue_notices;
mod runs;
mod schema;
mod search;
mod sent;
mod snapshot;
mod spending;
mod undo_log;
mod wal;
mod write;

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error_class::{self, ErrorClass};

pub use backups::{back_up_daily, newest_backup};
pub use commits::{Extent, FIRST_COMMIT, has_counter, raise_counter, remove_counter};
pub use conversations::{ConversationSummary, Prompt};
pub use creation::create_if_missing;
pub use devices::PairedDevice;
pub use mark::{Mark, MarkWriter, mark_path as mark_of, read_mark};
pub use metrics::Metric;
pub use path::PathCache;
pub use plans::{JobFileAction, JobFileChange};
pub use replacement::{
    ReplaceReason, Replacement, finish_replacement as finish_laying, is_replacement_pending, old_path_for,
    replace_journal,
};
pub use rescue::rescue;
pub use rescue_notices::{pending_notices, remove_notices as told_of_rescue};
pub use schema::current_format as known_format;
pub use snapshot::{Snapshot, check_copy as examine_copy, read_format, remove_devices};
pub use write::SessionFileChange;

/// The database of a data directory.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// Records up to which entry this database was written; `None` for a copy or a reader.
    mark_writer: Option<MarkWriter>,
}

/// An error from opening a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
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
    Temporary(String, ErrorClass),
}

impl DatabaseError {
    /// Classifies a disk error by whether it may pass.
    pub fn from_io(error: std::io::Error) -> Self {
        match error_class::classify_io(&error) {
            ErrorClass::Permanent => Self::Disk(error.to_string()),
            lasts @ (ErrorClass::DiskFull | ErrorClass::Temporary) => {
                Self::Temporary(error.to_string(), lasts)
            }
        }
    }

    fn from_sqlite(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(text),
            // A missing table or column: the file opens, but its schema is wrong.
            Some(rusqlite::ErrorCode::Unknown) => Self::Damaged(text),
            Some(code) => match error_class::classify_sqlite(Some(code)) {
                ErrorClass::Permanent => Self::Disk(text),
                lasts @ (ErrorClass::DiskFull | ErrorClass::Temporary) => Self::Temporary(text, lasts),
            },
            // A row with a value that this program never writes.
            None => Self::Damaged(text),
        }
    }
}

impl Database {
    /// Opens the database at `path` for writing, creating it if missing.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let connection = Connection::open(path).map_err(DatabaseError::from_sqlite)?;
        let database = Self { connection, mark_writer: None };
        // Closing checkpoints the WAL and removes it. A damaged journal keeps both files unchanged.
        database.set_checkpoint_on_close(false).map_err(DatabaseError::from_sqlite)?;
        let checked = configure(&database.connection).map_err(DatabaseError::from_sqlite).and_then(|()| {
            schema::migrate(&database.connection)?;
            database.check().map_err(DatabaseError::from_sqlite)
        });
        if !matches!(checked, Err(DatabaseError::Damaged(_))) {
            database.set_checkpoint_on_close(true).map_err(DatabaseError::from_sqlite)?;
        }
        checked.map(|()| database)
    }

    /// Sets whether closing the last connection checkpoints the WAL and removes it, which is
    /// SQLite's default.
    pub fn set_checkpoint_on_close(&self, fold: bool) -> rusqlite::Result<()> {
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !fold).map(drop)
    }

    /// Keeps `mark` up to date with this database from now on.
    pub fn set_mark_writer(&mut self, mark: MarkWriter) {
        self.mark_writer = Some(mark);
    }

    /// Checkpoints the WAL and truncates it. Does not wait for readers; returns whether it
    /// succeeded.
    pub fn checkpoint(&self) -> rusqlite::Result<bool> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let folded =
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        folded.map(|busy| busy == 0)
    }

    /// The number of rows changed by this connection.
    pub fn rows_changed(&self) -> u64 {
        self.connection.total_changes()
    }

    /// Turns off durability: transactions stay atomic but are not synced to the disk.
    pub fn disable_durability(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "journal_mode", "MEMORY")?;
        self.connection.pragma_update(None, "synchronous", "OFF")?;
        self.connection.pragma_update(None, "cache_size", -65_536)
    }

    /// Opens the database at `path` read-only.
    pub fn open_read_only(path: &Path) -> Result<Self, DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(DatabaseError::from_sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(DatabaseError::from_sqlite)?;
        if schema::is_current(&connection)? {
            return Ok(Self { connection, mark_writer: None });
        }
        // A database of an older version is migrated in a copy in memory.
        let mut copy = Connection::open_in_memory().map_err(DatabaseError::from_sqlite)?;
        let copied = Backup::new(&connection, &mut copy)
            .and_then(|backup| backup.run_to_completion(PAGES_PER_STEP, Duration::ZERO, None));
        copied.map_err(DatabaseError::from_sqlite)?;
        schema::migrate(&copy)?;
        Ok(Self { connection: copy, mark_writer: None })
    }

    /// Reads everything a start needs, and the last row of every table, to detect damaged pages.
    /// Deeper damage is found by the daily backup.
    fn check(&self) -> rusqlite::Result<()> {
        for table in schema::TABLES {
            let sql = format!("SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1");
            self.connection.prepare(&sql)?.query([])?.next()?;
        }
        self.load_state()?;
        self.pending_file_changes()?;
        self.devices().map(drop)
    }
}

/// Pages copied per backup step.
const PAGES_PER_STEP: i32 = 4_096;

/// The longest wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Size of the statement cache: as many statements as a background run uses.
const STATEMENT_CACHE: usize = 64;

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -1024)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}
