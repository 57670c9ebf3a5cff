//! Queries for browsing past conversations, prompts and answers.

use std::collections::BTreeMap;

use domain::conversation::{Branch, Entry, EntryContent, EntryId, SessionId};
use domain::label::Label;
use domain::turn::TurnId;
use engine::ports::{EntryOrigin, SearchFilter};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use super::Database;
use super::read::{branch_in, label_in, session_in, time_in, time_or_none};
use super::search::read_turn_location;

/// The most entries examined for one answer.
const SCAN_LIMIT: u32 = 5_000;

/// The message that began a turn, from the user or a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The turn and its branch and surface.
    pub spoken: EntryOrigin,
    pub at: Timestamp,
    pub text: String,
    /// The label of its entry.
    pub label: Label,
}

/// Summary of one branch's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationSummary {
    pub branch: Branch,
    /// Its last session, if that is known.
    pub session: Option<SessionId>,
    /// The first prompt.
    pub first: Prompt,
    /// The time of the last prompt.
    pub last: Timestamp,
    /// Number of prompts.
    pub prompts: u64,
}

/// The last entry of a conversation, and the entry before its first one.
struct BranchSpan {
    end: Option<EntryId>,
    root: Option<EntryId>,
}

impl Database {
    /// Calls `each` with the prompts, newest first, until it returns false.
    fn for_each_prompt(
        &self,
        within: &SearchFilter,
        mut each: impl FnMut(Prompt) -> bool,
    ) -> rusqlite::Result<()> {
        let since = micros_or(within.since, i64::MIN);
        let until = micros_or(within.until, i64::MAX);
        let sql = "SELECT turns.id, turns.branch, surface, messages.at, text, \
                   coalesce((SELECT own FROM entries WHERE entries.id = entry), ';') FROM turns \
                   JOIN messages ON messages.id = message WHERE messages.at >= ? AND messages.at < ? \
                   ORDER BY turns.id DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![since, until])?;
        while let Some(row) = rows.next()? {
            let prompted = read_prompt(row)?;
            if within.matches_place(Some(&prompted.spoken)) && !each(prompted) {
                break;
            }
        }
        Ok(())
    }

    /// The prompts, newest first: `most` of them after the first `skipped`.
    pub fn prompts(
        &self,
        within: &SearchFilter,
        skipped: usize,
        most: usize,
    ) -> rusqlite::Result<Vec<Prompt>> {
        let mut seen = 0;
        let mut prompts = Vec::new();
        self.for_each_prompt(within, |prompted| {
            seen += 1;
            if seen > skipped {
                prompts.push(prompted);
            }
            prompts.len() < most
        })?;
        Ok(prompts)
    }

    /// The conversations, the most recently active first.
    pub fn conversations(&self, within: &SearchFilter) -> rusqlite::Result<Vec<ConversationSummary>> {
        let mut talks: BTreeMap<Branch, ConversationSummary> = BTreeMap::new();
        self.for_each_prompt(within, |first| {
            let branch = first.spoken.branch.clone();
            let last = first.at;
            let new = ConversationSummary {
                branch: branch.clone(),
                session: None,
                first: first.clone(),
                last,
                prompts: 0,
            };
            let talk = talks.entry(branch).or_insert(new);
            talk.prompts += 1;
            talk.first = first;
            true
        })?;
        let mut talks: Vec<ConversationSummary> = talks.into_values().collect();
        talks.sort_by_key(|talk| std::cmp::Reverse(talk.last));
        for talk in &mut talks {
            talk.session = self.last_session(&talk.branch)?;
        }
        Ok(talks)
    }

    /// The prompt of `turn` and the entries that answered it. `None` if there is no such turn.
    pub fn prompt_and_answer(&self, turn: TurnId) -> rusqlite::Result<Option<(Prompt, Vec<Entry>)>> {
        let sql = "SELECT turns.id, turns.branch, surface, messages.at, text, \
                   coalesce((SELECT own FROM entries WHERE entries.id = entry), ';'), entry, closed FROM turns \
                   JOIN messages ON messages.id = message WHERE turns.id = ?";
        let found = |row: &Row<'_>| Ok((read_prompt(row)?, entry_in(row, 6)?, time_or_none(row, 7)?));
        let found = self.connection.prepare_cached(sql)?.query_row([turn.0], found).optional()?;
        let Some((prompted, entry, closed)) = found else { return Ok(None) };
        let said = entry.map_or(Ok(Vec::new()), |entry| self.entries_after(entry, closed))?;
        Ok(Some((prompted, said)))
    }

