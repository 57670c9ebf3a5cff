//! Rows of `attention`, `held` and `dislikes`: the attention state, deferred messages, and disliked
//! sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::attention::{
    Attending, AttentionChange, Cheers, Focus, Held, HeldFor, HeldId, Middle, Mood, Moves, Pushes, Ring,
};
use domain::cost::Source;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::{Value, json};

use super::Database;
use super::read::{label_in, source_in, time_in, unread};

pub(super) fn write(transaction: &Transaction<'_>, change: &AttentionChange) -> rusqlite::Result<()> {
    match change {
        AttentionChange::Mood(mood) => {
            let sql = "INSERT INTO attention (one, mood) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET mood = excluded.mood";
            transaction.prepare_cached(sql)?.execute([spell(mood)]).map(drop)
        }
        AttentionChange::Held(held) => {
            let sql =
                "INSERT INTO held (id, at, source, name, words, why, label) VALUES (?, ?, ?, ?, ?, ?, ?)";
            let at = held.at.as_microsecond();
            let source = held.source.to_string();
            let why = held.why.as_str();
            let row = params![held.id.0, at, source, held.name, held.words, why, held.label.to_string()];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        AttentionChange::Told(telling) => {
            let told: Vec<HeldId> = telling.held.iter().map(|held| held.id).collect();
            settle(transaction, &told, telling.at)
        }
        AttentionChange::Settled(held, at) => settle(transaction, held, *at),
        AttentionChange::Disliked(source, count) => {
            let sql = "INSERT OR REPLACE INTO dislikes (source, count) VALUES (?, ?)";
            transaction.prepare_cached(sql)?.execute(params![source.to_string(), count]).map(drop)
        }
    }
}

fn settle(transaction: &Transaction<'_>, held: &[HeldId], at: Timestamp) -> rusqlite::Result<()> {
    let mut told = transaction.prepare_cached("UPDATE held SET told = ? WHERE id = ?")?;
    held.iter().try_for_each(|id| told.execute(params![at.as_microsecond(), id.0]).map(drop))
}

impl Database {
    /// Loads the attention state.
    pub(super) fn attending(&self) -> rusqlite::Result<Attending> {
        let sql = "SELECT id, at, source, name, words, why, label FROM held WHERE told IS NULL ORDER BY id";
        let held = self.connection.prepare(sql)?.query_map([], held)?.collect::<Result<Vec<_>, _>>()?;
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM held";
        let next = self.connection.query_row(sql, [], |row| row.get(0).map(HeldId))?;
        let disliked = |row: &Row<'_>| Ok((source_in(row, 0)?, row.get(1)?));
        let disliked: BTreeMap<Source, u32> = self
            .connection
            .prepare("SELECT source, count FROM dislikes")?
            .query_map([], disliked)?
            .collect::<Result<_, _>>()?;
        let mood: Option<Option<String>> =
            self.connection.query_row("SELECT mood FROM attention", [], |row| row.get(0)).optional()?;
        // An unreadable state is small enough to be dropped.
        let mood = mood.flatten().as_deref().and_then(read).unwrap_or_default();
        Ok(Attending { mood, held: Arc::new(held), next, disliked })
    }
}

impl Database {
    /// The messages of `source` deferred between two times, oldest first, each with the time it was
    /// delivered. Unanswered ones are left out, because they reached the user before.
    pub(super) fn held_between(
        &self,
        source: &Source,
        from: Timestamp,
        to: Timestamp,
    ) -> rusqlite::Result<Vec<(Held, Option<Timestamp>)>> {
        let sql = "SELECT id, at, source, name, words, why, label, told FROM held WHERE source = ?1 AND at BETWEEN ?2 \
                   AND ?3 AND why <> 'unanswered' ORDER BY id";
        let told = |row: &Row<'_>| row.get::<_, Option<i64>>(7)?.map(|_| time_in(row, 7)).transpose();
        let row = params![source.to_string(), from.as_microsecond(), to.as_microsecond()];
        self.connection.prepare(sql)?.query_map(row, |row| Ok((held(row)?, told(row)?)))?.collect()
    }
}

fn held(row: &Row<'_>) -> rusqlite::Result<Held> {
    let why =
        HeldFor::named(&row.get::<_, String>(5)?).ok_or_else(|| unread(5, "nothing is held for that"))?;
    let id = HeldId(row.get(0)?);
    let at = time_in(row, 1)?;
    let source = source_in(row, 2)?;
    Ok(Held { id, at, source, name: row.get(3)?, words: row.get(4)?, why, label: label_in(row, 6)? })
}

fn spell(mood: &Mood) -> String {
    let time = |at: Option<Timestamp>| at.map(Timestamp::as_microsecond);
    let focus = mood.focus.as_ref();
    let focus = focus.map(|Focus { since, until, on, middle }| {
        json!([since.as_microsecond(), until.as_microsecond(), on, *middle == Middle::Told])
    });
    let Pushes { day, count, last } = mood.pushes;
    let ring = |ring: &Ring| json!([ring.due.as_microsecond(), time(ring.to)]);
    let rings = |rings: &Vec<Ring>| rings.iter().map(ring).collect::<Vec<_>>();
    let moves: BTreeMap<_, _> = mood.moves.rings.iter().map(|(id, all)| (id, rings(all))).collect();
    json!({
        "quiet": time(mood.quiet_until),
        "focus": focus,
        "pushes": [day.to_string(), count, time(last)],
        "cheers": [mood.cheers.last.to_string(), mood.cheers.count],
        "moves": moves,
        "suggested": time(mood.moves.suggested),
    })
    .to_string()
}

fn read(text: &str) -> Option<Mood> {
    let spelled: Value = serde_json::from_str(text).ok()?;
    let time = |value: &Value| value.as_i64().and_then(|at| Timestamp::from_microsecond(at).ok());
    let focus = |value: &Value| {
        let since = time(&value[0])?;
        let until = time(&value[1])?;
        let on = value[2].as_str()?.to_owned();
        let middle = if value[3] == true { Middle::Told } else { Middle::Ahead };
        Some(Focus { since, until, on, middle })
    };
    let cheers = |value: &Value| {
        let count = u32::try_from(value[1].as_u64()?).ok()?;
        Some(Cheers { last: value[0].as_str()?.parse().ok()?, count })
    };
    let ring = |value: &Value| Some(Ring { due: time(&value[0])?, to: time(&value[1]) });
    let all = |value: &Value| value.as_array().into_iter().flatten().filter_map(ring).collect();
    let rings = |value: &Value| {
        let known = value.as_object().into_iter().flatten();
        known.map(|(id, rings)| (id.clone(), all(rings))).collect()
    };
    let pushes = &spelled["pushes"];
    let day = pushes[0].as_str()?.parse().ok()?;
    let count = u32::try_from(pushes[1].as_u64()?).ok()?;
    Some(Mood {
        quiet_until: time(&spelled["quiet"]),
        focus: focus(&spelled["focus"]),
        pushes: Pushes { day, count, last: time(&pushes[2]) },
        cheers: cheers(&spelled["cheers"]).unwrap_or_default(),
        moves: Moves { rings: rings(&spelled["moves"]), suggested: time(&spelled["suggested"]) },
    })
}
