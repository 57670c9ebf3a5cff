//! Rows of `accepted`: file permissions, skill commands and server tools that the user accepted by
//! content hash.

use jiff::Timestamp;
use rusqlite::params;

use super::Database;

/// Accepts a name with a hash, or updates its time.
const ACCEPT: &str = "INSERT INTO accepted (name, hash, at) VALUES (?, ?, ?) \
                      ON CONFLICT (name, hash) DO UPDATE SET at = excluded.at";

impl Database {
    /// Returns whether the user has accepted `name` with this hash.
    pub fn is_accepted(&self, name: &str, hash: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM accepted WHERE name = ? AND hash = ?";
        self.connection.prepare_cached(sql)?.exists([name, hash])
    }

    /// The accepted hashes of `name`, newest first.
    pub fn accepted(&self, name: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT hash FROM accepted WHERE name = ? ORDER BY at DESC, rowid DESC";
        self.connection.prepare_cached(sql)?.query_map([name], |row| row.get(0))?.collect()
    }

    pub fn accept(&self, name: &str, hash: &str, at: Timestamp) -> rusqlite::Result<()> {
        let row = params![name, hash, at.as_microsecond()];
        self.transact(|transaction| transaction.execute(ACCEPT, row).map(drop))
    }

    /// Accepts each name with its hash, in one transaction.
    pub fn accept_each<'a>(
        &mut self,
        each: impl IntoIterator<Item = (&'a str, String)>,
        at: Timestamp,
    ) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            for (name, hash) in each {
                transaction.prepare_cached(ACCEPT)?.execute(params![name, hash, at.as_microsecond()])?;
            }
            Ok(())
        })
    }

    /// Accepts the hashes of `new` for `name` and revokes those of `gone`.
    pub fn accept_change(
        &mut self,
        name: &str,
        new: &[String],
        gone: &[String],
        at: Timestamp,
    ) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            for hash in gone {
                transaction.execute("DELETE FROM accepted WHERE name = ? AND hash = ?", [name, hash])?;
            }
            for hash in new {
                transaction.execute(ACCEPT, params![name, hash, at.as_microsecond()])?;
            }
            Ok(())
        })
    }

    /// All accepted names that begin with `start`, sorted.
    pub fn accepted_names_with_prefix(&self, start: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT DISTINCT name FROM accepted WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name";
        self.connection.prepare_cached(sql)?.query_map([start], |row| row.get(0))?.collect()
    }

    /// Revokes all acceptances of `name`.
    pub fn revoke(&self, name: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM accepted WHERE name = ?";
        self.transact(|transaction| transaction.execute(sql, [name]).map(drop))
    }
}
