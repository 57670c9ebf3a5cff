//! Full-text search over all entries.
//!
//! Examines only the newest matches, so that a word in every entry takes no longer than a rare one.

use domain::conversation::{EntryId, Text};
use domain::record::SurfaceName;
use domain::turn::TurnId;
use engine::ports::{EntryOrigin, SearchHit, SearchOrder, SearchQuery};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, params};

use super::Database;
use super::ranking::{SearchCandidate, scores};
use super::read::branch_in;

/// The most words in a query.
const MAX_WORDS: usize = 20;
/// The most matches that are ranked.
const RANK_LIMIT: usize = 300;
/// The most matches that are filtered.
const MATCH_SCAN_LIMIT: usize = 2_000;
/// The word length from which a prefix search is used only for rare words; the index contains
/// shorter prefixes.
const LONG_WORD: usize = 4;
/// The most ancestors examined between an entry and the message of its turn.
const MAX_ANCESTORS: usize = 500;
/// The most that a clock may have been set back.
const MAX_CLOCK_SETBACK: SignedDuration = SignedDuration::from_hours(26);

impl Database {
    /// The entries that contain all words. The last word may be a prefix.
    pub fn search(&self, looked_for: &SearchQuery) -> rusqlite::Result<Vec<SearchHit>> {
        let Some(query) = self.fts_query(&looked_for.words)? else { return Ok(Vec::new()) };
        let limit = usize::try_from(looked_for.limit).unwrap_or(usize::MAX);
        let mut found = match looked_for.order {
            SearchOrder::Newest => self.newest_matches(&query, looked_for, limit)?,
            SearchOrder::Relevance => {
                rank(self.newest_matches(&query, looked_for, RANK_LIMIT)?, &looked_for.words)
            }
        };
        found.truncate(limit);
        for found in found.iter_mut().filter(|found| found.origin.is_none()) {
            found.origin = self.turn_of_entry(found.entry.id)?;
        }
        Ok(found)
    }

    /// The newest `most` matches that pass the filter, newest first.
    fn newest_matches(
        &self,
        query: &str,
        looked_for: &SearchQuery,
        most: usize,
    ) -> rusqlite::Result<Vec<SearchHit>> {
        let within = &looked_for.filter;
        let before = looked_for.before.map_or(i64::MAX as u64, |before| before.0);
        let from = within.since.map_or(Ok(0), |since| self.first_entry_since(since))?;
        let sql =
            "SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? AND rowid >= ? ORDER BY rowid DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![query, before, from])?;
        let mut found = Vec::new();
        for _ in 0..MATCH_SCAN_LIMIT {
            let Some(row) = rows.next()?.filter(|_| found.len() < most) else { break };
            let id = EntryId(row.get(0)?);
            // The turn is looked up here only if the filter depends on it.
            let spoken = if within.places.is_empty() { None } else { self.turn_of_entry(id)? };
            if !within.matches_place(spoken.as_ref()) {
                continue;
            }
            let entry = self.entry(id)?;
            if within.contains_time(entry.at) {
                found.push(SearchHit { entry, origin: spoken });
            }
        }
        Ok(found)
    }

    /// The turn of the entry `id`, which is that of the last message on the path to it.
    pub fn turn_of_entry(&self, id: EntryId) -> rusqlite::Result<Option<EntryOrigin>> {
        let sql = "SELECT turns.id, turns.branch, surface FROM messages JOIN turns ON turns.message = messages.id \
                   WHERE messages.entry = ?";
        let mut message = self.connection.prepare_cached(sql)?;
        let mut parent = self.connection.prepare_cached("SELECT parent FROM entries WHERE id = ?")?;
        let mut place = Some(id.0);
        for _ in 0..MAX_ANCESTORS {
            let Some(id) = place else { break };
            if let Some(spoken) = message.query_row([id], read_turn_location).optional()? {
                return Ok(Some(spoken));
            }
            place = parent.query_row([id], |row| row.get(0)).optional()?.flatten();
        }
        Ok(None)
    }

    /// A lower bound for the first entry since `since`. Ids grow with time unless a clock was set
    /// back.
    fn first_entry_since(&self, since: Timestamp) -> rusqlite::Result<u64> {
        let since = since.saturating_sub(MAX_CLOCK_SETBACK).unwrap_or(since).as_microsecond();
        let newest = "SELECT coalesce(max(id), 0) FROM entries";
        let (mut low, mut high): (u64, u64) = (0, self.connection.query_row(newest, [], |row| row.get(0))?);
        high += 1;
        let mut next =
            self.connection.prepare_cached("SELECT at FROM entries WHERE id >= ? ORDER BY id LIMIT 1")?;
        while low < high {
            let middle = low.midpoint(high);
            let at: Option<i64> = next.query_row([middle], |row| row.get(0)).optional()?;
            if at.is_some_and(|at| at < since) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Builds the FTS5 query. Every word is quoted, so that none is an operator. The last one is a
    /// prefix, unless half of all entries would match or the word itself is common enough.
    fn fts_query(&self, words: &str) -> rusqlite::Result<Option<String>> {
        let letters = |word: &&str| word.chars().any(char::is_alphanumeric);
        let words: Vec<&str> = words
            .split(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '"')
            .filter(letters)
            .take(MAX_WORDS)
            .collect();
        let Some(last) = words.last() else { return Ok(None) };
        let whole = match last.chars().count() {
            0..=1 => true,
            2..LONG_WORD => false,
            LONG_WORD.. => self.is_common(last)?,
        };
        let query = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
        Ok(Some(if whole { query } else { query + "*" }))
    }

    /// Returns whether `word` is so frequent that words which it only prefixes are not needed.
    fn is_common(&self, word: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?";
        let row = params![format!("\"{word}\""), i64::try_from(RANK_LIMIT).unwrap_or(i64::MAX)];
        self.connection.prepare_cached(sql)?.exists(row)
    }
}

/// Sorts the hits by score, best first.
fn rank(found: Vec<SearchHit>, words: &str) -> Vec<SearchHit> {
    let candidate =
        |found: &SearchHit| SearchCandidate { text: found.entry.content.text(), at: found.entry.at };
    let candidates: Vec<SearchCandidate> = found.iter().map(candidate).collect();
    // Relative to the newest hit, so that an old history is ranked like a recent one.
    let now = candidates.iter().map(|candidate| candidate.at).max().unwrap_or_default();
    let scores = scores(&candidates, words, now);
    let mut ranked: Vec<(f64, SearchHit)> = scores.into_iter().zip(found).collect();
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    ranked.into_iter().map(|(_, found)| found).collect()
}

pub(super) fn read_turn_location(row: &Row<'_>) -> rusqlite::Result<EntryOrigin> {
    let surface = SurfaceName::from_name(&row.get::<_, String>(2)?);
    Ok(EntryOrigin { turn: TurnId(row.get(0)?), branch: branch_in(row, 1)?, surface })
}
