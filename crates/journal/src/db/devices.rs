//! Rows of `devices`: paired browsers.

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::Database;

/// A paired browser, identified by the hash of its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedDevice {
    /// The id shown in lists.
    pub id: String,
    /// The description the browser sent.
    pub label: String,
    pub credential: [u8; 32],
    pub paired: Timestamp,
}

impl Database {
    /// All paired browsers, oldest first.
    pub fn devices(&self) -> rusqlite::Result<Vec<PairedDevice>> {
        let device = |row: &Row<'_>| {
            let paired = Timestamp::from_microsecond(row.get(3)?).unwrap_or_default();
            Ok(PairedDevice { id: row.get(0)?, label: row.get(1)?, credential: row.get(2)?, paired })
        };
        let sql = "SELECT id, label, credential, paired FROM devices ORDER BY paired";
        self.connection.prepare(sql)?.query_map([], device)?.collect()
    }

    pub fn add_device(&self, device: &PairedDevice) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO devices (id, label, credential, paired) VALUES (?, ?, ?, ?)";
        let row = params![device.id, device.label, device.credential, device.paired.as_microsecond()];
        self.transact(|transaction| transaction.execute(sql, row).map(drop))
    }

    pub fn remove_device(&self, id: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM devices WHERE id = ?";
        self.transact(|transaction| transaction.execute(sql, [id]).map(drop))
    }
}
