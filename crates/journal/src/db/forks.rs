//! Rows of `reports`, `forks` and `entering`: pending updates, the open fork, and the fork
//! requested next.

use domain::conversation::{EntryId, MoveReason};
use domain::effort::Effort;
use domain::fork::{Fork, ForkExit, ForkRequest, PendingExit};
use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{ForkChange, MessageId, UpdateChange, UpdatesRead};
use domain::thinking::Thinking;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::read::{branch_in, invalid_column, label_in, time_in};
use super::{Database, runs};

/// The most updates examined by a search.
const SEARCH_LIMIT: u32 = 5_000;

impl Database {
    /// The pending updates that main has not read, oldest first.
    pub fn unread_updates(&self) -> rusqlite::Result<Vec<PendingUpdate>> {
        let sql = "SELECT id, at, source, text, label FROM reports WHERE read IS NULL ORDER BY id";
        self.connection.prepare(sql)?.query_map([], read_update)?.collect()
    }

    /// The updates the user may want to read: unread ones, and those of which main only read the
    /// count.
    pub fn updates_for_user(&self) -> rusqlite::Result<Vec<PendingUpdate>> {
        let sql = "SELECT id, at, CASE WHEN read IS NULL THEN source ELSE source || ', only counted' END, text, label FROM \
                   (SELECT * FROM reports WHERE read IS NULL OR told = 'counted' ORDER BY id DESC LIMIT 1000) \
                   ORDER BY id";
        self.connection.prepare(sql)?.query_map([], read_update)?.collect()
    }

    /// The newest updates that main has read, oldest first.
    pub fn newest_read_updates(&self, most: u32) -> rusqlite::Result<Vec<PendingUpdate>> {
        let sql = "SELECT id, at, source, text, label FROM \
                   (SELECT * FROM reports WHERE read IS NOT NULL ORDER BY id DESC LIMIT ?) ORDER BY id";
        self.connection.prepare(sql)?.query_map([most], read_update)?.collect()
    }

    /// The newest updates whose text contains all of `words`, read or not, newest first.
    pub fn search_updates(&self, words: &str, most: usize) -> rusqlite::Result<Vec<PendingUpdate>> {
        let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let sql = "SELECT id, at, source, text, label FROM reports ORDER BY id DESC LIMIT ?";
        let mut statement = self.connection.prepare(sql)?;
        let mut found = Vec::new();
        for report in statement.query_map([SEARCH_LIMIT], read_update)? {
            let report = report?;
            let text = report.text.to_lowercase();
            if found.len() < most && !wanted.is_empty() && wanted.iter().all(|word| text.contains(word)) {
                found.push(report);
            }
        }
        Ok(found)
    }

    /// The updates that main has read during or after the move `moved`, oldest first, each with the
    /// id of the last move before it was read.
    pub(super) fn updates_read_since(&self, moved: i64) -> rusqlite::Result<Vec<(i64, PendingUpdate)>> {
        let sql = "SELECT id, at, source, text, label, read FROM reports WHERE read >= ? ORDER BY id";
        let read = |row: &Row<'_>| Ok((row.get(5)?, read_update(row)?));
        self.connection.prepare_cached(sql)?.query_map([moved], read)?.collect()
    }

    /// Imports `updates` with new ids. Skips duplicates, which an import before a
    /// crash has left.
    pub fn import_updates(&mut self, updates: Vec<PendingUpdate>) -> rusqlite::Result<()> {
        self.transact(|transaction| {
            for PendingUpdate { at, source: from, text, .. } in updates {
                let sql = "INSERT INTO reports (at, source, text) SELECT ?1, ?2, ?3 WHERE NOT EXISTS \
                           (SELECT 1 FROM reports WHERE at = ?1 AND source = ?2 AND text = ?3)";
                transaction.execute(sql, params![at.as_microsecond(), from, text])?;
            }
            Ok(())
        })
    }

    /// Returns whether an update with this time and text is stored.
    pub fn has_update(&self, at: Timestamp, text: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM reports WHERE at = ? AND text = ?";
        self.connection.prepare_cached(sql)?.exists(params![at.as_microsecond(), text])
    }

    pub fn next_update_id(&self) -> rusqlite::Result<UpdateId> {
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM reports";
        self.connection.query_row(sql, [], |row| row.get(0)).map(UpdateId)
    }

    /// The open fork.
    pub(super) fn open_fork(&self) -> rusqlite::Result<Option<Fork>> {
        let sql = "SELECT branch, topic, idle, active, asked, seen, leaving, report, until, thinking, root, effort FROM forks";
        self.connection.query_row(sql, [], read_fork).optional()
    }

    /// The fork that was requested and has not begun.
    pub(super) fn requested_fork(&self) -> rusqlite::Result<Option<ForkRequest>> {
        let entering = |row: &Row<'_>| {
            Ok(ForkRequest {
                topic: row.get(0)?,
                idle_minutes: row.get(1)?,
                start_message: MessageId(row.get(2)?),
            })
        };
        self.connection.query_row("SELECT topic, idle, until FROM entering", [], entering).optional()
    }
}

fn read_update(row: &Row<'_>) -> rusqlite::Result<PendingUpdate> {
    let id = UpdateId(row.get(0)?);
    let from = row.get(2)?;
    let text = row.get(3)?;
    Ok(PendingUpdate { id, at: time_in(row, 1)?, source: from, text, label: label_in(row, 4)? })
}

