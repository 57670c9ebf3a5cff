//! Rows of `reports`, `forks` and `entering`: pending updates, the open fork, and the fork
//! requested next.

use domain::conversation::{EntryId, Why};
use domain::effort::Effort;
use domain::fork::{Entering, Exit, Fork, Leaving};
use domain::record::{ForkChange, MessageId, Reading, ReportChange};
use domain::report::{Report, ReportId};
use domain::thinking::Thinking;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::read::{branch_in, label_in, time_in, unread};
use super::{Database, runs};

/// The most updates examined by a search.
const SEARCHED: u32 = 5_000;

impl Database {
    /// The pending updates that main has not read, oldest first.
    pub fn reports(&self) -> rusqlite::Result<Vec<Report>> {
        let sql = "SELECT id, at, source, text, label FROM reports WHERE read IS NULL ORDER BY id";
        self.connection.prepare(sql)?.query_map([], report)?.collect()
    }

    /// The updates the user may want to read: unread ones, and those of which main only read the
    /// count.
    pub fn readable(&self) -> rusqlite::Result<Vec<Report>> {
        let sql = "SELECT id, at, CASE WHEN read IS NULL THEN source ELSE source || ', only counted' END, text, label FROM \
                   (SELECT * FROM reports WHERE read IS NULL OR told = 'counted' ORDER BY id DESC LIMIT 1000) \
                   ORDER BY id";
        self.connection.prepare(sql)?.query_map([], report)?.collect()
    }

    /// The newest updates that main has read, oldest first.
    pub fn read_reports(&self, most: u32) -> rusqlite::Result<Vec<Report>> {
        let sql = "SELECT id, at, source, text, label FROM \
                   (SELECT * FROM reports WHERE read IS NOT NULL ORDER BY id DESC LIMIT ?) ORDER BY id";
        self.connection.prepare(sql)?.query_map([most], report)?.collect()
    }

