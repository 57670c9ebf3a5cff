//! The browsers that were paired.

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::Database;

/// A browser that was paired, known by the hash of its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDevice {
    /// What it is called in lists.
    pub id: String,
    /// What the browser says it is.
    pub label: String,
    /// The hash of its credential.
    pub credential: [u8; 32],
    /// When it was paired.
    pub paired: Timestamp,
}

impl Database {
    /// All of them, oldest first.
    pub fn devices(&self) -> rusqlite::Result<Vec<KnownDevice>> {
        let device = |row: &Row<'_>| {
            let paired = Timestamp::from_microsecond(row.get(3)?).unwrap_or_default();
            Ok(KnownDevice { id: row.get(0)?, label: row.get(1)?, credential: row.get(2)?, paired })
        };
        let sql = "SELECT id, label, credential, paired FROM devices ORDER BY paired";
        self.connection.prepare(sql)?.query_map([], device)?.collect()
    }

    /// Keeps one more.
    pub fn add_device(&self, device: &KnownDevice) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO devices (id, label, credential, paired) VALUES (?, ?, ?, ?)";
        let row = params![device.id, device.label, device.credential, device.paired.as_microsecond()];
        self.change(|transaction| transaction.execute(sql, row).map(drop))
    }

    /// Forgets the one called `id`.
    pub fn remove_device(&self, id: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM devices WHERE id = ?";
        self.change(|transaction| transaction.execute(sql, [id]).map(drop))
    }
}
