//! Loading the assistant's state, and conversion of rows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::assistant::{
    MainConversation, Messages, PendingUpdates, Position, State, Turns, UnfinishedTurn, UserChoices,
};
use domain::conversation::{
    Block, Branch, Conversation, Entry, EntryContent, EntryId, Head, Image, SessionId, tool_calls,
};
use domain::cost::CostSource;
use domain::inbox::{Inbox, InboxItem, InboxItemId};
use domain::label::Label;
use domain::record::{Address, Message, MessageId, ReplyTo, SessionChange, SurfaceName};
use domain::run::RunMode;
use domain::sent_messages::{SentId, StoredPromptId};
use domain::tool::{ToolCall, ToolResult};
use domain::turn::TurnId;
use jiff::Timestamp;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{OptionalExtension, Row, params};

use super::{Database, SessionFileChange, body};

/// The number of newest messages and entries are searched for known addresses at a start.
const RECALL_LIMIT: u32 = 1_000;

impl Database {
    /// Loads the assistant's state. The entries stay in the database.
    pub fn load_state(&self) -> rusqlite::Result<State> {
        let next = |table: &str| -> rusqlite::Result<u64> {
            let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {table}");
            self.connection.query_row(&sql, [], |row| row.get(0))
        };
        let heads = self.heads()?;
        let mut memory = State {
            turns: Turns {
                unfinished: self.unfinished_turns()?,
                runs: self.runs()?,
                context_tokens: self.context_tokens(heads.keys())?,
                next: self.next_turn_id()?,
            },
            conversation: Conversation::new(heads, EntryId(next("entries")?)),
            messages: Messages {
                waiting: self.waiting_messages()?,
                sent: Arc::new(self.load_sent()?),
                seen_marks: Arc::new(self.seen_marks()?),
                cards: Arc::new(self.cards()?),
                attention: self.attention_state()?,
                links: Arc::default(),
                seen: Arc::default(),
                composed: Arc::default(),
                deliveries: self.deliveries()?,
                next: self.next_message_id()?,
            },
            updates: PendingUpdates {
                waiting: Arc::new(self.unread_updates()?),
                next: self.next_update_id()?,
            },
            inbox: Inbox { items: Arc::new(self.inbox()?), next_id: InboxItemId(next("inbox")?) },
            approvals: self.approvals()?,
            fork: self.open_fork()?,
            main: MainConversation {
                created: None,
                changes: Arc::new(self.changes()?),
                fork_request: self.requested_fork()?,
                position_before_turn: self.main_position_before_turn()?,
            },
            plans: self.plans()?,
            choices: UserChoices::default(),
        };
        memory.messages.restore_links(
            &self.recent_user_texts()?,
            &self.recent_tool_calls()?,
            &self.outside_results()?,
        );
        Ok(memory)
    }

