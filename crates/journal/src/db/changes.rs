//! Loads the undoable changes of main from the log of moves.

use domain::assistant::{MainChangeKind, UndoableChange};
use domain::conversation::{Branch, EntryId, Head, MoveReason};
use jiff::Timestamp;
use rusqlite::Row;

use super::Database;
use super::read::{invalid_column, label_in, session_in, time_in};

/// The most moves of main that are examined.
const MOVE_SCAN_LIMIT: usize = 200;

/// The most changes that stay undoable.
const CHANGE_LIMIT: usize = 20;

impl Database {
    /// The undoable changes, oldest first. Each undo removes the last change before it.
    pub(super) fn changes(&self) -> rusqlite::Result<Vec<UndoableChange>> {
        let sql = "SELECT * FROM (SELECT moves.id, moves.at, why, from_entry, from_session, to_entry, \
                   coalesce(entries.label, ';') FROM moves LEFT JOIN entries ON entries.id = from_entry \
                   WHERE branch = ? ORDER BY moves.id DESC LIMIT ?) ORDER BY id";
        let mut moves = self.connection.prepare(sql)?;
        let mut rows = moves.query((Branch::Main.to_string(), MOVE_SCAN_LIMIT))?;
        let mut changes: Vec<(i64, UndoableChange)> = Vec::new();
        while let Some(row) = rows.next()? {
            let why: String = row.get(2)?;
            match MoveReason::from_name(&why)
                .ok_or_else(|| invalid_column(2, format!("no name moves for the reason `{why}`")))?
            {
                MoveReason::Compacted => {
                    let summary = row.get::<_, Option<u64>>(5)?.map(EntryId);
                    changes.extend(
                        summary
                            .map(|summary| read_change(row, MainChangeKind::Compacted(summary)))
                            .transpose()?,
                    );
                }
                MoveReason::Promoted => changes.push(read_change(row, MainChangeKind::Promoted)?),
                MoveReason::Cleared => changes.push(read_change(row, MainChangeKind::Cleared)?),
                MoveReason::Undone => drop(changes.pop()),
                MoveReason::Created
                | MoveReason::Forked
                | MoveReason::Ended
                | MoveReason::Reported
                | MoveReason::Dropped
                | MoveReason::Lapsed => {}
            }
        }
        let first = changes.first().map_or(i64::MAX, |(moved, _)| *moved);
        for (read, report) in self.updates_read_since(first)? {
            let since = changes.iter_mut().rev().find(|(moved, _)| *moved <= read);
            since.into_iter().for_each(|(_, change)| change.read_updates.push(report.clone()));
        }
        // Drops the oldest, as the assistant does in memory.
        changes.drain(..changes.len().saturating_sub(CHANGE_LIMIT));
        Ok(changes.into_iter().map(|(_, change)| change).collect())
    }
}

fn read_change(row: &Row<'_>, what: MainChangeKind) -> rusqlite::Result<(i64, UndoableChange)> {
    let at: Timestamp = time_in(row, 1)?;
    let entry = row.get::<_, Option<u64>>(3)?.map(EntryId);
    let from = Head { entry, session: session_in(row, 4)?, label: label_in(row, 6)? };
    Ok((row.get(0)?, UndoableChange { kind: what, from, at, read_updates: Vec::new() }))
}
