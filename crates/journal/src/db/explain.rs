//! Loads the explanation of an answer from the rows written during its turn.

use domain::conversation::EntryId;
use domain::cost::Spent;
use domain::explanation::{DecidedCall, End, Explanation};
use domain::label::Realm;
use domain::record::Message;
use domain::turn::TurnId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};

use super::Database;
use super::read::{MESSAGE, branch_in, label_in, message, time_in, unread};
use super::spending::{COLUMNS, spent};

impl Database {
    /// The explanation of `turn`, or of the newest turn. `None` if there is no such turn.
    pub(super) fn explain_turn(&self, turn: Option<TurnId>) -> rusqlite::Result<Option<Explanation>> {
        let sql = format!(
            "SELECT {MESSAGE}, turns.id, turns.branch, opened, attempts, closed, ending, reason, entry FROM turns \
             JOIN messages ON messages.id = message WHERE turns.id = coalesce(?, (SELECT max(id) FROM turns))"
        );
        let turn = turn.map(|turn| turn.0);
        self.connection.prepare_cached(&sql)?.query_row([turn], |row| self.explained(row)).optional()
    }

    fn explained(&self, row: &Row<'_>) -> rusqlite::Result<Explanation> {
        let turn = TurnId(row.get(10)?);
        let entry = row.get::<_, Option<u64>>(17)?.map(EntryId);
        let shown = entry.map(|entry| self.shown(entry));
        let message = message(row)?;
        let images = shown.transpose()?.unwrap_or_default();
        Ok(Explanation {
            turn,
            branch: branch_in(row, 11)?,
            message: Message { images, ..message },
            opened: time_in(row, 12)?,
            attempts: row.get(13)?,
            calls: self.calls_of(turn)?,
            outside: entry.map_or(Ok(Vec::new()), |entry| self.outside_of(entry))?,
            tools: self.tools_of(turn)?,
            end: end(row)?,
        })
    }

    fn calls_of(&self, turn: TurnId) -> rusqlite::Result<Vec<Spent>> {
        let sql = format!("SELECT {COLUMNS} FROM spending WHERE turn = ? ORDER BY id");
        self.connection.prepare(&sql)?.query_map([turn.0], spent)?.collect()
    }

    /// The sources of outside text on the path to `entry`, each with the time it first occurred.
    fn outside_of(&self, entry: EntryId) -> rusqlite::Result<Vec<(Realm, Timestamp)>> {
        let sql = "WITH RECURSIVE path (id, parent, at, own) AS ( \
                   SELECT id, parent, at, own FROM entries WHERE id = ? AND label NOT LIKE '%;' UNION ALL \
                   SELECT entries.id, entries.parent, entries.at, entries.own FROM path JOIN entries ON entries.id = path.parent) \
                   SELECT own, at FROM path WHERE own NOT LIKE '%;' ORDER BY id";
        let mut statement = self.connection.prepare(sql)?;
        let mut found: Vec<(Realm, Timestamp)> = Vec::new();
        for row in statement.query_map([entry.0], |row| Ok((label_in(row, 0)?, time_in(row, 1)?)))? {
            let (own, at) = row?;
            for realm in own
                .outside
                .iter()
                .filter(|realm| found.iter().all(|(known, _)| known != realm))
                .collect::<Vec<_>>()
            {
                found.push((realm, at));
            }
        }
        Ok(found)
    }

    fn tools_of(&self, turn: TurnId) -> rusqlite::Result<Vec<DecidedCall>> {
        let sql = "SELECT tool, rule, label FROM decisions WHERE turn = ? ORDER BY id";
        let tool = |row: &Row<'_>| {
            Ok(DecidedCall { tool: row.get(0)?, rule: row.get(1)?, label: label_in(row, 2)? })
        };
        self.connection.prepare(sql)?.query_map([turn.0], tool)?.collect()
    }
}

fn end(row: &Row<'_>) -> rusqlite::Result<Option<End>> {
    let Some(closed) = row.get::<_, Option<i64>>(14)? else { return Ok(None) };
    let at = Timestamp::from_microsecond(closed).map_err(|error| unread(13, error))?;
    let how = row.get::<_, Option<String>>(15)?.unwrap_or_default();
    Ok(Some(End { at, how, why: row.get(16)? }))
}