    /// The entries after `message` until the turn was closed, up to the next message.
    fn entries_after(&self, message: EntryId, closed: Option<Timestamp>) -> rusqlite::Result<Vec<Entry>> {
        let sql = "SELECT id, parent, kind FROM entries WHERE id > ? AND at <= ? ORDER BY id LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![message.0, micros_or(closed, i64::MAX), SCAN_LIMIT])?;
        let mut last = message.0;
        let mut said = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, parent, kind): (u64, Option<u64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if parent == Some(last) && matches!(kind.as_str(), "assistant" | "tools") {
                said.push(self.entry(EntryId(id))?);
                last = id;
            }
        }
        Ok(said)
    }

    /// Calls `each` with the entries of `name` (a branch, or a prefix of a session id), newest
    /// first, until it returns false. Returns whether `name` exists.
    pub fn for_each_entry(&self, name: &str, mut each: impl FnMut(Entry) -> bool) -> rusqlite::Result<bool> {
        let Some(BranchSpan { end, root }) = self.branch_span(name)? else { return Ok(false) };
        let mut next = end;
        while let Some(id) = next.filter(|id| Some(*id) != root) {
            let entry = self.entry(id)?;
            next = entry.parent;
            if !matches!(entry.content, EntryContent::SummaryRecalled(_)) && !each(entry) {
                break;
            }
        }
        Ok(true)
    }

    fn branch_span(&self, name: &str) -> rusqlite::Result<Option<BranchSpan>> {
        let named = [name.to_owned(), format!("fork/{name}")];
        for branch in named.iter().filter_map(|name| name.parse::<Branch>().ok()) {
            if let Some(end) = self.branch_end(&branch)? {
                return Ok(Some(BranchSpan { end, root: self.branch_root(&branch)? }));
            }
        }
        let sql = "SELECT branch, entry FROM (\
                   SELECT branch, entry, session, 9223372036854775807 AS id FROM heads UNION ALL \
                   SELECT branch, from_entry, from_session, id FROM moves WHERE from_session IS NOT NULL) \
                   WHERE length(?1) >= 4 AND substr(session, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT 1";
        let found = |row: &Row<'_>| Ok((branch_in(row, 0)?, entry_in(row, 1)?));
        let Some((branch, end)) = self.connection.query_row(sql, [name], found).optional()? else {
            return Ok(None);
        };
        Ok(Some(BranchSpan { end, root: self.branch_root(&branch)? }))
    }

    /// The position of `branch`, or its last one if it ended. `None` if it never existed.
    fn branch_end(&self, branch: &Branch) -> rusqlite::Result<Option<Option<EntryId>>> {
        let sql = "SELECT entry FROM heads WHERE branch = ?1 UNION ALL \
                   SELECT * FROM (SELECT from_entry FROM moves WHERE branch = ?1 AND to_session IS NULL \
                   ORDER BY id DESC LIMIT 1) LIMIT 1";
        self.connection.query_row(sql, [branch.to_string()], |row| entry_in(row, 0)).optional()
    }

    /// The entry at which a fork began. `None` for main.
    fn branch_root(&self, branch: &Branch) -> rusqlite::Result<Option<EntryId>> {
        let sql = "SELECT to_entry FROM moves WHERE branch = ? AND why = 'forked' ORDER BY id DESC LIMIT 1";
        let root = self.connection.query_row(sql, [branch.to_string()], |row| entry_in(row, 0)).optional()?;
        Ok(root.flatten())
    }

    fn last_session(&self, branch: &Branch) -> rusqlite::Result<Option<SessionId>> {
        let sql = "SELECT session FROM heads WHERE branch = ?1 UNION ALL \
                   SELECT * FROM (SELECT from_session FROM moves WHERE branch = ?1 AND from_session IS NOT NULL \
                   ORDER BY id DESC LIMIT 1) LIMIT 1";
        self.connection
            .prepare_cached(sql)?
            .query_row([branch.to_string()], |row| session_in(row, 0))
            .optional()
    }
}

fn read_prompt(row: &Row<'_>) -> rusqlite::Result<Prompt> {
    Ok(Prompt {
        spoken: read_turn_location(row)?,
        at: time_in(row, 3)?,
        text: row.get(4)?,
        label: label_in(row, 5)?,
    })
}

fn entry_in(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<EntryId>> {
    Ok(row.get::<_, Option<u64>>(index)?.map(EntryId))
}

fn micros_or(at: Option<Timestamp>, otherwise: i64) -> i64 {
    at.map_or(otherwise, Timestamp::as_microsecond)
}
