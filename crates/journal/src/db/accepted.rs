//! What the human has accepted by its content: what a file may use, a skill's commands, a server's tools.

use jiff::Timestamp;
use rusqlite::params;

use super::Database;

/// Accepts a name with a hash, or says anew when.
const ACCEPT: &str = "INSERT INTO accepted (name, hash, at) VALUES (?, ?, ?) \
                      ON CONFLICT (name, hash) DO UPDATE SET at = excluded.at";

impl Database {
    /// Whether the human has accepted `name` with the content of this hash.
    pub fn is_accepted(&self, name: &str, hash: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM accepted WHERE name = ? AND hash = ?";
        self.connection.prepare_cached(sql)?.exists([name, hash])
    }

    /// The hashes with which `name` was accepted, the newest first.
    pub fn accepted(&self, name: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT hash FROM accepted WHERE name = ? ORDER BY at DESC, rowid DESC";
        self.connection.prepare_cached(sql)?.query_map([name], |row| row.get(0))?.collect()
    }

    /// Accepts `name` with the content of this hash.
    pub fn accept(&self, name: &str, hash: &str, at: Timestamp) -> rusqlite::Result<()> {
        let row = params![name, hash, at.as_microsecond()];
        self.change(|transaction| transaction.execute(ACCEPT, row).map(drop))
    }

    /// Accepts each of these names with its hash, all of them or none.
    pub fn accept_each<'a>(
        &mut self,
        each: impl IntoIterator<Item = (&'a str, String)>,
        at: Timestamp,
    ) -> rusqlite::Result<()> {
        self.change(|transaction| {
            for (name, hash) in each {
                transaction.prepare_cached(ACCEPT)?.execute(params![name, hash, at.as_microsecond()])?;
            }
            Ok(())
        })
    }

    /// Accepts `name` with the hashes of `new`, and no more with those of `gone`.
    pub fn accept_change(
        &mut self,
        name: &str,
        new: &[String],
        gone: &[String],
        at: Timestamp,
    ) -> rusqlite::Result<()> {
        self.change(|transaction| {
            for hash in gone {
                transaction.execute("DELETE FROM accepted WHERE name = ? AND hash = ?", [name, hash])?;
            }
            for hash in new {
                transaction.execute(ACCEPT, params![name, hash, at.as_microsecond()])?;
            }
            Ok(())
        })
    }

    /// All names that begin with `start`, in order.
    pub fn names_from(&self, start: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT DISTINCT name FROM accepted WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name";
        self.connection.prepare_cached(sql)?.query_map([start], |row| row.get(0))?.collect()
    }

    /// Accepts `name` no more, whatever its content.
    pub fn refuse(&self, name: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM accepted WHERE name = ?";
        self.change(|transaction| transaction.execute(sql, [name]).map(drop))
    }
}
