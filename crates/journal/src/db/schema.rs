//! The tables, and how an older database becomes a newer one.

use rusqlite::Connection;

use super::Unopened;

/// The format this program writes.
const FORMAT: i64 = 10;

/// The tables that a sound database has.
pub const TABLES: [&str; 33] = [
    "deliveries",
    "delivery_marks",
    "accepted",
    "held",
    "dislikes",
    "posts",
    "receipts",
    "keepsakes",
    "cards",
    "charges",
    "plans",
    "occurrences",
    "routine_sessions",
    "job_files",
    "attention",
    "approvals",
    "reports",
    "forks",
    "entries",
    "heads",
    "moves",
    "messages",
    "turns",
    "decisions",
    "inbox",
    "file_changes",
    "devices",
    "spending",
    "runs",
    "sent",
    "origins",
    "inquiries",
    "put_away",
];

/// What each format adds to the one before it.
const STEPS: [(i64, &str); 10] = [
    (1, include_str!("format_1.sql")),
    (2, include_str!("format_2.sql")),
    (3, include_str!("format_3.sql")),
    (4, include_str!("format_4.sql")),
    (5, include_str!("format_5.sql")),
    (6, include_str!("format_6.sql")),
    (7, include_str!("format_7.sql")),
    (8, include_str!("format_8.sql")),
    (9, include_str!("format_9.sql")),
    (10, include_str!("format_10.sql")),
];

/// The format this program writes.
pub fn known() -> i64 {
    FORMAT
}

/// Adds what the database lacks, all or nothing; leaves one of a later format alone.
pub fn bring_up_to_date(connection: &Connection) -> Result<(), Unopened> {
    let found = check_known(connection)?;
    if found == FORMAT {
        return Ok(());
    }
    let steps: String = STEPS.iter().filter(|(format, _)| *format > found).map(|(_, sql)| *sql).collect();
    let script = format!("BEGIN IMMEDIATE;\n{steps}\nPRAGMA user_version = {FORMAT};\nCOMMIT;");
    connection.execute_batch(&script).map_err(Unopened::sorted)
}

/// Whether nothing is to be added to the database; an error, if a later program wrote it.
pub fn is_current(connection: &Connection) -> Result<bool, Unopened> {
    check_known(connection).map(|found| found == FORMAT)
}

/// The format of the database, if this program knows it.
pub fn check_known(connection: &Connection) -> Result<i64, Unopened> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    match format.map_err(Unopened::sorted)? {
        found if found > FORMAT => Err(Unopened::Newer { found, known: FORMAT }),
        known => Ok(known),
    }
}