    /// The user's texts in the newest messages, oldest first.
    fn recent_user_texts(&self) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT text FROM messages WHERE id > (SELECT max(id) FROM messages) - ? AND surface <> ? \
                   AND inquiry IS NULL ORDER BY id";
        let bounds = params![RECALL_LIMIT, SurfaceName::Internal.as_str()];
        self.connection.prepare_cached(sql)?.query_map(bounds, |row| row.get(0))?.collect()
    }

    /// The newest tool calls of models, oldest first, including those without a result.
    fn recent_tool_calls(&self) -> rusqlite::Result<Vec<ToolCall>> {
        let sql = "SELECT id FROM entries WHERE id > (SELECT max(id) FROM entries) - ? AND kind = 'assistant' \
                   AND body LIKE '%\"call\"%' ORDER BY id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let ids = statement.query_map([RECALL_LIMIT], |row| row.get(0).map(EntryId))?;
        let mut made = Vec::new();
        for id in ids.collect::<rusqlite::Result<Vec<_>>>()? {
            if let EntryContent::Assistant(blocks, _) = self.entry(id)?.content {
                made.extend(tool_calls(&blocks).cloned());
            }
        }
        Ok(made)
    }

    /// The newest tool results with text from outside, oldest first, each with its call.
    fn outside_results(&self) -> rusqlite::Result<Vec<(ToolCall, ToolResult)>> {
        let sql = "SELECT parent, id FROM entries WHERE id > (SELECT max(id) FROM entries) - ? AND kind = 'tools' \
                   AND own NOT LIKE '%;' AND parent IS NOT NULL ORDER BY id";
        let ids = |row: &Row<'_>| Ok((EntryId(row.get(0)?), EntryId(row.get(1)?)));
        let mut statement = self.connection.prepare_cached(sql)?;
        let steps = statement.query_map([RECALL_LIMIT], ids)?.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut shown = Vec::new();
        for (answer, results) in steps {
            let (EntryContent::Assistant(blocks, _), EntryContent::Tools(results)) =
                (self.entry(answer)?.content, self.entry(results)?.content)
            else {
                continue;
            };
            for result in results {
                let call = tool_calls(&blocks).find(|call| call.id == result.call).cloned();
                shown.extend(call.map(|call| (call, result)));
            }
        }
        Ok(shown)
    }

    /// The next message id. A withdrawn message has no row, but its occurrence still refers to it.
    fn next_message_id(&self) -> rusqlite::Result<MessageId> {
        let sql = "SELECT max(coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(message) FROM occurrences), 0))";
        self.connection.query_row(sql, [], |row| row.get::<_, u64>(0)).map(|newest| MessageId(newest + 1))
    }

    /// The next turn id. A compaction has no row in `turns`, only one in `spending`.
    fn next_turn_id(&self) -> rusqlite::Result<TurnId> {
        let newest = "(SELECT turn FROM spending ORDER BY id DESC LIMIT 1000)";
        let sql = format!(
            "SELECT max(coalesce((SELECT max(id) FROM turns), 0), coalesce((SELECT max(turn) FROM {newest}), 0))"
        );
        self.connection.query_row(&sql, [], |row| row.get::<_, u64>(0)).map(|newest| TurnId(newest + 1))
    }

    /// The newest `limit` entries on the path to `branch` that are older than `before`, oldest
    /// first.
    pub fn recent_entries(
        &self,
        branch: &Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> rusqlite::Result<Vec<Entry>> {
        let mut next = match before {
            Some(before) => self.entry(before)?.parent,
            None => self.heads()?.get(branch).and_then(|head| head.entry),
        };
        let mut entries = VecDeque::new();
        while let Some(id) = next.filter(|_| entries.len() < limit) {
            let entry = self.entry(id)?;
            next = entry.parent;
            entries.push_front(entry);
        }
        Ok(entries.into())
    }

    /// The session of `branch`, read without loading all heads.
    pub fn branch_session(&self, branch: &Branch) -> rusqlite::Result<Option<SessionId>> {
        let mut heads = self.connection.prepare_cached("SELECT session FROM heads WHERE branch = ?")?;
        heads.query_row([branch.to_string()], |row| session_in(row, 0)).optional()
    }

    /// File changes that were committed but not yet applied.
    pub fn pending_file_changes(&self) -> rusqlite::Result<Vec<SessionFileChange>> {
        let sql = "SELECT id, at, kind, session, parent FROM file_changes ORDER BY id";
        self.connection.prepare(sql)?.query_map([], read_file_change)?.collect()
    }

    pub(super) fn entry(&self, id: EntryId) -> rusqlite::Result<Entry> {
        let sql = "SELECT parent, at, kind, body, own, label FROM entries WHERE id = ?";
        self.connection.prepare_cached(sql)?.query_row([id.0], |row| {
            let (kind, text): (String, String) = (row.get(2)?, row.get(3)?);
            let said = body::read(&kind, &text).map_err(|error| invalid_column(3, error))?;
            let parent = row.get::<_, Option<u64>>(0)?.map(EntryId);
            let at = time_in(row, 1)?;
            Ok(Entry {
                id,
                parent,
                at,
                content: said,
                own_label: label_in(row, 4)?,
                label: label_in(row, 5)?,
            })
        })
    }

    /// The entry `id`, if it exists.
    pub fn find_entry(&self, id: EntryId) -> rusqlite::Result<Option<Entry>> {
        self.entry(id).optional()
    }

    fn heads(&self) -> rusqlite::Result<BTreeMap<Branch, Head>> {
        let head = |row: &Row<'_>| {
            let entry = row.get::<_, Option<u64>>(1)?.map(EntryId);
            Ok((branch_in(row, 0)?, Head { entry, session: session_in(row, 2)?, label: label_in(row, 3)? }))
        };
        let sql = "SELECT branch, entry, session, coalesce(label, ';') FROM heads \
                   LEFT JOIN entries ON entries.id = heads.entry";
        self.connection.prepare(sql)?.query_map([], head)?.collect()
    }

    /// The position of main before its unfinished turn.
    fn main_position_before_turn(&self) -> rusqlite::Result<Option<Position>> {
        let sql = "SELECT older.id, older.label FROM turns JOIN messages ON messages.id = message \
                   JOIN entries ON entries.id = messages.entry JOIN entries AS older ON older.id = entries.parent \
                   WHERE +turns.branch = ? AND closed IS NULL";
        let before = |row: &Row<'_>| Ok(Position { entry: EntryId(row.get(0)?), label: label_in(row, 1)? });
        self.connection.query_row(sql, [Branch::Main.to_string()], before).optional()
    }

    fn unfinished_turns(&self) -> rusqlite::Result<Vec<UnfinishedTurn>> {
        let sql = format!(
            "SELECT {MESSAGE_COLUMNS}, turns.id, turns.branch, attempts, entry, \
             (SELECT count(*) FROM decisions WHERE decisions.turn = turns.id) \
             FROM turns JOIN messages ON messages.id = message WHERE closed IS NULL ORDER BY turns.id"
        );
        let turn = |row: &Row<'_>| {
            let branch = branch_in(row, 11)?;
            let unanswered = self.unanswered_calls(&branch)?;
            let shown =
                row.get::<_, Option<u64>>(13)?.map(|entry| self.images_of(EntryId(entry))).transpose()?;
            let answers = Message { images: shown.unwrap_or_default(), ..read_message(row)? };
            let turn = TurnId(row.get(10)?);
            let answers = Arc::new(answers);
            let attempts = row.get(12)?;
            let calls = row.get(14)?;
            Ok(UnfinishedTurn { turn, branch, answers, attempts, calls, unanswered })
        };
        self.connection.prepare(&sql)?.query_map([], turn)?.collect()
    }

    /// The images of the message that became `entry`.
    pub(super) fn images_of(&self, entry: EntryId) -> rusqlite::Result<Vec<Image>> {
        match self.entry(entry)?.content {
            EntryContent::User(heard) => Ok(heard.images),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => Ok(Vec::new()),
        }
    }

    /// The calls in the last entry of `branch`. If they had results, the results would be the last
    /// entry.
    fn unanswered_calls(&self, branch: &Branch) -> rusqlite::Result<Vec<ToolCall>> {
        let sql = "SELECT entry FROM heads WHERE branch = ? AND entry IS NOT NULL";
        let head = self.connection.query_row(sql, [branch.to_string()], |row| row.get(0)).optional()?;
        let Some(head) = head else { return Ok(Vec::new()) };
        let EntryContent::Assistant(blocks, _) = self.entry(EntryId(head))?.content else {
            return Ok(Vec::new());
        };
        let calls = blocks.into_iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text(_) | Block::Opaque(_) => None,
        });
        Ok(calls.collect())
    }

    fn waiting_messages(&self) -> rusqlite::Result<VecDeque<Message>> {
        let sql = format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE entry IS NULL ORDER BY id");
        self.connection.prepare(&sql)?.query_map([], read_message)?.collect()
    }

    pub fn inbox(&self) -> rusqlite::Result<Vec<InboxItem>> {
        let kept = |row: &Row<'_>| {
            Ok(InboxItem { id: InboxItemId(row.get(0)?), at: time_in(row, 1)?, text: row.get(2)? })
        };
        let sql = "SELECT id, at, text FROM inbox WHERE removed IS NULL ORDER BY id";
        self.connection.prepare(sql)?.query_map([], kept)?.collect()
    }
}

