//! Loads the undoable changes of main from the log of moves.

use domain::assistant::{Change, Changed};
use domain::conversation::{Branch, EntryId, Head, Why};
use jiff::Timestamp;
use rusqlite::Row;

use super::Database;
use super::read::{label_in, session_in, time_in, unread};

/// The most moves of main that are examined.
const LOOKED_AT: usize = 200;

/// The most changes that stay undoable.
const KEPT: usize = 20;

impl Database {
    /// The undoable changes, oldest first. Each undo removes the last change before it.
    pub(super) fn changes(&self) -> rusqlite::Result<Vec<Change>> {
        let sql = "SELECT * FROM (SELECT moves.id, moves.at, why, from_entry, from_session, to_entry, \
                   coalesce(entries.label, ';') FROM moves LEFT JOIN entries ON entries.id = from_entry \
                   WHERE branch = ? ORDER BY moves.id DESC LIMIT ?) ORDER BY id";
        let mut moves = self.connection.prepare(sql)?;
        let mut rows = moves.query((Branch::Main.to_string(), LOOKED_AT))?;
        let mut changes: Vec<(i64, Change)> = Vec::new();
        while let Some(row) = rows.next()? {
            let why: String = row.get(2)?;
            match Why::named(&why)
                .ok_or_else(|| unread(2, format!("no name moves for the reason `{why}`")))?
            {
                Why::Compacted => {
                    let summary = row.get::<_, Option<u64>>(5)?.map(EntryId);
                    changes
                        .extend(summary.map(|summary| change(row, Changed::Compacted(summary))).transpose()?);
                }
                Why::Promoted => changes.push(change(row, Changed::Promoted)?),
                Why::Cleared => changes.push(change(row, Changed::Cleared)?),
                Why::Undone => drop(changes.pop()),
                Why::Created | Why::Forked | Why::Ended | Why::Reported | Why::Dropped | Why::Lapsed => {}
            }
        }
        let first = changes.first().map_or(i64::MAX, |(moved, _)| *moved);
        for (read, report) in self.read_since(first)? {
            let since = changes.iter_mut().rev().find(|(moved, _)| *moved <= read);
            since.into_iter().for_each(|(_, change)| change.read.push(report.clone()));
        }
        // Drops the oldest, as the assistant does in memory.
        changes.drain(..changes.len().saturating_sub(KEPT));
        Ok(changes.into_iter().map(|(_, change)| change).collect())
    }
}

fn change(row: &Row<'_>, what: Changed) -> rusqlite::Result<(i64, Change)> {
    let at: Timestamp = time_in(row, 1)?;
    let entry = row.get::<_, Option<u64>>(3)?.map(EntryId);
    let from = Head { entry, session: session_in(row, 4)?, label: label_in(row, 6)? };
    Ok((row.get(0)?, Change { what, from, at, read: Vec::new() }))
}
