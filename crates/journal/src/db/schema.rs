//! The database schema and its migrations.

use rusqlite::Connection;

use super::DatabaseError;
use super::commits::{increment_sql, initial_counter_sql};

/// The format this program writes.
const FORMAT: i64 = 15;

/// The tables that a sound database has.
pub const TABLES: [&str; 35] = [
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
    "plan_origins",
    "item_origins",
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

/// The SQL that migrates each format from the one before it.
const MIGRATIONS: [(i64, &str); 15] = [
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
    (11, include_str!("format_11.sql")),
    (12, include_str!("format_12.sql")),
    (13, include_str!("format_13.sql")),
    (14, include_str!("format_14.sql")),
    (15, include_str!("format_15.sql")),
];

/// The schema after all migrations, because creating it at once is faster than migrating an empty
/// database. Generated: a test writes it from the migrations (`UPDATE_EXPECT=1`) and compares it
/// with them.
const FULL_SCHEMA: &str = include_str!("whole.sql");

pub fn current_format() -> i64 {
    FORMAT
}

/// Migrates the database in one transaction. Fails for a later format without changing anything.
pub fn migrate(connection: &Connection) -> Result<(), DatabaseError> {
    let found = supported_format(connection)?;
    if found == FORMAT {
        return Ok(());
    }
    let steps: String =
        MIGRATIONS.iter().filter(|(format, _)| *format > found).map(|(_, sql)| *sql).collect();
    let count = increment_sql();
    let script = format!("BEGIN IMMEDIATE;\n{steps}\n{count}\nPRAGMA user_version = {FORMAT};\nCOMMIT;");
    connection.execute_batch(&script).map_err(DatabaseError::from_sqlite)
}

/// Creates the tables of an empty database.
pub fn create_tables(connection: &Connection) -> Result<(), DatabaseError> {
    let begin = initial_counter_sql();
    let script =
        format!("BEGIN IMMEDIATE;\n{FULL_SCHEMA}\n{begin}\nPRAGMA user_version = {FORMAT};\nCOMMIT;");
    connection.execute_batch(&script).map_err(DatabaseError::from_sqlite)
}

/// Returns whether the database needs no migration. Fails if a later version wrote it.
pub fn is_current(connection: &Connection) -> Result<bool, DatabaseError> {
    supported_format(connection).map(|found| found == FORMAT)
}

/// The format of the database, if this version supports it.
pub fn supported_format(connection: &Connection) -> Result<i64, DatabaseError> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    match format.map_err(DatabaseError::from_sqlite)? {
        found if found > FORMAT => Err(DatabaseError::Newer { found, known: FORMAT }),
        known => Ok(known),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// The SQL of each schema item, in the order of creation.
    fn schema_sql(connection: &Connection) -> String {
        // Leaves out the shadow tables of the full-text index.
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'words\\_%' ESCAPE '\\' \
                   AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid";
        let mut found = connection.prepare(sql).unwrap();
        let each = found.query_map([], |row| row.get::<_, String>(0)).unwrap();
        each.map(|sql| sql.unwrap() + ";\n").collect()
    }

    /// B11: a new database has the same schema as a migrated one.
    #[test]
    fn a_new_database_has_the_same_schema_as_a_migrated_one() {
        let grown = Connection::open_in_memory().unwrap();
        let made = Connection::open_in_memory().unwrap();
        migrate(&grown).unwrap();
        create_tables(&made).unwrap();
        expect_file!["whole.sql"].assert_eq(&schema_sql(&grown));
        assert_eq!(schema_sql(&made), schema_sql(&grown));
        assert!(is_current(&made).unwrap());
    }
}