/// The columns of a message.
pub(super) const MESSAGE_COLUMNS: &str = "messages.id, messages.at, surface, text, images, messages.branch, about, quoted, inquiry, coalesce(messages.label, ';')";

pub(super) fn read_message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let surface: String = row.get(2)?;
    let surface = SurfaceName::from_name(&surface);
    let images: String = row.get(4)?;
    let images = body::read_images(&images).map_err(|error| invalid_column(4, error))?;
    Ok(Message {
        id: MessageId(row.get(0)?),
        at: time_in(row, 1)?,
        surface,
        address: read_address(row)?,
        text: row.get(3)?,
        images,
        // Deduplication marks are loaded separately.
        external_id: None,
        label: label_in(row, 9)?,
    })
}

fn read_address(row: &Row<'_>) -> rusqlite::Result<Address> {
    if row.get_ref(5)? != ValueRef::Null {
        return branch_in(row, 5).map(Address::Branch);
    }
    let Some(about) = row.get::<_, Option<u64>>(6)?.map(SentId) else { return Ok(Address::UserBranch) };
    match row.get::<_, Option<String>>(8)? {
        Some(inquiry) => Ok(Address::Button(about, StoredPromptId(inquiry))),
        None => {
            let words = row.get::<_, Option<String>>(7)?.unwrap_or_default();
            Ok(Address::Reply(ReplyTo { sent_id: about, quote: words }))
        }
    }
}

