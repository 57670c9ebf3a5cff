//! Commit counter: every transaction that changes something increments it.
//!
//! The counter is stored in the database, within the counted transaction. The mark file (`mark.rs`)
//! stores it a second time, so that a database that lost its newest transactions is detected.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use super::{Database, DatabaseError};

/// The key under which the counter is stored.
const COUNTER_KEY: &str = "commits";

/// Increments the counter. A journal without a counter starts high, so that its numbers differ from
/// those of any journal that was counted from the beginning.
const INCREMENT_COUNTER: &str = "INSERT INTO keepsakes (name, value) VALUES ('commits', '1000000') ON CONFLICT (name) DO UPDATE SET \
                     value = CAST(value AS INTEGER) + 1";

/// The number of an empty journal.
pub const FIRST_COMMIT: u64 = 1;

/// Summary of a journal's contents at one commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Number of transactions that changed something.
    pub commits: u64,
    /// Id of the newest entry. Entries are numbered without gaps and never removed.
    pub entries: u64,
    /// Highest id of an incoming message.
    pub messages: u64,
    /// Time of the newest entry, message or move.
    pub at: Option<Timestamp>,
}

impl Extent {
    /// Returns whether a journal with the extent `found` mixes pages of different times: the commit
    /// number is equal, but the content differs. An interrupted checkpoint has this effect if its
    /// WAL is removed.
    pub fn contradicts(&self, found: &Self) -> bool {
        self.commits == found.commits && self != found
    }

    /// Describes what a journal with the extent `found` lacks compared with this one. `None` if it
    /// lacks nothing.
    pub fn missing_from(&self, found: &Self, zone: &TimeZone) -> Option<String> {
        if found.commits >= self.commits {
            return None;
        }
        let time = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
        let span = match (found.at, self.at) {
            (Some(from), Some(to)) => format!("after {} until {}", time(from), time(to)),
            (None, Some(to)) => format!("until {}", time(to)),
            (_, None) => "from the beginning".to_owned(),
        };
        let entries = self.entries.saturating_sub(found.entries);
        let messages = self.messages.saturating_sub(found.messages);
        Some(match (entries, messages) {
            (0, 0) => {
                let changes = pluralized(self.commits - found.commits, "other change", "other changes");
                format!("No message is missing, but {changes} {span}, such as a reminder that was delivered")
            }
            (0, messages) => {
                format!("{} {span}", pluralized(messages, "message of yours", "messages of yours"))
            }
            (entries, _) => {
                let entries = pluralized(entries, "entry", "entries");
                let messages = match messages {
                    0 => String::new(),
                    messages => {
                        format!(" and {}", pluralized(messages, "message of yours", "messages of yours"))
                    }
                };
                format!("{entries} of our conversation (messages, answers, tool calls){messages} {span}")
            }
        })
    }
}

fn pluralized(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

impl Database {
    /// Runs `change` in its own transaction and counts it if it changed anything. On return both
    /// the transaction and the mark are on the disk.
    pub(super) fn transact<R>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let before = self.connection.total_changes();
        let transaction = self.connection.unchecked_transaction()?;
        let done = change(&transaction)?;
        let extent = if self.connection.total_changes() == before {
            None
        } else {
            transaction.prepare_cached(INCREMENT_COUNTER)?.execute([])?;
            Some(read_extent(&transaction)?)
        };
        transaction.commit()?;
        // Only after the commit: the mark must never be ahead of the database.
        if let (Some(extent), Some(mark)) = (extent, &self.mark_writer) {
            mark.write(&extent);
        }
        Ok(done)
    }

    /// The extent of this journal.
    pub fn extent(&self) -> rusqlite::Result<Extent> {
        read_extent(&self.connection)
    }

    /// Like `extent`, with an error that distinguishes damage from disk errors.
    pub fn checked_extent(&self) -> Result<Extent, DatabaseError> {
        self.extent().map_err(DatabaseError::from_sqlite)
    }

    /// Sets the counter above that of every earlier journal, so that no earlier mark is ahead of
    /// it.
    pub(super) fn set_counter_above(&self, commits: u64) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO keepsakes (name, value) VALUES (?, ?)";
        self.connection.execute(sql, (COUNTER_KEY, (commits + 1).to_string())).map(drop)
    }
}

/// SQL that increments the counter, as part of a script.
pub(super) fn increment_sql() -> String {
    format!("{INCREMENT_COUNTER};")
}

/// SQL that initialises the counter, as part of the script that creates the tables.
pub(super) fn initial_counter_sql() -> String {
    format!("INSERT INTO keepsakes (name, value) VALUES ('{COUNTER_KEY}', '{FIRST_COMMIT}');")
}

fn read_extent(connection: &Connection) -> rusqlite::Result<Extent> {
    let newest = |sql: &str| -> rusqlite::Result<(u64, Option<Timestamp>)> {
        let row = connection
            .prepare_cached(sql)?
            .query_row([], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        Ok(row.map_or((0, None), |(id, at)| (id, Timestamp::from_microsecond(at).ok())))
    };
    let (entries, said) = newest("SELECT id, at FROM entries ORDER BY id DESC LIMIT 1")?;
    let (messages, heard) = newest("SELECT id, at FROM messages ORDER BY id DESC LIMIT 1")?;
    let (_, moved) = newest("SELECT id, at FROM moves ORDER BY id DESC LIMIT 1")?;
    let sql = "SELECT CAST(value AS INTEGER) FROM keepsakes WHERE name = ?";
    let commits = connection.prepare_cached(sql)?.query_row([COUNTER_KEY], |row| row.get(0)).optional()?;
    Ok(Extent { commits: commits.unwrap_or_default(), entries, messages, at: said.max(heard).max(moved) })
}

/// Removes the counter from the copy at `path`. A journal without a counter is not compared with a
/// mark.
pub fn remove_counter(path: &Path) -> Result<(), DatabaseError> {
    let copy = Connection::open(path).map_err(DatabaseError::from_sqlite)?;
    if has_counter_table(&copy).map_err(DatabaseError::from_sqlite)? {
        copy.execute("DELETE FROM keepsakes WHERE name = ?", [COUNTER_KEY])
            .map_err(DatabaseError::from_sqlite)?;
    }
    Ok(())
}

/// Raises the counter of the copy at `path` above `commits`, so that the copy can replace a journal
/// with that many commits. Returns false if its format has no counter.
pub fn raise_counter(path: &Path, commits: u64) -> Result<bool, DatabaseError> {
    let connection = Connection::open(path).map_err(DatabaseError::from_sqlite)?;
    let has_place = has_counter_table(&connection).map_err(DatabaseError::from_sqlite)?;
    if has_place {
        Database { connection, mark_writer: None }
            .set_counter_above(commits)
            .map_err(DatabaseError::from_sqlite)?;
    }
    Ok(has_place)
}

/// Returns true if the journal at `path` counts its commits. Earlier formats do so only after
/// migration.
pub fn has_counter(path: &Path) -> Result<bool, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(DatabaseError::from_sqlite)?;
    let sql = "SELECT 1 FROM keepsakes WHERE name = ?";
    let counted = has_counter_table(&connection).and_then(|has_place| {
        if has_place { connection.prepare(sql)?.exists([COUNTER_KEY]) } else { Ok(false) }
    });
    counted.map_err(DatabaseError::from_sqlite)
}

/// Returns whether the format has the table for the counter.
fn has_counter_table(connection: &Connection) -> rusqlite::Result<bool> {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'keepsakes'";
    connection.query_row(there, [], |row| row.get::<_, i64>(0)).map(|there| there > 0)
}