fn read_fork(row: &Row<'_>) -> rusqlite::Result<Fork> {
    let asked = row.get::<_, Option<i64>>(4)?.map(Timestamp::from_microsecond).transpose();
    let (leaving, report): (String, Option<String>) = (row.get(6)?, row.get(7)?);
    let leaving = match leaving.as_str() {
        "not" => PendingExit::Stay,
        "save" => PendingExit::Chosen(ForkExit::Save),
        "report" => PendingExit::Chosen(ForkExit::Report(report.unwrap_or_default())),
        "drop" => PendingExit::Chosen(ForkExit::Discard),
        "with-report" => PendingExit::ReportRequested,
        other => return Err(invalid_column(6, format!("no fork is left in the way `{other}`"))),
    };
    let thinking: Thinking = row.get::<_, String>(9)?.parse().map_err(|error| invalid_column(9, error))?;
    let effort = match row.get::<_, Option<String>>(11)? {
        Some(effort) => effort.parse().map_err(|error| invalid_column(11, error))?,
        None => Effort::for_thinking(thinking),
    };
    Ok(Fork {
        branch: branch_in(row, 0)?,
        root: row.get::<_, Option<u64>>(10)?.map(EntryId),
        topic: row.get(1)?,
        idle_minutes: row.get(2)?,
        last_activity: time_in(row, 3)?,
        asked_at: asked.map_err(|error| invalid_column(4, error))?,
        last_read_update: row.get::<_, Option<u64>>(5)?.map(UpdateId),
        pending_exit: leaving,
        end_message: MessageId(row.get(8)?),
        thinking,
        effort,
    })
}

pub fn write_update(transaction: &Transaction<'_>, change: &UpdateChange) -> rusqlite::Result<()> {
    match change {
        UpdateChange::Left(report) => {
            let sql = "INSERT INTO reports (id, at, source, text, label) VALUES (?, ?, ?, ?, ?)";
            let label = report.label.to_string();
            let row = params![report.id.0, report.at.as_microsecond(), report.source, report.text, label];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        UpdateChange::Read(UpdatesRead { quoted, counted, entry }) => {
            let sql = "UPDATE reports SET read = (SELECT coalesce(max(id), 0) FROM moves), told = ?, entry = ? \
                       WHERE id = ?";
            let entry = entry.map(|entry| entry.0);
            let told = |reports: &[UpdateId], how: &str| {
                let mut update = transaction.prepare_cached(sql)?;
                reports.iter().try_for_each(|report| update.execute(params![how, entry, report.0]).map(drop))
            };
            told(quoted, "quoted").and_then(|()| told(counted, "counted"))
        }
        UpdateChange::Unread(reports) => {
            let sql = "UPDATE reports SET read = NULL, told = NULL, entry = NULL WHERE id = ?";
            let mut update = transaction.prepare_cached(sql)?;
            reports.iter().try_for_each(|report| update.execute([report.0]).map(drop))
        }
    }
}

/// Writes a change of a fork or of a background run.
pub fn write_fork(transaction: &Transaction<'_>, change: &ForkChange) -> rusqlite::Result<()> {
    match change {
        ForkChange::Requested(None) => transaction.execute("DELETE FROM entering", []).map(drop),
        ForkChange::Requested(Some(ForkRequest { topic, idle_minutes, start_message: until })) => {
            let sql = "INSERT OR REPLACE INTO entering (one, topic, idle, until) VALUES (1, ?, ?, ?)";
            transaction.execute(sql, params![topic, idle_minutes, until.0]).map(drop)
        }
        ForkChange::Open(fork) => write_open_fork(transaction, fork),
        ForkChange::Ended(branch) => {
            let sql = "DELETE FROM forks WHERE branch = ?";
            transaction.prepare_cached(sql)?.execute([branch.to_string()]).map(drop)
        }
        ForkChange::RunStarted(run) => runs::insert(transaction, run),
        ForkChange::RunProgress(branch, doings) => runs::update_progress(transaction, branch, doings),
        ForkChange::RunEnded(branch) => runs::delete(transaction, branch),
    }
}

fn write_open_fork(transaction: &Transaction<'_>, fork: &Fork) -> rusqlite::Result<()> {
    write_topic(transaction, fork)?;
    let (leaving, report) = match &fork.pending_exit {
        PendingExit::Stay => ("not", None),
        PendingExit::Chosen(ForkExit::Save) => ("save", None),
        PendingExit::Chosen(ForkExit::Report(text)) => ("report", Some(text)),
        PendingExit::Chosen(ForkExit::Discard) => ("drop", None),
        PendingExit::ReportRequested => ("with-report", None),
    };
    let sql = "INSERT OR REPLACE INTO forks (branch, root, topic, idle, active, asked, seen, leaving, report, until, \
               thinking, effort) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    transaction
        .prepare_cached(sql)?
        .execute(params![
            fork.branch.to_string(),
            fork.root.map(|root| root.0),
            fork.topic,
            fork.idle_minutes,
            fork.last_activity.as_microsecond(),
            fork.asked_at.map(Timestamp::as_microsecond),
            fork.last_read_update.map(|seen| seen.0),
            leaving,
            report,
            fork.end_message.0,
            fork.thinking.to_string(),
            fork.effort.as_str(),
        ])
        .map(drop)
}

/// Stores the topic with the branch's first move, so that it outlives the fork.
fn write_topic(transaction: &Transaction<'_>, fork: &Fork) -> rusqlite::Result<()> {
    let Some(topic) = &fork.topic else { return Ok(()) };
    let sql = "UPDATE moves SET label = ? WHERE branch = ? AND why = ? AND label IS NULL";
    let row = params![topic, fork.branch.to_string(), MoveReason::Forked.as_str()];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}
