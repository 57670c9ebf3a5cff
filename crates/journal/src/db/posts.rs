//! Rows of the outbox (`posts`), their delivery receipts, and the key-value table `keepsakes`.

use std::collections::BTreeSet;

use domain::assistant::MARKS;
use domain::conversation::EntryId;
use domain::post::{Post, PostChange, PostKey, Ring, Sheet};
use domain::record::{Charge, Mark};
use domain::sent::SentId;
use engine::ports::{Outgoing, Queue, Receipt, Settled, Work};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Database;
use super::read::time_in;
use super::sheet_body::SheetBody;
use super::write::unwritable;

pub(super) fn write(transaction: &Transaction<'_>, change: &PostChange) -> rusqlite::Result<()> {
    match change {
        PostChange::Posted(post) => posted(transaction, post),
        PostChange::Says(key, sheet) => says(transaction, key, sheet),
    }
}

fn posted(transaction: &Transaction<'_>, post: &Post) -> rusqlite::Result<()> {
    let sql = "INSERT INTO posts (key, at, work, ring, entry, sheet, state) \
               VALUES (?, ?, 'new', ?, ?, ?, 'waits') ON CONFLICT DO NOTHING";
    let entry = post.of.map(|of| of.0);
    let row =
        params![post.key.0, post.at.as_microsecond(), post.ring == Ring::Loud, entry, spell(&post.sheet)?];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

/// Updates an unsent message in place. A message that was never posted is ignored.
fn says(transaction: &Transaction<'_>, key: &PostKey, sheet: &Sheet) -> rusqlite::Result<()> {
    let sheet = spell(sheet)?;
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

fn spell(sheet: &Sheet) -> rusqlite::Result<String> {
    serde_json::to_string(&SheetBody::from(sheet)).map_err(unwritable)
}

impl Database {
    /// The oldest `limit` waiting messages of `queue`.
    pub fn posts(&self, queue: Queue, limit: u32) -> rusqlite::Result<Vec<Outgoing>> {
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
        self.connection.prepare_cached(sql)?.query_map([limit], outgoing)?.collect()
    }

    /// The receipts of `key`, by part.
    pub fn receipts(&self, key: &PostKey) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE key = ? ORDER BY part";
        self.connection.prepare_cached(sql)?.query_map([&key.0], receipt)?.collect()
    }

    /// The receipts whose key begins with `kind`.
    pub fn receipts_of(&self, kind: &str) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE substr(key, 1, ?) = ? ORDER BY key, part";
        let length = i64::try_from(kind.len()).unwrap_or(i64::MAX);
        self.connection.prepare_cached(sql)?.query_map(params![length, kind], receipt)?.collect()
    }

    /// The receipts of streamed texts that were never posted completely.
    pub fn unfinished_posts(&self) -> rusqlite::Result<Vec<Receipt>> {
        let sql = "SELECT key, part, message FROM receipts WHERE substr(key, 1, 6) = 'words:' \
                   AND key NOT IN (SELECT key FROM posts) ORDER BY key, part";
        self.connection.prepare_cached(sql)?.query_map([], receipt)?.collect()
    }

    pub fn became(&mut self, receipt: &Receipt, at: Timestamp) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO receipts (key, part, message, at) VALUES (?, ?, ?, ?)";
        let row = params![receipt.key.0, receipt.part, receipt.message, at.as_microsecond()];
        self.connection.prepare_cached(sql)?.execute(row).map(drop)
    }

    pub fn is_gone(&mut self, receipt: &Receipt) -> rusqlite::Result<()> {
        let sql = "DELETE FROM receipts WHERE key = ? AND part = ?";
        self.connection.prepare_cached(sql)?.execute(params![receipt.key.0, receipt.part]).map(drop)
    }

    /// Settles a message. Returns what was charged for it if it was not delivered.
    pub fn settle_post(&mut self, id: u64, how: &Settled) -> rusqlite::Result<Option<Charge>> {
        let (state, why) = match how {
            Settled::Sent => ("sent", None),
            Settled::Failed(why) => ("failed", Some(why)),
            Settled::Dropped(why) => ("dropped", Some(why)),
        };
        let sql = "UPDATE posts SET state = ?, why = ?, sheet = '' WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![state, why, id])?;
        if *how == Settled::Sent {
            return Ok(None);
        }
        let sql = "SELECT charges.entry, before, after FROM charges JOIN posts ON posts.entry = charges.entry \
                   WHERE posts.id = ? AND posts.work = 'new'";
        let charge = |row: &Row<'_>| {
            Ok(Charge { entry: EntryId(row.get(0)?), before: row.get(1)?, after: row.get(2)? })
        };
        self.connection.prepare_cached(sql)?.query_row([id], charge).optional()
    }

    /// The outbox key and the sent entry of a surface's message. `None` if it is not one of ours.
    pub fn posted_as(&self, message: u64) -> rusqlite::Result<Option<(PostKey, Option<SentId>)>> {
        let sql = "SELECT receipts.key, entry FROM receipts LEFT JOIN posts ON posts.key = receipts.key AND work = 'new' \
                   WHERE message = ?";
        let known = |row: &Row<'_>| Ok((PostKey(row.get(0)?), row.get::<_, Option<u64>>(1)?.map(SentId)));
        self.connection.prepare_cached(sql)?.query_row([message], known).optional()
    }

    /// The value stored under `name`.
    pub fn keepsake(&self, name: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT value FROM keepsakes WHERE name = ?";
        self.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()
    }

    pub fn keep(&mut self, name: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO keepsakes (name, value) VALUES (?, ?)";
        self.change(|transaction| transaction.prepare_cached(sql)?.execute([name, value]).map(drop))
    }

    /// Removes all conversation openings except the newest `kept`.
    pub fn forget_openings(&mut self, kept: u32) -> rusqlite::Result<()> {
        let sql = "DELETE FROM keepsakes WHERE name GLOB 'opening:*' AND name NOT IN \
                   (SELECT name FROM keepsakes WHERE name GLOB 'opening:*' ORDER BY name DESC LIMIT ?)";
        self.change(|transaction| transaction.prepare_cached(sql)?.execute([kept]).map(drop))
    }

    /// Removes messages, receipts and cards past their retention.
    pub fn forget_posts(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let before = now.checked_sub(REMEMBERED).unwrap_or(Timestamp::MIN).as_microsecond();
        self.change(|transaction| {
            transaction.execute("DELETE FROM posts WHERE at < ?", [before])?;
            transaction.execute("DELETE FROM receipts WHERE at < ?", [before])?;
            transaction.execute("DELETE FROM cards WHERE rang < ?", [before]).map(drop)
        })
    }

    /// The newest deduplication marks of messages from other surfaces.
    pub(super) fn heard(&self) -> rusqlite::Result<BTreeSet<Mark>> {
        let sql = "SELECT mark FROM messages WHERE mark IS NOT NULL ORDER BY mark DESC LIMIT ?";
        let most = i64::try_from(MARKS).unwrap_or(i64::MAX);
        self.connection.prepare(sql)?.query_map([most], |row| row.get(0).map(Mark))?.collect()
    }
}

/// The retention of sent messages and their receipts.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);

fn receipt(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    Ok(Receipt { key: PostKey(row.get(0)?), part: row.get(1)?, message: row.get(2)? })
}

fn outgoing(row: &Row<'_>) -> rusqlite::Result<Outgoing> {
    let (work, sheet): (String, String) = (row.get(3)?, row.get(6)?);
    // An unreadable message does not block the others.
    let sheet = serde_json::from_str::<SheetBody>(&sheet).map(Sheet::from);
    let sheet = sheet.unwrap_or_else(|_| Sheet::small("something here can't be read any more"));
    let ring = if row.get(4)? { Ring::Loud } else { Ring::Quiet };
    let post = Post {
        key: PostKey(row.get(1)?),
        at: time_in(row, 2)?,
        ring,
        of: row.get::<_, Option<u64>>(5)?.map(SentId),
        sheet,
    };
    let work = if work == "new" { Work::New } else { Work::Says };
    Ok(Outgoing { id: row.get(0)?, work, post })
}
