//! The tables, and how an older database becomes a newer one.

use rusqlite::Connection;

use super::Unopened;

/// The format this program writes.
const FORMAT: i64 = 1;

/// The tables that a sound database has.
pub const TABLES: [&str; 9] =
    ["entries", "heads", "moves", "messages", "turns", "decisions", "inbox", "file_changes", "devices"];

const FORMAT_1: &str = include_str!("format_1.sql");

/// Makes the tables of an empty database; leaves one of a later format alone.
pub fn bring_up_to_date(connection: &Connection) -> Result<(), Unopened> {
    if check_known(connection)? == FORMAT {
        return Ok(());
    }
    let script = format!("BEGIN IMMEDIATE;\n{FORMAT_1}\nPRAGMA user_version = {FORMAT};\nCOMMIT;");
    connection.execute_batch(&script).map_err(Unopened::sorted)
}

/// The format of the database, if this program knows it.
pub fn check_known(connection: &Connection) -> Result<i64, Unopened> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    match format.map_err(Unopened::sorted)? {
        found if found > FORMAT => Err(Unopened::Newer { found, known: FORMAT }),
        known => Ok(known),
    }
}
