//! Loads the explanation of an answer from the rows written during its turn.

use domain::conversation::EntryId;
use domain::cost::LedgerEntry;
use domain::explanation::{DecidedCall, RecordedEnd, TurnExplanation};
use domain::label::Realm;
use domain::record::Message;
use domain::turn::TurnId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};

use super::Database;
use super::read::{MESSAGE_COLUMNS, branch_in, invalid_column, label_in, read_message, time_in};
use super::spending::{SPENDING_COLUMNS, read_call};

impl Database {
    /// The explanation of `turn`, or of the newest turn. `None` if there is no such turn.
    pub(super) fn explain_turn(&self, turn: Option<TurnId>) -> rusqlite::Result<Option<TurnExplanation>> {
        let sql = format!(
            "SELECT {MESSAGE_COLUMNS}, turns.id, turns.branch, opened, attempts, closed, ending, reason, entry FROM turns \
             JOIN messages ON messages.id = message WHERE turns.id = coalesce(?, (SELECT max(id) FROM turns))"
        );
        let turn = turn.map(|turn| turn.0);
        self.connection.prepare_cached(&sql)?.query_row([turn], |row| self.read_explanation(row)).optional()
    }

    fn read_explanation(&self, row: &Row<'_>) -> rusqlite::Result<TurnExplanation> {
        let turn = TurnId(row.get(10)?);
        let entry = row.get::<_, Option<u64>>(17)?.map(EntryId);
        let shown = entry.map(|entry| self.images_of(entry));
        let message = read_message(row)?;
        let images = shown.transpose()?.unwrap_or_default();
        Ok(TurnExplanation {
            turn,
            branch: branch_in(row, 11)?,
            message: Message { images, ..message },
            opened_at: time_in(row, 12)?,
            attempts: row.get(13)?,
            calls: self.model_calls(turn)?,
            outside: entry.map_or(Ok(Vec::new()), |entry| self.outside_sources(entry))?,
            tools: self.tool_calls(turn)?,
            end: read_end(row)?,
        })
    }

    fn model_calls(&self, turn: TurnId) -> rusqlite::Result<Vec<LedgerEntry>> {
        let sql = format!("SELECT {SPENDING_COLUMNS} FROM spending WHERE turn = ? ORDER BY id");
        self.connection.prepare(&sql)?.query_map([turn.0], read_call)?.collect()
    }

    /// The sources of outside text on the path to `entry`, each with the time it first occurred.
    fn outside_sources(&self, entry: EntryId) -> rusqlite::Result<Vec<(Realm, Timestamp)>> {
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

    fn tool_calls(&self, turn: TurnId) -> rusqlite::Result<Vec<DecidedCall>> {
        let sql = "SELECT tool, rule, label FROM decisions WHERE turn = ? ORDER BY id";
        let tool = |row: &Row<'_>| {
            Ok(DecidedCall { tool: row.get(0)?, rule: row.get(1)?, label: label_in(row, 2)? })
        };
        self.connection.prepare(sql)?.query_map([turn.0], tool)?.collect()
    }
}

fn read_end(row: &Row<'_>) -> rusqlite::Result<Option<RecordedEnd>> {
    let Some(closed) = row.get::<_, Option<i64>>(14)? else { return Ok(None) };
    let at = Timestamp::from_microsecond(closed).map_err(|error| invalid_column(13, error))?;
    let how = row.get::<_, Option<String>>(15)?.unwrap_or_default();
    Ok(Some(RecordedEnd { at, outcome: how, reason: row.get(16)? }))
}
