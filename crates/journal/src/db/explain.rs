//! How one answer came about, from the rows that were written while it did.

use domain::conversation::EntryId;
use domain::cost::Spent;
use domain::explanation::{End, Explanation};
use domain::record::Message;
use domain::turn::TurnId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};

use super::Database;
use super::read::{MESSAGE, branch_in, message, time_in, unread};
use super::spending::{COLUMNS, spent};

impl Database {
    /// What is known of `turn`, or of the newest: nothing, if there is none.
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
        let shown = row.get::<_, Option<u64>>(17)?.map(|entry| self.shown(EntryId(entry)));
        let message = message(row)?;
        let images = shown.transpose()?.unwrap_or_default();
        Ok(Explanation {
            turn,
            branch: branch_in(row, 11)?,
            message: Message { images, ..message },
            opened: time_in(row, 12)?,
            attempts: row.get(13)?,
            calls: self.calls_of(turn)?,
            tools: self.tools_of(turn)?,
            end: end(row)?,
        })
    }

    fn calls_of(&self, turn: TurnId) -> rusqlite::Result<Vec<Spent>> {
        let sql = format!("SELECT {COLUMNS} FROM spending WHERE turn = ? ORDER BY id");
        self.connection.prepare(&sql)?.query_map([turn.0], spent)?.collect()
    }

    fn tools_of(&self, turn: TurnId) -> rusqlite::Result<Vec<(String, String)>> {
        let sql = "SELECT tool, rule FROM decisions WHERE turn = ? ORDER BY id";
        let tool = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.connection.prepare(sql)?.query_map([turn.0], tool)?.collect()
    }
}

fn end(row: &Row<'_>) -> rusqlite::Result<Option<End>> {
    let Some(closed) = row.get::<_, Option<i64>>(14)? else { return Ok(None) };
    let at = Timestamp::from_microsecond(closed).map_err(|error| unread(13, error))?;
    let how = row.get::<_, Option<String>>(15)?.unwrap_or_default();
    Ok(Some(End { at, how, why: row.get(16)? }))
}
