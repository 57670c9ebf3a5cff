//! Loads the lineage: the newest moves of branches, and the first moves of the branches they
//! mention.

use std::collections::BTreeSet;

use domain::conversation::{Branch, EntryId, Head, Lineage, LineageMove, MoveReason, SessionId};
use domain::label::Label;
use rusqlite::{OptionalExtension, Row};

use super::Database;
use super::read::{branch_in, invalid_column, label_in, session_in, time_in};

/// A move with its id.
type NumberedMove = (i64, LineageMove);
/// The open branches, each with its session and depth.
type OpenBranches = Vec<(Branch, SessionId, u64)>;

/// Selects the columns of a move.
const SELECT_MOVES: &str = "SELECT id, at, branch, why, label, from_session, \
    coalesce((SELECT depth FROM entries WHERE entries.id = from_entry), 0), to_session, \
    coalesce((SELECT depth FROM entries WHERE entries.id = to_entry), 0) FROM moves";

impl Database {
    /// The newest `limit` moves, the first moves of the branches they mention, and the open
    /// branches.
    pub fn lineage(&self, limit: u32) -> rusqlite::Result<Lineage> {
        // One read transaction: a fork that ends concurrently is seen either open or ended.
        let view = self.connection.unchecked_transaction()?;
        let open = self.open_branches()?;
        let mut moves = self.newest_moves(limit)?;
        let older = self.older_moves(&open, &moves)?;
        moves.extend(older);
        moves.sort_unstable_by_key(|(id, _)| *id);
        let sql = "SELECT count(*) FROM moves";
        let all: u64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        drop(view);
        let lines: Vec<LineageMove> = moves.into_iter().map(|(_, line)| line).collect();
        let older = all.saturating_sub(lines.len().try_into().unwrap_or(u64::MAX));
        Ok(Lineage { moves: lines, open, omitted: older })
    }

    /// The last position of `session`. `None` if the journal does not know it.
    pub fn session_head(&self, session: &SessionId) -> rusqlite::Result<Option<Head>> {
        let sql = "SELECT place, coalesce(label, 'chat;report') FROM (\
                   SELECT entry AS place, 9223372036854775807 AS number FROM heads WHERE session = ?1 UNION ALL \
                   SELECT entry, 9223372036854775806 FROM routine_sessions WHERE session = ?1 UNION ALL \
                   SELECT from_entry, id FROM moves WHERE from_session = ?1) \
                   LEFT JOIN entries ON entries.id = place ORDER BY number DESC LIMIT 1";
        let head = |row: &Row<'_>| {
            let entry = row.get::<_, Option<u64>>(0)?.map(EntryId);
            let label = entry.map_or(Ok(Label::PLAIN), |_| label_in(row, 1))?;
            Ok(Head { entry, session: session.clone(), label })
        };
        self.connection.prepare_cached(sql)?.query_row([session.as_str()], head).optional()
    }

    pub fn main_session(&self) -> rusqlite::Result<Option<SessionId>> {
        self.branch_session(&Branch::Main)
    }

    /// Returns whether there ever was a main branch.
    pub fn had_main(&self) -> rusqlite::Result<bool> {
        self.connection.prepare_cached("SELECT 1 FROM moves WHERE branch = 'main'")?.exists([])
    }

    fn open_branches(&self) -> rusqlite::Result<OpenBranches> {
        let sql =
            "SELECT branch, session, coalesce((SELECT depth FROM entries WHERE id = entry), 0) FROM heads";
        let open = |row: &Row<'_>| Ok((branch_in(row, 0)?, session_in(row, 1)?, row.get(2)?));
        let mut open: OpenBranches =
            self.connection.prepare(sql)?.query_map([], open)?.collect::<Result<_, _>>()?;
        open.sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
        Ok(open)
    }

    fn newest_moves(&self, limit: u32) -> rusqlite::Result<Vec<NumberedMove>> {
        let sql = format!("{SELECT_MOVES} ORDER BY id DESC LIMIT ?");
        self.connection.prepare(&sql)?.query_map([limit], read_move)?.collect()
    }

    /// The moves older than `moves` of the forks that `moves` or the open branches mention.
    fn older_moves(
        &self,
        open: &OpenBranches,
        moves: &[NumberedMove],
    ) -> rusqlite::Result<Vec<NumberedMove>> {
        let Some(cut) = moves.iter().map(|(id, _)| *id).min() else { return Ok(Vec::new()) };
        let mut begun: BTreeSet<&Branch> = BTreeSet::from([&Branch::Main]);
        let mut missing: BTreeSet<&Branch> = BTreeSet::new();
        // Oldest first: the first move of a branch in the list tells whether the branch begins
        // there.
        let told = moves.iter().rev().map(|(_, line)| (&line.branch, is_beginning(line)));
        for (branch, begins) in told.chain(open.iter().map(|(branch, ..)| (branch, false))) {
            if begun.insert(branch) && !begins {
                missing.insert(branch);
            }
        }
        let mut found = Vec::new();
        for branch in missing {
            found.extend(self.moves_since_beginning(branch, cut)?);
        }
        Ok(found)
    }

    fn moves_since_beginning(&self, branch: &Branch, cut: i64) -> rusqlite::Result<Vec<NumberedMove>> {
        let sql = format!("{SELECT_MOVES} WHERE branch = ? AND id < ? ORDER BY at DESC, id DESC");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for older in statement.query_map((branch.to_string(), cut), read_move)? {
            found.push(older?);
            if found.last().is_some_and(|(_, line)| is_beginning(line)) {
                break;
            }
        }
        Ok(found)
    }
}

fn is_beginning(line: &LineageMove) -> bool {
    matches!(line.reason, MoveReason::Forked | MoveReason::Created)
}

fn read_move(row: &Row<'_>) -> rusqlite::Result<NumberedMove> {
    let place = |index| -> rusqlite::Result<_> {
        let session = row.get::<_, Option<String>>(index)?.as_deref().and_then(SessionId::parse);
        let depth = row.get(index + 1)?;
        Ok(session.map(|session| (session, depth)))
    };
    let why: String = row.get(3)?;
    let why = MoveReason::from_name(&why)
        .ok_or_else(|| invalid_column(3, format!("no name moves for the reason `{why}`")))?;
    let branch = branch_in(row, 2)?;
    let label = row.get(4)?;
    Ok((
        row.get(0)?,
        LineageMove { at: time_in(row, 1)?, branch, reason: why, label, from: place(5)?, to: place(7)? },
    ))
}
