//! Creation of a new database: built in a scratch file and moved into place at once.
//!
//! SQLite needs seven flushes to create an empty database step by step. This needs two, and a power
//! cut leaves no database or a whole one.

use std::path::Path;

use rusqlite::Connection;

use super::laying::{PARTS, with_end};
use super::{Unopened, schema};
use crate::disk::{Disk, replace};

/// Creates an empty database at `path`, unless a part of a database exists there.
pub fn make_if_missing(path: &Path, disk: &dyn Disk) -> Result<(), Unopened> {
    // A WAL without its database would be read into the new one.
    for part in PARTS {
        if disk.look(&with_end(path, part)).map_err(Unopened::of_disk)?.is_some() {
            return Ok(());
        }
    }
    let sketch = with_end(path, ".tmp");
    replace(disk, path, &bytes(&sketch, disk)?).map_err(Unopened::of_disk)
}

/// The bytes of an empty database, built at `scratch`.
pub(super) fn bytes(sketch: &Path, disk: &dyn Disk) -> Result<Vec<u8>, Unopened> {
    let _ = disk.remove(sketch);
    let drawn = draw_up(sketch).and_then(|()| disk.read(sketch).map_err(Unopened::of_disk));
    let _ = disk.remove(sketch);
    drawn
}

/// Builds without flushing, because the scratch file may be lost at any time.
fn draw_up(sketch: &Path) -> Result<(), Unopened> {
    let connection = Connection::open(sketch).map_err(Unopened::sorted)?;
    for (name, value) in [("synchronous", "OFF"), ("journal_mode", "MEMORY")] {
        connection.pragma_update(None, name, value).map_err(Unopened::sorted)?;
    }
    schema::draw_up(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(Unopened::sorted)?;
    connection.close().map_err(|(_, error)| Unopened::sorted(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Database;
    use crate::disk::RealDisk;

    #[test]
    fn a_new_database_is_whole_and_alone_in_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.db");
        make_if_missing(&path, &RealDisk).unwrap();

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
    fn what_is_there_is_left_alone() {
        for part in ["", "-wal", "-journal"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal.db");
            RealDisk.create(&with_end(&path, part), b"something").unwrap();
            make_if_missing(&path, &RealDisk).unwrap();

            assert_eq!(RealDisk.list(dir.path()).unwrap().len(), 1, "{part}");
            assert_eq!(RealDisk.read(&with_end(&path, part)).unwrap(), b"something");
        }
    }
}
