//! Creation of a new database: built in a scratch file and moved into place at once.
//!
//! SQLite needs seven flushes to create an empty database step by step. This needs two, and a power
//! cut leaves no database or a whole one.

use std::path::Path;

use rusqlite::Connection;

use super::replacement::{FILE_SUFFIXES, with_suffix};
use super::{DatabaseError, schema};
use crate::disk::{Disk, replace};

/// Creates an empty database at `path`, unless a part of a database exists there.
pub fn create_if_missing(path: &Path, disk: &dyn Disk) -> Result<(), DatabaseError> {
    // A WAL without its database would be read into the new one.
    for part in FILE_SUFFIXES {
        if disk.file_kind(&with_suffix(path, part)).map_err(DatabaseError::from_io)?.is_some() {
            return Ok(());
        }
    }
    let scratch = with_suffix(path, ".tmp");
    replace(disk, path, &empty_database(&scratch, disk)?).map_err(DatabaseError::from_io)
}

/// The bytes of an empty database, built at `scratch`.
pub(super) fn empty_database(scratch: &Path, disk: &dyn Disk) -> Result<Vec<u8>, DatabaseError> {
    let _ = disk.remove(scratch);
    let drawn = build(scratch).and_then(|()| disk.read(scratch).map_err(DatabaseError::from_io));
    let _ = disk.remove(scratch);
    drawn
}

/// Builds without flushing, because the scratch file may be lost at any time.
fn build(scratch: &Path) -> Result<(), DatabaseError> {
    let connection = Connection::open(scratch).map_err(DatabaseError::from_sqlite)?;
    for (name, value) in [("synchronous", "OFF"), ("journal_mode", "MEMORY")] {
        connection.pragma_update(None, name, value).map_err(DatabaseError::from_sqlite)?;
    }
    schema::create_tables(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(DatabaseError::from_sqlite)?;
    connection.close().map_err(|(_, error)| DatabaseError::from_sqlite(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Database;
    use crate::disk::RealDisk;

    #[test]
    fn a_new_database_is_sound_and_leaves_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.db");
        create_if_missing(&path, &RealDisk).unwrap();

        let names: Vec<_> =
            RealDisk.list(dir.path()).unwrap().into_iter().map(|listed| listed.path).collect();
        assert_eq!(names, std::slice::from_ref(&path));
        let database = Database::open(&path).unwrap();
        assert!(database.is_sound());
        let mode: String =
            database.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn existing_database_files_are_not_touched() {
        for part in ["", "-wal", "-journal"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal.db");
            RealDisk.create(&with_suffix(&path, part), b"something").unwrap();
            create_if_missing(&path, &RealDisk).unwrap();

            assert_eq!(RealDisk.list(dir.path()).unwrap().len(), 1, "{part}");
            assert_eq!(RealDisk.read(&with_suffix(&path, part)).unwrap(), b"something");
        }
    }
}
