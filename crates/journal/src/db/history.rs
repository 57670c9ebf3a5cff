//! Queries on past pings and on the start delays of occurrences.

use domain::conversation::EntryId;
use domain::record::PingCharge;
use engine::ports::{PingOutcome, PingRecord};
use jiff::Timestamp;
use rusqlite::{Row, params};

use super::Database;
use super::job_explanation::{parse_results, shown_text};
use super::read::{source_in, time_in};

impl Database {
    /// The newest `limit` pings since `since`, including those that were refused or deferred,
    /// newest first.
    pub fn ping_history(&self, since: Timestamp, limit: u32) -> rusqlite::Result<Vec<PingRecord>> {
        let row = params![since.as_microsecond(), limit];
        let sql = "SELECT sent.source, occurrences.name, entries.at, entries.body, sent.entry, before, after, \
                   (SELECT min(messages.at) FROM messages WHERE about = sent.entry), \
                   (SELECT 1 FROM put_away WHERE message = sent.entry) FROM sent \
                   JOIN entries ON entries.id = sent.entry LEFT JOIN charges ON charges.entry = sent.entry \
                   LEFT JOIN occurrences ON occurrences.branch = sent.branch \
                   WHERE entries.at >= ?1 GROUP BY sent.entry ORDER BY sent.entry DESC LIMIT ?2";
        let mut all: Vec<PingRecord> = self
            .connection
            .prepare_cached(sql)?
            .query_map(row, read_shown_ping)?
            .collect::<Result<_, _>>()?;
        let sql = "SELECT occurrences.source, occurrences.name, decisions.at, CASE WHEN json_valid(decisions.input) \
                   THEN coalesce(decisions.input ->> '$.message', decisions.input ->> '$.title', '') ELSE '' END, \
                   EXISTS (SELECT 1 FROM held WHERE held.source = occurrences.source AND held.why <> 'unanswered' \
                   AND held.at BETWEEN decisions.at AND turns.closed) \
                   FROM decisions JOIN turns ON turns.id = decisions.turn \
                   JOIN occurrences ON occurrences.branch = turns.branch \
                   WHERE tool IN ('ping_user', 'discord_embed') AND decisions.at >= ?1 AND closed IS NOT NULL \
                   AND turns.branch NOT IN (SELECT branch FROM sent) \
                   GROUP BY turns.branch ORDER BY decisions.id DESC LIMIT ?2";
        let unshown = self
            .connection
            .prepare_cached(sql)?
            .query_map(row, read_unshown_ping)?
            .collect::<Result<Vec<_>, _>>();
        all.extend(unshown?);
        all.sort_by_key(|ping| std::cmp::Reverse(ping.at));
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    }

    /// The due time and the start time of the newest `limit` occurrences, newest first.
    pub fn recent_starts(&self, limit: u32) -> rusqlite::Result<Vec<(Timestamp, Timestamp)>> {
        let sql = "SELECT due, began FROM occurrences WHERE tries > 0 ORDER BY since DESC LIMIT ?";
        let begun = |row: &Row<'_>| Ok((time_in(row, 0)?, time_in(row, 1)?));
        self.connection.prepare_cached(sql)?.query_map([limit], begun)?.collect()
    }
}

fn read_shown_ping(row: &Row<'_>) -> rusqlite::Result<PingRecord> {
    let entry = EntryId(row.get(4)?);
    let charge = match (row.get(5)?, row.get(6)?) {
        (Some(before), Some(after)) => Some(PingCharge { entry, before, after }),
        (_, _) => None,
    };
    let reacted = row.get::<_, Option<i64>>(7)?.and_then(|at| Timestamp::from_microsecond(at).ok());
    let fate = match row.get::<_, Option<i64>>(8)? {
        Some(_) if reacted.is_none() => PingOutcome::PutAway(entry),
        Some(_) | None => PingOutcome::Shown(entry, charge, reacted),
    };
    let words = shown_text(&parse_results(&row.get::<_, String>(3)?)?);
    Ok(PingRecord {
        source: source_in(row, 0)?,
        name: row.get(1)?,
        at: time_in(row, 2)?,
        text: words,
        outcome: fate,
    })
}

fn read_unshown_ping(row: &Row<'_>) -> rusqlite::Result<PingRecord> {
    let source = source_in(row, 0)?;
    let name = row.get(1)?;
    let at = time_in(row, 2)?;
    let fate = if row.get(4)? { PingOutcome::Deferred } else { PingOutcome::Refused };
    Ok(PingRecord { source, name, at, text: row.get(3)?, outcome: fate })
}