    /// The newest updates whose text contains all of `words`, read or not, newest first.
    pub fn search_reports(&self, words: &str, most: usize) -> rusqlite::Result<Vec<Report>> {
        let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let sql = "SELECT id, at, source, text, label FROM reports ORDER BY id DESC LIMIT ?";
        let mut statement = self.connection.prepare(sql)?;
        let mut found = Vec::new();
        for report in statement.query_map([SEARCHED], report)? {
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
    pub(super) fn read_since(&self, moved: i64) -> rusqlite::Result<Vec<(i64, Report)>> {
        let sql = "SELECT id, at, source, text, label, read FROM reports WHERE read >= ? ORDER BY id";
        let read = |row: &Row<'_>| Ok((row.get(5)?, report(row)?));
        self.connection.prepare_cached(sql)?.query_map([moved], read)?.collect()
    }

    /// Imports `updates` with new ids. Skips duplicates, which an import before a
    /// crash has left.
    pub fn take_over(&mut self, strangers: Vec<Report>) -> rusqlite::Result<()> {
        self.change(|transaction| {
            for Report { at, from, text, .. } in strangers {
                let sql = "INSERT INTO reports (at, source, text) SELECT ?1, ?2, ?3 WHERE NOT EXISTS \
                           (SELECT 1 FROM reports WHERE at = ?1 AND source = ?2 AND text = ?3)";
                transaction.execute(sql, params![at.as_microsecond(), from, text])?;
            }
            Ok(())
        })
    }

    /// Returns whether an update with this time and text is stored.
    pub fn has_report(&self, at: Timestamp, text: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM reports WHERE at = ? AND text = ?";
        self.connection.prepare_cached(sql)?.exists(params![at.as_microsecond(), text])
    }

    pub fn next_report(&self) -> rusqlite::Result<ReportId> {
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM reports";
        self.connection.query_row(sql, [], |row| row.get(0)).map(ReportId)
    }

    /// The open fork.
    pub(super) fn fork(&self) -> rusqlite::Result<Option<Fork>> {
        let sql = "SELECT branch, topic, idle, active, asked, seen, leaving, report, until, thinking, root, effort FROM forks";
        self.connection.query_row(sql, [], fork).optional()
    }

    /// The fork that was requested and has not begun.
    pub(super) fn entering(&self) -> rusqlite::Result<Option<Entering>> {
        let entering = |row: &Row<'_>| {
            Ok(Entering { topic: row.get(0)?, idle_minutes: row.get(1)?, until: MessageId(row.get(2)?) })
        };
        self.connection.query_row("SELECT topic, idle, until FROM entering", [], entering).optional()
    }
}

fn report(row: &Row<'_>) -> rusqlite::Result<Report> {
    let id = ReportId(row.get(0)?);
    let from = row.get(2)?;
    let text = row.get(3)?;
    Ok(Report { id, at: time_in(row, 1)?, from, text, label: label_in(row, 4)? })
}

fn fork(row: &Row<'_>) -> rusqlite::Result<Fork> {
    let asked = row.get::<_, Option<i64>>(4)?.map(Timestamp::from_microsecond).transpose();
    let (leaving, report): (String, Option<String>) = (row.get(6)?, row.get(7)?);
    let leaving = match leaving.as_str() {
        "not" => Leaving::Not,
        "save" => Leaving::So(Exit::Save),
        "report" => Leaving::So(Exit::Report(report.unwrap_or_default())),
        "drop" => Leaving::So(Exit::Drop),
        "with-report" => Leaving::WithReport,
        other => return Err(unread(6, format!("no fork is left in the way `{other}`"))),
    };
    let thinking: Thinking = row.get::<_, String>(9)?.parse().map_err(|error| unread(9, error))?;
    let effort = match row.get::<_, Option<String>>(11)? {
        Some(effort) => effort.parse().map_err(|error| unread(11, error))?,
        None => Effort::for_thinking(thinking),
    };
    Ok(Fork {
        branch: branch_in(row, 0)?,
        root: row.get::<_, Option<u64>>(10)?.map(EntryId),
        topic: row.get(1)?,
        idle_minutes: row.get(2)?,
        active: time_in(row, 3)?,
        asked: asked.map_err(|error| unread(4, error))?,
        seen: row.get::<_, Option<u64>>(5)?.map(ReportId),
        leaving,
        until: MessageId(row.get(8)?),
        thinking,
        effort,
    })
}

pub fn write_report(transaction: &Transaction<'_>, change: &ReportChange) -> rusqlite::Result<()> {
    match change {
        ReportChange::Left(report) => {
            let sql = "INSERT INTO reports (id, at, source, text, label) VALUES (?, ?, ?, ?, ?)";
            let label = report.label.to_string();
            let row = params![report.id.0, report.at.as_microsecond(), report.from, report.text, label];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        ReportChange::Read(Reading { quoted, counted, entry }) => {
            let sql = "UPDATE reports SET read = (SELECT coalesce(max(id), 0) FROM moves), told = ?, entry = ? \
                       WHERE id = ?";
            let entry = entry.map(|entry| entry.0);
            let told = |reports: &[ReportId], how: &str| {
                let mut update = transaction.prepare_cached(sql)?;
                reports.iter().try_for_each(|report| update.execute(params![how, entry, report.0]).map(drop))
            };
            told(quoted, "quoted").and_then(|()| told(counted, "counted"))
        }
        ReportChange::Unread(reports) => {
            let sql = "UPDATE reports SET read = NULL, told = NULL, entry = NULL WHERE id = ?";
            let mut update = transaction.prepare_cached(sql)?;
            reports.iter().try_for_each(|report| update.execute([report.0]).map(drop))
        }
    }
}

/// Writes a change of a fork or of a background run.
pub fn write_fork(transaction: &Transaction<'_>, change: &ForkChange) -> rusqlite::Result<()> {
    match change {
        ForkChange::Wanted(None) => transaction.execute("DELETE FROM entering", []).map(drop),
        ForkChange::Wanted(Some(Entering { topic, idle_minutes, until })) => {
            let sql = "INSERT OR REPLACE INTO entering (one, topic, idle, until) VALUES (1, ?, ?, ?)";
            transaction.execute(sql, params![topic, idle_minutes, until.0]).map(drop)
        }
        ForkChange::Open(fork) => open(transaction, fork),
        ForkChange::Ended(branch) => {
            let sql = "DELETE FROM forks WHERE branch = ?";
            transaction.prepare_cached(sql)?.execute([branch.to_string()]).map(drop)
        }
        ForkChange::Running(run) => runs::begin(transaction, run),
        ForkChange::Doing(branch, doings) => runs::doing(transaction, branch, doings),
        ForkChange::Ran(branch) => runs::end(transaction, branch),
    }
}

fn open(transaction: &Transaction<'_>, fork: &Fork) -> rusqlite::Result<()> {
    label(transaction, fork)?;
    let (leaving, report) = match &fork.leaving {
        Leaving::Not => ("not", None),
        Leaving::So(Exit::Save) => ("save", None),
        Leaving::So(Exit::Report(text)) => ("report", Some(text)),
        Leaving::So(Exit::Drop) => ("drop", None),
        Leaving::WithReport => ("with-report", None),
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
            fork.active.as_microsecond(),
            fork.asked.map(Timestamp::as_microsecond),
            fork.seen.map(|seen| seen.0),
            leaving,
            report,
            fork.until.0,
            fork.thinking.to_string(),
            fork.effort.as_str(),
        ])
        .map(drop)
}

/// Stores the topic with the branch's first move, so that it outlives the fork.
fn label(transaction: &Transaction<'_>, fork: &Fork) -> rusqlite::Result<()> {
    let Some(topic) = &fork.topic else { return Ok(()) };
    let sql = "UPDATE moves SET label = ? WHERE branch = ? AND why = ? AND label IS NULL";
    let row = params![topic, fork.branch.to_string(), Why::Forked.as_str()];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}
