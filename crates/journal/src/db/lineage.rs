//! Loads the lineage: the newest moves of branches, and the first moves of the branches they
//! mention.

use std::collections::BTreeSet;

use domain::conversation::{Branch, EntryId, Head, Line, Lineage, SessionId, Why};
use domain::label::Label;
use rusqlite::{OptionalExtension, Row};

use super::Database;
use super::read::{branch_in, label_in, session_in, time_in, unread};

/// A move with its id.
type Numbered = (i64, Line);
/// The open branches, each with its session and depth.
type Open = Vec<(Branch, SessionId, u64)>;

/// Selects the columns of a move.
const MOVES: &str = "SELECT id, at, branch, why, label, from_session, \
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
        let older = self.beginnings(&open, &moves)?;
        moves.extend(older);
        moves.sort_unstable_by_key(|(id, _)| *id);
        let sql = "SELECT count(*) FROM moves";
        let all: u64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        drop(view);
        let lines: Vec<Line> = moves.into_iter().map(|(_, line)| line).collect();
        let older = all.saturating_sub(lines.len().try_into().unwrap_or(u64::MAX));
        Ok(Lineage { lines, open, older })
    }

    /// The last position of `session`. `None` if the journal does not know it.
    pub fn head_of(&self, session: &SessionId) -> rusqlite::Result<Option<Head>> {
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
        self.session(&Branch::Main)
    }

    /// Returns whether there ever was a main branch.
    pub fn had_main(&self) -> rusqlite::Result<bool> {
        self.connection.prepare_cached("SELECT 1 FROM moves WHERE branch = 'main'")?.exists([])
    }

    fn open_branches(&self) -> rusqlite::Result<Open> {
        let sql =
            "SELECT branch, session, coalesce((SELECT depth FROM entries WHERE id = entry), 0) FROM heads";
        let open = |row: &Row<'_>| Ok((branch_in(row, 0)?, session_in(row, 1)?, row.get(2)?));
        let mut open: Open = self.connection.prepare(sql)?.query_map([], open)?.collect::<Result<_, _>>()?;
        open.sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
        Ok(open)
    }

    fn newest_moves(&self, limit: u32) -> rusqlite::Result<Vec<Numbered>> {
        let sql = format!("{MOVES} ORDER BY id DESC LIMIT ?");
        self.connection.prepare(&sql)?.query_map([limit], numbered)?.collect()
    }

    /// The moves older than `moves` of the forks that `moves` or the open branches mention.
    fn beginnings(&self, open: &Open, moves: &[Numbered]) -> rusqlite::Result<Vec<Numbered>> {
        let Some(cut) = moves.iter().map(|(id, _)| *id).min() else { return Ok(Vec::new()) };
        let mut begun: BTreeSet<&Branch> = BTreeSet::from([&Branch::Main]);
        let mut missing: BTreeSet<&Branch> = BTreeSet::new();
        // Oldest first: the first move of a branch in the list tells whether the branch begins
        // there.
        let told = moves.iter().rev().map(|(_, line)| (&line.branch, begins(line)));
        for (branch, begins) in told.chain(open.iter().map(|(branch, ..)| (branch, false))) {
            if begun.insert(branch) && !begins {
                missing.insert(branch);
            }
        }
        let mut found = Vec::new();
        for branch in missing {
            found.extend(self.back_to_its_beginning(branch, cut)?);
        }
        Ok(found)
    }

    fn back_to_its_beginning(&self, branch: &Branch, cut: i64) -> rusqlite::Result<Vec<Numbered>> {
        let sql = format!("{MOVES} WHERE branch = ? AND id < ? ORDER BY at DESC, id DESC");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for older in statement.query_map((branch.to_string(), cut), numbered)? {
            found.push(older?);
            if found.last().is_some_and(|(_, line)| begins(line)) {
                break;
            }
        }
        Ok(found)
    }
}

fn begins(line: &Line) -> bool {
    matches!(line.why, Why::Forked | Why::Created)
}

fn numbered(row: &Row<'_>) -> rusqlite::Result<Numbered> {
    let place = |index| -> rusqlite::Result<_> {
        let session = row.get::<_, Option<String>>(index)?.as_deref().and_then(SessionId::read);
        let depth = row.get(index + 1)?;
        Ok(session.map(|session| (session, depth)))
    };
    let why: String = row.get(3)?;
    let why = Why::named(&why).ok_or_else(|| unread(3, format!("no name moves for the reason `{why}`")))?;
    let branch = branch_in(row, 2)?;
    let label = row.get(4)?;
    Ok((row.get(0)?, Line { at: time_in(row, 1)?, branch, why, label, from: place(5)?, to: place(7)? }))
}
