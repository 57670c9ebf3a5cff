//! Rows of the outbox (`posts`), their delivery receipts, and the key-value table `keepsakes`.

use std::collections::BTreeSet;

use domain::assistant::MAX_MARKS;
use domain::conversation::EntryId;
use domain::outbox::{MessageBody, OutboxChange, OutboxKey, OutboxMessage, Sound};
use domain::record::{ExternalMessageId, PingCharge};
use domain::sent_messages::SentId;
use engine::ports::{PendingPost, PostAction, PostOutcome, Queue, Receipt};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Database;
use super::outbox_body::OutboxBody;
use super::read::time_in;
use super::write::encode_error;

pub(super) fn write(transaction: &Transaction<'_>, change: &OutboxChange) -> rusqlite::Result<()> {
    match change {
        OutboxChange::Posted(post) => insert_message(transaction, post),
        OutboxChange::Edited(key, sheet) => update_body(transaction, key, sheet),
    }
}

fn insert_message(transaction: &Transaction<'_>, post: &OutboxMessage) -> rusqlite::Result<()> {
    let sql = "INSERT INTO posts (key, at, work, ring, entry, sheet, state) \
               VALUES (?, ?, 'new', ?, ?, ?, 'waits') ON CONFLICT DO NOTHING";
    let entry = post.sent_id.map(|of| of.0);
    let row = params![
        post.key.0,
        post.at.as_microsecond(),
        post.sound == Sound::Loud,
        entry,
        encode_body(&post.body)?
    ];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

/// Updates an unsent message in place. A message that was never posted is ignored.
fn update_body(transaction: &Transaction<'_>, key: &OutboxKey, sheet: &MessageBody) -> rusqlite::Result<()> {
    let sheet = encode_body(sheet)?;
    let sql = "UPDATE posts SET sheet = ? WHERE key = ? AND work = 'new' AND state = 'waits'";
    transaction.prepare_cached(sql)?.execute(params![sheet, key.0])?;
    // An earlier edit may be in transit, so it is superseded by a new row instead of being changed.
    let sql = "UPDATE posts SET state = 'dropped', why = 'it was changed again', sheet = '' \
               WHERE key = ? AND work = 'says' AND state = 'waits'";
    transaction.prepare_cached(sql)?.execute([&key.0])?;
    // If the message itself is in transit with the old body, this edit follows it.
    let sql = "INSERT INTO posts (key, at, work, ring, entry, sheet, state) \
               SELECT key, at, 'says', 0, entry, ?, 'waits' FROM posts WHERE key = ? AND work = 'new' AND state IN ('waits', 'sent')";
    transaction.prepare_cached(sql)?.execute(params![sheet, key.0]).map(drop)
}

fn encode_body(sheet: &MessageBody) -> rusqlite::Result<String> {
    serde_json::to_string(&OutboxBody::from(sheet)).map_err(encode_error)
}

impl Database {
    /// The oldest `limit` waiting messages of `queue`.
    pub fn waiting_messages_in(&self, queue: Queue, limit: u32) -> rusqlite::Result<Vec<PendingPost>> {
        let sql = match queue {
            Queue::Reminders => {
                "SELECT id, key, at, work, ring, entry, sheet FROM posts WHERE state = 'waits' AND work = 'new' \
                 AND key IN (SELECT post FROM cards) ORDER BY id LIMIT ?"
            }
            // An edit of a reminder waits for the reminder, which is in the other queue.
            Queue::Others => {
                "SELECT id, key, at, work, ring, entry, sheet FROM posts WHERE state = 'waits' AND CASE work \
                 WHEN 'new' THEN key NOT IN (SELECT post FROM cards) \
                 ELSE NOT EXISTS (SELECT 1 FROM posts AS first WHERE first.key = posts.key AND first.work = 'new' \
                 AND first.state = 'waits') END ORDER BY id LIMIT ?"
            }
        };
        self.connection.prepare_cached(sql)?.query_map([limit], read_outgoing)?.collect()
    }

    /// The receipts of `key`, by part.
    pub fn receipts(&self, key: &OutboxKey) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE key = ? ORDER BY part";
        self.connection.prepare_cached(sql)?.query_map([&key.0], read_receipt)?.collect()
    }

    /// The receipts whose key begins with `kind`.
    pub fn receipts_with_prefix(&self, kind: &str) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE substr(key, 1, ?) = ? ORDER BY key, part";
        let length = i64::try_from(kind.len()).unwrap_or(i64::MAX);
        self.connection.prepare_cached(sql)?.query_map(params![length, kind], read_receipt)?.collect()
    }

    /// The receipts of streamed texts that were never posted completely.
    pub fn orphaned_receipts(&self) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE substr(key, 1, 6) = 'words:' \
                   AND key NOT IN (SELECT key FROM posts) ORDER BY key, part";
        self.connection.prepare_cached(sql)?.query_map([], read_receipt)?.collect()
    }

    pub fn save_receipt(&mut self, receipt: &Receipt, at: Timestamp) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO receipts (key, part, message, at) VALUES (?, ?, ?, ?)";
        let row = params![receipt.key.0, receipt.part, receipt.message, at.as_microsecond()];
        self.connection.prepare_cached(sql)?.execute(row).map(drop)
    }

    pub fn delete_receipt(&mut self, receipt: &Receipt) -> rusqlite::Result<()> {
        let sql = "DELETE FROM receipts WHERE key = ? AND part = ?";
        self.connection.prepare_cached(sql)?.execute(params![receipt.key.0, receipt.part]).map(drop)
    }

    /// Settles a message. Returns what was charged for it if it was not delivered.
    pub fn settle_outbox_message(
        &mut self,
        id: u64,
        how: &PostOutcome,
    ) -> rusqlite::Result<Option<PingCharge>> {
        let (state, why) = match how {
            PostOutcome::Sent => ("sent", None),
            PostOutcome::Failed(why) => ("failed", Some(why)),
            PostOutcome::Dropped(why) => ("dropped", Some(why)),
        };
        let sql = "UPDATE posts SET state = ?, why = ?, sheet = '' WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![state, why, id])?;
        if *how == PostOutcome::Sent {
            return Ok(None);
        }
        let sql = "SELECT charges.entry, before, after FROM charges JOIN posts ON posts.entry = charges.entry \
                   WHERE posts.id = ? AND posts.work = 'new'";
        let charge = |row: &Row<'_>| {
            Ok(PingCharge { entry: EntryId(row.get(0)?), before: row.get(1)?, after: row.get(2)? })
        };
        self.connection.prepare_cached(sql)?.query_row([id], charge).optional()
    }

    /// The outbox key and the sent entry of a surface's message. `None` if it is not one of ours.
    pub fn find_outbox_message(&self, message: u64) -> rusqlite::Result<Option<(OutboxKey, Option<SentId>)>> {
        let sql = "SELECT receipts.key, entry FROM receipts LEFT JOIN posts ON posts.key = receipts.key AND work = 'new' \
                   WHERE message = ?";
        let known = |row: &Row<'_>| Ok((OutboxKey(row.get(0)?), row.get::<_, Option<u64>>(1)?.map(SentId)));
        self.connection.prepare_cached(sql)?.query_row([message], known).optional()
    }

    /// The value stored under `name`.
    pub fn get_kv(&self, name: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT value FROM keepsakes WHERE name = ?";
        self.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()
    }

    pub fn set_kv(&mut self, name: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO keepsakes (name, value) VALUES (?, ?)";
        self.transact(|transaction| transaction.prepare_cached(sql)?.execute([name, value]).map(drop))
    }

    /// Removes all conversation openings except the newest `kept`.
    pub fn prune_openings(&mut self, kept: u32) -> rusqlite::Result<()> {
        let sql = "DELETE FROM keepsakes WHERE name GLOB 'opening:*' AND name NOT IN \
                   (SELECT name FROM keepsakes WHERE name GLOB 'opening:*' ORDER BY name DESC LIMIT ?)";
        self.transact(|transaction| transaction.prepare_cached(sql)?.execute([kept]).map(drop))
    }

    /// Removes messages, receipts and cards past their retention.
    pub fn prune_outbox(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let before = now.checked_sub(OUTBOX_RETENTION).unwrap_or(Timestamp::MIN).as_microsecond();
        self.transact(|transaction| {
            transaction.execute("DELETE FROM posts WHERE at < ?", [before])?;
            transaction.execute("DELETE FROM receipts WHERE at < ?", [before])?;
            transaction.execute("DELETE FROM cards WHERE rang < ?", [before]).map(drop)
        })
    }

    /// The newest deduplication marks of messages from other surfaces.
    pub(super) fn seen_marks(&self) -> rusqlite::Result<BTreeSet<ExternalMessageId>> {
        let sql = "SELECT mark FROM messages WHERE mark IS NOT NULL ORDER BY mark DESC LIMIT ?";
        let most = i64::try_from(MAX_MARKS).unwrap_or(i64::MAX);
        self.connection.prepare(sql)?.query_map([most], |row| row.get(0).map(ExternalMessageId))?.collect()
    }
}

/// The retention of sent messages and their receipts.
pub const OUTBOX_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

fn read_receipt(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    Ok(Receipt { key: OutboxKey(row.get(0)?), part: row.get(1)?, message: row.get(2)? })
}

fn read_outgoing(row: &Row<'_>) -> rusqlite::Result<PendingPost> {
    let (work, sheet): (String, String) = (row.get(3)?, row.get(6)?);
    // An unreadable message does not block the others.
    let sheet = serde_json::from_str::<OutboxBody>(&sheet).map(MessageBody::from);
    let sheet = sheet.unwrap_or_else(|_| MessageBody::from_footer("something here can't be read any more"));
    let ring = if row.get(4)? { Sound::Loud } else { Sound::Silent };
    let post = OutboxMessage {
        key: OutboxKey(row.get(1)?),
        at: time_in(row, 2)?,
        sound: ring,
        sent_id: row.get::<_, Option<u64>>(5)?.map(SentId),
        body: sheet,
    };
    let work = if work == "new" { PostAction::Send } else { PostAction::Edit };
    Ok(PendingPost { id: row.get(0)?, action: work, post })
}