fn read_file_change(row: &Row<'_>) -> rusqlite::Result<SessionFileChange> {
    let at = time_in(row, 1)?;
    let session = session_in(row, 3)?;
    let kind = row.get::<_, String>(2)?;
    let from = row.get::<_, Option<String>>(4)?.as_deref().and_then(SessionId::parse);
    let ran = |kind| SessionChange::RunEnded { run: session.clone(), from: from.clone(), mode: kind, at };
    let change = match kind.as_str() {
        "ran forked" => ran(RunMode::Forked),
        "ran isolated" => ran(RunMode::Isolated),
        "ran persistent" => ran(RunMode::Persistent),
        "saved" => SessionChange::Saved(session, at),
        "swapped" => SessionChange::Swapped { to: session, from, at },
        "cleared" => SessionChange::Cleared(session, at),
        "forked" => SessionChange::Forked { fork: session, from, at },
        other => return Err(invalid_column(2, format!("no file changes in the way `{other}`"))),
    };
    Ok(SessionFileChange { id: row.get(0)?, change })
}

pub(super) fn branch_in(row: &Row<'_>, index: usize) -> rusqlite::Result<Branch> {
    row.get::<_, String>(index)?.parse().map_err(|error| invalid_column(index, error))
}

pub(super) fn source_in(row: &Row<'_>, index: usize) -> rusqlite::Result<CostSource> {
    row.get::<_, String>(index)?.parse().map_err(|error| invalid_column(index, error))
}

pub(super) fn label_in(row: &Row<'_>, index: usize) -> rusqlite::Result<Label> {
    row.get::<_, String>(index)?.parse().map_err(|error| invalid_column(index, error))
}

pub(super) fn session_in(row: &Row<'_>, index: usize) -> rusqlite::Result<SessionId> {
    let text: String = row.get(index)?;
    SessionId::parse(&text).ok_or_else(|| invalid_column(index, format!("`{text}` is not a session")))
}

pub(super) fn time_in(row: &Row<'_>, index: usize) -> rusqlite::Result<Timestamp> {
    Timestamp::from_microsecond(row.get(index)?).map_err(|error| invalid_column(index, error))
}

pub(super) fn time_or_none(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Timestamp>> {
    let time = row.get::<_, Option<i64>>(index)?.map(Timestamp::from_microsecond);
    time.transpose().map_err(|error| invalid_column(index, error))
}

pub(super) fn invalid_column(
    index: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, error.into())
}
