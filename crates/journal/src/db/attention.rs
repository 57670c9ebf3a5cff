//! Rows of `attention`, `held` and `dislikes`: the attention state, deferred messages, and disliked
//! sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::attention::{
    AttentionChange, AttentionState, AttentionStore, DeferReason, Deferred, DeferredId, Encouragements,
    Firing, Focus, MidpointNotice, PushCount, RoutineMoves,
};
use domain::cost::CostSource;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::{Value, json};

use super::Database;
use super::read::{invalid_column, label_in, source_in, time_in};

pub(super) fn write(transaction: &Transaction<'_>, change: &AttentionChange) -> rusqlite::Result<()> {
    match change {
        AttentionChange::State(mood) => {
            let sql = "INSERT INTO attention (one, mood) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET mood = excluded.mood";
            transaction.prepare_cached(sql)?.execute([encode_state(mood)]).map(drop)
        }
        AttentionChange::Deferred(held) => {
            let sql =
                "INSERT INTO held (id, at, source, name, words, why, label) VALUES (?, ?, ?, ?, ?, ?, ?)";
            let at = held.at.as_microsecond();
            let source = held.source.to_string();
            let why = held.reason.as_str();
            let row = params![held.id.0, at, source, held.name, held.text, why, held.label.to_string()];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        AttentionChange::DigestDelivered(telling) => {
            let told: Vec<DeferredId> = telling.items.iter().map(|held| held.id).collect();
            mark_settled(transaction, &told, telling.at)
        }
        AttentionChange::DeferredResolved(held, at) => mark_settled(transaction, held, *at),
        AttentionChange::Disliked(source, count) => {
            let sql = "INSERT OR REPLACE INTO dislikes (source, count) VALUES (?, ?)";
            transaction.prepare_cached(sql)?.execute(params![source.to_string(), count]).map(drop)
        }
    }
}

fn mark_settled(transaction: &Transaction<'_>, held: &[DeferredId], at: Timestamp) -> rusqlite::Result<()> {
    let mut told = transaction.prepare_cached("UPDATE held SET told = ? WHERE id = ?")?;
    held.iter().try_for_each(|id| told.execute(params![at.as_microsecond(), id.0]).map(drop))
}

impl Database {
    /// Loads the attention state.
    pub(super) fn attention_state(&self) -> rusqlite::Result<AttentionStore> {
        let sql = "SELECT id, at, source, name, words, why, label FROM held WHERE told IS NULL ORDER BY id";
        let held =
            self.connection.prepare(sql)?.query_map([], read_deferred)?.collect::<Result<Vec<_>, _>>()?;
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM held";
        let next = self.connection.query_row(sql, [], |row| row.get(0).map(DeferredId))?;
        let disliked = |row: &Row<'_>| Ok((source_in(row, 0)?, row.get(1)?));
        let disliked: BTreeMap<CostSource, u32> = self
            .connection
            .prepare("SELECT source, count FROM dislikes")?
            .query_map([], disliked)?
            .collect::<Result<_, _>>()?;
        let mood: Option<Option<String>> =
            self.connection.query_row("SELECT mood FROM attention", [], |row| row.get(0)).optional()?;
        // An unreadable state is small enough to be dropped.
        let mood = mood.flatten().as_deref().and_then(decode_state).unwrap_or_default();
        Ok(AttentionStore { state: mood, deferred: Arc::new(held), next_id: next, disliked })
    }
}

impl Database {
    /// The messages of `source` deferred between two times, oldest first, each with the time it was
    /// delivered. Unanswered ones are left out, because they reached the user before.
    pub(super) fn deferred_between(
        &self,
        source: &CostSource,
        from: Timestamp,
        to: Timestamp,
    ) -> rusqlite::Result<Vec<(Deferred, Option<Timestamp>)>> {
        let sql = "SELECT id, at, source, name, words, why, label, told FROM held WHERE source = ?1 AND at BETWEEN ?2 \
                   AND ?3 AND why <> 'unanswered' ORDER BY id";
        let told = |row: &Row<'_>| row.get::<_, Option<i64>>(7)?.map(|_| time_in(row, 7)).transpose();
        let row = params![source.to_string(), from.as_microsecond(), to.as_microsecond()];
        self.connection.prepare(sql)?.query_map(row, |row| Ok((read_deferred(row)?, told(row)?)))?.collect()
    }
}

fn read_deferred(row: &Row<'_>) -> rusqlite::Result<Deferred> {
    let why = DeferReason::from_name(&row.get::<_, String>(5)?)
        .ok_or_else(|| invalid_column(5, "nothing is held for that"))?;
    let id = DeferredId(row.get(0)?);
    let at = time_in(row, 1)?;
    let source = source_in(row, 2)?;
    Ok(Deferred {
        id,
        at,
        source,
        name: row.get(3)?,
        text: row.get(4)?,
        reason: why,
        label: label_in(row, 6)?,
    })
}

fn encode_state(mood: &AttentionState) -> String {
    let time = |at: Option<Timestamp>| at.map(Timestamp::as_microsecond);
    let focus = mood.focus.as_ref();
    let focus = focus.map(|Focus { since, until, topic: on, midpoint: middle }| {
        json!([since.as_microsecond(), until.as_microsecond(), on, *middle == MidpointNotice::Done])
    });
    let PushCount { day, count, last } = mood.push_count;
    let ring = |ring: &Firing| json!([ring.due.as_microsecond(), time(ring.moved_to)]);
    let rings = |rings: &Vec<Firing>| rings.iter().map(ring).collect::<Vec<_>>();
    let moves: BTreeMap<_, _> = mood.moves.firings.iter().map(|(id, all)| (id, rings(all))).collect();
    json!({
        "quiet": time(mood.quiet_until),
        "focus": focus,
        "pushes": [day.to_string(), count, time(last)],
        "cheers": [mood.encouragements.last.to_string(), mood.encouragements.count],
        "moves": moves,
        "suggested": time(mood.moves.last_suggested),
    })
    .to_string()
}

fn decode_state(text: &str) -> Option<AttentionState> {
    let spelled: Value = serde_json::from_str(text).ok()?;
    let time = |value: &Value| value.as_i64().and_then(|at| Timestamp::from_microsecond(at).ok());
    let focus = |value: &Value| {
        let since = time(&value[0])?;
        let until = time(&value[1])?;
        let on = value[2].as_str()?.to_owned();
        let middle = if value[3] == true { MidpointNotice::Done } else { MidpointNotice::Pending };
        Some(Focus { since, until, topic: on, midpoint: middle })
    };
    let cheers = |value: &Value| {
        let count = u32::try_from(value[1].as_u64()?).ok()?;
        Some(Encouragements { last: value[0].as_str()?.parse().ok()?, count })
    };
    let ring = |value: &Value| Some(Firing { due: time(&value[0])?, moved_to: time(&value[1]) });
    let all = |value: &Value| value.as_array().into_iter().flatten().filter_map(ring).collect();
    let rings = |value: &Value| {
        let known = value.as_object().into_iter().flatten();
        known.map(|(id, rings)| (id.clone(), all(rings))).collect()
    };
    let pushes = &spelled["pushes"];
    let day = pushes[0].as_str()?.parse().ok()?;
    let count = u32::try_from(pushes[1].as_u64()?).ok()?;
    Some(AttentionState {
        quiet_until: time(&spelled["quiet"]),
        focus: focus(&spelled["focus"]),
        push_count: PushCount { day, count, last: time(&pushes[2]) },
        encouragements: cheers(&spelled["cheers"]).unwrap_or_default(),
        moves: RoutineMoves {
            firings: rings(&spelled["moves"]),
            last_suggested: time(&spelled["suggested"]),
        },
    })
}
