//! Commit counter: every transaction that changes something increments it.
//!
//! The counter is stored in the database, within the counted transaction. The mark file (`mark.rs`)
//! stores it a second time, so that a database that lost its newest transactions is detected.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use super::{Database, Unopened};

/// The key under which the counter is stored.
const NAME: &str = "commits";

/// Increments the counter. A journal without a counter starts high, so that its numbers differ from
/// those of any journal that was counted from the beginning.
const COUNT: &str = "INSERT INTO keepsakes (name, value) VALUES ('commits', '1000000') ON CONFLICT (name) DO UPDATE SET \
                     value = CAST(value AS INTEGER) + 1";

/// The number of an empty journal.
pub const FIRST: u64 = 1;

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
                let changes = counted(self.commits - found.commits, "other change", "other changes");
                format!("No message is missing, but {changes} {span}, such as a reminder that was delivered")
            }
            (0, messages) => format!("{} {span}", counted(messages, "message of yours", "messages of yours")),
            (entries, _) => {
                let entries = counted(entries, "entry", "entries");
                let messages = match messages {
                    0 => String::new(),
                    messages => {
                        format!(" and {}", counted(messages, "message of yours", "messages of yours"))
                    }
                };
                format!("{entries} of our conversation (messages, answers, tool calls){messages} {span}")
            }
        })
    }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

impl Database {
    /// Runs `change` in its own transaction and counts it if it changed anything. On return both
    /// the transaction and the mark are on the disk.
    pub(super) fn change<R>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let before = self.connection.total_changes();
        let transaction = self.connection.unchecked_transaction()?;
        let done = change(&transaction)?;
        let extent = if self.connection.total_changes() == before {
            None
        } else {
            transaction.prepare_cached(COUNT)?.execute([])?;
            Some(extent(&transaction)?)
        };
        transaction.commit()?;
        // Only after the commit: the mark must never be ahead of the database.
        if let (Some(extent), Some(mark)) = (extent, &self.mark) {
            mark.keep(&extent);
        }
        Ok(done)
    }

    /// The extent of this journal.
    pub fn extent(&self) -> rusqlite::Result<Extent> {
        extent(&self.connection)
    }

    /// Like `extent`, with an error that distinguishes damage from disk errors.
    pub fn reach(&self) -> Result<Extent, Unopened> {
        self.extent().map_err(Unopened::sorted)
    }

    /// Sets the counter above that of every earlier journal, so that no earlier mark is ahead of
    /// it.
    pub(super) fn count_beyond(&self, commits: u64) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO keepsakes (name, value) VALUES (?, ?)";
        self.connection.execute(sql, (NAME, (commits + 1).to_string())).map(drop)
    }
}

/// SQL that increments the counter, as part of a script.
pub(super) fn count_in_script() -> String {
    format!("{COUNT};")
}

/// SQL that initialises the counter, as part of the script that creates the tables.
pub(super) fn begin_in_script() -> String {
    format!("INSERT INTO keepsakes (name, value) VALUES ('{NAME}', '{FIRST}');")
}

fn extent(connection: &Connection) -> rusqlite::Result<Extent> {
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
    let commits = connection.prepare_cached(sql)?.query_row([NAME], |row| row.get(0)).optional()?;
    Ok(Extent { commits: commits.unwrap_or_default(), entries, messages, at: said.max(heard).max(moved) })
}

/// Removes the counter from the copy at `path`. A journal without a counter is not compared with a
/// mark.
pub fn forget_commits(path: &Path) -> Result<(), Unopened> {
    let copy = Connection::open(path).map_err(Unopened::sorted)?;
    if is_counted(&copy).map_err(Unopened::sorted)? {
        copy.execute("DELETE FROM keepsakes WHERE name = ?", [NAME]).map_err(Unopened::sorted)?;
    }
    Ok(())
}

/// Raises the counter of the copy at `path` above `commits`, so that the copy can replace a journal
/// with that many commits. Returns false if its format has no counter.
pub fn raise_commits(path: &Path, commits: u64) -> Result<bool, Unopened> {
    let connection = Connection::open(path).map_err(Unopened::sorted)?;
    let has_place = is_counted(&connection).map_err(Unopened::sorted)?;
    if has_place {
        Database { connection, mark: None }.count_beyond(commits).map_err(Unopened::sorted)?;
    }
    Ok(has_place)
}

/// Returns true if the journal at `path` counts its commits. Earlier formats do so only after
/// migration.
pub fn is_counted_at(path: &Path) -> Result<bool, Unopened> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(Unopened::sorted)?;
    let sql = "SELECT 1 FROM keepsakes WHERE name = ?";
    let counted = is_counted(&connection)
        .and_then(|has_place| if has_place { connection.prepare(sql)?.exists([NAME]) } else { Ok(false) });
    counted.map_err(Unopened::sorted)
}

/// Returns whether the format has the table for the counter.
fn is_counted(connection: &Connection) -> rusqlite::Result<bool> {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'keepsakes'";
    connection.query_row(there, [], |row| row.get::<_, i64>(0)).map(|there| there > 0)
}
